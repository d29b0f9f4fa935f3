//! A call tree from the counts of calls.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use assay_model::limits::PROFILE_NODES;
use assay_model::{CallTree, GrowingTree};

use super::costs::{Costs, Function};
use super::graph::cycles;

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
    #[must_use]
    pub fn tree(&self) -> CallTree {
        let graph = Graph::of(self);
        let mut growth = Growth::of(self);
        let all: f64 = self.functions.iter().map(|own| own.instructions as f64).sum();
        let least = (SMALLEST * all).max(1.0);
        let mut pending: BinaryHeap<Pending> = graph.entries().collect();
        let mut order = pending.len();
        let mut calls = 0;
        while let Some(Pending { amount, caller, function, enters, .. }) = pending.pop() {
            if calls >= CALLS_MAX || amount < least {
                break;
            }
            calls += 1;
            let cycle = graph.cycle(function);
            // This call's part of the cycle's instructions.
            let part = enters.unwrap_or_else(|| amount / cycle.whole.max(cycle.called).max(1.0));
            let Some(node) = growth.call(caller, function) else { break };
            growth.spend(node, function, part);
            let mut push = |next: &[(Function, f64)], enters| {
                // They are in descending order.
                let large = next.iter().map(|(next, spent)| (*next, spent * part));
                for (next, amount) in large.take_while(|(_, amount)| *amount >= least) {
                    if next != function {
                        order += 1;
                        let (caller, function) = (Some(node), next);
                        pending.push(Pending { amount, caller, function, enters, order });
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

struct Pending {
    amount: f64,
    caller: Option<u32>,
    function: Function,
    /// This call's part of the cycle's instructions, if another function of the cycle was called from outside.
    enters: Option<f64>,
    order: usize,
}

impl Ord for Pending {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.total_cmp(&other.amount).then_with(|| other.order.cmp(&self.order))
    }
}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Pending {}

struct Graph {
    /// The cycle of each function, by number.
    cycle_of: Vec<u32>,
    cycles: Vec<Cycle>,
    /// The callees of each function outside its cycle with their instructions, in descending order.
    callees: Vec<Vec<(Function, f64)>>,
    nothing: Cycle,
}

/// Functions that call each other. Most cycles consist of one function that does not even call itself.
#[derive(Default)]
struct Cycle {
    /// Each function with its own instructions and those of its callees outside the cycle, in descending order.
    members: Vec<(Function, f64)>,
    whole: f64,
    called: f64,
}

impl Graph {
    fn of(costs: &Costs) -> Self {
        let mut edges: Vec<Vec<u32>> = vec![Vec::new(); costs.functions.len()];
        for call in &costs.calls {
            if let Some(of_caller) = edges.get_mut(call.caller as usize) {
                of_caller.push(call.callee);
            }
        }
        let cycle_of = cycles(&edges);
        let number = cycle_of.iter().max().map_or(0, |most| *most as usize + 1);
        let mut cycles: Vec<Cycle> = Vec::new();
        cycles.resize_with(number, Cycle::default);
        let mut callees: Vec<Vec<(Function, f64)>> = vec![Vec::new(); costs.functions.len()];
        for call in &costs.calls {
            let cycle = |function: Function| cycle_of.get(function as usize).copied();
            let [Some(from), Some(to)] = [call.caller, call.callee].map(cycle) else { continue };
            if from == to {
                continue;
            }
            let inclusive = call.inclusive as f64;
            if let Some(cycle) = cycles.get_mut(to as usize) {
                cycle.called += inclusive;
            }
            if let Some(of_caller) = callees.get_mut(call.caller as usize) {
                of_caller.push((call.callee, inclusive));
            }
        }
        let functions = costs.functions.iter().zip(&mut callees).zip(&cycle_of);
        for (((own, callees), cycle), function) in functions.zip(0..) {
            let called: f64 = callees.iter().map(|(_, inclusive)| inclusive).sum();
            sort(callees);
            if let Some(cycle) = cycles.get_mut(*cycle as usize) {
                let spent = own.instructions as f64 + called;
                cycle.members.push((function, spent));
                cycle.whole += spent;
            }
        }
        cycles.iter_mut().for_each(|cycle| sort(&mut cycle.members));
        Self { cycle_of, cycles, callees, nothing: Cycle::default() }
    }

    fn cycle(&self, function: Function) -> &Cycle {
        let number = self.cycle_of.get(function as usize).copied().unwrap_or(u32::MAX);
        self.cycles.get(number as usize).unwrap_or(&self.nothing)
    }

    fn callees(&self, function: Function) -> &[(Function, f64)] {
        self.callees.get(function as usize).map_or(&[], Vec::as_slice)
    }

    /// The cycles that were not only entered through counted calls, such as those of functions that were running when
    /// counting began. The function with the most instructions counts as the entry.
    fn entries(&self) -> impl Iterator<Item = Pending> {
        let entered = self.cycles.iter().filter(|cycle| cycle.whole > cycle.called);
        entered.enumerate().filter_map(|(order, cycle)| {
            let (function, _) = *cycle.members.first()?;
            let amount = cycle.whole - cycle.called;
            Some(Pending { amount, caller: None, function, enters: None, order })
        })
    }
}

fn sort(spent: &mut [(Function, f64)]) {
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
    fn of(costs: &'a Costs) -> Self {
        let functions = &costs.functions;
        Self {
            left: functions.iter().map(|own| own.instructions).collect(),
            largest: vec![None; functions.len()],
            costs,
            tree: GrowingTree::default(),
        }
    }

    fn call(&mut self, caller: Option<u32>, function: Function) -> Option<u32> {
        let own = self.costs.functions.get(function as usize).filter(|_| !self.tree.is_full())?;
        let frame = self.tree.frame(own.frame.clone());
        self.tree.call(caller, frame)
    }

    fn spend(&mut self, node: u32, function: Function, part: f64) {
        let at = function as usize;
        let (Some(own), Some(left), Some(largest)) =
            (self.costs.functions.get(at), self.left.get_mut(at), self.largest.get_mut(at))
        else {
            return;
        };
        let given = ((own.instructions as f64 * part) as u64).min(*left);
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
