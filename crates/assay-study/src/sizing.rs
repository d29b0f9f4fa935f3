//! Sizes of write slices in events, and limits on rounds of tests that use up their rows. Both are equal for all
//! systems, so that the systems share one history.

use assay_model::{Class, PlannedCell, Setup, Study};
use assay_plan::ROUNDS_MIN;

/// Largest share of rows that `delete` slices of a block may remove. Beyond it, too many deletes would find nothing.
const DELETED_SHARE: f64 = 0.3;

const EVENTS_MIN: f64 = 10.0;

/// Factor that limits a cell's rounds when machine trouble spoils some.
const REPEATS: u32 = 2;

pub(crate) fn is_unsized(cell: &PlannedCell) -> bool {
    cell.id.test.class == Class::Write && cell.events.is_none()
}

/// Whether the turn length is undecided. A test that uses up its rows has none to spare for finding it.
pub(crate) fn is_untimed(cell: &PlannedCell) -> bool {
    cell.warm_us.is_none() && cell.turns() > 1 && !cell.id.test.planning.uses_up_rows
}

/// Events of a write slice of the planned duration at `rate` events per second: fewer if the test would use up too many
/// rows, and at least a minimum per client.
#[must_use]
pub(crate) fn write_events(study: &Study, cell: &PlannedCell, rate: f64) -> u64 {
    let mut events = rate * f64::from(cell.slice_ms) / 1000.0;
    if cell.id.test.planning.uses_up_rows {
        let rounds = f64::from(ROUNDS_MIN);
        events = events.min(deletable(study, cell.id.setup) / (rounds * with_warm(cell)));
    }
    events.max(least(cell) * f64::from(cell.id.setup.clients)).ceil() as u64
}

/// Fewest events per client, fewer where an event changes many rows and takes long.
fn least(cell: &PlannedCell) -> f64 {
    if cell.id.test.planning.rows_per_event >= MANY_ROWS { 1.0 } else { EVENTS_MIN }
}

/// Rows of an event that takes as long as many others.
const MANY_ROWS: u32 = 1000;

#[must_use]
pub fn mean_rate(rates: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = rates.filter(|rate| *rate > 0.0).map(f64::ln).collect();
    if logs.is_empty() { 0.0 } else { (logs.iter().sum::<f64>() / logs.len() as f64).exp() }
}

/// Length of a slice with its warm parts, in slices.
fn with_warm(cell: &PlannedCell) -> f64 {
    let measured_us = f64::from(cell.slice_ms) * 1000.0 / f64::from(cell.turns());
    1.0 + cell.warm_time_us() as f64 / measured_us.max(1.0)
}

fn deletable(study: &Study, setup: Setup) -> f64 {
    let uses_them =
        |it: &&PlannedCell| it.id.test.planning.uses_up_rows && it.id.setup.data() == setup.data();
    let cells = study.cells.iter().filter(uses_them).count();
    let rows = f64::from(setup.tables) * f64::from(setup.rows);
    rows * DELETED_SHARE / cells.max(1) as f64
}

/// Wanted good rounds and maximum rounds of a cell in a block with time for `affordable` rounds. A test that uses up
/// its rows takes few.
pub(crate) fn rounds_for(study: &Study, cell: &PlannedCell, affordable: u32) -> (u32, u32) {
    let most = match (cell.id.test.planning.uses_up_rows, cell.events) {
        (true, Some(events)) => {
            let once = events as f64 * with_warm(cell);
            (deletable(study, cell.id.setup) / once) as u32 / ROUNDS_MIN * ROUNDS_MIN
        }
        _ => u32::MAX,
    };
    let wanted = affordable.min(most).max(ROUNDS_MIN);
    (wanted, wanted.saturating_mul(REPEATS).min(most).max(ROUNDS_MIN))
}
