//! `assay collect`: finds the ledgers of shards, chooses the attempts that count, and assembles the study.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_ledger::{Ledger, ShardCollection, ShardStudy, StudyRows};
use assay_model::{StudyRecord, counted};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

use super::job::{FarmJob, has_secret};
use assay_command::args::{LedgerArg, ShapeArg};
use assay_command::exit::Exit;
use assay_command::ledger_files::open_ledger;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::{paths, study, study_records};

/// Depth of the search for ledgers: CI systems unpack artifacts into a directory for each shard.
const DEPTH: u32 = 3;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attempt {
    pub(super) file: PathBuf,
    pub(super) study: ShardStudy,
}

pub(super) struct ShardLedgers {
    pub(super) study: String,
    /// The job, if this user submitted it here and the attempts belong to it.
    pub(super) job: Option<FarmJob>,
    /// All attempts, by shard; the last one of a shard counts.
    pub(super) attempts: BTreeMap<u32, Vec<Attempt>>,
    pub(super) of: u32,
}

impl ShardLedgers {
    pub(super) fn counted(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.values().filter_map(|of_shard| of_shard.last())
    }

    fn refuse_loss(&self, ledger: &Ledger, file: &Path) -> Result<()> {
        let found: BTreeMap<u32, u64> =
            self.counted().map(|it| (it.study.shard.number, it.study.slices)).collect();
        for (number, known) in ledger.collected(&self.study)? {
            let there = found.get(&number).copied().unwrap_or(0);
            if there < known {
                bail!(HintedError::new(
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

    fn collect_own(&self, ledger: &mut Ledger, file: &Path) -> Result<ShardCollection> {
        let before =
            if ledger.contains(&self.study)? { Some(ledger.read(&self.study)?) } else { None };
        if before.as_ref().is_some_and(|before| !study::is_own(before)) {
            return Err(self.refused(file));
        }
        self.refuse_loss(ledger, file)?;
        let collected = self.collect_into(ledger)?;
        if ledger.contains(&self.study)? {
            let claimed = study::claim_collected(&ledger.read(&self.study)?, before.as_ref());
            claimed.unwrap_or_else(|error| {
                print(&format!(
                    "warning: the study can only be read: cannot record that it is yours: {error:#}"
                ));
            });
        }
        Ok(collected)
    }

    /// Assembles a study that anybody may have measured. It is marked as one from elsewhere, and replaces nothing.
    fn collect_foreign(&self, ledger: &mut Ledger, file: &Path) -> Result<ShardCollection> {
        if !ledger.contains(&self.study)? {
            return self.collect_into(ledger);
        }
        let mut copy = Ledger::in_memory()?;
        let collected = self.collect_into(&mut copy)?;
        let is_there = copy.contains(&self.study)?
            && copy.rows(&self.study)?.is_same(&ledger.rows(&self.study)?);
        if is_there { Ok(collected) } else { Err(self.refused(file)) }
    }

    fn refused(&self, file: &Path) -> anyhow::Error {
        let Self { study, .. } = self;
        let file = file.display();
        HintedError::new(
            format!(
                "`{file}` has another study `{study}`, and only shards of a job that you submitted replace what was \
                 collected from it"
            ),
            format!(
                "`assay studies show {study}` says what it is; `--ledger FILE` collects the shards into another ledger"
            ),
        )
        .into()
    }

    /// Its file may have changed since it was chosen.
    fn rows_of(&self, attempt: &Attempt) -> Result<StudyRows> {
        let rows = attempt.rows()?;
        let is_of = |job: &FarmJob| rows.shard().is_some_and(|it| has_secret(&it, &job.secret));
        match &self.job {
            Some(job) if !is_of(job) => {
                bail!("`{}` has no shard of the job any more", attempt.file.display())
            }
            _ => Ok(rows),
        }
    }

    pub(super) fn collect_into(&self, ledger: &mut Ledger) -> Result<ShardCollection> {
        let counted: Vec<&Attempt> = self.counted().collect();
        // An unreadable attempt means one shard less.
        let rows = counted.into_iter().filter_map(|attempt| match self.rows_of(attempt) {
            Ok(rows) => Some(Ok(rows)),
            Err(error) => {
                print(&format!("warning: left out: {error:#}"));
                None
            }
        });
        let collected = ledger.collect(&self.study, self.job.is_some(), rows)?;
        if collected.is_complete {
            // The last look spends all of the error, so the conclusions are those of a study that has ended.
            let record =
                StudyRecord { finished: true, ..study_records::read(ledger, &self.study)? };
            ledger.conclude(&self.study, &study_records::conclusions(&record))?;
        }
        Ok(collected)
    }
}

impl Attempt {
    pub(super) fn rows(&self) -> Result<StudyRows> {
        let ledger = open_ledger(&self.file)?;
        study_records::check(&ledger.documents(&self.study.id)?)?;
        Ok(ledger.rows(&self.study.id)?)
    }
}

#[derive(Debug, Serialize)]
struct CollectedShard {
    study: String,
    shard: u32,
    of: u32,
    node: String,
    attempt: String,
    attempts: usize,
    slices: u64,
    finished: bool,
    /// `None` if it is in the study.
    left_out: Option<String>,
}

impl CollectedShard {
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

/// `assay collect`.
#[derive(Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub shards: ShardsArg,

    #[command(flatten)]
    pub shape: ShapeArg,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

impl Arguments for CollectArgs {
    const NAME: &'static str = "collect";
    const ABOUT: &'static str = "Put a study together from the ledgers of its shards";
    const GROUP: CommandGroup = CommandGroup::ManyMachines;
    const EXITS: &'static [(Exit, &'static str)] =
        &[(Exit::Incomplete, "lacks a shard or its end")];

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        let found = find(&self.shards)?;
        let file = paths::ledger_file(self.ledger.file.as_deref())?;
        let mut ledger = Ledger::open(&file)?;
        let collected = match &found.job {
            Some(_) => found.collect_own(&mut ledger, &file)?,
            None => found.collect_foreign(&mut ledger, &file)?,
        };
        let why = |number| {
            let left_out = collected.left_out.iter().find(|it| it.number == number);
            left_out.map(|it| it.why.clone())
        };
        let line = |(number, attempts): (&u32, &Vec<Attempt>)| {
            let ShardStudy { shard, slices, finished, .. } = &attempts.last()?.study;
            Some(CollectedShard {
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
        let lines: Vec<CollectedShard> = found.attempts.iter().filter_map(line).collect();
        report::put_rows(&self.shape, &lines, CollectedShard::text)?;
        let missing = (1..=found.of).filter(|number| !found.attempts.contains_key(number)).count();
        if missing > 0 {
            print(&format!(
                "note: {} of {} has no ledger",
                counted(missing as u64, "shard"),
                found.of
            ));
        }
        print(&format!("note: `assay report {}` shows the study", found.study));
        Ok(if collected.is_complete { Exit::Done } else { Exit::Incomplete })
    }
}

/// Which study, and where its shards are.
#[derive(Debug, Args)]
pub struct ShardsArg {
    /// The study, or the beginning of its name [default: the one submitted last, or with `--dir` the only one there]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    /// Read the ledgers in this directory, or this ledger, instead of those of the job
    #[arg(long, value_name = "PATH")]
    pub dir: Vec<PathBuf>,
}

pub(super) fn find(args: &ShardsArg) -> Result<ShardLedgers> {
    let job = match args.dir.as_slice() {
        [] => Some(FarmJob::find(args.study.as_deref())?),
        _ => None,
    };
    let of_job = job.as_ref().map(|job| job.dir.clone());
    let mut files = BTreeSet::new();
    for place in args.dir.iter().chain(&of_job) {
        if !place.exists() {
            bail!(HintedError::new(
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
    if let Some(job) = &job {
        attempts.retain(|it| is_of(it, job));
    }
    let wanted = job.as_ref().map(|job| job.study.clone()).or_else(|| args.study.clone());
    let study = one_study(&attempts, wanted.as_deref())?;
    attempts.retain(|it| it.study.shard.study == study);
    // Ledgers in other directories may be those of a job.
    let job = job.or_else(|| FarmJob::known(&study));
    let job = job.filter(|job| attempts.iter().any(|it| it.study.shard.secret == job.secret));
    if let Some(job) = &job {
        attempts.retain(|it| is_of(it, job));
    }
    let shards = job.as_ref().map(|job| job.shards);
    let shards =
        shards.or_else(|| attempts.first().map(|it| it.study.shard.of)).unwrap_or_default();
    Ok(ShardLedgers { study, job, attempts: by_shard(attempts), of: shards })
}

fn is_of(attempt: &Attempt, job: &FarmJob) -> bool {
    let shard = &attempt.study.shard;
    let is_of = shard.study == job.study && has_secret(shard, &job.secret);
    if !is_of {
        let file = attempt.file.display();
        print(&format!(
            "warning: left out: `{file}` has no shard of the job of study `{}`",
            job.study
        ));
    }
    is_of
}

/// Attempts by shard, of which the last one counts: finished, then with the most slices, then the latest.
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

fn one_study(attempts: &[Attempt], wanted: Option<&str>) -> Result<String> {
    let names: BTreeSet<&String> = attempts.iter().map(|it| &it.study.shard.study).collect();
    let wanted = wanted.unwrap_or_default();
    let fitting: Vec<&String> = names.into_iter().filter(|it| it.starts_with(wanted)).collect();
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] => bail!(HintedError::new(
            if wanted.is_empty() {
                "there are no shards yet".to_owned()
            } else {
                format!("there are no shards of study `{wanted}` yet")
            },
            "`assay run STUDY.toml --shard 1/3 --ledger 1.db` measures one"
        )),
        several => {
            let names: Vec<&str> = several.iter().map(|it| it.as_str()).collect();
            bail!(HintedError::new(
                format!("there are shards of several studies: {}", names.join(", ")),
                "name one of them"
            ))
        }
    }
}

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
            secret: String::new(),
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
