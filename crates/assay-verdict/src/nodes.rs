//! Nodes: the machines that measured the shards of a study.

use std::collections::BTreeMap;

use assay_model::{CellId, Estimate, Host, Run, StudyRecord};

use crate::effect::BlockCentres;
use crate::looks::ALPHA;
use crate::robust::mean;
use crate::sample::{Fitness, SliceSample};
use crate::student::upper_quantile;
use crate::{CellJudgement, benjamini_hochberg};

#[derive(Debug, Clone, PartialEq)]
pub struct Nodes {
    pub each: Vec<NodeSummary>,
    pub tested: u32,
    /// Those whose ratio differs between nodes more than between the blocks of a node, at a false discovery rate of 5%.
    pub differing: Vec<(CellId, usize)>,
    pub rates: Vec<NodeRate>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeRate {
    pub cell: CellId,
    pub system: usize,
    pub node: usize,
    pub blocks: u32,
    /// Operations per second: the geometric mean of the blocks.
    pub qps: f64,
    /// Rate relative to the geometric mean of all nodes with the same measurement; `None` on the only one. It has an
    /// interval if a node has two blocks or more.
    pub relative: Option<Estimate>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NodeSummary {
    pub name: String,
    pub host: Host,
    pub blocks: u32,
    pub slices: u32,
    /// Rate of the base relative to the mean of all nodes: geometric mean over the cells measured by several nodes;
    /// `None` without any.
    pub speed: Option<f64>,
}

/// `None` if one machine measured the study. `rates`: relative rates of the cells.
pub(crate) fn summaries(
    record: &StudyRecord,
    cells: &[CellJudgement],
    rates: &[Option<BlockCentres>],
) -> Option<Nodes> {
    let nodes = nodes(record);
    let count = nodes.iter().max().map_or(0, |last| last + 1);
    if count < 2 {
        return None;
    }
    let test = |(cell, rate): (&CellJudgement, &Option<BlockCentres>)| {
        Some(((cell.cell, cell.system), rate.as_ref()?.node_test?.p_value))
    };
    let tests: Vec<((CellId, usize), f64)> = cells.iter().zip(rates).filter_map(test).collect();
    let p_values: Vec<f64> = tests.iter().map(|(_, p_value)| *p_value).collect();
    let differs = benjamini_hochberg(&p_values, ALPHA);
    let differing = tests.iter().zip(differs).filter(|(_, differs)| *differs);
    let differing = differing.map(|((key, _), _)| *key).collect();
    let rates = node_rates(record, cells, &nodes);
    let base = record.systems.iter().position(|system| system.is_base).unwrap_or(0);
    let speed = |node: usize| {
        let of_base = rates.iter().filter(|rate| (rate.system, rate.node) == (base, node));
        let logs: Vec<f64> = of_base.filter_map(|rate| Some(rate.relative?.value.ln())).collect();
        (!logs.is_empty()).then(|| mean(&logs).exp())
    };
    let each = (0..count).filter_map(|node| {
        let of_node = |run: &usize| nodes.get(*run) == Some(&node);
        let first = &record.runs[(0..record.runs.len()).find(of_node)?];
        let slices = || record.slices.iter().filter(|slice| of_node(&slice.run));
        let mut blocks: Vec<u32> = slices().map(|slice| slice.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Some(NodeSummary {
            name: name(first).to_owned(),
            host: first.host.clone(),
            blocks: blocks.len() as u32,
            slices: slices().count() as u32,
            speed: speed(node as usize),
        })
    });
    Some(Nodes { each: each.collect(), tested: tests.len() as u32, differing, rates })
}

type BlockLogs = BTreeMap<u32, Vec<f64>>;

fn node_rates(record: &StudyRecord, cells: &[CellJudgement], nodes: &[u32]) -> Vec<NodeRate> {
    let mut logs: BTreeMap<(CellId, usize), BTreeMap<u32, BlockLogs>> = BTreeMap::new();
    for slice in record.slices_that_count() {
        let sample = SliceSample::from_slice(slice);
        let is_judged = matches!(sample.fitness, Fitness::Good | Fitness::Troubled);
        let rate = sample.rate.filter(|rate| is_judged && *rate > 0.0);
        if let Some((rate, node)) = rate.zip(nodes.get(slice.run)) {
            let of_node = logs.entry((slice.cell, slice.system)).or_default().entry(*node);
            of_node.or_default().entry(slice.block).or_default().push(rate.ln());
        }
    }
    let of_cell = |cell: &CellJudgement| {
        let of_nodes = logs.remove(&(cell.cell, cell.system)).unwrap_or_default();
        let centres = |blocks: BlockLogs| blocks.values().map(|it| mean(it)).collect();
        let (nodes, blocks): (Vec<u32>, Vec<Vec<f64>>) =
            of_nodes.into_iter().map(|(node, blocks)| (node, centres(blocks))).unzip();
        let rates = nodes.into_iter().zip(&blocks).zip(relative(&blocks));
        let rates = rates.map(|((node, blocks), relative)| NodeRate {
            cell: cell.cell,
            system: cell.system,
            node: node as usize,
            blocks: blocks.len() as u32,
            qps: mean(blocks).exp(),
            relative,
        });
        rates.collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}

/// Rate of each node relative to the geometric mean of all, from the log rates of its blocks.
fn relative(nodes: &[Vec<f64>]) -> Vec<Option<Estimate>> {
    if nodes.len() < 2 {
        return vec![None; nodes.len()];
    }
    let means: Vec<f64> = nodes.iter().map(|blocks| mean(blocks)).collect();
    let (all, count) = (mean(&means), nodes.len() as f64);
    let of_node = |(blocks, own): (&Vec<f64>, &f64)| -> f64 {
        blocks.iter().map(|log| (log - own).powi(2)).sum()
    };
    let squares: f64 = nodes.iter().zip(&means).map(of_node).sum();
    let df = nodes.iter().map(|blocks| blocks.len() as f64 - 1.0).sum::<f64>();
    let error = |blocks: &Vec<f64>| squares / df / blocks.len() as f64;
    let of_all = nodes.iter().map(error).sum::<f64>() / (count * count);
    let each = nodes.iter().zip(&means).map(|(blocks, own)| {
        let log = own - all;
        if df == 0.0 {
            return Some(Estimate::without_interval(log.exp()));
        }
        // The mean of all includes the node's own error.
        let se = (error(blocks) * (1.0 - 2.0 / count) + of_all).sqrt();
        let half = upper_quantile(ALPHA / 2.0, df) * se;
        Some(Estimate { value: log.exp(), low: (log - half).exp(), high: (log + half).exp() })
    });
    each.collect()
}

fn name(run: &Run) -> &str {
    run.shard.as_ref().map_or("", |shard| &shard.node)
}

/// Node of each run, from 0 in order of name; all 0 in a study of one machine.
pub(crate) fn nodes(record: &StudyRecord) -> Vec<u32> {
    let mut names: Vec<&str> = record.runs.iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    let index = |run| names.binary_search(&name(run)).map_or(0, |index| index as u32);
    record.runs.iter().map(index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.t.ppf(0.975, 6)` = 2.4469. The blocks have variance 1e-4, the means of nodes a third of it, and a
    /// mean minus that of all three two thirds of that.
    #[test]
    fn rates_of_nodes_are_relative_to_their_mean() {
        let blocks = |mean: f64| vec![mean - 0.01, mean, mean + 0.01];
        let rates = relative(&[blocks(5.0), blocks(5.1), blocks(5.2)]);
        let half = 2.4469 * (1e-4_f64 / 3.0 * 2.0 / 3.0).sqrt();
        let first = rates[0].unwrap();
        assert!((first.value - (-0.1_f64).exp()).abs() < 1e-9, "{first:?}");
        assert!((first.low - (-0.1 - half).exp()).abs() < 1e-5, "{first:?}");
        assert!((first.high - (-0.1 + half).exp()).abs() < 1e-5, "{first:?}");
        assert!((rates[1].unwrap().value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_second_block_or_node_there_is_no_interval() {
        let rates = relative(&[vec![5.0], vec![5.1]]);
        assert!(!rates[0].unwrap().has_interval());
        assert_eq!(relative(&[vec![5.0, 5.1]]), [None]);
    }
}
