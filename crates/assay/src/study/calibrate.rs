//! How many events a write slice has: the same for all systems, so that they share one history.

use anyhow::Result;
use assay_model::{Class, PlannedCell, Setup, Study};
pub(crate) use assay_plan::ROUNDS_MIN;

use super::recorder::Recorder;
use super::template::Templates;
use super::trust;

/// Part of the rows that the `delete` slices of a block may remove: beyond, too many deletes would find nothing.
const DELETED_SHARE: f64 = 0.3;

/// Events of a slice at least.
const EVENTS_MIN: f64 = 10.0;

/// Sizes the write slices of one client by the rates at which the data were aged, so that they take about the planned
/// time. Those of several clients are sized when they are first measured.
pub(crate) fn write_slices(templates: &Templates, recorder: &mut Recorder) -> Result<()> {
    let study = recorder.study();
    for cell in study.cells.iter().filter(|cell| cell.events.is_some()) {
        trust::check_events(&study.id, cell, events(study, cell, templates.rate(cell.id)))?;
    }
    let writes: Vec<PlannedCell> = recorder
        .study()
        .cells
        .iter()
        .filter(|cell| is_unsized(cell) && cell.id.setup.clients == 1)
        .cloned()
        .collect();
    for cell in writes {
        let rate = templates.rate(cell.id);
        recorder.calibrated(cell.id, events(recorder.study(), &cell, rate))?;
    }
    Ok(())
}

/// Whether it is not known yet how many events a slice of the cell has.
pub(crate) fn is_unsized(cell: &PlannedCell) -> bool {
    cell.id.test.class == Class::Write && cell.events.is_none()
}

/// Events of a write slice of the planned length at that rate, events per second.
pub(crate) fn events(study: &Study, cell: &PlannedCell, rate: f64) -> u64 {
    let mut events = rate * f64::from(cell.slice_ms) / 1000.0;
    if cell.id.test.habits.uses_up_rows {
        let rounds = f64::from(ROUNDS_MIN);
        events = events.min(deletable(study, cell.id.setup) / (rounds * WITH_WARM));
    }
    events.max(EVENTS_MIN * f64::from(cell.id.setup.clients)).ceil() as u64
}

/// Geometric mean of rates; 0 when there are none.
pub(crate) fn mean_rate(rates: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = rates.filter(|rate| *rate > 0.0).map(f64::ln).collect();
    if logs.is_empty() { 0.0 } else { (logs.iter().sum::<f64>() / logs.len() as f64).exp() }
}

/// A slice with its warm part, in slices.
const WITH_WARM: f64 = 1.25;

/// Rows that all slices of one cell may use up in a block.
fn deletable(study: &Study, setup: Setup) -> f64 {
    let takes_from_it =
        |it: &&PlannedCell| it.id.test.habits.uses_up_rows && it.id.setup.data() == setup.data();
    let cells = study.cells.iter().filter(takes_from_it).count();
    let rows = f64::from(setup.tables) * f64::from(setup.rows);
    rows * DELETED_SHARE / cells.max(1) as f64
}

/// A cell takes at most this many times its rounds when rounds are spoilt by machine trouble.
const REPEATS: u32 = 2;

/// Of the rounds that a block has time for: how many good ones a cell wants, and how many it may take in all.
///
/// Few for a test that uses up its rows.
pub(crate) fn rounds_for(study: &Study, cell: &PlannedCell, affordable: u32) -> (u32, u32) {
    let most = match (cell.id.test.habits.uses_up_rows, cell.events) {
        (true, Some(events)) => {
            let once = events as f64 * WITH_WARM;
            (deletable(study, cell.id.setup) / once) as u32 / ROUNDS_MIN * ROUNDS_MIN
        }
        _ => u32::MAX,
    };
    let wanted = affordable.min(most).max(ROUNDS_MIN);
    (wanted, wanted.saturating_mul(REPEATS).min(most).max(ROUNDS_MIN))
}
