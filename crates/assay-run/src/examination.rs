//! Examines this machine, for `assay doctor` and before a study.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use assay_doctor::Recording;
use assay_model::{Examination, Experiment, Preset, Priority, Study};
use assay_probe::ProcessCensus;

use crate::interrupt::Interrupt;
use crate::systems::Environment;

/// Duration of the noise recording before a study, and the shortest budget of such a study.
const BEFORE_STUDY: Duration = Duration::from_secs(2);
const BUDGET_MIN_S: f64 = 120.0;

/// Examines the machine before a study, unless that would take too much of its time or be of no use.
pub fn examine_before(study: &Study, env: &Environment) -> Option<Examination> {
    let is_worth_it = study.preset != Preset::Smoke
        && study.experiment == Experiment::Interleaved
        && study.budget_s >= BUDGET_MIN_S;
    is_worth_it.then_some(())?;
    env.progress.update("measuring the noise of this machine");
    let mut cells = study.cells.iter();
    let is_realtime = cells.any(|cell| cell.priority == Priority::Realtime);
    let priority = if is_realtime { Priority::Realtime } else { Priority::Normal };
    let recording = Recording { time: BEFORE_STUDY, priorities: &[priority] };
    let examined = examine(&env.cache_dir, recording, &env.interrupt);
    examined.inspect_err(|error| log::warn!("cannot examine this machine: {error:#}")).ok()
}

/// Examines this machine, and names the processes that kept it busy meanwhile.
pub fn examine(
    data_dir: &Path,
    recording: Recording<'_>,
    interrupt: &Interrupt,
) -> Result<Examination> {
    let cpus = assay_probe::cpus_allowed()?;
    let before = ProcessCensus::take().ok();
    let stop = interrupt.stop();
    let mut doctor = assay_doctor::examine(&cpus, data_dir, recording, &|| stop.is_asked())?;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if let Some((before, after)) = before.zip(ProcessCensus::take().ok()) {
        doctor.load.busiest = after.named_since(&before, &[own]);
    }
    Ok(doctor)
}
