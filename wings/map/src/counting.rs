//! Counts a release: `assay count` in a process of its own, whose ledger becomes cells, functions and gaps of the map.
//!
//! Everything that fill knows of counting is here. A process of its own may fail or be stopped without others.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use assay_ledger::Ledger;
use assay_map_data::{CellFunctions, FUNCTIONS_KEPT, MapCell, MapFunction, MapGap, short_text};
use assay_model::{
    CellCount, Count, CountBatch, CountSource, EventKind, Product, StudyDocument as _, StudyRecord,
    System,
};
use assay_run::study_records;
use assay_verdict::Judgement;
use rustix::process::{Pid, Signal, kill_process};

/// A release and the tests of it that the map lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReleaseToCount {
    pub(crate) product: Product,
    pub(crate) version: String,
    /// The only source that may be used; `None` for the best one.
    pub(crate) source: Option<String>,
    /// Names and digests of the tests.
    pub(crate) tests: Vec<[String; 2]>,
}

impl ReleaseToCount {
    /// As users name it.
    pub(crate) fn system(&self) -> String {
        format!("{}@{}", self.product, self.version)
    }
}

/// Options of the processes that count.
#[derive(Debug, Clone)]
pub(crate) struct CountingOptions {
    pub(crate) cache_dir: PathBuf,
    /// Directory for their ledgers and messages.
    pub(crate) work_dir: PathBuf,
    pub(crate) offline: bool,
    pub(crate) accept_expired_index: bool,
}

/// A process that counts a release.
pub(crate) struct RunningCount {
    pub(crate) release: ReleaseToCount,
    child: Child,
    ledger: PathBuf,
    messages: PathBuf,
}

/// The result of counting a release.
#[derive(Debug, Default)]
pub(crate) struct CountedRelease {
    pub(crate) cells: Vec<MapCell>,
    pub(crate) functions: CellFunctions,
    /// Tests that could not be counted.
    pub(crate) gaps: Vec<MapGap>,
    /// The last error message of the process; `None` if it had none.
    pub(crate) error: Option<String>,
}

impl RunningCount {
    /// The process holds the lock of fill as long as it runs, even if fill was killed.
    pub(crate) fn start(
        release: ReleaseToCount,
        options: &CountingOptions,
        lock: &File,
    ) -> Result<Self> {
        let system = release.system();
        let ledger = options.work_dir.join(format!("{system}.db"));
        let messages = options.work_dir.join(format!("{system}.log"));
        remove(&ledger)?;
        let names: Vec<&str> = release.tests.iter().map(|[name, _]| name.as_str()).collect();
        let program = std::env::current_exe().context("cannot find the path of assay")?;
        let mut command = Command::new(program);
        command.args(["count", system.as_str(), "--tests", names.join(",").as_str()]);
        command.arg("--ledger").arg(&ledger).arg("--cache-dir").arg(&options.cache_dir);
        if let Some(source) = &release.source {
            command.args(["--source", source.as_str()]);
        }
        if options.offline {
            command.arg("--offline");
        }
        if options.accept_expired_index {
            command.arg("--accept-expired-index");
        }
        command.args(["--quiet", "--format", "json"]);
        // A terminal sends Ctrl-C to all processes of a group, and the second one would end the servers at once.
        command.process_group(0).stdin(lock.try_clone()?).stdout(Stdio::null());
        command.stderr(fs_err::File::create(&messages)?.into_parts().0);
        let child = command.spawn().with_context(|| format!("cannot count `{system}`"))?;
        Ok(Self { release, child, ledger, messages })
    }

    /// A process that cannot be waited for counts as ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to stop after the test in progress.
    pub(crate) fn stop(&self) {
        // It may have ended.
        let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
    }

    /// What it counted.
    pub(crate) fn result(&self) -> CountedRelease {
        let mut counted = counted_in(&self.ledger).unwrap_or_else(|error| CountedRelease {
            error: Some(short_text(&format!("{error:#}"))),
            ..CountedRelease::default()
        });
        let messages = fs_err::read(&self.messages).unwrap_or_default();
        let error = last_error(&String::from_utf8_lossy(&messages));
        counted.error = error.or(counted.error);
        counted
    }

    /// Removes its files.
    pub(crate) fn forget(self) -> Result<ReleaseToCount> {
        remove(&self.ledger)?;
        fs_err::remove_file(&self.messages)?;
        Ok(self.release)
    }
}

/// Keeps the counts in the ledgers that an earlier process left in the directory, and removes these files.
pub(crate) fn keep_left_over(
    work_dir: &Path,
    keep: impl Fn(CountedRelease) -> Result<()>,
) -> Result<()> {
    for entry in fs_err::read_dir(work_dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "db") {
            let counted = counted_in(&path).unwrap_or_default();
            // The end of that process may be the reason of a gap.
            keep(CountedRelease { gaps: Vec::new(), ..counted })?;
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a ledger with the files that SQLite keeps beside it.
fn remove(ledger: &Path) -> Result<()> {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut path = ledger.as_os_str().to_owned();
        path.push(ending);
        if Path::new(&path).exists() {
            fs_err::remove_file(Path::new(&path))?;
        }
    }
    Ok(())
}

/// Nothing if no study began.
fn counted_in(ledger: &Path) -> Result<CountedRelease> {
    if !ledger.exists() {
        return Ok(CountedRelease::default());
    }
    let ledger = Ledger::open_read_only(ledger)?;
    let Some(id) = ledger.latest()? else { return Ok(CountedRelease::default()) };
    let record = study_records::read(&ledger, &id)?;
    let cpuinfo = fs_err::read_to_string("/proc/cpuinfo").unwrap_or_default();
    Ok(counted_release(&record, &shown_sets(&cpuinfo)))
}

/// The cells, functions and gaps of a study, whose first system is the release.
fn counted_release(record: &StudyRecord, shown: &str) -> CountedRelease {
    let judgement = assay_verdict::judge(record);
    let mut counted = CountedRelease::default();
    let Some(system) = record.systems.first() else { return counted };
    let Some(product) = system.artifact.product() else { return counted };
    for count in record.counts.iter().filter(|count| count.system == 0) {
        let Some(cell) = map_cell(record, &judgement, (product, system), count, shown) else {
            continue;
        };
        counted.functions.insert(cell.key(), functions(&count.count));
        counted.cells.push(cell);
    }
    for event in &record.events {
        let EventKind::NotDone { afterward, test, why, .. } = &event.what else { continue };
        let is_missing = counted.cells.iter().all(|cell| cell.test != *test);
        if afterward == Count::NAME && is_missing {
            let mut planned = record.study.cells.iter().map(|planned| planned.id.test);
            let found = planned.find(|planned| planned.name() == test);
            counted.gaps.push(MapGap {
                product,
                version: short_text(system.artifact.version()),
                source: short_text(system.artifact.source()),
                test: short_text(test),
                digest: found.map_or_else(String::new, |found| short_text(&found.digest)),
                reason: short_text(why),
            });
        }
    }
    counted
}

/// Digits of the digest of a program that the map keeps.
const PROGRAM_DIGITS: usize = 16;

fn map_cell(
    record: &StudyRecord,
    judgement: &Judgement,
    (product, system): (Product, &System),
    CellCount { system: index, cell, count }: &CellCount,
    shown: &str,
) -> Option<MapCell> {
    let mut judged = judgement.cells.iter();
    let judged = judged.find(|judged| (judged.cell, judged.system) == (*cell, *index))?;
    let figures = judged.count.as_ref()?;
    let estimate = figures.instructions;
    let counter = match count.by {
        CountSource::Hardware => "processor".to_owned(),
        CountSource::Callgrind => {
            let version = count.version.as_deref().unwrap_or_default();
            format!("valgrind {}", version.trim_start_matches("valgrind-"))
        }
    };
    Some(MapCell {
        product,
        version: short_text(system.artifact.version()),
        source: short_text(system.artifact.source()),
        program: system.artifact.sha256()?.chars().take(PROGRAM_DIGITS).collect(),
        test: short_text(cell.test.name()),
        digest: short_text(&cell.test.digest),
        terms: short_text(record.study.terms.as_deref().unwrap_or_default()),
        instructions: estimate.value,
        half_width: ((estimate.high - estimate.low) / 2.0).hypot(error_of_events(&count.instances)),
        background: figures.background.map(|background| background.max(0.0)),
        times: count.instances.len() as u32,
        counter: short_text(counter.trim()),
        shown: shown.to_owned(),
    })
}

/// Half of the width of the 95% interval of the instructions per operation that follows from the choice of events. The
/// number of events, and so their choice, differs between releases that are counted apart.
fn error_of_events(instances: &[Vec<CountBatch>]) -> f64 {
    const NORMAL_95: f64 = 1.96;
    // All instances have the same events.
    let Some(batches) = instances.first().filter(|batches| batches.len() > 1) else { return 0.0 };
    let each: Vec<f64> =
        batches.iter().map(|batch| batch.serving as f64 / batch.ops.max(1.0)).collect();
    let number = each.len() as f64;
    let mean = each.iter().sum::<f64>() / number;
    let squares: f64 = each.iter().map(|value| (value - mean).powi(2)).sum();
    NORMAL_95 * (squares / (number - 1.0) / number).sqrt()
}

/// The functions with most instructions per operation. Those without a name are one for each module.
fn functions(count: &Count) -> Vec<MapFunction> {
    let ops = count.ops.max(1) as f64;
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for function in &count.functions {
        let frame = &function.frame;
        let name = if frame.is_named() { frame.function.as_str() } else { UNNAMED };
        let sum = sums.entry((frame.module.as_str(), name)).or_default();
        *sum = sum.saturating_add(function.own);
    }
    let mut sums: Vec<((&str, &str), u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, own)| std::cmp::Reverse(*own));
    sums.truncate(FUNCTIONS_KEPT);
    let function = |((module, name), own): ((&str, &str), u64)| MapFunction {
        instructions: own as f64 / ops,
        module: module.to_owned(),
        name: name.to_owned(),
    };
    sums.into_iter().map(function).collect()
}

const UNNAMED: &str = "(without a name)";

/// The instruction sets of this machine by which servers choose code, as far as valgrind shows them. It shows no newer
/// ones.
fn shown_sets(cpuinfo: &str) -> String {
    const SETS: [&str; 4] = ["sse4_2", "avx", "avx2", "bmi2"];
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut flags = fields.filter(|(name, _)| name.trim() == "flags").map(|(_, flags)| flags);
    let flags: Vec<&str> = flags.next().unwrap_or_default().split_whitespace().collect();
    let shown: Vec<&str> = SETS.into_iter().filter(|set| flags.contains(set)).collect();
    shown.join(" ")
}

/// The last line of messages that reports an error, without the word in front.
fn last_error(messages: &str) -> Option<String> {
    let mut errors = messages.lines().filter_map(|line| line.strip_prefix("error: "));
    errors.next_back().map(short_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_sets_are_those_of_the_first_processor() {
        let cpuinfo =
            "processor\t: 0\nflags\t\t: fpu sse4_2 avx avx512f\nprocessor\t: 1\nflags\t\t: avx2\n";
        assert_eq!(shown_sets(cpuinfo), "sse4_2 avx");
        assert_eq!(shown_sets("processor : 0\n"), "");
    }

    #[test]
    fn batches_that_differ_widen_the_interval() {
        let batch = |serving| CountBatch {
            events: 100,
            ops: 100.0,
            serving,
            background: None,
            idle: None,
            kernel: None,
        };
        let error = |counts: [u64; 2]| error_of_events(&[counts.map(batch).to_vec()]);
        assert_eq!(error([4000, 4000]), 0.0);
        assert!((error([4000, 4200]) - 1.96).abs() < 1e-9);
        assert_eq!(error_of_events(&[]), 0.0);
    }

    #[test]
    fn the_last_error_is_the_reason() {
        let messages = "note: x\nerror: first\n  hint: a\nerror: cannot start `mysql@5.1`, twice\n";
        assert_eq!(last_error(messages).unwrap(), "cannot start `mysql@5.1`, twice");
        assert_eq!(last_error("note: x\n"), None);
    }

    #[test]
    fn a_ledger_that_is_not_there_has_no_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert!(counted_in(&folder.path().join("x.db")).unwrap().cells.is_empty());
        keep_left_over(folder.path(), |_| panic!("it has no ledger")).unwrap();
    }
}
