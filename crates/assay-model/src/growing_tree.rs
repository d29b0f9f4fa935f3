//! Builds call trees from stacks and other trees.

use std::collections::HashMap;

use crate::limits::PROFILE_NODES;
use crate::{CallNode, CallTree, StackFrame};

/// A growing call tree of at most [`PROFILE_NODES`] calls. Once full, it keeps only the beginnings of new stacks.
#[derive(Debug, Default)]
pub struct GrowingTree {
    tree: CallTree,
    frames: HashMap<StackFrame, u32>,
    calls: HashMap<(Option<u32>, u32), u32>,
}

impl GrowingTree {
    pub fn frame(&mut self, frame: StackFrame) -> u32 {
        if let Some(known) = self.frames.get(&frame) {
            return *known;
        }
        let index = self.tree.frames.len() as u32;
        self.tree.frames.push(frame.clone());
        self.frames.insert(frame, index);
        index
    }

    /// The node of a call; `None` if the tree is full.
    pub fn call(&mut self, caller: Option<u32>, frame: u32) -> Option<u32> {
        if let Some(known) = self.calls.get(&(caller, frame)) {
            return Some(*known);
        }
        if self.is_full() {
            return None;
        }
        let index = self.tree.nodes.len();
        self.tree.nodes.push(CallNode { caller, frame, own: 0 });
        self.calls.insert((caller, frame), index as u32);
        Some(index as u32)
    }

    pub fn is_full(&self) -> bool {
        self.tree.nodes.len() >= PROFILE_NODES
    }

    /// Adds to the call's own cost.
    pub fn spend(&mut self, node: u32, spent: u64) {
        if let Some(node) = self.tree.nodes.get_mut(node as usize) {
            node.own = node.own.saturating_add(spent);
        }
    }

    pub fn add(&mut self, other: &CallTree) {
        // Maps nodes of the other tree to nodes here.
        let mut places: Vec<Option<u32>> = Vec::with_capacity(other.nodes.len());
        for node in &other.nodes {
            let caller = node.caller.and_then(|caller| places.get(caller as usize).copied()?);
            let frame = other.frames.get(node.frame as usize);
            let called = frame.and_then(|frame| {
                let frame = self.frame(frame.clone());
                self.call(caller, frame)
            });
            let place = called.or(caller);
            if let Some(place) = place {
                self.spend(place, node.own);
            }
            places.push(place);
        }
    }

    pub fn into_tree(self) -> CallTree {
        self.tree
    }
}

impl CallTree {
    /// The tree without calls whose inclusive cost is below this share of the total. Their cost moves to one
    /// [`SMALL_CALLS`] call of the same caller, so all sums stay the same.
    pub fn without_small(&self, part: f64) -> Self {
        let least = part * self.total() as f64;
        let mut kept = GrowingTree::default();
        // For each node, its kept node and whether it is a small call.
        let mut places: Vec<(Option<u32>, bool)> = Vec::with_capacity(self.nodes.len());
        for (node, inclusive) in self.nodes.iter().zip(self.inclusive()) {
            let known = node.caller.and_then(|caller| places.get(caller as usize).copied());
            let (caller, is_within_small) = known.unwrap_or_default();
            let place = if is_within_small {
                (caller, true)
            } else {
                let is_small = (inclusive as f64) < least;
                let frame = self.frames.get(node.frame as usize).filter(|_| !is_small);
                let frame = frame.cloned().unwrap_or_else(StackFrame::of_small_calls);
                let frame = kept.frame(frame);
                // `kept` never fills up: it is no larger than this tree.
                (kept.call(caller, frame), is_small)
            };
            place.0.into_iter().for_each(|at| kept.spend(at, node.own));
            places.push(place);
        }
        kept.into_tree()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(stacks: &[(&[&str], u64)]) -> CallTree {
        let mut all = GrowingTree::default();
        for (stack, own) in stacks {
            let frame = |name: &&str| StackFrame {
                function: (*name).to_owned(),
                module: "server".to_owned(),
            };
            let last = stack.len() - 1;
            let nodes = (0..stack.len()).map(|at| CallNode {
                caller: at.checked_sub(1).map(|caller| caller as u32),
                frame: at as u32,
                own: if at == last { *own } else { 0 },
            });
            let one =
                CallTree { frames: stack.iter().map(frame).collect(), nodes: nodes.collect() };
            all.add(&one);
        }
        all.into_tree()
    }

    #[test]
    fn the_sum_of_two_trees_has_each_stack_once() {
        let mut sum = GrowingTree::default();
        sum.add(&tree(&[(&["main", "parse"], 3), (&["main", "read"], 5)]));
        let other = tree(&[(&["main", "read", "main"], 1), (&["main", "read"], 7), (&["exit"], 2)]);
        sum.add(&other);
        let sum = sum.into_tree();
        let expected = tree(&[
            (&["main", "parse"], 3),
            (&["main", "read"], 12),
            (&["main", "read", "main"], 1),
            (&["exit"], 2),
        ]);
        assert_eq!(sum, expected);
        assert_eq!((sum.total(), sum.frames.len(), sum.nodes.len()), (18, 4, 5));
        let callers_first =
            |(at, node): (usize, &CallNode)| node.caller.is_none_or(|it| (it as usize) < at);
        assert!(sum.nodes.iter().enumerate().all(callers_first));
    }

    #[test]
    fn small_calls_are_one_and_all_sums_stay() {
        let all = tree(&[
            (&["main", "parse"], 3),
            (&["main", "parse", "lex"], 2),
            (&["main", "read"], 900),
            (&["main", "read", "lock"], 95),
            (&["exit"], 4),
        ]);
        let kept = all.without_small(0.01);
        let expected = tree(&[
            (&["main", "[small calls]"], 5),
            (&["main", "read"], 900),
            (&["main", "read", "lock"], 95),
            (&["[small calls]"], 4),
        ]);
        let names = |tree: &CallTree| -> Vec<(String, u64)> {
            let name = |node: &CallNode| tree.frames[node.frame as usize].function.clone();
            tree.nodes.iter().map(|node| (name(node), node.own)).collect()
        };
        assert_eq!(names(&kept), names(&expected));
        assert_eq!((kept.total(), kept.inclusive()[0]), (all.total(), all.inclusive()[0]));
        // Idempotent, and without effect for a limit of 0.
        assert_eq!(kept.without_small(0.01), kept);
        assert_eq!(all.without_small(0.0), all);
        assert_eq!(CallTree::default().without_small(1.0), CallTree::default());
    }

    #[test]
    fn a_full_tree_counts_further_calls_as_time_of_their_callers() {
        let mut all = GrowingTree::default();
        let main =
            all.frame(StackFrame { function: "main".to_owned(), module: "server".to_owned() });
        let mut caller = None;
        while let Some(node) = all.call(caller, main) {
            caller = Some(node);
        }
        all.add(&tree(&[(&["main", "parse"], 3), (&["exit"], 5)]));
        let all = all.into_tree();
        assert_eq!((all.nodes.len(), all.nodes[0].own, all.total()), (PROFILE_NODES, 3, 3));
    }
}
