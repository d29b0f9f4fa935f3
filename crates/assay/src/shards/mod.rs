//! A study on many machines: shards, the jobs that measure them, and the study that is put together from them.

mod collect;
mod job;
mod status;
mod submit;

use std::time::Duration;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::ShardRun;
use assay_plan::{Part, Plan, Request};

use crate::cli::ShardNumber;
use crate::study::{self, NoResume, OtherMachine, Stopped};
use crate::systems::{Environment, key};

pub(crate) use collect::collect;
pub(crate) use status::status;
pub(crate) use submit::submit;

/// The beginning of the names of studies that have shards.
const NAME: &str = "shards-";

/// How long a name continues after that: a digest.
const DIGEST: usize = 12;

/// How often a shard that another process measures is looked at.
const WAIT: Duration = Duration::from_secs(1);

/// The name of a study of so many shards: a digest of what is asked for, with the tests and setups that this means on
/// this machine. Shards of machines that plan other tests are shards of another study.
fn name(plan: &Plan, of: u32) -> Result<String> {
    let study = &plan.study;
    // A path of one machine is not that of another. What the file has is in the tests.
    let recipe = assay_plan::request_of(study).map(|request| {
        let (workload, offline, accept_expired_index) = (None, false, false);
        assay_plan::write_study(&Request { workload, offline, accept_expired_index, ..request })
    });
    let cells = study.cells.iter().map(|cell| (&cell.id.test.name, &cell.id.test.digest, cell.id.setup));
    let cells = serde_json::to_string(&cells.collect::<Vec<_>>())?;
    let version = format!("{} {}", study.assay_version, study.workload_version);
    let digest = key(&[&recipe.unwrap_or_default(), &cells, &version, &of.to_string()]);
    Ok(format!("{NAME}{}", digest.get(..DIGEST).unwrap_or(&digest)))
}

/// The part of a plan that this machine is to measure.
pub(crate) fn narrowed(plan: Plan, shard: ShardNumber) -> Result<Plan> {
    let ShardNumber { number, of } = shard;
    let study = name(&plan, of)?;
    let (plan, Part { first, step, .. }) = assay_plan::shard(plan, number, of)?;
    let shard = ShardRun { study, number, of, first, step, attempt: String::new(), node: String::new() };
    Ok(Plan { shard: Some(here(shard)), ..plan })
}

/// A shard as this process measures it.
pub(crate) fn here(shard: ShardRun) -> ShardRun {
    ShardRun { attempt: attempt(), node: node(), ..shard }
}

/// The name of this machine: as a scheduler has it, which may give one machine several, or its own.
fn node() -> String {
    let own = || fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    short(&std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| own()))
}

/// The job, its task and its restart; empty without a scheduler.
fn attempt() -> String {
    let variable = |name| std::env::var(name).ok();
    let job = variable("SLURM_ARRAY_JOB_ID").or_else(|| variable("SLURM_JOB_ID"));
    let Some(job) = job else { return String::new() };
    let task = variable("SLURM_ARRAY_TASK_ID").map_or_else(String::new, |task| format!("_{task}"));
    let restart = variable("SLURM_RESTART_COUNT").unwrap_or_else(|| "0".to_owned());
    short(&format!("{job}{task}.{restart}"))
}

fn short(text: &str) -> String {
    text.trim().chars().filter(|it| !it.is_control()).take(assay_model::limits::NAME_BYTES / 4).collect()
}

/// The study of a ledger in which a shard has been measured, or in which this machine began to measure it.
pub(crate) fn begun(ledger: &Ledger, shard: &ShardRun) -> Result<Option<String>> {
    let mut studies = ledger.shards()?;
    studies.retain(|it| (&it.shard.study, it.shard.number) == (&shard.study, shard.number));
    studies.retain(|it| it.finished || it.shard.node == shard.node);
    Ok(studies.into_iter().max_by_key(|it| (it.finished, it.started_ms)).map(|it| it.id))
}

/// Goes on with a shard that was begun on this machine, or begins it anew if that cannot be continued. A scheduler may
/// have started it again while the first attempt still runs.
pub(crate) fn go_on(
    id: &str,
    plan: Plan,
    env: &Environment,
    ledger: &mut Ledger,
) -> Result<String, Stopped> {
    let stopped = |error: anyhow::Error| Stopped { study: None, error };
    let mut is_told = false;
    let is_finished = loop {
        let record = ledger.read(id).map_err(|error| stopped(error.into()))?;
        if record.finished || !study::is_measured(&record) {
            break record.finished;
        }
        if !std::mem::replace(&mut is_told, true) {
            env.progress.note("an earlier attempt still measures this shard; waiting until it ends");
        }
        env.interrupt.check().map_err(|error| stopped(error.into()))?;
        std::thread::sleep(WAIT);
    };
    if is_finished {
        env.progress.note("this shard has been measured already");
        return Ok(id.to_owned());
    }
    match study::resume(id, None, env, ledger) {
        Err(Stopped { study: None, error })
            if error.is::<NoResume>() || error.is::<OtherMachine>() =>
        {
            env.progress.note(&format!("the shard is measured anew: {error}"));
            study::run(plan, env, ledger)
        }
        ended => ended,
    }
}
