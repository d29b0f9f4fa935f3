//! Server status counters per operation that changed against the base.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{STATUS, STATUS_LEVELS, Slice};

use crate::change::{QuantityChange, jackknife};
use crate::looks::ALPHA;
use crate::reads::PAGES_FREE;
use crate::robust::median;

const CHANGED: f64 = 0.05;

/// Smaller changes per operation are server housekeeping.
const LEAST: f64 = 1e-3;

/// A study with more names of counters was not measured by assay.
const NAMES_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub struct CounterChange {
    pub name: String,
    /// Per operation of the base and of the system; for a level ([`STATUS_LEVELS`]), the mean.
    pub changed: QuantityChange,
    /// Whether most slices show at least half of the change. Rare events do not explain a usual ratio.
    pub is_usual: bool,
}

#[derive(Debug, Clone, Default)]
struct BlockCounters<'a> {
    ops: f64,
    grown: BTreeMap<&'a str, f64>,
}

impl BlockCounters<'_> {
    fn growth(&self, name: &str) -> f64 {
        self.grown.get(name).copied().unwrap_or(0.0)
    }
}

/// Common counters of both systems that changed, over their common blocks: the largest change first. `None` if they
/// were not read in all slices.
///
/// A change must exceed its interval of confidence 1 − [`ALPHA`] / number of counters (Bonferroni), so that chance
/// makes any counter of a test appear in at most [`ALPHA`] of the cases.
pub(crate) fn changes(base: &[&Slice], other: &[&Slice]) -> Option<Vec<CounterChange>> {
    let slices = [base, other];
    let (base, other) = (by_block(base)?, by_block(other)?);
    let pairs: Vec<[&BlockCounters; 2]> =
        base.iter().filter_map(|(block, base)| Some([base, other.get(block)?])).collect();
    let names = |side: usize| -> BTreeSet<&str> {
        let blocks = pairs.iter().filter_map(|pair| pair.get(side));
        blocks.flat_map(|block| block.grown.keys().copied()).collect()
    };
    // A counter missing in one version did not fall to zero.
    let names: BTreeSet<&str> = names(0).intersection(&names(1)).copied().collect();
    let names: Vec<&str> = names.into_iter().filter(|name| *name != PAGES_FREE).collect();
    if names.len() > NAMES_MAX {
        return None;
    }
    let level = ALPHA / names.len().max(1) as f64;
    let mut changes: Vec<CounterChange> =
        names.iter().filter_map(|name| change(&pairs, slices, name, level)).collect();
    changes.sort_by(|one, next| size(next).total_cmp(&size(one)));
    Some(changes)
}

/// Change of a counter, if significant at this level and large enough to matter. With too few blocks for an interval,
/// it is significant if all slices of one system exceed all slices of the other by most of the change.
fn change(
    pairs: &[[&BlockCounters; 2]],
    slices: [&[&Slice]; 2],
    name: &str,
    level: f64,
) -> Option<CounterChange> {
    let sums = [0, 1].map(|side| {
        let blocks = pairs.iter().filter_map(|pair| pair.get(side));
        blocks.fold((0.0, 0.0), |(ops, grown), block| (ops + block.ops, grown + block.growth(name)))
    });
    // Counts are integers, so leave-one-out sums are exact.
    let per_op = |left_out: Option<&[&BlockCounters; 2]>| -> Option<[f64; 2]> {
        let mut values = [0.0; 2];
        for (side, (value, (ops, grown))) in values.iter_mut().zip(sums).enumerate() {
            let without = left_out.and_then(|pair| pair.get(side));
            let ops = ops - without.map_or(0.0, |block| block.ops);
            *value = (grown - without.map_or(0.0, |block| block.growth(name))) / ops;
            if ops <= 0.0 {
                return None;
            }
        }
        Some(values)
    };
    let [before, after] = per_op(None)?;
    let difference = |pair| per_op(Some(pair)).map(|[before, after]| after - before);
    let partial: Vec<f64> = pairs.iter().filter_map(difference).collect();
    let at =
        |level| QuantityChange { before, after, by: jackknife(after - before, &partial, level) };
    let is_large = (after - before).abs() > (CHANGED * before).max(LEAST);
    if !is_large {
        return None;
    }
    let each = slices.map(|slices| each_slice(slices, name));
    let is_certain = if at(level).by.has_interval() {
        at(level).is_certain()
    } else {
        are_apart(&each, after - before)
    };
    is_certain.then(|| CounterChange {
        name: name.to_owned(),
        changed: at(ALPHA),
        is_usual: is_usual(&each, after - before),
    })
}

fn each_slice(slices: &[&Slice], name: &str) -> Vec<f64> {
    let is_level = STATUS_LEVELS.contains(&name);
    let key = format!("{STATUS}{name}");
    let value = |slice: &&Slice| {
        let grown = slice.counter(&key)?;
        let value = grown as f64 / if is_level { 1.0 } else { slice.counted_ops() };
        value.is_finite().then_some(value)
    };
    slices.iter().filter_map(value).collect()
}

fn is_usual([base, other]: &[Vec<f64>; 2], by: f64) -> bool {
    let medians = median(base).zip(median(other));
    medians.is_some_and(|(before, after)| (after - before) / by >= 0.5)
}

const APART_MIN: usize = 3;

fn are_apart([base, other]: &[Vec<f64>; 2], by: f64) -> bool {
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let gap = if by > 0.0 { least(other) - most(base) } else { least(base) - most(other) };
    base.len().min(other.len()) >= APART_MIN && gap >= 0.5 * by.abs()
}

/// Distance of the ratio from 1. Counters that were zero before come first.
fn size(change: &CounterChange) -> f64 {
    (change.changed.after.max(f64::MIN_POSITIVE) / change.changed.before.max(f64::MIN_POSITIVE))
        .ln()
        .abs()
}

fn by_block<'a>(slices: &[&'a Slice]) -> Option<BTreeMap<u32, BlockCounters<'a>>> {
    let mut blocks: BTreeMap<u32, BlockCounters> = BTreeMap::new();
    for slice in slices {
        let block = blocks.entry(slice.block).or_default();
        block.ops += slice.counted_ops();
        let mut status = slice.counters.status().peekable();
        status.peek()?;
        for (name, grown) in status {
            // A level becomes its mean over the operations.
            let is_level = STATUS_LEVELS.contains(&name);
            let weight = if is_level { slice.counted_ops() } else { 1.0 };
            *block.grown.entry(name).or_default() += weight * grown as f64;
        }
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(ops: f64, counters: &[(&'static str, f64)]) -> BlockCounters<'static> {
        BlockCounters { ops, grown: counters.iter().copied().collect() }
    }

    const NO_SLICES: [&[&Slice]; 2] = [&[], &[]];

    #[test]
    fn one_slice_of_many_is_not_usual() {
        let once = [vec![0.0; 5], vec![0.0, 0.0, 0.0, 0.0, 50.0]];
        assert!(!is_usual(&once, 10.0) && !are_apart(&once, 10.0));
        let always = [vec![0.0; 5], vec![9.0, 10.0, 11.0, 10.0, 10.0]];
        assert!(is_usual(&always, 10.0) && are_apart(&always, 10.0));
        assert!(is_usual(&[always[1].clone(), always[0].clone()], -10.0));
        assert!(!are_apart(&[vec![0.0], vec![10.0]], 10.0));
    }

    #[test]
    fn what_changed_for_certain_is_told_per_operation() {
        let base: Vec<BlockCounters> = (0..5)
            .map(|at| block(1000.0, &[("read", 1000.0), ("noisy", f64::from(at) * 90.0)]))
            .collect();
        let other: Vec<BlockCounters> = (0..5)
            .map(|at| {
                let noisy = f64::from(4 - at) * 100.0;
                block(500.0, &[("read", 1000.0 + f64::from(at)), ("waits", 50.0), ("noisy", noisy)])
            })
            .collect();
        let pairs: Vec<[&BlockCounters; 2]> =
            base.iter().zip(&other).map(|(base, other)| [base, other]).collect();
        let read = change(&pairs, NO_SLICES, "read", ALPHA).unwrap().changed;
        assert!((read.before - 1.0).abs() < 1e-9 && (read.after - 2.004).abs() < 1e-9, "{read:?}");
        assert!(read.by.low > 1.0 && read.by.high < 1.01, "{read:?}");
        // It differs between blocks as much as between the systems.
        assert_eq!(change(&pairs, NO_SLICES, "noisy", ALPHA), None);
        // Identical blocks leave no doubt.
        let waits = change(&pairs, NO_SLICES, "waits", ALPHA).unwrap();
        assert!(
            (waits.changed.after - 0.1).abs() < 1e-9
                && size(&waits) > size(&change(&pairs, NO_SLICES, "read", ALPHA).unwrap())
        );
    }
}
