//! The study loop: plan → servers → load → probe → ledger → verdict, again until the evidence suffices.

mod block;
mod calibrate;
mod participant;
mod recorder;
mod schedule;
mod station;
mod template;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::StartFrom;
use assay_plan::Plan;

use crate::interrupt::Interrupt;
use crate::machine_lock::MachineLock;
use crate::progress::Progress;

use self::block::Field;
use self::participant::Stage;
use self::recorder::Recorder;
use self::schedule::Schedule;

/// What a study needs besides its plan.
pub(crate) struct Environment<'a> {
    /// Where servers and templates are kept.
    pub(crate) cache_dir: PathBuf,
    /// Use only what is in the cache.
    pub(crate) offline: bool,
    /// Accept package indexes past their validity.
    pub(crate) accept_expired_index: bool,
    /// Tells the user what is going on.
    pub(crate) progress: &'a Progress,
    /// Whether the user asked to stop.
    pub(crate) interrupt: Interrupt,
}

/// A study that did not reach its end, and its name if anything of it is in the ledger.
pub(crate) struct Stopped {
    pub(crate) study: Option<String>,
    pub(crate) error: anyhow::Error,
}

/// Carries out a plan; gives the name of the study in the ledger.
pub(crate) fn run(plan: Plan, env: &Environment, ledger: &mut Ledger) -> Result<String, Stopped> {
    let mut study = None;
    carry_out(plan, env, ledger, &mut study)
        .map_err(|error| Stopped { study: study.clone(), error })?;
    study.ok_or_else(|| Stopped { study: None, error: anyhow::anyhow!("the study has no name") })
}

fn carry_out(
    plan: Plan,
    env: &Environment,
    ledger: &mut Ledger,
    name: &mut Option<String>,
) -> Result<()> {
    let participants = participant::get(&plan, env)?;
    let _lock = MachineLock::wait(env.progress, &env.interrupt)?;
    let stage = Stage::new(env)?;
    stage.collect_garbage()?;

    let began = Instant::now();
    let templates = template::prepare(&participants, &plan.study, &stage, env)?;
    let mut recorder = Recorder::begin(ledger, plan.study, &participants, &env.cache_dir)?;
    *name = Some(recorder.id().to_owned());
    calibrate::write_slices(&templates, &mut recorder)?;

    let field = Field { participants: &participants, templates: &templates, stage: &stage, env };
    let mut schedule = Schedule::new(recorder.study(), participants.len(), began);
    while let Some(block) = schedule.next_block(recorder.record()) {
        env.progress.begin(&schedule.announce(&block, recorder.study()));
        for start_from in [StartFrom::Fresh, StartFrom::Aged] {
            block::measure(&block, start_from, &field, &mut recorder, &mut schedule)?;
        }
    }
    recorder.finish()
}
