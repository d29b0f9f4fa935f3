//! Tests whether rates differ between nodes.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF as _, FisherSnedecor};

use crate::robust::mean;

/// Whether a ratio of two systems differs between nodes more than between blocks of a node (one-way analysis of
/// variance).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NodeTest {
    /// p-value of "all nodes have the same ratio".
    pub(crate) p_value: f64,
    /// Variance between nodes, in addition to that between their blocks; at least 0.
    pub(crate) variance: f64,
    /// Excess of the squares between nodes over the expectation from blocks.
    excess: f64,
    /// Inverse of the variance between nodes that adds one to the excess.
    per_variance: f64,
}

impl NodeTest {
    /// Tests centres of blocks, each with its node; `None` for a single node, or if no node has two blocks.
    pub(crate) fn from_blocks(blocks: impl Iterator<Item = (u32, f64)>) -> Option<Self> {
        let mut nodes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        blocks.for_each(|(node, centre)| nodes.entry(node).or_default().push(centre));
        let all: Vec<f64> = nodes.values().flatten().copied().collect();
        let (between_df, within_df) = (nodes.len().checked_sub(1)?, all.len() - nodes.len());
        if between_df == 0 || within_df == 0 {
            return None;
        }
        let grand = mean(&all);
        let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
        for node in nodes.values() {
            let (own, count) = (mean(node), node.len() as f64);
            between += count * (own - grand).powi(2);
            within += node.iter().map(|value| (value - own).powi(2)).sum::<f64>();
            squares += count * count;
        }
        let (all, between_df, within_df) = (all.len() as f64, between_df as f64, within_df as f64);
        let of_blocks = within / within_df;
        let ratio = between / between_df / of_blocks;
        let distribution = FisherSnedecor::new(between_df, within_df).ok()?;
        let excess = between - between_df * of_blocks;
        let per_variance = all - squares / all;
        ratio.is_finite().then(|| Self {
            p_value: distribution.sf(ratio),
            variance: (excess / per_variance).max(0.0),
            excess,
            per_variance,
        })
    }
}

pub(crate) fn between_nodes(tests: impl Iterator<Item = NodeTest>) -> f64 {
    let (mut excess, mut per_variance) = (0.0, 0.0);
    for test in tests {
        excess += test.excess;
        per_variance += test.per_variance;
    }
    if per_variance > 0.0 { (excess / per_variance).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(nodes: &[&[f64]]) -> Option<NodeTest> {
        let blocks = |(node, values): (u32, &&[f64])| -> Vec<(u32, f64)> {
            values.iter().map(|value| (node, *value)).collect()
        };
        NodeTest::from_blocks((0..).zip(nodes).flat_map(blocks))
    }

    #[test]
    fn the_test_is_that_of_scipy() {
        let test = test(&[&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0], &[5.0, 6.0, 7.0]]).unwrap();
        assert!((test.p_value - 0.006_591_8).abs() < 1e-5, "{test:?}");
        // Mean squares of 13 and 1, three blocks a node.
        assert!((test.variance - 4.0).abs() < 1e-9, "{test:?}");
        let equal = between_nodes([test, NodeTest { excess: -1e9, ..test }].into_iter());
        assert_eq!(equal, 0.0);
    }

    #[test]
    fn without_two_nodes_or_a_second_block_there_is_no_test() {
        assert_eq!(test(&[]), None);
        assert_eq!(test(&[&[1.0, 2.0]]), None);
        assert_eq!(test(&[&[1.0], &[2.0]]), None);
        assert_eq!(test(&[&[1.0, 1.0], &[1.0, 1.0]]), None);
    }
}
