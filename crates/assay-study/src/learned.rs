//! Durations of rounds in earlier runs, so that a resumed study repeats no wrong estimate.

use std::collections::BTreeMap;

use assay_model::{CellId, Slice, StudyRecord};
use assay_verdict::{Fitness, Sample};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RoundTime {
    pub(crate) cell: usize,
    /// Of a usual round, all systems together.
    pub(crate) seconds: f64,
}

/// Durations of rounds, for cells whose record shows them: until the next round of the same cell began.
pub(crate) fn round_times(record: &StudyRecord) -> Vec<RoundTime> {
    let cells = record.study.cells.iter().enumerate();
    let indices: BTreeMap<CellId, usize> = cells.map(|(index, cell)| (cell.id, index)).collect();
    // Start of each round, and whether all its slices are representative.
    let mut rounds: BTreeMap<(usize, u32, usize, u32), (i64, bool)> = BTreeMap::new();
    for slice in &record.slices {
        let Some(&cell) = indices.get(&slice.cell) else { continue };
        let of = (slice.run, slice.block, cell, slice.round);
        let round = rounds.entry(of).or_insert((slice.started_ms, true));
        round.0 = round.0.min(slice.started_ms);
        round.1 &= is_usual(slice);
    }
    let pairs = rounds.iter().zip(rounds.iter().skip(1));
    let mut times: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for ((one, &(began_ms, is_usual)), (next, &(ended_ms, _))) in pairs {
        let &(run, block, cell, round) = one;
        let is_next = *next == (run, block, cell, round.saturating_add(1));
        let seconds = ended_ms.saturating_sub(began_ms) as f64 / 1000.0;
        if is_next && is_usual && seconds > 0.0 {
            times.entry(cell).or_default().push(seconds);
        }
    }
    let middle = |(cell, mut times): (usize, Vec<f64>)| {
        times.sort_unstable_by(f64::total_cmp);
        // The lower median: the machine may have been busy, or its clock set.
        let seconds = *times.get(times.len().saturating_sub(1) / 2)?;
        Some(RoundTime { cell, seconds })
    };
    times.into_iter().filter_map(middle).collect()
}

fn is_usual(slice: &Slice) -> bool {
    matches!(Sample::of(slice).fitness, Fitness::Good | Fitness::Troubled)
}
