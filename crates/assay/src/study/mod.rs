//! The study loop: plan → servers → load → probe → ledger → verdict, again until the evidence suffices.

mod claim;
mod executor;
mod inspect;
mod instance;
mod machine;
mod measuring;
mod others;
mod participant;
mod recorder;
mod starting;
mod station;
mod template;
mod trust;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use assay_ledger::Ledger;
use assay_model::{Hint, Product, StudyRecord};
use assay_plan::{Needs, Plan};
use assay_study::{Driver, Shard, carry_out};

use crate::interrupt::Interrupt;
use crate::machine_lock::MachineLock;
use crate::progress::Progress;

use self::claim::Claim;
pub(crate) use self::claim::{StillMeasured, is_measured, measured};
use self::executor::StudyExecutor;
pub(crate) use self::inspect::{Questions, data_fact, facts};
pub(crate) use self::instance::{DATABASE, Instance};
pub(crate) use self::machine::OtherMachine;
use self::participant::Participant;
pub(crate) use self::participant::{Stage, agree, fetch, get as participants, provisioner, tables};
use self::recorder::Recorder;
pub(crate) use self::template::{description, remove_unused, start_on_empty};
pub(crate) use self::trust::Distrust;

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

/// The study did what it could, and may be resumed for the rest.
#[derive(Debug, thiserror::Error)]
#[error("some tests were not measured to their end")]
pub(crate) struct Unfinished;

/// Carries out a plan; gives the name of the study in the ledger.
pub(crate) fn run(plan: Plan, env: &Environment, ledger: &mut Ledger) -> Result<String, Stopped> {
    let unnamed = |error| Stopped { study: None, error };
    let participants = participant::get(&plan, env).map_err(unnamed)?;
    let (setups, key) = (&plan.study.setups, plan.study.id_key);
    participant::refuse_foreign_tables(&participants, setups, key, env).map_err(unnamed)?;
    // Waiting for another study is no part of this one.
    let _lock = MachineLock::wait(env.progress, &env.interrupt).map_err(unnamed)?;
    let mut recorder =
        Recorder::begin(ledger, plan.study, &participants, &env.cache_dir).map_err(unnamed)?;
    let claim = Claim::begin(recorder.id(), &recorder.record().systems);
    finish(&participants, env, &mut recorder, claim)
}

/// Goes on with an interrupted study where it stopped; `check` may refuse.
///
/// Read again once nobody else measures: what was unfinished may have been what another assay measured.
pub(crate) fn resume(
    id: &str,
    env: &Environment,
    ledger: &mut Ledger,
    check: impl Fn(&StudyRecord) -> Result<()>,
) -> Result<String, Stopped> {
    let unnamed = |error| Stopped { study: None, error };
    let begun = ledger.read(id).map_err(|error| unnamed(error.into()))?;
    check(&begun).map_err(unnamed)?;
    let claim = Claim::again(id, &begun.systems).map_err(unnamed)?;
    trust::check_systems(&begun, claim.is_some()).map_err(unnamed)?;
    trust::check_plan(&begun).map_err(|error| unnamed(error.into()))?;
    let claim = claim.or_else(|| Claim::begin(id, &begun.systems));
    let _lock = MachineLock::wait(env.progress, &env.interrupt).map_err(unnamed)?;
    let record = ledger.read(id).map_err(|error| unnamed(error.into()))?;
    check(&record).map_err(unnamed)?;
    trust::check_plan(&record).map_err(|error| unnamed(error.into()))?;
    fits_here(&record, env).map_err(unnamed)?;
    let here = assay_probe::host(&env.cache_dir).map_err(|error| unnamed(error.into()))?;
    let changes = machine::changes(&record, &here).map_err(|error| unnamed(error.into()))?;
    let named = |error| Stopped { study: Some(id.to_owned()), error };
    let participants = participant::get_again(&record, env).map_err(named)?;
    let (setups, key) = (&record.study.setups, record.study.id_key);
    participant::refuse_foreign_tables(&participants, setups, key, env).map_err(named)?;
    let mut recorder = Recorder::resume(ledger, record, here, changes).map_err(named)?;
    finish(&participants, env, &mut recorder, claim)
}

/// Whether the machine has memory for what a ledger says that it is to hold.
fn fits_here(record: &StudyRecord, env: &Environment) -> Result<()> {
    let specs: Vec<_> = record.systems.iter().map(|system| &system.spec).collect();
    let machine = crate::compare::machine_facts(&env.cache_dir)?;
    assay_plan::check_memory(&record.study, &specs, machine).map_err(|why| NoRoom(why).into())
}

/// A study that goes on has the rows and systems that it has.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoRoom(assay_plan::Error);

impl Hint for NoRoom {
    fn hints(&self) -> Vec<String> {
        vec!["end programs that take memory, and resume the study then".to_owned()]
    }
}

fn finish(
    participants: &[Participant],
    env: &Environment,
    recorder: &mut Recorder,
    claim: Option<Claim>,
) -> Result<String, Stopped> {
    let id = recorder.id().to_owned();
    match measure(participants, env, recorder).and_then(|()| recorder.finish()) {
        Ok(()) => {
            claim.into_iter().for_each(Claim::end);
            Ok(id)
        }
        Err(error) => {
            // Going on would fail again: the same command, with what is mended, begins anew.
            let is_withdrawn = env.interrupt.check().is_ok() && recorder.withdraw();
            if is_withdrawn {
                claim.into_iter().for_each(Claim::end);
            }
            Err(Stopped { study: (!is_withdrawn).then_some(id), error })
        }
    }
}

/// Measures whatever a study has still to do.
fn measure(participants: &[Participant], env: &Environment, recorder: &mut Recorder) -> Result<()> {
    env.progress.note(&outlook(recorder));
    let stage = Stage::new(env)?;
    stage.collect_garbage()?;
    leave_root_for(participants, &stage)?;
    let mut driver = Driver::new(recorder.record(), Shard::WHOLE);
    let mut executor = StudyExecutor::new(participants, &stage, env, recorder);
    let end = carry_out(&mut driver, &mut executor)?;
    executor.end(end)
}

/// What the study takes and can decide, before it costs anything.
fn outlook(recorder: &Recorder) -> String {
    let study = recorder.study();
    let needs =
        Needs { blocks: assay_verdict::BLOCKS_MIN, threshold: assay_verdict::threshold(study) };
    let left_s = study.budget_s - recorder.used_s();
    assay_plan::outlook(study, recorder.record().systems.len(), left_s, needs)
}

/// Some servers refuse to run as root; see [`assay_servers::leave_root_where_needed`].
pub(crate) fn leave_root_for(participants: &[Participant], stage: &Stage) -> Result<()> {
    let started = participants.iter().filter(|it| it.attached.is_none());
    let mut refuse = started.filter(|it| it.system.spec.product == Product::Postgres);
    let Some(participant) = refuse.next() else { return Ok(()) };
    let name = &participant.system.name;
    let has_left = assay_servers::leave_root_where_needed()
        .with_context(|| format!("cannot run `{name}` as another user than root"))?;
    // What was left by one who had done the same.
    if has_left { stage.collect_garbage() } else { Ok(()) }
}
