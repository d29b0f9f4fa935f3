//! Reports of callgrind.

use assay_callgrind::{Costs, read};
use assay_model::limits::PROFILE_NODES;

pub(crate) fn report(bytes: &[u8]) {
    let Ok(parts) = read(bytes) else { return };
    let mut all = Costs::default();
    all.add(parts.iter().map(|part| &part.costs));
    for part in &parts {
        let own: u64 = part.costs.functions().iter().map(|function| function.own).sum();
        assert_eq!(own, part.total, "functions do not add up");
        let tree = part.costs.tree();
        assert_eq!(tree.total(), part.total, "calls do not add up");
        let sizes = [tree.nodes.len(), tree.frames.len()];
        assert!(sizes.into_iter().all(|size| size <= PROFILE_NODES), "{sizes:?}");
        let is_first =
            |(at, caller): (usize, Option<u32>)| caller.is_none_or(|it| (it as usize) < at);
        let callers = tree.nodes.iter().map(|node| node.caller).enumerate();
        assert!(callers.into_iter().all(is_first), "a caller comes after what it calls");
    }
    let named = all.functions().iter().filter(|function| function.own > 0).count();
    assert!(all.tree().frames.len() >= named, "a function is missing");
}
