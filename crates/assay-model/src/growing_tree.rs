//! Call trees from stacks and from other trees.

use std::collections::HashMap;

use crate::limits::PROFILE_NODES;
use crate::{CallNode, CallTree, Frame};

/// A call tree that grows. Of what is added last, only the beginnings of the stacks are kept once it is full: it has at
/// most [`PROFILE_NODES`] calls.
#[derive(Debug, Default)]
pub struct GrowingTree {
    tree: CallTree,
    frames: HashMap<Frame, u32>,
    calls: HashMap<(Option<u32>, u32), u32>,
}

impl GrowingTree {
    /// The index of a function.
    pub fn frame(&mut self, frame: Frame) -> u32 {
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

    /// Whether no call can be added.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tree.nodes.len() >= PROFILE_NODES
    }

    /// Adds what was spent in a call itself.
    pub fn spend(&mut self, node: u32, spent: u64) {
        if let Some(node) = self.tree.nodes.get_mut(node as usize) {
            node.own = node.own.saturating_add(spent);
        }
    }

    /// Adds all calls of another tree.
    pub fn add(&mut self, other: &CallTree) {
        // Where the nodes of the other tree are in this one.
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

    /// The tree as it is now.
    #[must_use]
    pub fn into_tree(self) -> CallTree {
        self.tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(stacks: &[(&[&str], u64)]) -> CallTree {
        let mut all = GrowingTree::default();
        for (stack, own) in stacks {
            let frame =
                |name: &&str| Frame { function: (*name).to_owned(), module: "server".to_owned() };
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
    fn a_full_tree_counts_further_calls_as_time_of_their_callers() {
        let mut all = GrowingTree::default();
        let main = all.frame(Frame { function: "main".to_owned(), module: "server".to_owned() });
        let mut caller = None;
        while let Some(node) = all.call(caller, main) {
            caller = Some(node);
        }
        all.add(&tree(&[(&["main", "parse"], 3), (&["exit"], 5)]));
        let all = all.into_tree();
        assert_eq!((all.nodes.len(), all.nodes[0].own, all.total()), (PROFILE_NODES, 3, 3));
    }
}
