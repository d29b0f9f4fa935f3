//! How many events a write slice has: the same for all systems, so that they share one history.

use anyhow::Result;
use assay_model::{Class, Kind, Microbenchmark, PlannedCell};

use super::recorder::Recorder;
use super::template::Template;

/// Part of the rows that the `delete` slices of a block may remove: beyond, too many deletes would find nothing.
const DELETED_SHARE: f64 = 0.2;

/// Warm parts and repeated rounds, on top of the rounds planned.
const ROUNDS_SPARE: f64 = 1.5;

/// Events of a slice at least.
const EVENTS_MIN: f64 = 10.0;

/// Sizes the write slices by the rates at which the data were aged, so that they take about the planned time.
pub(crate) fn write_slices(templates: &[Template], recorder: &mut Recorder) -> Result<()> {
    let rounds = f64::from(recorder.study().rounds);
    let writes: Vec<PlannedCell> = recorder
        .study()
        .cells
        .iter()
        .filter(|cell| cell.id.test.class() == Class::Write)
        .cloned()
        .collect();
    for cell in writes {
        let setup = cell.id.setup;
        let mut events = mean_rate(templates, cell.id.test) * f64::from(cell.slice_ms) / 1000.0;
        if cell.id.test.kind == Kind::Delete {
            let rows = f64::from(setup.tables) * f64::from(setup.rows);
            events = events.min(rows * DELETED_SHARE / (rounds * ROUNDS_SPARE));
        }
        let clients = f64::from(setup.clients);
        recorder.calibrated(cell.id, events.max(EVENTS_MIN * clients).ceil() as u64)?;
    }
    Ok(())
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
