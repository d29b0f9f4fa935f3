//! Sizes of write slices in events, and limits on the rounds of tests that use up their rows. Both are the same for all
//! systems, so that the systems share one history.

use assay_model::{Class, PlannedCell, Setup, Study};
use assay_plan::ROUNDS_MIN;

/// The largest part of the rows that the `delete` slices of a block may remove. Beyond it, too many deletes would find
/// nothing.
const DELETED_SHARE: f64 = 0.3;

/// The fewest events of a slice, for each client.
const EVENTS_MIN: f64 = 10.0;

/// A cell whose rounds are spoiled by machine trouble takes at most this many times the rounds it wants.
const REPEATS: u32 = 2;

/// Whether the number of events of the cell's slices must still be decided.
pub(crate) fn is_unsized(cell: &PlannedCell) -> bool {
    cell.id.test.class == Class::Write && cell.events.is_none()
}

/// Whether the length of the cell's turns must still be chosen. A test that uses up its rows has none to spare for it.
pub(crate) fn is_untimed(cell: &PlannedCell) -> bool {
    cell.warm_us.is_none() && cell.turns() > 1 && !cell.id.test.planning.uses_up_rows
}

/// The number of events of a write slice that takes the planned time at `rate` events per second. It is smaller if the
/// test would use up too many rows, and never below a minimum for each client.
#[must_use]
pub(crate) fn write_events(study: &Study, cell: &PlannedCell, rate: f64) -> u64 {
    let mut events = rate * f64::from(cell.slice_ms) / 1000.0;
    if cell.id.test.planning.uses_up_rows {
        let rounds = f64::from(ROUNDS_MIN);
        events = events.min(deletable(study, cell.id.setup) / (rounds * with_warm(cell)));
    }
    events.max(least(cell) * f64::from(cell.id.setup.clients)).ceil() as u64
}

/// The least number of events of each client. An event that changes many rows takes long.
fn least(cell: &PlannedCell) -> f64 {
    if cell.id.test.planning.rows_per_event >= MANY_ROWS { 1.0 } else { EVENTS_MIN }
}

/// Rows of an event that takes as long as many others.
const MANY_ROWS: u32 = 1000;

/// Geometric mean of the rates that are above 0, in their unit; 0 if there are none.
#[must_use]
pub fn mean_rate(rates: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = rates.filter(|rate| *rate > 0.0).map(f64::ln).collect();
    if logs.is_empty() { 0.0 } else { (logs.iter().sum::<f64>() / logs.len() as f64).exp() }
}

/// The length of a slice with its warm parts, in slices.
fn with_warm(cell: &PlannedCell) -> f64 {
    let measured_us = f64::from(cell.slice_ms) * 1000.0 / f64::from(cell.turns());
    1.0 + cell.warm_time_us() as f64 / measured_us.max(1.0)
}

/// The number of rows that all slices of one cell may use up in a block.
fn deletable(study: &Study, setup: Setup) -> f64 {
    let uses_them =
        |it: &&PlannedCell| it.id.test.planning.uses_up_rows && it.id.setup.data() == setup.data();
    let cells = study.cells.iter().filter(uses_them).count();
    let rows = f64::from(setup.tables) * f64::from(setup.rows);
    rows * DELETED_SHARE / cells.max(1) as f64
}

/// The number of good rounds that a cell wants, and the number of rounds that it may take in all, in a block with time
/// for `affordable` rounds. A test that uses up its rows takes few.
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
