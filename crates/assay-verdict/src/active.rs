//! Work of a system's clients, second by second of its own time.

use assay_model::{CellId, Slice, StudyRecord};

use crate::account::{Latency, latency};
use crate::sample::{Fitness, SliceSample};

/// About a second of measured time of a system in a cell: measured parts of consecutive turns, without other systems'
/// turns and warm parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActiveSecond {
    /// Duration in whole slices, so not exactly 1.
    pub seconds: f64,
    pub events: u64,
    pub queries: u64,
    /// `None` if no event ended.
    pub latency: Option<Latency>,
}

/// The seconds of a system in a cell, in order. Slices in machine trouble are omitted unless the cell `is_disturbed`,
/// so that verdicts use them. Each block has fresh instances.
pub fn active_seconds(
    record: &StudyRecord,
    cell: CellId,
    system: usize,
    is_disturbed: bool,
) -> Vec<ActiveSecond> {
    let is_wanted = |slice: &&Slice| {
        // First, because it is cheap, and every result looks at all slices.
        if (slice.cell, slice.system) != (cell, system) {
            return false;
        }
        match SliceSample::from_slice(slice).fitness {
            Fitness::Good => true,
            Fitness::Troubled => is_disturbed || slice.segment().is_some(),
            Fitness::Missed | Fitness::Mistimed | Fitness::Failed | Fitness::Unanswered => false,
        }
    };
    let mut slices: Vec<&Slice> = record.slices_that_count().filter(is_wanted).collect();
    slices.sort_by_key(|slice| (slice.block, slice.round));
    let mut seconds = Vec::new();
    let mut rest = slices.as_slice();
    while !rest.is_empty() {
        let (second, after) = rest.split_at(length(rest));
        seconds.extend(active_second(second));
        rest = after;
    }
    seconds
}

/// Number of slices in the next second: the fewest that last at least a second, or all if the rest is less than half a
/// second.
fn length(slices: &[&Slice]) -> usize {
    let mut ns = 0;
    let Some(last) = slices.iter().position(|slice| {
        ns = slice.work.elapsed_ns.saturating_add(ns);
        ns >= SECOND
    }) else {
        return slices.len();
    };
    let after = slices.iter().skip(last + 1).map(|slice| slice.work.elapsed_ns);
    let after = after.fold(0, u64::saturating_add);
    if after < SECOND / 2 { slices.len() } else { last + 1 }
}

const SECOND: u64 = 1_000_000_000;

fn active_second(slices: &[&Slice]) -> Option<ActiveSecond> {
    // The numbers of a ledger may be large.
    let total = |counter: fn(&Slice) -> u64| {
        slices.iter().map(|slice| counter(slice)).fold(0, u64::saturating_add)
    };
    let ns = total(|slice| slice.work.elapsed_ns);
    (ns > 0).then(|| ActiveSecond {
        seconds: ns as f64 / SECOND as f64,
        events: total(|slice| slice.work.events),
        queries: total(|slice| slice.work.queries()),
        latency: latency(slices.iter().copied()),
    })
}
