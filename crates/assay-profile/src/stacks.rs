//! Counts equal stacks and merges them into a call tree.

use std::collections::HashMap;

use assay_model::{CallTree, Frame, GrowingTree};

/// The process, and the addresses of a stack, the innermost first.
pub(crate) type Stack = (i32, Box<[u64]>);

pub(crate) type Stacks = HashMap<Stack, u64>;

pub(crate) fn tree(stacks: &Stacks, mut frame: impl FnMut(i32, u64) -> Frame) -> CallTree {
    let mut found: HashMap<(i32, u64), u32> = HashMap::new();
    let mut growing = GrowingTree::default();
    let mut ordered: Vec<(&Stack, u64)> =
        stacks.iter().map(|(stack, spent)| (stack, *spent)).collect();
    // The most frequent first, so that the rarest are cut. The order is deterministic.
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
        // A busy server has some thousands of calls. Of the rarest stacks beyond the capacity of a tree, only the
        // beginning is kept.
        if let Some(node) = caller {
            growing.spend(node, spent);
        }
    }
    growing.into_tree()
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
