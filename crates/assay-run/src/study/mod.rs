//! A study on this machine: it begins or goes on, the driver decides, the executor acts.

pub mod afterwards;
mod answering;
mod checking;
mod claim;
mod early_answers;
mod executor;
mod machine;
mod measuring;
mod other_processes;
mod outlook;
mod realtime;
mod recorder;
mod resumable;
mod resumed_systems;
mod sizes;
mod starting;
mod stepping;
mod trying;
mod weight;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use assay_ledger::Ledger;
use assay_model::labels;
use assay_model::{
    Counting, EventKind, Examination, Experiment, Hint, Host, Priority, Study, StudyRecord, Test,
};
use assay_plan::StudyPlan;
use assay_study::{Driver, StudyEnd, carry_out};

use crate::examination::examine_before;
use crate::lock_note::LockNote;
use crate::machine_lock::{self, MachineLock};
use crate::progress::seconds;
use crate::scheduler;
use crate::study_records;
use crate::systems::{
    Environment, GatheredSystems, LocalSite, MissingSystem, Participant, StartFailure, check_cpus,
    check_options, create_schemas, gathered, leave_refused_out, leave_root_for, load_beforehand,
    machine_facts, still_to_age_s,
};

use crate::workload::{check_scripts, read_captured};

use self::afterwards::{Afterwards, wanted};
use self::claim::Claim;
pub use self::claim::{
    ForeignStudy, StudyBusy, claim_collected, give_up, if_own, is_foreign, is_measured, is_mine,
    is_own, measured, own, read_any,
};
use self::executor::StudyExecutor;
pub use self::executor::UnfinishedStudy;
pub use self::machine::OtherMachine;
use self::outlook::{OutlookText, suited};
use self::recorder::Recorder;
pub use self::resumable::NoResume;
pub use self::resumed_systems::OtherSystem;
use self::weight::CpuWeight;

/// A study that did not reach its end, with its name if any of it is in the ledger.
pub struct StudyError {
    pub study: Option<String>,
    pub error: anyhow::Error,
}

pub fn run(plan: StudyPlan, env: &Environment, ledger: &mut Ledger) -> Result<String, StudyError> {
    let unnamed = |error| StudyError { study: None, error };
    check_files(&plan.study).map_err(unnamed)?;
    env.progress.label(&plan.systems.iter().map(|it| it.name.as_str()).collect::<Vec<_>>());
    let mut gathered = gathered(&plan, env).map_err(unnamed)?;
    check_options(&gathered.participants, env).map_err(unnamed)?;
    create_schemas(&mut gathered.participants, &plan.study, env).map_err(unnamed)?;
    let (GatheredSystems { participants, missing }, _data) =
        loaded(gathered, &plan, env).map_err(unnamed)?;
    // Waiting for another study takes none of its budget.
    let _lock = lock(&plan.study, &participants, plan.study.budget_s, env).map_err(unnamed)?;
    let doctor = examine_before(&plan.study, env);
    env.interrupt.check().map_err(|error| unnamed(error.into()))?;
    let weight = cpu_weight(&plan.study).map_err(unnamed)?;
    let study = suited(&plan, participants.len(), doctor.as_ref());
    let host = host(&study, doctor, weight.as_ref(), env).map_err(unnamed)?;
    let begun = Recorder::begin(ledger, study, (host, plan.shard), plan.scaled, &participants);
    let (mut recorder, claim) = begun.map_err(unnamed)?;
    for MissingSystem { name, error } in missing {
        let what = EventKind::SystemMissing { system: name, why: format!("{error:#}") };
        recorder.event(None, what).map_err(unnamed)?;
    }
    finish(&participants, env, &mut recorder, claim, weight)
}

/// Continues an interrupted study of this user, or one that gets more time. Servers are fetched and data loaded before
/// the wait.
pub fn resume(
    id: &str,
    more_s: Option<f64>,
    env: &Environment,
    ledger: &mut Ledger,
) -> Result<String, StudyError> {
    let unnamed = |error| StudyError { study: None, error };
    let begun = ledger.read(id).map_err(|error| unnamed(error.into()))?;
    let claim = Claim::again(&begun).map_err(unnamed)?;
    // The unfinished part may have been measured by another assay, in which case it cannot go on now.
    let record = ledger.read(id).map_err(|error| unnamed(error.into()))?;
    let claim = claim.filter(|claim| claim.is_of(&record));
    if claim.is_none() {
        return Err(unnamed(ForeignStudy::new(id, "resumed").into()));
    }
    resumable::check(&record, more_s).map_err(|error| unnamed(error.into()))?;
    let request = assay_plan::request_of(&record.study);
    let request =
        request.with_context(|| study_records::cannot_read(ledger, id)).map_err(unnamed)?;
    let weight = cpu_weight(&record.study).map_err(unnamed)?;
    let here = host(&record.study, None, weight.as_ref(), env).map_err(unnamed)?;
    let changes = machine::changes(&record, &here).map_err(|error| unnamed(error.into()))?;
    resumable::check_time(&record, more_s).map_err(|error| unnamed(error.into()))?;
    resumable::check_priority(&record, &here).map_err(|error| unnamed(error.into()))?;
    let named = |error| StudyError { study: Some(id.to_owned()), error };
    check_files(&record.study).map_err(named)?;
    env.progress.label(&record.systems.iter().map(|it| it.name.as_str()).collect::<Vec<_>>());
    let (participants, _data) = ready_again(&record, env).map_err(named)?;
    let left_s = record.budget_s() + more_s.unwrap_or(0.0) - record.elapsed_s();
    let _lock = lock(&record.study, &participants, left_s, env).map_err(unnamed)?;
    fits_here(&record, request.count, env).map_err(unnamed)?;
    let here = Host { doctor: examine_before(&record.study, env), ..here };
    env.interrupt.check().map_err(|error| unnamed(error.into()))?;
    let more = more_s.map(|more_s| resumable::extension(&record, more_s));
    let mut recorder = Recorder::resume(ledger, record, here, changes, more).map_err(named)?;
    finish(&participants, env, &mut recorder, claim, weight)
}

fn tests_of(study: &Study) -> impl Iterator<Item = Test> {
    study.cells.iter().map(|cell| cell.id.test)
}

/// Checks the CPUs that the study names. Reads the clients' files, and checks that they are those that the study was
/// planned with. Nothing was fetched or started yet.
fn check_files(study: &Study) -> Result<()> {
    check_cpus(study)?;
    read_captured(tests_of(study))?;
    check_scripts(tests_of(study))
}

/// Waits until the machine is free for a study with this many seconds left. One that only counts needs no quiet
/// machine, and does not wait.
fn lock(
    study: &Study,
    participants: &[Participant],
    left_s: f64,
    env: &Environment,
) -> Result<Option<MachineLock>> {
    if study.experiment == Experiment::Counted {
        give_way();
        return Ok(None);
    }
    let names: Vec<&str> =
        participants.iter().filter(|it| !it.system.is_twin).map(|it| &*it.system.name).collect();
    let request = assay_plan::request_of(study)?;
    let afterwards = wanted(&request).map(Afterwards::words).filter(|words| !words.is_empty());
    let afterwards = afterwards.collect::<Vec<&str>>().join(" and ");
    let note = || {
        let what = labels(&names).join(" against ");
        LockNote::now(what, Some(left_s)).before(afterwards)
    };
    MachineLock::wait(env.progress, &env.interrupt, note).map(Some)
}

fn ready_again(
    record: &StudyRecord,
    env: &Environment,
) -> Result<(Vec<Participant>, Vec<fs_err::File>)> {
    let mut participants = resumed_systems::get_again(record, env)?;
    check_options(&participants, env)?;
    create_schemas(&mut participants, &record.study, env)?;
    let data = beforehand(&participants, &record.study, env)?;
    Ok((participants, data))
}

/// Longer loading is reported.
const LOADING_NOTED: Duration = Duration::from_secs(5);

/// Loads and ages the data missing in the cache, where they stay while the files are open. This needs no quiet machine,
/// and finds faults of a system before anybody waits. If another assay measures, the answers to a user's statements are
/// compared meanwhile.
fn beforehand(
    participants: &[Participant],
    study: &Study,
    env: &Environment,
) -> Result<Vec<fs_err::File>> {
    let local = LocalSite::for_study(env, study)?;
    local.collect_garbage()?;
    leave_root_for(participants, &local)?;
    let began = Instant::now();
    let loaded = thread::scope(|scope| {
        let load = || {
            let is_measured = give_way();
            let loaded = load_beforehand(participants, study, &local, env)?;
            let waits = is_measured && study.experiment != Experiment::Counted;
            if waits {
                let asked = early_answers::ask(participants, study, &local, env);
                early_answers::or_later(asked, &env.interrupt, |message| {
                    env.progress.note(message)
                })?;
            }
            Ok(loaded)
        };
        let loaded = thread::Builder::new().spawn_scoped(scope, load)?.join();
        loaded.unwrap_or_else(|_| Err(anyhow::anyhow!("internal error: a thread panicked")))
    })?;
    if began.elapsed() > LOADING_NOTED && study.experiment != Experiment::Counted {
        let took = seconds(began.elapsed());
        env.progress.note(&format!("preparing the data took {took}; the budget does not count it"));
    }
    Ok(loaded)
}

fn loaded(
    mut gathered: GatheredSystems,
    plan: &StudyPlan,
    env: &Environment,
) -> Result<(GatheredSystems, Vec<fs_err::File>)> {
    loop {
        let error = match beforehand(&gathered.participants, &plan.study, env) {
            Ok(data) => return Ok((gathered, data)),
            Err(error) => error,
        };
        let Some(StartFailure(name)) = error.downcast_ref() else { return Err(error) };
        let name = name.clone();
        let mut planned = plan.systems.iter().enumerate();
        let Some((index, planned)) = planned.find(|(_, it)| it.name == name) else {
            return Err(error);
        };
        let mut started = gathered.participants.iter_mut();
        if let Some(participant) = started.find(|it| it.system.name == name)
            && let Some(what) = leave_refused_out(&mut participant.system, &planned.of_file, &error)
        {
            env.progress.note(&format!("warning: `{name}` {what}"));
            participant.left_out.push(what);
            continue;
        }
        gathered.participants.retain(|it| it.system.name != name);
        gathered.leave_out(index, MissingSystem { name, error }, plan, env)?;
    }
}

/// Gives this thread, and the servers that it starts, the lowest priority if another assay measures. Returns whether
/// one does.
pub fn give_way() -> bool {
    let is_measured = machine_lock::is_measured();
    if is_measured {
        let lowest = rustix::process::setpriority_process(None, 19);
        lowest.unwrap_or_else(|error| log::debug!("{error}"));
    }
    is_measured
}

fn host(
    study: &Study,
    doctor: Option<Examination>,
    weight: Option<&CpuWeight>,
    env: &Environment,
) -> Result<Host> {
    let realtime = Some(scheduler::realtime_access());
    let cpu_weight = weight.map(CpuWeight::value);
    let server_nodes = assay_probe::memory_nodes(&study.cpus.servers);
    let host = assay_probe::host(&env.cache_dir)?;
    Ok(Host { doctor, realtime, cpu_weight, server_nodes, ..host })
}

/// A higher CPU weight for a study of which a part is measured at normal priority, unless the user asked for that.
fn cpu_weight(study: &Study) -> Result<Option<CpuWeight>> {
    let has_turns = matches!(study.experiment, Experiment::Interleaved | Experiment::Stepwise);
    let is_normal = study.cells.iter().any(|cell| cell.priority == Priority::Normal);
    if !has_turns || !is_normal || assay_plan::request_of(study)?.priority == Some(Priority::Normal)
    {
        return Ok(None);
    }
    Ok(CpuWeight::acquire())
}

/// Whether the memory is enough for the servers of a recorded study.
fn fits_here(record: &StudyRecord, counting: Counting, env: &Environment) -> Result<()> {
    let specs: Vec<_> = record.systems.iter().map(|system| &system.spec).collect();
    let machine = machine_facts(&env.cache_dir)?;
    let fits = assay_plan::check_memory(&record.study, counting, &specs, machine);
    fits.map_err(|why| NoRoom(why).into())
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoRoom(assay_plan::PlanError);

impl Hint for NoRoom {
    fn hints(&self) -> Vec<String> {
        vec!["end programs that use memory, then resume the study".to_owned()]
    }
}

fn finish(
    participants: &[Participant],
    env: &Environment,
    recorder: &mut Recorder,
    claim: Option<Claim>,
    weight: Option<CpuWeight>,
) -> Result<String, StudyError> {
    let id = recorder.id().to_owned();
    match measure(participants, env, recorder, weight).and_then(|()| recorder.finish()) {
        Ok(()) => Ok(id),
        Err(error) => {
            // Going on would fail again: the same command, once corrected, begins anew.
            let is_withdrawn = env.interrupt.check().is_ok() && recorder.withdraw();
            if is_withdrawn {
                claim.into_iter().for_each(Claim::withdraw);
            }
            Err(StudyError { study: (!is_withdrawn).then_some(id), error })
        }
    }
}

fn measure(
    participants: &[Participant],
    env: &Environment,
    recorder: &mut Recorder,
    weight: Option<CpuWeight>,
) -> Result<()> {
    let local = LocalSite::for_study(env, recorder.study())?;
    local.collect_garbage()?;
    leave_root_for(participants, &local)?;
    let aging_s = still_to_age_s(participants, recorder.study(), &local, env)?;
    let mut outlook = OutlookText::default();
    if recorder.study().experiment != Experiment::Counted {
        env.progress.note(&outlook.write(recorder, aging_s));
        let request = assay_plan::request_of(recorder.study())?;
        let outlooks = wanted(&request).filter_map(|it| it.outlook(&request, participants.len()));
        outlooks.for_each(|outlook| env.progress.note(&outlook));
    }
    let mut driver = Driver::new(recorder.record(), recorder.record().into());
    let mut executor = StudyExecutor::new(participants, &local, env, recorder, outlook, weight)?;
    let end = carry_out(&mut driver, &mut executor)?;
    executor.has_ended = matches!(end, StudyEnd::Complete);
    if matches!(end, StudyEnd::Complete | StudyEnd::Unfinished) {
        executor.work_afterwards()?;
    }
    executor.end(end)
}
