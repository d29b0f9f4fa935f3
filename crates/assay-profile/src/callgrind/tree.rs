//! A tree of calls from counts of calls.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use assay_model::limits::PROFILE_NODES;
use assay_model::{CallTree, GrowingTree};

use super::costs::{Costs, Function};
use super::graph::circles;

/// A call with a smaller part of all instructions is not followed.
const SMALLEST: f64 = 2e-6;

/// The most calls of a tree, apart from those that hold what no other call has.
const CALLS_MAX: usize = PROFILE_NODES / 2;

impl Costs {
    /// The calls as a tree, for a flame graph.
    ///
    /// Exact are the instructions of each function: those of its calls in the tree add up to what was counted. So does
    /// the whole. Where a function was called from is counted for one level: the part of a function that each of its
    /// callers has is exact, too, unless the tree was cut there. What a function calls is estimated per caller: it is
    /// divided among the calls of the function in proportion to the instructions of these, because the counts do not
    /// tell which of its callers made it call what. So paths of three and more functions are estimates.
    ///
    /// Of functions that call each other in a circle, all are shown below the one by which the circle was entered, in
    /// one level. Small calls are not followed, and the tree is bounded in size. The instructions of such calls are
    /// added to the largest call of the same function, or stand alone without a caller.
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
            let circle = graph.circle(function);
            // The part of the circle's instructions that this call of it has.
            let part = enters.unwrap_or_else(|| amount / circle.whole.max(circle.called).max(1.0));
            let Some(node) = growth.call(caller, function) else { break };
            growth.spend(node, function, part);
            let mut push = |next: &[(Function, f64)], enters| {
                // The largest come first.
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
                push(&circle.members, Some(part));
            }
        }
        growth.rest();
        growth.tree.into_tree()
    }
}

/// A call that may be added to the tree, the one with the most instructions first.
struct Pending {
    amount: f64,
    caller: Option<u32>,
    function: Function,
    /// In a circle that was entered by another function: the part of its instructions that this call has.
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

/// The calls between circles of functions.
struct Graph {
    /// The circle of each function.
    circle_of: Vec<u32>,
    circles: Vec<Circle>,
    /// What each function calls outside of its circle, with the instructions, the most first.
    callees: Vec<Vec<(Function, f64)>>,
    nothing: Circle,
}

/// Functions that call each other; mostly one that does not call itself.
#[derive(Default)]
struct Circle {
    /// Each with its instructions and those of what it calls outside of the circle, the most first.
    members: Vec<(Function, f64)>,
    /// Instructions of its functions and of all that they call.
    whole: f64,
    /// Instructions of all calls from outside.
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
        let circle_of = circles(&edges);
        let number = circle_of.iter().max().map_or(0, |most| *most as usize + 1);
        let mut circles: Vec<Circle> = Vec::new();
        circles.resize_with(number, Circle::default);
        let mut callees: Vec<Vec<(Function, f64)>> = vec![Vec::new(); costs.functions.len()];
        for call in &costs.calls {
            let circle = |function: Function| circle_of.get(function as usize).copied();
            let [Some(from), Some(to)] = [call.caller, call.callee].map(circle) else { continue };
            if from == to {
                continue;
            }
            let inclusive = call.inclusive as f64;
            if let Some(circle) = circles.get_mut(to as usize) {
                circle.called += inclusive;
            }
            if let Some(of_caller) = callees.get_mut(call.caller as usize) {
                of_caller.push((call.callee, inclusive));
            }
        }
        let functions = costs.functions.iter().zip(&mut callees).zip(&circle_of);
        for (((own, callees), circle), function) in functions.zip(0..) {
            let called: f64 = callees.iter().map(|(_, inclusive)| inclusive).sum();
            sort(callees);
            if let Some(circle) = circles.get_mut(*circle as usize) {
                let spent = own.instructions as f64 + called;
                circle.members.push((function, spent));
                circle.whole += spent;
            }
        }
        circles.iter_mut().for_each(|circle| sort(&mut circle.members));
        Self { circle_of, circles, callees, nothing: Circle::default() }
    }

    fn circle(&self, function: Function) -> &Circle {
        let number = self.circle_of.get(function as usize).copied().unwrap_or(u32::MAX);
        self.circles.get(number as usize).unwrap_or(&self.nothing)
    }

    fn callees(&self, function: Function) -> &[(Function, f64)] {
        self.callees.get(function as usize).map_or(&[], Vec::as_slice)
    }

    /// The circles that were entered from elsewhere than from counted calls, such as the functions that were running
    /// when counting began. Of several functions, the one with the most instructions counts as the entry.
    fn entries(&self) -> impl Iterator<Item = Pending> {
        let entered = self.circles.iter().filter(|circle| circle.whole > circle.called);
        entered.enumerate().filter_map(|(order, circle)| {
            let (function, _) = *circle.members.first()?;
            let amount = circle.whole - circle.called;
            Some(Pending { amount, caller: None, function, enters: None, order })
        })
    }
}

/// The most first.
fn sort(spent: &mut [(Function, f64)]) {
    spent.sort_by(|(_, one), (_, next)| next.total_cmp(one));
}

/// The tree, and what is left of each function.
struct Growth<'a> {
    costs: &'a Costs,
    tree: GrowingTree,
    left: Vec<u64>,
    /// The call of each function that has the most of its own instructions.
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

    /// Gives a call so much of the function's own instructions.
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

    /// Gives out what is left.
    fn rest(&mut self) {
        let left = std::mem::take(&mut self.left);
        for ((left, largest), function) in left.into_iter().zip(self.largest.clone()).zip(0..) {
            if left > 0 {
                let node = largest.map(|(_, node)| node).or_else(|| self.call(None, function));
                // Only a report with more functions than any server has gets here with a full tree.
                self.tree.spend(node.unwrap_or(0), left);
            }
        }
    }
}
