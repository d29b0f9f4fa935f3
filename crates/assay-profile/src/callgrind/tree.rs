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
        let mut pending: BinaryHeap<Pending> = graph.entries(self).collect();
        let mut order = pending.len();
        let mut calls = 0;
        while let Some(Pending { amount, caller, function, enters, .. }) = pending.pop() {
            if calls >= CALLS_MAX || amount < 1.0 || amount < SMALLEST * all {
                break;
            }
            calls += 1;
            let circle = graph.circle(function);
            // The part of the circle's instructions that this call of it has.
            let part = enters.unwrap_or_else(|| amount / circle.whole.max(circle.called).max(1.0));
            let Some(node) = growth.call(caller, function) else { break };
            growth.spend(node, function, part);
            let mut push = |amount: f64, function, enters| {
                order += 1;
                let caller = Some(node);
                pending.push(Pending { amount, caller, function, enters, order });
            };
            for (callee, inclusive) in graph.callees(function) {
                push(inclusive * part, *callee, None);
            }
            if enters.is_none() {
                for member in circle.members.iter().filter(|member| **member != function) {
                    push(graph.spent(self, *member) * part, *member, Some(part));
                }
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
    /// What each function calls outside of its circle, with the instructions.
    callees: Vec<Vec<(Function, f64)>>,
    nothing: Circle,
}

/// Functions that call each other; mostly one that does not call itself.
#[derive(Default)]
struct Circle {
    members: Vec<Function>,
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
        for ((own, circle), function) in costs.functions.iter().zip(&circle_of).zip(0..) {
            if let Some(circle) = circles.get_mut(*circle as usize) {
                circle.members.push(function);
                circle.whole += own.instructions as f64;
            }
        }
        for call in &costs.calls {
            let circle = |function: Function| circle_of.get(function as usize).copied();
            let [Some(from), Some(to)] = [call.caller, call.callee].map(circle) else { continue };
            if from == to {
                continue;
            }
            let inclusive = call.inclusive as f64;
            if let Some(circle) = circles.get_mut(from as usize) {
                circle.whole += inclusive;
            }
            if let Some(circle) = circles.get_mut(to as usize) {
                circle.called += inclusive;
            }
            if let Some(of_caller) = callees.get_mut(call.caller as usize) {
                of_caller.push((call.callee, inclusive));
            }
        }
        Self { circle_of, circles, callees, nothing: Circle::default() }
    }

    fn circle(&self, function: Function) -> &Circle {
        let number = self.circle_of.get(function as usize).copied().unwrap_or(u32::MAX);
        self.circles.get(number as usize).unwrap_or(&self.nothing)
    }

    fn callees(&self, function: Function) -> &[(Function, f64)] {
        self.callees.get(function as usize).map_or(&[], Vec::as_slice)
    }

    /// Instructions of a function and of what it calls outside of its circle.
    fn spent(&self, costs: &Costs, function: Function) -> f64 {
        let own = costs.functions.get(function as usize).map_or(0, |own| own.instructions);
        own as f64 + self.callees(function).iter().map(|(_, inclusive)| inclusive).sum::<f64>()
    }

    /// The circles that were entered from elsewhere than from counted calls, such as the functions that were running
    /// when counting began. Of several functions, the one with the most instructions counts as the entry.
    fn entries(&self, costs: &Costs) -> impl Iterator<Item = Pending> {
        let entered = self.circles.iter().filter(|circle| circle.whole > circle.called);
        entered.enumerate().filter_map(|(order, circle)| {
            let spent = |function: &Function| self.spent(costs, *function);
            let most = |a: &&Function, b: &&Function| spent(a).total_cmp(&spent(b));
            let function = *circle.members.iter().max_by(most)?;
            let amount = circle.whole - circle.called;
            Some(Pending { amount, caller: None, function, enters: None, order })
        })
    }
}

/// The tree, and what is left of each function.
struct Growth<'a> {
    costs: &'a Costs,
    tree: GrowingTree,
    left: Vec<u64>,
    /// The call of each function that has the most of its own instructions.
    largest: Vec<Option<(u64, u32)>>,
    frames: Vec<u32>,
}

impl<'a> Growth<'a> {
    fn of(costs: &'a Costs) -> Self {
        let mut tree = GrowingTree::default();
        let functions = &costs.functions;
        Self {
            frames: functions.iter().map(|own| tree.frame(own.frame.clone())).collect(),
            left: functions.iter().map(|own| own.instructions).collect(),
            largest: vec![None; functions.len()],
            costs,
            tree,
        }
    }

    fn call(&mut self, caller: Option<u32>, function: Function) -> Option<u32> {
        self.tree.call(caller, *self.frames.get(function as usize)?)
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
        let all = self.left.iter().zip(&self.largest).zip(&self.frames);
        for ((left, largest), frame) in all.filter(|((left, _), _)| **left > 0) {
            let node = largest.map(|(_, node)| node).or_else(|| self.tree.call(None, *frame));
            // Only a report with more functions than any server has gets here with a full tree.
            self.tree.spend(node.unwrap_or(0), *left);
        }
    }
}
