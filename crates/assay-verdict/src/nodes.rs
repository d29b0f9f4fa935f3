//! Nodes: the machines that measured the shards of a study.

use std::collections::BTreeMap;

use assay_model::{CellId, Host, Run, StudyRecord};
use statrs::distribution::{ContinuousCDF as _, FisherSnedecor};

use crate::effect::Reduced;
use crate::looks::ALPHA;
use crate::robust::mean;
use crate::sample::{Fitness, Sample};
use crate::{CellJudgement, benjamini_hochberg};

/// The nodes of a study that several have measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Nodes {
    /// Each of them, in the order of their names.
    pub each: Vec<NodeSummary>,
    /// Cells and systems whose ratio to the base can be compared between nodes.
    pub tested: u32,
    /// Those of them whose ratio differs between nodes by more than between the blocks of a node, at a false discovery
    /// rate of 5%.
    pub differing: Vec<(CellId, usize)>,
}

/// What a node has measured.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeSummary {
    /// Its name.
    pub name: String,
    /// The machine, as of its first run.
    pub host: Host,
    /// Blocks that it measured.
    pub blocks: u32,
    /// Slices that it measured, whatever their outcome.
    pub slices: u32,
    /// The rate of the base, divided by the mean of all nodes: the geometric mean over the cells that several nodes
    /// measured; `None` without one.
    pub speed: Option<f64>,
}

/// What there is to say of the nodes of a study; `None` if one machine measured it. `rates` are the relative rates of
/// the cells.
pub(crate) fn summaries(
    record: &StudyRecord,
    cells: &[CellJudgement],
    rates: &[Option<Reduced>],
) -> Option<Nodes> {
    let nodes = nodes(record);
    let count = nodes.iter().max().map_or(0, |last| last + 1);
    if count < 2 {
        return None;
    }
    let test = |(cell, rate): (&CellJudgement, &Option<Reduced>)| {
        Some(((cell.cell, cell.system), rate.as_ref()?.node_test?.p_value))
    };
    let tests: Vec<((CellId, usize), f64)> = cells.iter().zip(rates).filter_map(test).collect();
    let p_values: Vec<f64> = tests.iter().map(|(_, p_value)| *p_value).collect();
    let differs = benjamini_hochberg(&p_values, ALPHA);
    let differing = tests.iter().zip(differs).filter(|(_, differs)| *differs);
    let differing = differing.map(|((key, _), _)| *key).collect();
    let speeds = speeds(record, &nodes);
    let each = (0..count).filter_map(|node| {
        let of_node = |run: &usize| nodes.get(*run) == Some(&node);
        let first = (0..record.runs.len()).find(of_node).and_then(|run| record.runs.get(run))?;
        let slices = || record.slices.iter().filter(|slice| of_node(&slice.run));
        let mut blocks: Vec<u32> = slices().map(|slice| slice.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Some(NodeSummary {
            name: name(first).to_owned(),
            host: first.host.clone(),
            blocks: blocks.len() as u32,
            slices: slices().count() as u32,
            speed: speeds.get(&node).copied(),
        })
    });
    Some(Nodes { each: each.collect(), tested: tests.len() as u32, differing })
}

/// The speed of each node relative to the mean of all, by the rates of the base.
fn speeds(record: &StudyRecord, nodes: &[u32]) -> BTreeMap<u32, f64> {
    let base = record.systems.iter().position(|system| system.is_base).unwrap_or(0);
    let mut rates: BTreeMap<CellId, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for slice in record.slices_that_count().filter(|slice| slice.system == base) {
        let sample = Sample::of(slice);
        let is_judged = matches!(sample.fitness, Fitness::Good | Fitness::Troubled);
        let rate = sample.rate.filter(|rate| is_judged && *rate > 0.0);
        if let Some((rate, node)) = rate.zip(nodes.get(slice.run)) {
            rates.entry(slice.cell).or_default().entry(*node).or_default().push(rate.ln());
        }
    }
    let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for of_cell in rates.into_values().filter(|nodes| nodes.len() > 1) {
        let means = of_cell.into_iter().map(|(node, logs)| (node, mean(&logs)));
        let means: Vec<(u32, f64)> = means.collect();
        let all = mean(&means.iter().map(|(_, log)| *log).collect::<Vec<_>>());
        for (node, log) in means {
            logs.entry(node).or_default().push(log - all);
        }
    }
    logs.into_iter().map(|(node, logs)| (node, mean(&logs).exp())).collect()
}

fn name(run: &Run) -> &str {
    run.shard.as_ref().map_or("", |shard| &shard.node)
}

/// The node of each run of a study, from 0 in the order of their names; all are 0 in a study of one machine.
pub(crate) fn nodes(record: &StudyRecord) -> Vec<u32> {
    let mut names: Vec<&str> = record.runs.iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    let index = |run| names.binary_search(&name(run)).map_or(0, |index| index as u32);
    record.runs.iter().map(index).collect()
}

/// Whether a ratio of two systems differs from node to node by more than from block to block of a node (one-way
/// analysis of variance).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NodeTest {
    /// The p-value of "all nodes have the same ratio".
    pub(crate) p_value: f64,
    /// Variance between nodes, in addition to that between their blocks; at least 0.
    pub(crate) variance: f64,
    /// By how much the squares between nodes exceed what the blocks let expect.
    excess: f64,
    /// The variance between nodes that adds one to the excess, inverted.
    per_variance: f64,
}

impl NodeTest {
    /// Of the centres of blocks, each with its node; `None` without two nodes, or without two blocks on any of them.
    pub(crate) fn of(blocks: impl Iterator<Item = (u32, f64)>) -> Option<Self> {
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

/// The variance between nodes that the tests of all cells show together.
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
        let of = |(node, values): (u32, &&[f64])| -> Vec<(u32, f64)> {
            values.iter().map(|value| (node, *value)).collect()
        };
        NodeTest::of((0..).zip(nodes).flat_map(of))
    }

    /// `scipy.stats.f_oneway([1, 2, 3], [2, 3, 4], [5, 6, 7])`: F = 13, p = 0.00659.
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
