//! How many events a write slice has: the same for all systems, so that they share one history.

use anyhow::Result;
use assay_model::{Class, Kind, Microbenchmark, PlannedCell, Setup, Study};

use super::recorder::Recorder;
use super::template::Template;

/// Part of the rows that the `delete` slices of a block may remove: beyond, too many deletes would find nothing.
const DELETED_SHARE: f64 = 0.3;

/// Rounds of a cell in a block at least: one order of the systems and its reverse.
pub(crate) const ROUNDS_MIN: u32 = 2;

/// Events of a slice at least.
const EVENTS_MIN: f64 = 10.0;

/// Sizes the write slices by the rates at which the data were aged, so that they take about the planned time.
pub(crate) fn write_slices(templates: &[Template], recorder: &mut Recorder) -> Result<()> {
    let writes: Vec<PlannedCell> = recorder
        .study()
        .cells
        .iter()
        .filter(|cell| cell.id.test.class() == Class::Write)
        .cloned()
        .collect();
    for cell in writes {
        let mut events = mean_rate(templates, cell.id.test) * f64::from(cell.slice_ms) / 1000.0;
        if cell.id.test.kind == Kind::Delete {
            let rounds = f64::from(ROUNDS_MIN);
            events = events.min(deletable(recorder.study(), cell.id.setup) / (rounds * WITH_WARM));
        }
        let clients = f64::from(cell.id.setup.clients);
        recorder.calibrated(cell.id, events.max(EVENTS_MIN * clients).ceil() as u64)?;
    }
    Ok(())
}

/// A slice with its warm part, in slices.
const WITH_WARM: f64 = 1.25;

/// Rows that all `delete` slices of one cell may remove in a block.
fn deletable(study: &Study, setup: Setup) -> f64 {
    let cells = study.cells.iter().filter(|it| it.id.test.kind == Kind::Delete).count();
    let rows = f64::from(setup.tables) * f64::from(setup.rows);
    rows * DELETED_SHARE / cells.max(1) as f64
}

/// A cell takes at most this many times its rounds when rounds are spoilt by machine trouble.
const REPEATS: u32 = 2;

/// Of the rounds that a block has time for: how many good ones a cell wants, and how many it may take in all.
///
/// Few for `delete`, which uses up its rows.
pub(crate) fn rounds_for(study: &Study, cell: &PlannedCell, affordable: u32) -> (u32, u32) {
    let most = match (cell.id.test.kind, cell.events) {
        (Kind::Delete, Some(events)) => {
            let once = events as f64 * WITH_WARM;
            (deletable(study, cell.id.setup) / once) as u32 / ROUNDS_MIN * ROUNDS_MIN
        }
        _ => u32::MAX,
    };
    let wanted = affordable.min(most).max(ROUNDS_MIN);
    (wanted, wanted.saturating_mul(REPEATS).min(most).max(ROUNDS_MIN))
}

/// Geometric mean over the systems of events per second; `delete` and `insert` are taken to be like a plain update.
fn mean_rate(templates: &[Template], test: Microbenchmark) -> f64 {
    let like = match test.kind {
        Kind::Delete | Kind::Insert => Microbenchmark { kind: Kind::UpdateNonindex, ..test },
        _ => test,
    };
    let logs: Vec<f64> = templates
        .iter()
        .filter_map(|template| template.rates.get(&like.name()))
        .filter(|rate| **rate > 0.0)
        .map(|rate| rate.ln())
        .collect();
    if logs.is_empty() { 0.0 } else { (logs.iter().sum::<f64>() / logs.len() as f64).exp() }
}
