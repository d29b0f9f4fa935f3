//! A study on many machines: shards, the jobs that measure them, and the assembled study.

mod collect;
mod job;
mod status;
mod submit;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use assay_ledger::{Ledger, ShardStudy, StudyRows};
use assay_model::{ShardRun, StudyRecord};
use assay_plan::{Request, ShardPart, StudyPlan};

use assay_command::args::{MeasureArgs, ShardNumber};
use assay_command::exit::Exit;
use assay_command::measurement::planned;
use assay_run::scheduler;
use assay_run::study::{self, ForeignStudy, NoResume, OtherMachine, StudyError, afterwards};
use assay_run::systems::Environment;
use collect::Attempt;
use job::{name, on_a_node};

pub use collect::CollectArgs;
pub use status::StatusArgs;
pub use submit::SubmitArgs;

/// Measures a shard of a study. `directory` may be that of its job.
pub fn measure_shard(
    request: Request,
    args: &MeasureArgs,
    shard: ShardNumber,
    directory: &Path,
    cache_dir: Option<&Path>,
) -> Result<Exit> {
    let mut planned = planned(request, args, None, on_a_node, cache_dir)?;
    planned.plan = narrowed(planned.plan, shard, directory)?;
    let begun = match &planned.plan.shard {
        Some(shard) => begun(&mut planned.ledger, shard)?,
        None => None,
    };
    planned.measure_by(false, |plan, env, ledger| match begun {
        Some(id) => go_on(&id, plan, env, ledger),
        None => study::run(plan, env, ledger),
    })
}

/// Interval of checks on a shard that another process measures.
const WAIT: Duration = Duration::from_secs(1);

/// The part of a plan that this machine measures. The directory of the study file may be that of a job.
fn narrowed(plan: StudyPlan, shard: ShardNumber, directory: &Path) -> Result<StudyPlan> {
    afterwards::check_shards(&plan.study)?;
    let ShardNumber { number, of } = shard;
    let study = name(&plan, of)?;
    let systems = plan.systems.len();
    let (narrow, ShardPart { first, step, .. }) =
        assay_plan::shard(plan.study, systems, number, of)?;
    let secret = job::secret_in(directory, &study).unwrap_or_default();
    let (attempt, node) = (String::new(), String::new());
    let shard = ShardRun { study, number, of, first, step, attempt, node, secret };
    Ok(StudyPlan { study: narrow, shard: Some(scheduler::here(shard)), ..plan })
}

/// The study of an already begun shard: the most complete attempt of this ledger and those in its directory. One of
/// another ledger is copied, because another node may still write to it.
///
/// An attempt of this ledger counts if it is this user's or of the same job, and only such an attempt at the same shard
/// is replaced. One of another ledger must be of the same job: a copy of an own ledger may have been changed.
fn begun(ledger: &mut Ledger, shard: &ShardRun) -> Result<Option<String>> {
    best_attempt(ledger, shard, study::is_own)
}

fn best_attempt(
    ledger: &mut Ledger,
    shard: &ShardRun,
    is_own: impl Fn(&StudyRecord) -> bool,
) -> Result<Option<String>> {
    let is_it =
        |it: &ShardStudy| (&it.shard.study, it.shard.number) == (&shard.study, shard.number);
    let rank = |it: &ShardStudy| (it.finished, it.slices, it.started_ms);
    let mut own = ledger.shards()?;
    let is_ours = |it: &StudyRecord| is_of_job(it, shard) || is_own(it);
    own.retain(|it| is_it(it) && ledger.read(&it.id).is_ok_and(|it| is_ours(&it)));
    let best_own = own.iter().max_by_key(|it| rank(it));
    let mut others = beside(ledger.path());
    others.retain(|it| is_it(&it.study) && it.study.slices > 0);
    others.sort_by_key(|it| rank(&it.study));
    let more = |it: &&Attempt| best_own.is_none_or(|own| rank(&it.study) > rank(own));
    for attempt in others.iter().rev().take_while(more) {
        let id = &attempt.study.id;
        let is_replaced = own.iter().any(|it| it.id == *id);
        if !is_replaced && ledger.contains(id)? {
            continue;
        }
        match attempt.rows().and_then(|rows| of_job(rows, shard)) {
            Ok(Some(rows)) => {
                if is_replaced {
                    ledger.remove(std::slice::from_ref(id))?;
                }
                ledger.add_rows(&[rows])?;
                return Ok(Some(id.clone()));
            }
            Ok(None) => {}
            // Another process may be writing to it.
            Err(error) => log::warn!("{error:#}"),
        }
    }
    Ok(best_own.map(|it| it.id.clone()))
}

fn is_of_job(attempt: &StudyRecord, shard: &ShardRun) -> bool {
    attempt.shard().is_some_and(|it| job::has_secret(it, &shard.secret))
}

fn of_job(rows: StudyRows, shard: &ShardRun) -> Result<Option<StudyRows>> {
    let mut copy = Ledger::in_memory()?;
    copy.add_rows(std::slice::from_ref(&rows))?;
    let record = copy.read(rows.study())?;
    Ok(is_of_job(&record, shard).then_some(rows))
}

/// The readable attempts in the other ledgers of a ledger's directory.
fn beside(ledger: &Path) -> Vec<Attempt> {
    let mut files = BTreeSet::new();
    let directory = ledger.parent().unwrap_or(Path::new("."));
    if let Err(error) = collect::ledgers(directory, 0, &mut files) {
        log::debug!("{error:#}");
    }
    files.remove(ledger);
    files.iter().filter_map(|file| collect::of_file(file).ok()).flatten().collect()
}

/// Continues a begun shard, or restarts it if that is impossible. A scheduler may have started it again while the first
/// attempt still runs.
fn go_on(
    id: &str,
    plan: StudyPlan,
    env: &Environment,
    ledger: &mut Ledger,
) -> Result<String, StudyError> {
    let stopped = |error: anyhow::Error| StudyError { study: None, error };
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
        Err(StudyError { study: None, error })
            if error.is::<NoResume>()
                || error.is::<ForeignStudy>()
                || error.is::<OtherMachine>() =>
        {
            env.progress.note(&format!("the shard is measured anew: {error}"));
            study::run(plan, env, ledger)
        }
        ended => ended,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rusqlite::Connection;

    use super::*;

    const STUDY: &str = include_str!("../../../crates/assay-ledger/tests/recorded/study.id");
    const WHOLE: &str = "shards-0123456789ab";
    const SECRET: &str = "5ec2e7";

    fn shard(secret: &str) -> ShardRun {
        ShardRun {
            study: WHOLE.to_owned(),
            number: 1,
            of: 1,
            first: 0,
            step: 1,
            attempt: String::new(),
            node: String::new(),
            secret: secret.to_owned(),
        }
    }

    fn attempt(path: &Path, secret: &str, slices: u32) {
        let recorded = include_bytes!("../../../crates/assay-ledger/tests/recorded/study.db.gz");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(recorded.as_slice()).read_to_end(&mut bytes).unwrap();
        fs_err::write(path, bytes).unwrap();
        let connection = Connection::open(path).unwrap();
        let run = serde_json::to_string(&shard(secret)).unwrap();
        connection.execute("UPDATE run SET shard = ?", [run]).unwrap();
        connection
            .execute(
                "DELETE FROM slice WHERE id NOT IN (SELECT id FROM slice ORDER BY id LIMIT ?)",
                [slices],
            )
            .unwrap();
    }

    /// Number of slices of the attempt that counts, if the own ledger has one with ten slices and another ledger a copy
    /// with more. Every study counts as this user's: only its plan is proven, not its slices.
    fn taken([own, other]: [&str; 2], secret: &str) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.db");
        attempt(&path, own, 10);
        attempt(&folder.path().join("other.db"), other, 20);
        let mut ledger = Ledger::open(&path).unwrap();
        let found = best_attempt(&mut ledger, &shard(secret), |_| true).unwrap();
        assert_eq!(found.as_deref(), Some(STUDY));
        ledger.read(STUDY).unwrap().slices.len()
    }

    #[test]
    fn a_shard_is_a_number_and_how_many_there_are() {
        assert_eq!("2/6".parse(), Ok(ShardNumber { number: 2, of: 6 }));
        for wrong in ["", "2", "0/6", "7/6", "2/", "/6", "2/6/1", "-1/6", "2/99999999999"] {
            assert!(wrong.parse::<ShardNumber>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_attempt_of_another_ledger_counts_if_it_is_of_the_job() {
        assert_eq!(taken([SECRET, SECRET], SECRET), 20);
        assert_eq!(taken(["", SECRET], SECRET), 20);
        // A changed copy of an own ledger.
        assert_eq!(taken(["", ""], ""), 10);
        assert_eq!(taken([SECRET, ""], SECRET), 10);
        assert_eq!(taken([SECRET, "5ec2e8"], SECRET), 10);
    }
}
