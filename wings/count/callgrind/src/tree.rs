//! A call tree from the counts of calls.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use assay_model::limits::PROFILE_NODES;
use assay_model::{CallTree, GrowingTree};

use super::costs::{Costs, FunctionId};

/// The smallest share of all instructions for a call to be followed.
const SMALLEST: f64 = 2e-6;

/// The largest number of followed calls. Nodes for instructions that belong to none of them are additional.
const CALLS_MAX: usize = PROFILE_NODES / 2;

impl Costs {
    /// The calls as a tree, for a flame graph.
    ///
    /// The total and the instructions of each function are exact: a function's nodes add up to its count. How a
    /// function's instructions are divided among its direct callers is exact too, unless the tree was cut there. The
    /// counts do not say which caller made a function call what, so the instructions of its callees are divided among
    /// its nodes in proportion to theirs. Paths of three or more functions are therefore estimates.
    ///
    /// The functions of a call cycle are shown as one level below the function through which the cycle was entered.
    /// Small calls are not followed, and the size of the tree is bounded. The instructions of calls that were not
    /// followed are added to the largest node of the same function, or to a node without a caller if it has none.
    pub fn tree(&self) -> CallTree {
        let graph = Graph::new(self);
        let mut growth = Growth::new(self);
        let all: f64 = self.functions.iter().map(|own| own.instructions as f64).sum();
        let least = (SMALLEST * all).max(1.0);
        let mut pending: BinaryHeap<PendingCall> = graph.entries().collect();
        let mut order = pending.len();
        let mut calls = 0;
        while let Some(PendingCall { amount, caller, function, enters, .. }) = pending.pop() {
            if calls >= CALLS_MAX || amount < least {
                break;
            }
            calls += 1;
            let cycle = graph.cycle(function);
            // This call's part of the cycle's instructions.
            let part = enters.unwrap_or_else(|| amount / cycle.whole.max(cycle.called).max(1.0));
            let Some(node) = growth.call(caller, function) else { break };
            growth.spend(node, function, part);
            let mut push = |next: &[(FunctionId, f64)], enters| {
                // They are in descending order.
                let large = next.iter().map(|(next, spent)| (*next, spent * part));
                for (next, amount) in large.take_while(|(_, amount)| *amount >= least) {
                    if next != function {
                        order += 1;
                        let (caller, function) = (Some(node), next);
                        pending.push(PendingCall { amount, caller, function, enters, order });
                    }
                }
            };
            push(graph.callees(function), None);
            if enters.is_none() {
                push(&cycle.members, Some(part));
            }
        }
        growth.rest();
        growth.tree.into_tree()
    }
}

struct PendingCall {
    amount: f64,
    caller: Option<u32>,
    function: FunctionId,
    /// This call's part of the cycle's instructions, if another function of the cycle was called from outside.
    enters: Option<f64>,
    order: usize,
}

impl Ord for PendingCall {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.total_cmp(&other.amount).then_with(|| other.order.cmp(&self.order))
    }
}

impl PartialOrd for PendingCall {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PendingCall {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PendingCall {}

struct Graph {
    /// The cycle of each function, by number.
    cycle_of: Vec<u32>,
    cycles: Vec<Cycle>,
    /// The callees of each function outside its cycle with their instructions, in descending order.
    callees: Vec<Vec<(FunctionId, f64)>>,
}

/// Functions that call each other. Most cycles consist of one function that does not even call itself.
#[derive(Default)]
struct Cycle {
    /// Each function with its own instructions and those of its callees outside the cycle, in descending order.
    members: Vec<(FunctionId, f64)>,
    whole: f64,
    called: f64,
}

impl Graph {
    fn new(costs: &Costs) -> Self {
        let mut edges: Vec<Vec<u32>> = vec![Vec::new(); costs.functions.len()];
        for call in &costs.calls {
            edges[call.caller as usize].push(call.callee);
        }
        let cycle_of = cycles(&edges);
        let number = cycle_of.iter().max().map_or(0, |most| *most as usize + 1);
        let mut cycles: Vec<Cycle> = Vec::new();
        cycles.resize_with(number, Cycle::default);
        let mut callees: Vec<Vec<(FunctionId, f64)>> = vec![Vec::new(); costs.functions.len()];
        for call in &costs.calls {
            let [from, to] = [call.caller, call.callee].map(|function| cycle_of[function as usize]);
            if from != to {
                let inclusive = call.inclusive as f64;
                cycles[to as usize].called += inclusive;
                callees[call.caller as usize].push((call.callee, inclusive));
            }
        }
        let functions = costs.functions.iter().zip(&mut callees).zip(&cycle_of);
        for (((own, callees), cycle), function) in functions.zip(0..) {
            let called: f64 = callees.iter().map(|(_, inclusive)| inclusive).sum();
            sort(callees);
            let spent = own.instructions as f64 + called;
            let cycle = &mut cycles[*cycle as usize];
            cycle.members.push((function, spent));
            cycle.whole += spent;
        }
        cycles.iter_mut().for_each(|cycle| sort(&mut cycle.members));
        Self { cycle_of, cycles, callees }
    }

    fn cycle(&self, function: FunctionId) -> &Cycle {
        &self.cycles[self.cycle_of[function as usize] as usize]
    }

    fn callees(&self, function: FunctionId) -> &[(FunctionId, f64)] {
        &self.callees[function as usize]
    }

    /// The cycles that were not only entered through counted calls, such as those of functions that were running when
    /// counting began. The function with the most instructions counts as the entry.
    fn entries(&self) -> impl Iterator<Item = PendingCall> {
        let entered = self.cycles.iter().filter(|cycle| cycle.whole > cycle.called);
        entered.enumerate().map(|(order, cycle)| {
            let (function, _) = cycle.members[0];
            let amount = cycle.whole - cycle.called;
            PendingCall { amount, caller: None, function, enters: None, order }
        })
    }
}

fn sort(spent: &mut [(FunctionId, f64)]) {
    spent.sort_by(|(_, one), (_, next)| next.total_cmp(one));
}

struct Growth<'a> {
    costs: &'a Costs,
    tree: GrowingTree,
    /// Instructions of each function that no node has yet.
    left: Vec<u64>,
    /// The node of each function that has the most of its instructions, with their number.
    largest: Vec<Option<(u64, u32)>>,
}

impl<'a> Growth<'a> {
    fn new(costs: &'a Costs) -> Self {
        let functions = &costs.functions;
        Self {
            left: functions.iter().map(|own| own.instructions).collect(),
            largest: vec![None; functions.len()],
            costs,
            tree: GrowingTree::default(),
        }
    }

    fn call(&mut self, caller: Option<u32>, function: FunctionId) -> Option<u32> {
        if self.tree.is_full() {
            return None;
        }
        let frame = self.tree.frame(self.costs.functions[function as usize].frame.clone());
        self.tree.call(caller, frame)
    }

    fn spend(&mut self, node: u32, function: FunctionId, part: f64) {
        let function = function as usize;
        let (left, largest) = (&mut self.left[function], &mut self.largest[function]);
        let own = self.costs.functions[function].instructions as f64;
        let given = ((own * part) as u64).min(*left);
        *left -= given;
        self.tree.spend(node, given);
        if largest.is_none_or(|(most, _)| given > most) {
            *largest = Some((given, node));
        }
    }

    fn rest(&mut self) {
        let left = std::mem::take(&mut self.left);
        for ((left, largest), function) in left.into_iter().zip(self.largest.clone()).zip(0..) {
            if left > 0 {
                let node = largest.map(|(_, node)| node).or_else(|| self.call(None, function));
                // The tree is full here only if a report has more functions than any server.
                self.tree.spend(node.unwrap_or(0), left);
            }
        }
    }
}

/// Cycles of functions that call each other, the strongly connected components of the call graph: the number of each
/// function's cycle. Two functions are in the same cycle if each calls the other, directly or
/// indirectly. `callees` lists the functions that each function calls. A cycle has a greater number than those that it
/// calls.
///
/// This is Tarjan's algorithm (1972) without recursion.
fn cycles(callees: &[Vec<u32>]) -> Vec<u32> {
    let mut search = CycleSearch {
        index: vec![NONE; callees.len()],
        low: vec![NONE; callees.len()],
        cycle: vec![NONE; callees.len()],
        open: Vec::new(),
        next: 0,
        found: 0,
    };
    // Each function of the path with the number of its callees that have been followed.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..callees.len() as u32 {
        if search.index[root as usize] != NONE {
            continue;
        }
        search.enter(root);
        path.push((root, 0));
        while let Some((function, followed)) = path.last_mut() {
            let function = *function;
            let callee = callees[function as usize].get(*followed).copied();
            *followed += 1;
            match callee {
                Some(callee) if search.index[callee as usize] == NONE => {
                    search.enter(callee);
                    path.push((callee, 0));
                }
                Some(callee) => search.see(function, callee),
                None => {
                    path.pop();
                    search.leave(function);
                    if let Some((caller, _)) = path.last() {
                        search.lower(*caller, search.low[function as usize]);
                    }
                }
            }
        }
    }
    search.cycle
}

const NONE: u32 = u32::MAX;

struct CycleSearch {
    index: Vec<u32>,
    low: Vec<u32>,
    cycle: Vec<u32>,
    open: Vec<u32>,
    next: u32,
    found: u32,
}

impl CycleSearch {
    fn enter(&mut self, function: u32) {
        self.index[function as usize] = self.next;
        self.low[function as usize] = self.next;
        self.next += 1;
        self.open.push(function);
    }

    fn see(&mut self, function: u32, callee: u32) {
        if self.cycle[callee as usize] == NONE {
            self.lower(function, self.index[callee as usize]);
        }
    }

    fn lower(&mut self, function: u32, low: u32) {
        let lowest = &mut self.low[function as usize];
        *lowest = low.min(*lowest);
    }

    fn leave(&mut self, function: u32) {
        if self.low[function as usize] != self.index[function as usize] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.cycle[member as usize] = self.found;
            // Further calls of it lower no other function.
            self.low[member as usize] = NONE;
            if member == function {
                break;
            }
        }
        self.found += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_reach_each_other_are_one_cycle() {
        // 0 → 1 ⇄ 2 → 3 → 3, 4 → 0, 5
        let cycle = cycles(&[vec![1], vec![2], vec![1, 3], vec![3], vec![0], vec![]]);
        assert_eq!(cycle[1], cycle[2]);
        let mut numbers = cycle.clone();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 5);
        assert!(cycle[4] > cycle[0] && cycle[0] > cycle[1] && cycle[2] > cycle[3], "{cycle:?}");
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let chain: Vec<Vec<u32>> = (1..200_000).map(|next| vec![next]).chain([vec![0]]).collect();
        assert!(cycles(&chain).iter().all(|cycle| *cycle == 0));
    }
}
