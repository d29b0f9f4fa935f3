//! `assay map fill`: counts what the map lacks of a product, several releases at a time, until nothing is lacking or
//! the user stops it. The files of the map are its whole state, so that it continues wherever it was.

use std::collections::VecDeque;
use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use assay_command::args::{ShardNumber, SourceArg};
use assay_command::candidates;
use assay_command::exit::Exit;
use assay_map_data::{MapGap, is_in_series, merged, short_text};
use assay_model::{Product, counted};
use assay_options::whole;
use assay_plan::Request;
use assay_provision::AvailableServer;
use assay_run::advice::HintedError;
use assay_run::interrupt::Interrupt;
use assay_run::progress::{Progress, minutes};
use assay_run::systems::{Environment, environment, provisioner};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::counting::{
    CountedRelease, CountingOptions, ReleaseToCount, RunningCount, keep_left_over,
};
use crate::shipped::{
    VARIABLE, is_map, read_cells, read_functions_of, read_gaps, write_cells, write_gaps,
};

#[derive(Debug, Args)]
pub struct MapFill {
    /// The product whose releases are counted
    #[arg(long, value_name = "PRODUCT", value_parser = product)]
    pub product: Product,

    /// Only these releases, or those of these series, such as `8.0,9.7.1` [default: all that assay can get]
    #[arg(long, value_name = "VERSION,...", value_delimiter = ',')]
    pub versions: Vec<String>,

    /// Only the tests whose names match [default: all of the usual set]
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub tests: Vec<String>,

    /// Releases that are counted at the same time
    #[arg(long, value_name = "N", value_parser = whole(1..=64_u32), default_value_t = 2)]
    pub jobs: u32,

    /// Count only a part of the releases, such as `2/6`: every sixth from the second on; `assay map add` puts the parts
    /// together
    ///
    /// Each part needs a separate `--dir`, which begins as a copy of the map.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<ShardNumber>,

    /// Try again what could not be counted earlier
    #[arg(long)]
    pub again: bool,

    /// The folder with the files of the map [default: `map`, if it is there]
    #[arg(long, value_name = "DIR", env = VARIABLE)]
    pub dir: Option<PathBuf>,

    #[command(flatten)]
    pub from: SourceArg,

    /// Use only what is in the cache
    #[arg(long)]
    pub offline: bool,

    /// Accept expired package indexes
    #[arg(long)]
    pub accept_expired_index: bool,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

fn product(word: &str) -> Result<Product, String> {
    Product::named(word).ok_or_else(|| {
        let known = Product::ALL.map(|known| format!("`{known}`")).join(", ");
        format!("the products are {known}")
    })
}

/// How often the processes that count are looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Releases in a row without any count: they have a common cause.
const FAILED_MAX: usize = 4;

pub(crate) fn fill(args: &MapFill, cache_dir: Option<&Path>) -> Result<Exit> {
    let folder = folder(args.dir.as_deref())?;
    let tests = tests(&args.tests)?;
    let progress = Progress::new(args.quiet);
    let env = environment(cache_dir, args.offline, args.accept_expired_index, &progress)?;
    let options = CountingOptions {
        cache_dir: env.cache_dir.clone(),
        work_dir: env.cache_dir.join("map").join(work_name(args)),
        offline: args.offline,
        accept_expired_index: args.accept_expired_index,
    };
    fs_err::create_dir_all(&options.work_dir)?;
    // Two at the same time would count the same, take each other's ledgers, and replace each other's files.
    let locks = [locked(&options.work_dir)?, locked(&folder)?];
    let mut filling =
        MapFilling { folder, product: args.product, progress: &progress, failed: Vec::new() };
    keep_left_over(&options.work_dir, |counted| filling.keep(counted))?;
    progress.update("searching the sources");
    let available = env.interrupt.may_end_in(|| available(args, &env))?;
    let releases = filling.lacking(args, &available, &tests)?;
    let start = |release| RunningCount::start(release, &options, locks[0].file());
    let exit = filling.count(releases, args.jobs as usize, start, &env.interrupt);
    progress.finish();
    exit
}

pub(crate) fn locked(directory: &Path) -> Result<fs_err::File> {
    let lock = fs_err::File::open(directory)?;
    match lock.file().try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => bail!(HintedError::new(
            format!(
                "another `assay map fill`, or a count that it began, uses `{}`",
                directory.display()
            ),
            "wait for its end, or use other folders with `--cache-dir` and `--dir`"
        )),
        // NFS cannot lock directories.
        Err(TryLockError::Error(error)) => {
            log::warn!("cannot lock `{}`: {error}", directory.display());
        }
    }
    Ok(lock)
}

/// Shards may share a cache.
fn work_name(args: &MapFill) -> String {
    let product = args.product;
    match args.shard {
        Some(ShardNumber { number, of }) => format!("{product}-{number}-of-{of}"),
        None => product.to_string(),
    }
}

pub(crate) fn folder(dir: Option<&Path>) -> Result<PathBuf> {
    let folder = dir.unwrap_or(Path::new("map")).to_owned();
    if is_map(&folder) {
        return Ok(folder);
    }
    Err(HintedError::new(
        format!("`{}` has no files of the map", folder.display()),
        "run it in a checkout of assay's repository, or name its folder `map` with `--dir`",
    )
    .into())
}

/// Names and digests of the tests.
fn tests(globs: &[String]) -> Result<Vec<[String; 2]>> {
    let all = Request::default().shipped_tests();
    let chosen = assay_plan::select_of(all, globs)?;
    Ok(chosen.into_iter().map(|test| [test.name().to_owned(), test.digest.clone()]).collect())
}

/// Releases of the product that assay can get, the newest first. The tarballs of vendors count only if they are named:
/// a vendor keeps hundreds of them on servers of its own.
fn available(args: &MapFill, env: &Environment<'_>) -> Result<Vec<String>> {
    let provisioner = provisioner(env)?.with_source(args.from.source.clone())?;
    let mut available = provisioner.available(args.product)?;
    let source = args.from.source.as_deref();
    available.retain(|server| is_wanted(server, source, &args.versions));
    if available.is_empty() && !args.versions.is_empty() {
        return Err(HintedError::new(
            format!("assay cannot get {} {}", args.product, args.versions.join(", ")),
            "`assay server list --available` lists the versions; tarballs of vendors need `--source tarball`",
        )
        .into());
    }
    let mut versions: Vec<String> = available.into_iter().map(|server| server.version).collect();
    versions.dedup();
    versions.reverse();
    Ok(part_of(versions, args.shard))
}

/// Every Nth version from the Kth on: all shards have new and old ones.
fn part_of(versions: Vec<String>, shard: Option<ShardNumber>) -> Vec<String> {
    let Some(ShardNumber { number, of }) = shard else { return versions };
    versions.into_iter().skip(number as usize - 1).step_by(of as usize).collect()
}

fn is_wanted(server: &AvailableServer, source: Option<&str>, versions: &[String]) -> bool {
    let AvailableServer { version, source: from, channel, released, .. } = server;
    let is_from = match source {
        Some(source) => source == from || source == channel,
        None => channel != "tarball",
    };
    let is_named = versions.is_empty() || versions.iter().any(|named| is_in_series(version, named));
    // A `-` precedes a vendor's number of the build.
    is_from && is_named && *released && !version.contains('-')
}

struct MapFilling<'a> {
    folder: PathBuf,
    product: Product,
    progress: &'a Progress,
    /// Gaps of releases in a row without any count. They are not in the map yet, because the machine may be at fault.
    failed: Vec<Vec<MapGap>>,
}

impl MapFilling<'_> {
    /// Adds counts and gaps to the files.
    fn keep(&self, counted: CountedRelease) -> Result<()> {
        let CountedRelease { cells, functions, gaps, .. } = counted;
        let folder = Some(self.folder.as_path());
        if !cells.is_empty() {
            let mut all = read_functions_of(folder, self.product, None)?;
            all.extend(functions);
            let cells = merged(read_cells(folder, self.product)?, cells);
            write_cells(&self.folder, self.product, &cells, &all)?;
        }
        if !gaps.is_empty() {
            write_gaps(&self.folder, &merged(read_gaps(folder)?, gaps))?;
        }
        Ok(())
    }

    /// The tests of each release that have neither a cell nor a gap.
    fn lacking(
        &self,
        args: &MapFill,
        available: &[String],
        tests: &[[String; 2]],
    ) -> Result<VecDeque<ReleaseToCount>> {
        let cells = read_cells(Some(&self.folder), self.product)?;
        let mut gaps = read_gaps(Some(&self.folder))?;
        gaps.retain(|gap| gap.product == self.product && !args.again);
        let source = &args.from.source;
        let is_known = |version: &str, [name, digest]: &[String; 2]| {
            let mut cells = cells.iter().filter(|cell| cell.version == version);
            let mut gaps = gaps.iter().filter(|gap| gap.version == version);
            cells.any(|cell| {
                (&cell.test, &cell.digest) == (name, digest)
                    && source.as_ref().is_none_or(|source| *source == cell.source)
            }) || gaps.any(|gap| gap.test.is_empty() || (&gap.test, &gap.digest) == (name, digest))
        };
        let release = |version: &String| ReleaseToCount {
            product: self.product,
            version: version.clone(),
            source: source.clone(),
            tests: tests.iter().filter(|test| !is_known(version, test)).cloned().collect(),
        };
        let releases = available.iter().map(release);
        Ok(releases.filter(|release| !release.tests.is_empty()).collect())
    }

    fn count(
        &mut self,
        mut releases: VecDeque<ReleaseToCount>,
        jobs: usize,
        start: impl Fn(ReleaseToCount) -> Result<RunningCount>,
        interrupt: &Interrupt,
    ) -> Result<Exit> {
        let mut outlook = FillOutlook::new(&releases);
        let all = counted(releases.len() as u64, "release");
        self.progress.note(&format!("the map lacks tests of {all} of {}", self.product));
        let mut running: Vec<RunningCount> = Vec::new();
        let mut has_stopped = false;
        let mut failure: Option<anyhow::Error> = None;
        loop {
            if !has_stopped && (interrupt.check().is_err() || failure.is_some()) {
                has_stopped = true;
                releases.clear();
                running.iter().for_each(RunningCount::stop);
                self.progress.note("stopping after the tests in progress");
            }
            while running.len() < jobs
                && failure.is_none()
                && let Some(release) = releases.pop_front()
            {
                match start(release) {
                    Ok(started) => running.push(started),
                    Err(error) => failure = Some(error),
                }
            }
            if running.is_empty() {
                break;
            }
            let names: Vec<String> = running.iter().map(|one| one.release.system()).collect();
            self.progress.update(&format!("counting {}; {}", names.join(", "), outlook.left()));
            std::thread::sleep(LOOK);
            for one in running.extract_if(.., |one| one.has_ended()).collect::<Vec<_>>() {
                let added = self.add(one, has_stopped, &mut outlook);
                failure = failure.or(added.err());
            }
        }
        let failed = std::mem::take(&mut self.failed);
        let has_failed = !failed.is_empty();
        if !has_stopped {
            self.keep(CountedRelease { gaps: failed.concat(), ..CountedRelease::default() })?;
        }
        match failure {
            Some(failure) => Err(failure),
            None if has_stopped => {
                self.progress.note("stopped: the same command continues");
                Ok(Exit::Interrupted)
            }
            None if has_failed => Ok(Exit::Incomplete),
            None => Ok(Exit::Done),
        }
    }

    /// Adds the result of a process that has ended. Fails if many in a row have counted nothing.
    fn add(
        &mut self,
        ended: RunningCount,
        has_stopped: bool,
        outlook: &mut FillOutlook,
    ) -> Result<()> {
        let mut result = ended.result();
        let (system, tests) = (ended.release.system(), result.cells.len());
        let (error, gaps) = (result.error.take(), result.gaps.len());
        outlook.add(tests, &ended.release);
        if tests > 0 {
            result.gaps.extend(std::mem::take(&mut self.failed).concat());
            self.keep(result).with_context(|| format!("cannot keep `{system}`"))?;
            ended.forget()?;
            if let Some(error) = error {
                self.progress.failed(&system, &error);
            }
            let tests = counted(tests as u64, "test");
            let what = format!("{tests}, {gaps} could not be counted; {}", outlook.left());
            self.progress.done(&system, &what);
            return Ok(());
        }
        let release = ended.forget()?;
        if has_stopped {
            return Ok(());
        }
        let why = error.or_else(|| result.gaps.first().map(|gap| gap.reason.clone()));
        let why = why.unwrap_or_else(|| "it counted nothing, and did not say why".to_owned());
        self.progress.failed(&system, &why);
        if result.gaps.is_empty() {
            result.gaps.push(MapGap {
                product: release.product,
                version: short_text(&release.version),
                source: release.source.as_deref().map(short_text).unwrap_or_default(),
                test: String::new(),
                digest: String::new(),
                reason: short_text(&why),
            });
        }
        self.failed.push(result.gaps);
        if self.failed.len() < FAILED_MAX {
            return Ok(());
        }
        // They are no gaps of the map.
        self.failed.clear();
        Err(HintedError::new(
            format!("{FAILED_MAX} releases in a row could not be counted; the last one: {why}"),
            format!(
                "`assay count {system} --tests point-query` shows one of them; then fill again"
            ),
        )
        .into())
    }
}

/// How much is left to count, and how long it takes.
struct FillOutlook {
    began: Instant,
    tests: usize,
    tests_left: usize,
    tests_counted: usize,
}

impl FillOutlook {
    fn new(releases: &VecDeque<ReleaseToCount>) -> Self {
        let tests = releases.iter().map(|release| release.tests.len()).sum();
        Self { began: Instant::now(), tests, tests_left: tests, tests_counted: 0 }
    }

    fn add(&mut self, counted: usize, release: &ReleaseToCount) {
        self.tests_left = self.tests_left.saturating_sub(release.tests.len());
        self.tests_counted += counted;
    }

    /// `416 of 3840 counts left, about 9:10:00`.
    fn left(&self) -> String {
        let left = format!("{} of {} left", self.tests_left, counted(self.tests as u64, "count"));
        if self.tests_counted == 0 || self.tests_left == 0 {
            return left;
        }
        let each_s = self.began.elapsed().as_secs_f64() / self.tests_counted as f64;
        format!("{left}, about {}", minutes(each_s * self.tests_left as f64))
    }
}

#[cfg(test)]
mod tests {
    use assay_map_data::{CellFunctions, MapCell, MapFunction};

    use super::*;

    fn cell(version: &str, test: &str) -> MapCell {
        MapCell {
            product: Product::MySql,
            version: version.to_owned(),
            source: "maven".to_owned(),
            program: "0a".to_owned(),
            test: test.to_owned(),
            digest: "d1".to_owned(),
            terms: "lean".to_owned(),
            instructions: 40_000.0,
            half_width: 4.0,
            background: None,
            times: 2,
            counter: "valgrind 3.19.0".to_owned(),
            shown: "avx2".to_owned(),
        }
    }

    fn args(again: bool) -> MapFill {
        MapFill {
            product: Product::MySql,
            versions: Vec::new(),
            tests: Vec::new(),
            jobs: 2,
            shard: None,
            again,
            dir: None,
            from: SourceArg { source: None },
            offline: false,
            accept_expired_index: false,
            quiet: true,
        }
    }

    #[test]
    fn what_is_counted_or_a_gap_is_not_counted_again() {
        let folder = tempfile::tempdir().unwrap();
        let progress = Progress::new(true);
        let filling = MapFilling {
            folder: folder.path().to_owned(),
            product: Product::MySql,
            progress: &progress,
            failed: Vec::new(),
        };
        let function =
            MapFunction { instructions: 1.0, module: "mysqld".into(), name: "main".into() };
        let counted = CountedRelease {
            cells: vec![cell("8.0.33", "scan")],
            functions: CellFunctions::from([(cell("8.0.33", "scan").key(), vec![function])]),
            gaps: vec![MapGap {
                product: Product::MySql,
                version: "8.0.12".to_owned(),
                source: String::new(),
                test: String::new(),
                digest: String::new(),
                reason: "ends under valgrind".to_owned(),
            }],
            error: None,
        };
        filling.keep(counted).unwrap();
        let tests = ["scan", "hot-points"].map(|name| [name.to_owned(), "d1".to_owned()]);
        let available = ["8.0.33", "8.0.12", "8.0.11"].map(str::to_owned);
        let lacking = |again| -> Vec<(String, usize)> {
            let releases = filling.lacking(&args(again), &available, &tests).unwrap();
            let size = |release: ReleaseToCount| (release.version.clone(), release.tests.len());
            releases.into_iter().map(size).collect()
        };
        let release = |version: &str, tests| (version.to_owned(), tests);
        assert_eq!(lacking(false), [release("8.0.33", 1), release("8.0.11", 2)]);
        let again = [release("8.0.33", 1), release("8.0.12", 2), release("8.0.11", 2)];
        assert_eq!(lacking(true), again);
        let functions = read_functions_of(Some(folder.path()), Product::MySql, None).unwrap();
        assert_eq!(functions.len(), 1);
    }

    #[test]
    fn tarballs_of_vendors_are_counted_if_they_are_named() {
        let server = |version: &str, source: &str, channel: &str| AvailableServer {
            product: Product::MySql,
            version: version.to_owned(),
            source: source.to_owned(),
            channel: channel.to_owned(),
            released: true,
            verified: false,
        };
        let maven = server("8.0.33", "maven", "x");
        let vendor = server("8.0.33", "mysql.com", "tarball");
        assert!(is_wanted(&maven, None, &[]) && !is_wanted(&vendor, None, &[]));
        assert!(is_wanted(&vendor, Some("mysql.com"), &[]));
        assert!(!is_wanted(&maven, None, &["8.4".to_owned()]));
        assert!(is_wanted(&maven, None, &["8.0".to_owned()]));
        assert!(!is_wanted(&server("8.0.36-28", "maven", "x"), None, &[]));
    }

    #[test]
    fn every_release_is_in_one_shard() {
        let versions = ["18.1", "18.0", "17.7", "17.6", "17.5"].map(str::to_owned);
        let part = |shard: &str| part_of(versions.to_vec(), Some(shard.parse().unwrap()));
        assert_eq!(part("1/3"), ["18.1", "17.6"]);
        assert_eq!(part("3/3"), ["17.7"]);
        assert!(part("6/6").is_empty());
        assert_eq!(part_of(versions.to_vec(), None), versions);
    }

    #[test]
    fn the_time_left_follows_from_what_was_counted() {
        let release = ReleaseToCount {
            product: Product::MySql,
            version: "8.0.33".to_owned(),
            source: None,
            tests: vec![["scan".to_owned(), "d1".to_owned()]; 4],
        };
        let mut outlook = FillOutlook::new(&VecDeque::from([release.clone(), release.clone()]));
        assert_eq!(outlook.left(), "8 of 8 counts left");
        outlook.add(4, &release);
        assert!(outlook.left().starts_with("4 of 8 counts left, about "), "{}", outlook.left());
    }
}
