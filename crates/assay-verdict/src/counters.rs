//! Counters of the servers' own status, per operation: those in which a system differs from the base.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{STATUS_LEVELS, Slice};

use crate::change::{Changed, jackknife};
use crate::sequential::ALPHA;

/// A counter has changed when its ratio leaves 1 by more than this.
const CHANGED: f64 = 0.05;

/// Smaller changes per operation are those of the server's housekeeping.
const LEAST: f64 = 1e-3;

/// A study with more names of counters was not measured by assay.
const NAMES_MAX: usize = 200;

/// A counter of the server's status, per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterChange {
    /// Its name on the server, such as `Innodb_rows_read`.
    pub name: String,
    /// Per operation of the base and of the system; for a level ([`STATUS_LEVELS`]), the mean.
    pub changed: Changed,
}

/// Operations, and by how much the counters grew.
#[derive(Debug, Clone, Default)]
struct Block<'a> {
    ops: f64,
    grown: BTreeMap<&'a str, f64>,
}

impl Block<'_> {
    fn of(&self, name: &str) -> f64 {
        self.grown.get(name).copied().unwrap_or(0.0)
    }
}

/// The counters that both systems have and that changed from one system's slices to another's, over the blocks that
/// both have: the largest change first. `None` if they were not read in all slices.
///
/// A change must exceed its interval of confidence 1 − [`ALPHA`] / number of counters (Bonferroni), so that of all
/// counters of a test, chance makes any appear in at most [`ALPHA`] of the cases.
pub(crate) fn changes(base: &[&Slice], other: &[&Slice]) -> Option<Vec<CounterChange>> {
    let (base, other) = (by_block(base)?, by_block(other)?);
    let pairs: Vec<[&Block; 2]> =
        base.iter().filter_map(|(block, base)| Some([base, other.get(block)?])).collect();
    let names = |side: usize| -> BTreeSet<&str> {
        let blocks = pairs.iter().filter_map(|pair| pair.get(side));
        blocks.flat_map(|block| block.grown.keys().copied()).collect()
    };
    // What one version does not count did not fall to nothing.
    let names: Vec<&str> = names(0).intersection(&names(1)).copied().collect();
    if names.len() > NAMES_MAX {
        return None;
    }
    let level = ALPHA / names.len().max(1) as f64;
    let mut changes: Vec<CounterChange> =
        names.iter().filter_map(|name| change(&pairs, name, level)).collect();
    changes.sort_by(|one, next| size(next).total_cmp(&size(one)));
    Some(changes)
}

/// The change of a counter, if it is certain at this level and large enough to matter.
fn change(pairs: &[[&Block; 2]], name: &str, level: f64) -> Option<CounterChange> {
    let sums = [0, 1].map(|side| {
        let blocks = pairs.iter().filter_map(|pair| pair.get(side));
        blocks.fold((0.0, 0.0), |(ops, grown), block| (ops + block.ops, grown + block.of(name)))
    });
    // Counts are whole numbers, so what is left without a block is exact.
    let per_op = |left_out: Option<&[&Block; 2]>| -> Option<[f64; 2]> {
        let mut values = [0.0; 2];
        for (side, (value, (ops, grown))) in values.iter_mut().zip(sums).enumerate() {
            let without = left_out.and_then(|pair| pair.get(side));
            let ops = ops - without.map_or(0.0, |block| block.ops);
            *value = (grown - without.map_or(0.0, |block| block.of(name))) / ops;
            if ops <= 0.0 {
                return None;
            }
        }
        Some(values)
    };
    let [before, after] = per_op(None)?;
    let difference = |pair| per_op(Some(pair)).map(|[before, after]| after - before);
    let partial: Vec<f64> = pairs.iter().filter_map(difference).collect();
    let at = |level| Changed { before, after, by: jackknife(after - before, &partial, level) };
    let is_large = (after - before).abs() > (CHANGED * before).max(LEAST);
    (is_large && at(level).is_certain())
        .then(|| CounterChange { name: name.to_owned(), changed: at(ALPHA) })
}

/// How far the ratio is from 1. What was never counted before comes first.
fn size(change: &CounterChange) -> f64 {
    (change.changed.after.max(f64::MIN_POSITIVE) / change.changed.before.max(f64::MIN_POSITIVE))
        .ln()
        .abs()
}

fn by_block<'a>(slices: &[&'a Slice]) -> Option<BTreeMap<u32, Block<'a>>> {
    let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
    for slice in slices {
        let block = blocks.entry(slice.block).or_default();
        block.ops += slice.counted_ops();
        for (name, grown) in slice.status.as_ref()? {
            // A level becomes its mean over the operations.
            let is_level = STATUS_LEVELS.contains(&name.as_str());
            let weight = if is_level { slice.counted_ops() } else { 1.0 };
            *block.grown.entry(name).or_default() += weight * *grown as f64;
        }
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(ops: f64, counters: &[(&'static str, f64)]) -> Block<'static> {
        Block { ops, grown: counters.iter().copied().collect() }
    }

    #[test]
    fn what_changed_for_certain_is_told_per_operation() {
        let base: Vec<Block> = (0..5)
            .map(|at| block(1000.0, &[("read", 1000.0), ("noisy", f64::from(at) * 90.0)]))
            .collect();
        let other: Vec<Block> = (0..5)
            .map(|at| {
                let noisy = f64::from(4 - at) * 100.0;
                block(500.0, &[("read", 1000.0 + f64::from(at)), ("waits", 50.0), ("noisy", noisy)])
            })
            .collect();
        let pairs: Vec<[&Block; 2]> =
            base.iter().zip(&other).map(|(base, other)| [base, other]).collect();
        let read = change(&pairs, "read", ALPHA).unwrap().changed;
        assert!((read.before - 1.0).abs() < 1e-9 && (read.after - 2.004).abs() < 1e-9, "{read:?}");
        assert!(read.by.low > 1.0 && read.by.high < 1.01, "{read:?}");
        // It differs from block to block as much as between the systems.
        assert_eq!(change(&pairs, "noisy", ALPHA), None);
        // Blocks that are all alike leave no doubt.
        let waits = change(&pairs, "waits", ALPHA).unwrap();
        assert!(
            (waits.changed.after - 0.1).abs() < 1e-9
                && size(&waits) > size(&change(&pairs, "read", ALPHA).unwrap())
        );
    }
}
