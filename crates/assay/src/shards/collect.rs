//! `assay collect`: finds the ledgers of shards, chooses the attempts that count, and puts the study together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_ledger::{Collected, Ledger, ShardStudy, StudyRows};
use assay_model::{StudyRecord, counted};
use serde::Serialize;

use super::job::Job;
use crate::advice::Advised;
use crate::cli::{Collect, ShardsArg};
use crate::exit::Exit;
use crate::opened::open_ledger;
use crate::progress::print;
use crate::{paths, recorded, report};

/// Ledgers below a directory are found this deep: a directory for each shard, as CI systems unpack artifacts.
const DEPTH: u32 = 3;

/// An attempt at a shard.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attempt {
    /// The ledger.
    pub(super) file: PathBuf,
    pub(super) study: ShardStudy,
}

/// The attempts at the shards of one study.
pub(super) struct Found {
    /// Name of the study.
    pub(super) study: String,
    /// Its job, if it was submitted here.
    pub(super) job: Option<Job>,
    /// All attempts, by shard; those of a shard from the least to the one that counts.
    pub(super) attempts: BTreeMap<u32, Vec<Attempt>>,
    /// The number of shards.
    pub(super) of: u32,
}

impl Found {
    /// The attempts that count.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.values().filter_map(|of_shard| of_shard.last())
    }

    /// Refuses to replace a study that has more of a shard than what was found.
    fn refuse_loss(&self, ledger: &Ledger, file: &Path) -> Result<()> {
        let found: BTreeMap<u32, u64> =
            self.counted().map(|it| (it.study.shard.number, it.study.slices)).collect();
        for (number, known) in ledger.collected(&self.study)? {
            let there = found.get(&number).copied().unwrap_or(0);
            if there < known {
                bail!(Advised::new(
                    format!(
                        "`{}` has {} of shard {number} of study `{}`, and these ledgers have {there}",
                        file.display(),
                        counted(known, "slice"),
                        self.study
                    ),
                    "name all directories with its ledgers, or remove the study with `assay studies rm`"
                ));
            }
        }
        Ok(())
    }

    /// Puts the study together in a ledger.
    pub(super) fn collect_into(&self, ledger: &mut Ledger) -> Result<Collected> {
        let counted: Vec<&Attempt> = self.counted().collect();
        // An attempt that cannot be read is one shard less, not the end.
        let rows = counted.into_iter().filter_map(|attempt| match attempt.rows() {
            Ok(rows) => Some(Ok(rows)),
            Err(error) => {
                print(&format!("warning: left out: {error:#}"));
                None
            }
        });
        let collected = ledger.collect(&self.study, rows)?;
        if collected.is_complete {
            // The last look spends all of the error, so what is concluded is that of a study that has ended.
            let record = StudyRecord { finished: true, ..recorded::read(ledger, &self.study)? };
            ledger.conclude(&self.study, &recorded::conclusions(&record))?;
        }
        Ok(collected)
    }
}

impl Attempt {
    /// All that the ledger has of it.
    pub(super) fn rows(&self) -> Result<StudyRows> {
        Ok(open_ledger(&self.file)?.rows(&self.study.id)?)
    }
}

/// A shard in the result.
#[derive(Debug, Serialize)]
struct Line {
    study: String,
    shard: u32,
    of: u32,
    node: String,
    attempt: String,
    /// Attempts that were found.
    attempts: usize,
    slices: u64,
    finished: bool,
    /// Why it is not in the study; `None` if it is.
    left_out: Option<String>,
}

impl Line {
    fn text(&self) -> String {
        let Self { study, shard, of, node, attempts, slices, finished, .. } = self;
        let state = match (&self.left_out, finished) {
            (Some(why), _) => format!("left out: it {why}"),
            (None, true) => "finished".to_owned(),
            (None, false) => "unfinished".to_owned(),
        };
        let others = if *attempts > 1 { format!(", {attempts} attempts") } else { String::new() };
        let slices = counted(*slices, "slice");
        format!("{study}: shard {shard} of {of} on {node}: {slices}, {state}{others}")
    }
}

/// Puts a study together from the ledgers of its shards.
pub(crate) fn collect(args: &Collect) -> Result<Exit> {
    let found = find(&args.shards)?;
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    let mut ledger = Ledger::open(&file)?;
    found.refuse_loss(&ledger, &file)?;
    let collected = found.collect_into(&mut ledger)?;
    let why = |number| {
        let left_out = collected.left_out.iter().find(|it| it.number == number);
        left_out.map(|it| it.why.clone())
    };
    let line = |(number, attempts): (&u32, &Vec<Attempt>)| {
        let ShardStudy { shard, slices, finished, .. } = &attempts.last()?.study;
        Some(Line {
            study: found.study.clone(),
            shard: *number,
            of: found.of,
            node: shard.node.clone(),
            attempt: shard.attempt.clone(),
            attempts: attempts.len(),
            slices: *slices,
            finished: *finished,
            left_out: why(*number),
        })
    };
    let lines: Vec<Line> = found.attempts.iter().filter_map(line).collect();
    report::put_rows(&args.shape, &lines, Line::text)?;
    let missing = (1..=found.of).filter(|number| !found.attempts.contains_key(number)).count();
    if missing > 0 {
        print(&format!("note: {} of {} has no ledger", counted(missing as u64, "shard"), found.of));
    }
    print(&format!("note: `assay report {}` shows the study", found.study));
    Ok(if collected.is_complete { Exit::Done } else { Exit::Incomplete })
}

/// The attempts at the shards of the study that the user means.
pub(super) fn find(args: &ShardsArg) -> Result<Found> {
    let job = match args.dir.as_slice() {
        [] => Some(Job::find(args.study.as_deref())?),
        [one] => Job::of(one),
        _ => None,
    };
    let of_job = job.as_ref().map(|job| job.dir.clone()).filter(|_| args.dir.is_empty());
    let mut files = BTreeSet::new();
    for place in args.dir.iter().chain(&of_job) {
        if !place.exists() {
            bail!(Advised::new(
                format!("there is no `{}`", place.display()),
                "`--dir` names a directory with ledgers, or a ledger"
            ));
        }
        ledgers(place, DEPTH, &mut files)?;
    }
    let mut attempts = Vec::new();
    for file in files {
        match of_file(&file) {
            Ok(found) => attempts.extend(found),
            Err(error) => print(&format!("warning: left out: {error:#}")),
        }
    }
    let is_wanted =
        |job: &Job| args.study.as_deref().is_none_or(|wanted| job.study.starts_with(wanted));
    let job = job.filter(is_wanted);
    let wanted = job.as_ref().map(|job| job.study.clone()).or_else(|| args.study.clone());
    let study = one_study(&attempts, wanted.as_deref())?;
    let of = job.as_ref().map(|job| job.shards);
    attempts.retain(|it| it.study.shard.study == study);
    let of = of.or_else(|| attempts.first().map(|it| it.study.shard.of)).unwrap_or_default();
    Ok(Found { study, job, attempts: by_shard(attempts), of })
}

/// The attempts by shard, of which the last one counts: the one that has ended, that has most slices, that began last.
fn by_shard(mut attempts: Vec<Attempt>) -> BTreeMap<u32, Vec<Attempt>> {
    attempts.sort_by_key(|Attempt { file, study }| {
        let at = (study.started_ms, study.id.clone(), file.clone());
        (study.finished, study.slices, at)
    });
    let mut shards: BTreeMap<u32, Vec<Attempt>> = BTreeMap::new();
    for attempt in attempts {
        shards.entry(attempt.study.shard.number).or_default().push(attempt);
    }
    shards
}

/// The name of the study, of which `wanted` is the beginning.
fn one_study(attempts: &[Attempt], wanted: Option<&str>) -> Result<String> {
    let names: BTreeSet<&String> = attempts.iter().map(|it| &it.study.shard.study).collect();
    let wanted = wanted.unwrap_or_default();
    let fitting: Vec<&String> = names.into_iter().filter(|it| it.starts_with(wanted)).collect();
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] => bail!(Advised::new(
            if wanted.is_empty() {
                "there are no shards yet".to_owned()
            } else {
                format!("there are no shards of study `{wanted}` yet")
            },
            "`assay run STUDY.toml --shard 1/3 --ledger 1.db` measures one"
        )),
        several => {
            let names: Vec<&str> = several.iter().map(|it| it.as_str()).collect();
            bail!(Advised::new(
                format!("there are shards of several studies: {}", names.join(", ")),
                "name one of them"
            ))
        }
    }
}

/// The ledger files below a place, this many directories deep.
pub(super) fn ledgers(place: &Path, depth: u32, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    if !place.is_dir() {
        files.insert(place.to_owned());
        return Ok(());
    }
    for entry in fs_err::read_dir(place)? {
        let path = entry?.path();
        if path.is_dir() {
            if depth > 0 {
                ledgers(&path, depth - 1, files)?;
            }
        } else if path.extension().is_some_and(|it| it == "db") {
            files.insert(path);
        }
    }
    Ok(())
}

pub(super) fn of_file(file: &Path) -> Result<Vec<Attempt>> {
    let cannot = || format!("cannot read `{}`", file.display());
    let studies = open_ledger(file).with_context(cannot)?.shards().with_context(cannot)?;
    Ok(studies.into_iter().map(|study| Attempt { file: file.to_owned(), study }).collect())
}

#[cfg(test)]
mod tests {
    use assay_model::ShardRun;

    use super::*;

    fn attempt(file: &str, number: u32, slices: u64, finished: bool, started_ms: i64) -> Attempt {
        let shard = ShardRun {
            study: "shards-1".to_owned(),
            number,
            of: 3,
            first: 0,
            step: 1,
            attempt: String::new(),
            node: String::new(),
        };
        let id = "s".to_owned();
        Attempt { file: file.into(), study: ShardStudy { id, shard, started_ms, slices, finished } }
    }

    #[test]
    fn one_attempt_of_a_shard_counts() {
        let attempts = vec![
            attempt("more", 1, 90, false, 2),
            attempt("ended", 1, 80, true, 1),
            attempt("less", 1, 10, false, 9),
            attempt("earlier", 2, 5, false, 1),
            attempt("later", 2, 5, false, 2),
        ];
        for turn in 0..attempts.len() {
            let mut attempts = attempts.clone();
            attempts.rotate_left(turn);
            let shards = by_shard(attempts);
            let counted = shards.values().filter_map(|it| it.last()?.file.to_str());
            assert_eq!(counted.collect::<Vec<_>>(), ["ended", "later"]);
        }
    }
}
