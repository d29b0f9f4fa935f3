//! QPS of each system in a test, round by round.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{CellId, Slice, SliceOutcome, counted};

use super::drawing::{self, Chart, Values};
use super::study::JudgedStudy;
use crate::number::figure;

/// Values of a line. With more rounds, a value is the mean of several.
const VALUES: usize = 40;

const ROUNDS_MIN: usize = 3;

type Rounds<'a> = BTreeMap<(u32, u32), BTreeMap<usize, &'a Slice>>;

/// QPS of the base and of the systems compared with it, in this order, in each cell with enough rounds. Includes
/// troubled rounds.
pub(crate) fn charts(study: &JudgedStudy) -> BTreeMap<CellId, Chart> {
    let mut cells: BTreeMap<CellId, Rounds> = BTreeMap::new();
    for slice in study.record.slices_that_count() {
        let has_ended = !matches!(slice.outcome, SliceOutcome::Failed(_));
        // A step of the Insert Benchmark has charts of its seconds.
        if has_ended && slice.step.is_none() {
            let rounds = cells.entry(slice.cell).or_default();
            rounds.entry((slice.block, slice.round)).or_default().insert(slice.system, slice);
        }
    }
    let chart = |(cell, rounds): (CellId, Rounds)| Some((cell, chart(study, &rounds)?));
    cells.into_iter().filter_map(chart).collect()
}

fn chart(study: &JudgedStudy, rounds: &Rounds) -> Option<Chart> {
    if rounds.len() < ROUNDS_MIN {
        return None;
    }
    let together = rounds.len().div_ceil(VALUES);
    let rounds_in_order: Vec<&BTreeMap<usize, &Slice>> = rounds.values().collect();
    let line = |(number, system): (usize, usize)| -> Values {
        let mean = |rounds: &[&BTreeMap<usize, &Slice>]| {
            let rate = |round: &&BTreeMap<usize, &Slice>| round.get(&system)?.ops_per_second();
            let known: Vec<f64> = rounds.iter().filter_map(rate).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        (number, rounds_in_order.chunks(together).map(mean).collect())
    };
    let shown = std::iter::once(study.base).chain(study.compared.iter().copied());
    let lines: Vec<Values> = shown.enumerate().map(line).collect();
    let blocks: BTreeSet<u32> = rounds.keys().map(|(block, _)| *block).collect();
    let mean = match together {
        1 => String::new(),
        _ => format!(", each value the mean of {together}"),
    };
    let of = counted(rounds.len() as u64, "round");
    let blocks = counted(blocks.len() as u64, "block");
    drawing::chart("QPS round by round", &lines, |top| {
        format!("0 to {}, {of} in {blocks}{mean}", figure(Some(top)))
    })
}
