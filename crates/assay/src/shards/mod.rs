//! A study on many machines: shards, the jobs that measure them, and the study that is put together from them.

mod collect;
mod job;
mod status;
mod submit;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use assay_ledger::{Ledger, ShardStudy};
use assay_model::{ShardRun, Study};
use assay_plan::{Part, Plan, Request};

use crate::advice::Advised;
use crate::cli::ShardNumber;
use crate::scheduled;
use crate::study::{self, NoResume, OtherMachine, Stopped};
use crate::systems::{Environment, key};

use collect::Attempt;
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
        let (workload, offline, accept_expired_index) = (Vec::new(), false, false);
        assay_plan::write_study(&Request { workload, offline, accept_expired_index, ..request })
    });
    let cells =
        study.cells.iter().map(|cell| (&cell.id.test.name, &cell.id.test.digest, cell.id.setup));
    let cells = serde_json::to_string(&cells.collect::<Vec<_>>())?;
    let version = format!("{} {}", study.assay_version, study.workload_version);
    let digest = key(&[&recipe.unwrap_or_default(), &cells, &version, &of.to_string()]);
    Ok(format!("{NAME}{}", digest.get(..DIGEST).unwrap_or(&digest)))
}

/// Refuses what needs the results of the whole study, which no shard has.
fn refuse_longer_look(study: &Study) -> Result<()> {
    if assay_plan::request_of(study).is_none_or(|request| request.soak_s.is_none()) {
        return Ok(());
    }
    bail!(Advised::new(
        "`--soak` does not work with shards: which tests changed is known once all shards are collected",
        "leave `soak` out, and then look at a test that changed with `assay compare ... --tests TEST --soak 15m` on \
         one machine"
    ))
}

/// The part of a plan that this machine is to measure.
pub(crate) fn narrowed(plan: Plan, shard: ShardNumber) -> Result<Plan> {
    refuse_longer_look(&plan.study)?;
    let ShardNumber { number, of } = shard;
    let study = name(&plan, of)?;
    let systems = plan.systems.len();
    let (narrow, Part { first, step, .. }) = assay_plan::shard(plan.study, systems, number, of)?;
    let shard =
        ShardRun { study, number, of, first, step, attempt: String::new(), node: String::new() };
    Ok(Plan { study: narrow, shard: Some(scheduled::here(shard)), ..plan })
}

/// The study in which a shard has been measured or begun: the attempt that is most complete, of this ledger and of
/// those in its directory. One of another ledger is copied, because another node may still write to it.
pub(crate) fn begun(ledger: &mut Ledger, shard: &ShardRun) -> Result<Option<String>> {
    let is_it =
        |it: &ShardStudy| (&it.shard.study, it.shard.number) == (&shard.study, shard.number);
    let rank = |it: &ShardStudy| (it.finished, it.slices, it.started_ms);
    let own = ledger.shards()?.into_iter().filter(|it| is_it(it)).max_by_key(rank);
    let others = beside(ledger.path()).into_iter().filter(|it| is_it(&it.study));
    let best = others.max_by_key(|it| rank(&it.study));
    let more = |it: &Attempt| own.as_ref().is_none_or(|own| rank(&it.study) > rank(own));
    let Some(best) = best.filter(|it| it.study.slices > 0 && more(it)) else {
        return Ok(own.map(|it| it.id));
    };
    match best.rows() {
        Ok(rows) => {
            let id = best.study.id;
            if ledger.contains(&id)? {
                ledger.remove(std::slice::from_ref(&id))?;
            }
            ledger.add_rows(&[rows])?;
            Ok(Some(id))
        }
        // It may be written to at this moment.
        Err(error) => {
            log::warn!("{error:#}");
            Ok(own.map(|it| it.id))
        }
    }
}

/// The attempts in the other ledgers of a ledger's directory, as far as they can be read.
fn beside(ledger: &Path) -> Vec<Attempt> {
    let mut files = BTreeSet::new();
    let directory = ledger.parent().unwrap_or(Path::new("."));
    if let Err(error) = collect::ledgers(directory, 0, &mut files) {
        log::debug!("{error:#}");
    }
    files.remove(ledger);
    files.iter().filter_map(|file| collect::of_file(file).ok()).flatten().collect()
}

/// Goes on with a shard that was begun, or begins it anew if that cannot be continued. A scheduler may have started it
/// again while the first attempt still runs.
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
            env.progress
                .note("an earlier attempt still measures this shard; waiting until it ends");
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
