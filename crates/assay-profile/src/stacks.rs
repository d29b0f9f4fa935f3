//! Counts equal stacks, and makes a call tree of them.

use std::collections::HashMap;

use assay_model::limits::PROFILE_NODES;
use assay_model::{CallNode, CallTree, Frame};

/// A stack as addresses, the innermost first, in a process.
pub(crate) type Stack = (i32, Box<[u64]>);

/// What was spent in each stack.
pub(crate) type Stacks = HashMap<Stack, u64>;

/// A call tree in the making.
#[derive(Default)]
struct Growing {
    tree: CallTree,
    frames: HashMap<Frame, u32>,
    calls: HashMap<(Option<u32>, u32), u32>,
}

/// The tree of all stacks, with the functions that `frame` finds.
pub(crate) fn tree(stacks: &Stacks, mut frame: impl FnMut(i32, u64) -> Frame) -> CallTree {
    let mut found: HashMap<(i32, u64), u32> = HashMap::new();
    let mut growing = Growing::default();
    let mut ordered: Vec<(&Stack, u64)> =
        stacks.iter().map(|(stack, spent)| (stack, *spent)).collect();
    // The most frequent first, so that the rarest are cut. The order is the same each time.
    ordered.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    for ((pid, addresses), spent) in ordered {
        let mut caller = None;
        for address in addresses.iter().rev() {
            let known = found.entry((*pid, *address));
            let frame = *known.or_insert_with(|| growing.frame(frame(*pid, *address)));
            match growing.call(caller, frame) {
                Some(node) => caller = Some(node),
                None => break,
            }
        }
        let node = caller.and_then(|node| growing.tree.nodes.get_mut(node as usize));
        if let Some(node) = node {
            node.own = node.own.saturating_add(spent);
        }
    }
    growing.tree
}

impl Growing {
    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(known) = self.frames.get(&frame) {
            return *known;
        }
        let index = self.tree.frames.len() as u32;
        self.tree.frames.push(frame.clone());
        self.frames.insert(frame, index);
        index
    }

    /// The node of a call; `None` if the tree is full.
    fn call(&mut self, caller: Option<u32>, frame: u32) -> Option<u32> {
        if let Some(known) = self.calls.get(&(caller, frame)) {
            return Some(*known);
        }
        let index = self.tree.nodes.len();
        // A busy server has some thousands. Of stacks beyond, the rarest ones, only the beginning is kept.
        if index >= PROFILE_NODES {
            return None;
        }
        self.tree.nodes.push(CallNode { caller, frame, own: 0 });
        self.calls.insert((caller, frame), index as u32);
        Some(index as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(_: i32, address: u64) -> Frame {
        let function = ["main", "read", "parse"][address as usize % 3].to_owned();
        Frame { function, module: "server".to_owned() }
    }

    #[test]
    fn stacks_that_begin_alike_share_nodes() {
        // Two addresses of the same function are one frame.
        let stacks = [(vec![1, 0], 5), (vec![4, 0], 2), (vec![2, 1, 0], 3), (vec![0], 1)];
        let stacks = stacks.map(|(addresses, spent)| ((7, addresses.into_boxed_slice()), spent));
        let tree = tree(&stacks.into_iter().collect(), named);
        assert_eq!(tree.frames.len(), 3);
        let nodes: Vec<(u32, u32, u64)> = tree.nodes.iter().map(|node| (*node).into()).collect();
        assert_eq!(nodes, [(0, 0, 1), (1, 1, 7), (2, 2, 3)]);
        assert_eq!(tree.total(), 11);
        assert_eq!(tree.inclusive(), [11, 10, 3]);
    }
}
