//! `assay watch`: compares new versions of a product with earlier ones. Its state follows from the studies and searches
//! in the ledger and from the available versions.

mod decisions;
mod history;
mod page;
mod watch_file;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use assay_bisect as bisect;
use assay_bisect::{SearchEnd, SearchRange, SearchRequest};
use assay_ledger::Ledger;
use assay_model::{
    COUNT_THRESHOLD, CellId, Counting, FollowedRange, JudgedFigures, SearchMeasure, counted,
};
use assay_plan::{Request, SetupRequest, StudyPlan, SystemRequest, THRESHOLD};
use clap::Args;
use fs_err as fs;

use assay_command::args::{FormatWord, MeasureArgs};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{config_file, measurement, report};
use assay_run::advice::HintedError;
use assay_run::progress::{Progress, print};
use assay_run::state_lock::StateLock;
use assay_run::study::{self, StudyError, afterwards};
use assay_run::systems::{Environment, environment, key, machine_facts, on_disk};
use assay_run::{paths, workload};
use decisions::{Suspicion, WatchNoise, suspect};
use history::{
    NewestVersion, PastSearch, Versions, WatchHistory, WatchLine, foreign, studies, with_baseline,
};
use page::WatchResult;
use watch_file::WatchRequest;

/// Default seconds after which a run begins no more searches.
const SEARCHES_S: f64 = 3600.0;

/// Seconds of the comparisons of a search.
const SEARCH_S: f64 = 3600.0;

/// The newest commits that are tried until one builds.
const TRIED: usize = 5;

impl Arguments for WatchArgs {
    const NAME: &'static str = "watch";
    const ABOUT: &'static str =
        "Compare what is new of a product, night after night, and find what changed";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const EXITS: &'static [(Exit, &'static str)] = &[(
        Exit::Incomplete,
        "could not measure or search something, or a search of it is not certain",
    )];

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        watch(self, cache_dir)
    }
}

fn watch(args: &WatchArgs, cache_dir: Option<&Path>) -> Result<Exit> {
    report::check(&args.measuring.output, None, &args.measuring.ledger)?;
    bisect::check_program(args.run_on_found.as_deref())?;
    let MeasureArgs { accept_expired_index, quiet, .. } = args.measuring;
    let (asked, request) = read(&args.watch_file, quiet)?;
    let mut range = SearchRange::read(&asked.range, asked.commits.as_deref())?;
    range.place = range.place.map(|place| placed(&place, &args.watch_file));
    if range.place.is_none() && !asked.paths.is_empty() {
        bail!(HintedError::new(
            "`paths` narrows commits, but `range` names releases",
            "leave `paths` out of the `[watch]` table"
        ));
    }
    let progress = Progress::new(quiet);
    let offline = args.measuring.offline || request.offline;
    let accept_expired_index = accept_expired_index || request.accept_expired_index;
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let request = config_file::scale(request, machine_facts(&env.cache_dir)?, quiet)?;
    let request = with_counts(request, &range, &env)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    let mut ledger = Ledger::open(&file)?;
    let name = asked.name.clone().unwrap_or_else(|| {
        let stem = args.watch_file.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    });
    let files = WatchFiles::take(&file, &name)?;
    let part = FollowedRange { name, range: range.words() };
    let range = with_baseline(range, &ledger, &part)?;
    let found =
        bisect::first(std::slice::from_ref(&range), &asked.paths, request.source.as_deref(), &env)?;
    let source = found.source.clone().or(request.source.clone());
    let request = Request { source, offline, accept_expired_index, ..request };
    let versions = Versions::new(found.all);
    let notes = match foreign(&ledger, &part)? {
        0 => Vec::new(),
        1 => vec!["a study of this watch is foreign, and is left out".to_owned()],
        count => vec![format!("{count} studies of this watch are foreign, and are left out")],
    };
    let mut watching = WatchRun {
        part,
        asked,
        range,
        request,
        versions,
        cells: Vec::new(),
        file,
        env: &env,
        ledger: &mut ledger,
        new: Vec::new(),
        notes,
        is_incomplete: false,
    };
    let end = watching.run()?;
    progress.finish();
    let page = watching.page(end, &files.reported())?;
    report::put(&args.measuring.output, &page::watched(&page))?;
    let is_reported = report_changes(&page, &files, args.run_on_found.as_deref())?;
    Ok(match end {
        WatchEnd::Interrupted => Exit::Interrupted,
        WatchEnd::Done if watching.is_incomplete || !is_reported => Exit::Incomplete,
        WatchEnd::Done => Exit::Done,
    })
}

/// Counts instructions too, where this machine can, unless the file says by what versions are compared: a search by
/// count needs no quiet machine.
fn with_counts(request: Request, range: &SearchRange, env: &Environment<'_>) -> Result<Request> {
    if request.count != Counting::None || request.judge != JudgedFigures::Both {
        return Ok(request);
    }
    let counted = Request { count: Counting::After, ..request.clone() };
    match bisect::can_count(&counted, range, env) {
        Ok(()) => Ok(counted),
        Err(error) => {
            env.interrupt.check()?;
            env.progress.note(&format!(
                "comparing by CPU time per operation and by time, because instructions cannot be counted: {error:#}"
            ));
            Ok(request)
        }
    }
}

fn read(file: &Path, quiet: bool) -> Result<(WatchRequest, Request)> {
    const ADVICE: &str =
        "name a watch file: TOML with `[watch]` and, by the same names, options of `assay compare`";
    paths::check_file(file, ADVICE)?;
    let name = file.display().to_string();
    let text = paths::text(fs_err::File::open(file)?, &name, ADVICE)?;
    let (asked, request): (WatchRequest, _) = assay_plan::read_subject(&name, &text)?;
    let range = SearchRange::read(&asked.range, asked.commits.as_deref())?;
    let request = measurement::resolved(request, file, &[range.product], quiet)?;
    // The versions repeat from run to run, which is better than a twin.
    let twin = (request.count != Counting::Only).then_some(false);
    Ok((asked, Request { twin, ..request }))
}

/// Place of a repository named by a watch file, independent of the working directory: the ledger identifies its commits
/// by it.
fn placed(place: &str, file: &Path) -> String {
    let beside = file.parent().unwrap_or(Path::new("")).join(place);
    // A missing repository is refused later, by the user's name for it.
    fs_err::canonicalize(beside).map_or(place.to_owned(), |it| it.display().to_string())
}

/// Runs the user's program once for each new change, and records which changes were reported. Returns whether the
/// program succeeded each time.
fn report_changes(
    page: &WatchResult<'_>,
    files: &WatchFiles,
    program: Option<&str>,
) -> Result<bool> {
    let (mut failed, mut searches) = (BTreeSet::new(), BTreeSet::new());
    for line in &page.lines {
        for change in line.changes.iter().filter(|it| it.is_new) {
            searches.insert(&change.search);
            let Some(program) = program else { continue };
            let [after, version] = [change.after, change.at].map(|at| &page.versions[at]);
            let (search, test, after) = (&change.search, &line.test, Some(after));
            let found = bisect::FoundChange { search, test, version, after, step: change.step };
            if let Err(error) = found.run(program) {
                print(&format!("error: {error:#}"));
                failed.insert(search);
            }
        }
    }
    for search in searches.difference(&failed) {
        files.report(search)?;
    }
    Ok(failed.is_empty())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchEnd {
    Done,
    Interrupted,
}

struct WatchRun<'a, 'e> {
    part: FollowedRange,
    asked: WatchRequest,
    range: SearchRange,
    request: Request,
    versions: Versions,
    cells: Vec<CellId>,
    file: PathBuf,
    env: &'a Environment<'e>,
    ledger: &'a mut Ledger,
    new: Vec<usize>,
    notes: Vec<String>,
    is_incomplete: bool,
}

struct WantedSearch {
    line: usize,
    ends: [usize; 2],
    significance: f64,
}

impl WatchRun<'_, '_> {
    fn run(&mut self) -> Result<WatchEnd> {
        let newest = self.versions.all.len().saturating_sub(1);
        if newest == 0 {
            self.notes.push("there is nothing newer than the baseline".to_owned());
            return Ok(WatchEnd::Done);
        }
        self.cells = self.plan(&[0, newest])?.study.cells.iter().map(|it| it.id).collect();
        if self.finish_unfinished()? == WatchEnd::Interrupted
            || self.measure()? == WatchEnd::Interrupted
        {
            return Ok(WatchEnd::Interrupted);
        }
        self.search_on()
    }

    fn history(&self) -> Result<WatchHistory> {
        WatchHistory::read(self.ledger, &self.part, &self.versions, &self.cells)
    }

    fn page(&self, end: WatchEnd, reported: &BTreeSet<String>) -> Result<WatchResult<'_>> {
        let history = self.history()?;
        let mut notes = self.notes.clone();
        notes.extend(history::sources(&history));
        if end == WatchEnd::Interrupted {
            notes.push("the run was interrupted; run it again to go on".to_owned());
        }
        Ok(WatchResult {
            range: self.range.words(),
            is_of_commits: self.range.is_of_commits(),
            versions: &self.versions.all,
            new: self.new.clone(),
            lines: history::lines(&history, &self.versions, reported),
            notes,
        })
    }

    fn is_interrupted(&self) -> bool {
        self.env.interrupt.check().is_err()
    }

    /// Finishes an interrupted study. One that cannot go on is measured anew.
    fn finish_unfinished(&mut self) -> Result<WatchEnd> {
        let known = self.history()?.measured;
        for record in studies(self.ledger, &self.part, false)? {
            // Whether it counts may follow from what the machine could count then.
            let request = assay_plan::request_of(&record.study)?;
            let request = Request { count: self.request.count, ..request };
            if !bisect::is_alike(&request, &self.request) {
                continue;
            }
            let id = &record.study.id;
            self.env.progress.note(&format!("going on with study {id}"));
            match study::resume(id, None, self.env, self.ledger) {
                Ok(_) => {
                    let places = record.systems.iter().filter_map(|it| self.versions.place_of(it));
                    self.new.extend(places.filter(|it| *it > 0 && !known.contains(it)));
                }
                Err(_) if self.is_interrupted() => return Ok(WatchEnd::Interrupted),
                Err(StudyError { error, .. }) => {
                    self.env.progress.note(&format!("it cannot go on: {error:#}"));
                }
            }
        }
        Ok(WatchEnd::Done)
    }

    fn measure(&mut self) -> Result<WatchEnd> {
        let mut known = self.history()?.measured;
        let mut new: Vec<NewestVersion> = Vec::new();
        for newest in self.versions.newest() {
            if known.contains(&newest) {
                continue;
            }
            let version = self.usable(newest, &known)?;
            if self.is_interrupted() {
                return Ok(WatchEnd::Interrupted);
            }
            let Some(version) = version.filter(|it| !known.contains(it)) else { continue };
            let before = known.range(1..version).next_back().copied();
            new.push(NewestVersion { version, before });
            known.insert(version);
        }
        if new.is_empty() {
            self.env.progress.note("nothing new to measure");
            return Ok(WatchEnd::Done);
        }
        // Together, they share the baseline. One that does not start must not keep the others from being measured.
        let together = self.compare(&new);
        if self.is_interrupted() {
            return Ok(WatchEnd::Interrupted);
        }
        let Err(StudyError { study, error }) = together else { return Ok(WatchEnd::Done) };
        if study.is_some() || bisect::own_fault(&error).is_none() {
            return Err(error);
        }
        for it in new.iter().filter(|_| new.len() > 1) {
            let outcome = self.compare(&[*it]);
            if self.is_interrupted() {
                return Ok(WatchEnd::Interrupted);
            }
            if let Err(StudyError { error, .. }) = outcome {
                self.lack(it.version, &error);
                self.is_incomplete = true;
            }
        }
        if let [only] = new.as_slice() {
            self.lack(only.version, &error);
            self.is_incomplete = true;
        }
        Ok(WatchEnd::Done)
    }

    fn lack(&mut self, version: usize, why: &dyn std::fmt::Display) {
        let why = format!("{why:#}");
        let why = why.lines().next().unwrap_or_default();
        let name = &self.versions.all[version].name;
        self.env.progress.failed(name, &format!("is skipped: {why}"));
        self.notes.push(format!("{name} could not be measured: {why}"));
    }

    fn compare(&mut self, new: &[NewestVersion]) -> Result<(), StudyError> {
        let mut places = BTreeSet::from([0]);
        places.extend(new.iter().flat_map(|it| [Some(it.version), it.before]).flatten());
        let places: Vec<usize> = places.into_iter().collect();
        let unnamed = |error| StudyError { study: None, error };
        let plan = self.plan(&places).map_err(unnamed)?;
        let names = plan.systems.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        self.env.progress.note(&format!("comparing {names}"));
        study::run(plan, self.env, self.ledger)?;
        self.new.extend(new.iter().map(|it| it.version));
        Ok(())
    }

    fn plan(&self, places: &[usize]) -> Result<StudyPlan> {
        let versions = places.iter().map(|at| &self.versions.all[*at]);
        let systems = versions.map(|version| SystemRequest::parse(&version.words)).collect();
        let request = Request { systems, ..self.request.clone() };
        let cache_dir = &self.env.cache_dir;
        let suite = workload::suite(&request)?;
        let plan = afterwards::plan_of(&request, machine_facts(cache_dir)?, suite);
        let mut plan = plan.map_err(|error| on_disk(error, cache_dir))?;
        plan.study.followed = Some(self.part.clone());
        Ok(plan)
    }

    /// The version itself, or the nearest earlier commit that builds.
    fn usable(&mut self, newest: usize, known: &BTreeSet<usize>) -> Result<Option<usize>> {
        let tried = if self.range.is_of_commits() { TRIED } else { 1 };
        for at in (1..=newest).rev().take(tried) {
            // A later commit cannot be built; the measured one represents it.
            if known.contains(&at) {
                return Ok(Some(at));
            }
            let (words, source) = (&self.versions.all[at].words, self.request.source.as_deref());
            match bisect::lacking(words, source, self.range.is_of_commits(), self.env) {
                Ok(None) => return Ok(Some(at)),
                Ok(Some(why)) => self.lack(at, &why),
                Err(_) if self.is_interrupted() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        self.is_incomplete = true;
        Ok(None)
    }

    fn search_on(&mut self) -> Result<WatchEnd> {
        let began = Instant::now();
        let most_s = self.asked.searches_s.unwrap_or(SEARCHES_S);
        let mut tried = BTreeSet::new();
        loop {
            let history = self.history()?;
            let mut wanted = self.wanted(&history);
            let key = |wanted: &WantedSearch| {
                let line = &history.lines[wanted.line];
                (line.measure, line.test.clone(), line.setup, wanted.ends)
            };
            wanted.retain(|wanted| !tried.contains(&key(wanted)));
            let Some(want) = wanted.first() else { return Ok(WatchEnd::Done) };
            if began.elapsed().as_secs_f64() >= most_s {
                let all = counted(wanted.len() as u64, "suspected change");
                self.notes.push(format!(
                    "the time for searches was over: the next run searches for {all}"
                ));
                return Ok(WatchEnd::Done);
            }
            tried.insert(key(want));
            let line = &history.lines[want.line];
            let request = self.search_request(line, want.ends);
            let [first, last] = &request.ranges[0].ends;
            self.env.progress.note(&format!(
                "{} may have changed between {first} and {last}; searching there",
                line.test
            ));
            match bisect::search(&request, &self.file, self.env, self.ledger) {
                Ok(SearchEnd::Interrupted) => return Ok(WatchEnd::Interrupted),
                Ok(SearchEnd::Uncertain) => self.is_incomplete = true,
                Ok(SearchEnd::Certain) => {}
                Err(_) if self.is_interrupted() => return Ok(WatchEnd::Interrupted),
                Err(error) => {
                    self.notes.push(format!("the search in {} failed: {error:#}", line.test));
                    self.is_incomplete = true;
                }
            }
        }
    }

    /// Worthwhile searches: interrupted ones, then by the firmest measure, the most significant ones first.
    fn wanted(&self, history: &WatchHistory) -> Vec<WantedSearch> {
        let mut wanted = Vec::new();
        for PastSearch { known, line, ends } in &history.searches {
            if let Some(ends) = *ends
                && !known.has_ended
                && self.search_request(&history.lines[*line], ends).is(known)
            {
                wanted.push(WantedSearch { line: *line, ends, significance: f64::INFINITY });
            }
        }
        for (place, line) in history.lines.iter().enumerate() {
            let ended = || history.searches.iter().filter(|it| it.known.has_ended);
            // Counts explain CPU time, and both explain times.
            let explains = |it: &&PastSearch| {
                it.known.measure > line.measure
                    && !it.known.steps.is_empty()
                    && history.lines[it.line].test == line.test
            };
            let own = ended().filter(|it| it.line == place);
            let firmer = ended().filter(explains);
            let known: Vec<_> =
                own.chain(firmer).flat_map(|it| it.searched(&self.versions)).collect();
            let suspicion = suspect(&line.values, &known, self.noise(line.measure));
            wanted.extend(suspicion.map(|Suspicion { ends, significance }| WantedSearch {
                line: place,
                ends,
                significance,
            }));
        }
        let key =
            |it: &WantedSearch| (it.significance.is_infinite(), history.lines[it.line].measure);
        wanted.sort_by(|a, b| key(b).cmp(&key(a)).then(b.significance.total_cmp(&a.significance)));
        wanted
    }

    fn noise(&self, measure: SearchMeasure) -> WatchNoise {
        let is_of_commits = self.range.is_of_commits();
        let [between, build, source] = bisect::prior_noise(measure, is_of_commits);
        let least = self.threshold(measure) / 2.0;
        let is_exact = measure == SearchMeasure::Instructions;
        WatchNoise { between, build, source, least, is_exact }
    }

    fn threshold(&self, measure: SearchMeasure) -> f64 {
        let own = self.request.threshold;
        match measure {
            SearchMeasure::Instructions if self.request.count == Counting::Only => {
                own.unwrap_or(COUNT_THRESHOLD)
            }
            SearchMeasure::Instructions => COUNT_THRESHOLD,
            _ => own.unwrap_or(THRESHOLD),
        }
    }

    fn search_request(&self, line: &WatchLine, ends: [usize; 2]) -> SearchRequest {
        let ends = ends.map(|at| self.versions.all[at].name.clone());
        let setup = SetupRequest {
            clients: Some(vec![line.setup.clients]),
            tables: Some(line.setup.tables),
            rows: Some(line.setup.rows),
        };
        let (tests, setups) = (vec![line.test.clone()], vec![setup]);
        let request = Request { tests, setups, ..self.request.clone() };
        SearchRequest {
            ranges: vec![self.range.with_ends(ends)],
            paths: self.asked.paths.clone(),
            measure: line.measure,
            request: bisect::with_effort(request, Request::default()),
            budget_s: SEARCH_S,
            followed: Some(self.part.clone()),
        }
    }
}

const WATCH: &str = "\
Each run compares the newest version with the one measured last and with the baseline, searches for
the version that made a change, shows all changes so far, and ends. The ledger keeps the history.

The file has options as a study file does, and what is watched:
  tests = [\"point-query\", \"update-one\"]
  count = \"only\"                             # instructions alone; without it, CPU and time too
  [watch]
  range = \"mariadb@11.4.5..11.8\"            # or a repository, with commits = \"REL_17_0..origin/master\"

Exit codes: 0 done, 3 something could not be measured or searched, 4 interrupted; run it again.";

/// `assay watch`.
#[derive(Debug, Args)]
#[command(after_help = WATCH)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct WatchArgs {
    /// The watch file: a study file with a table `[watch]` in place of the systems
    #[arg(value_name = "WATCH.toml")]
    pub watch_file: PathBuf,

    /// Run a program for each change that is found
    ///
    /// The words of the program are separated by spaces; there is no shell. It gets the change in ASSAY_VERSION,
    /// ASSAY_AFTER, ASSAY_TITLE, ASSAY_TEST, ASSAY_RATIO, ASSAY_PROBABILITY and ASSAY_SEARCH.
    #[arg(long, value_name = "PROGRAM")]
    pub run_on_found: Option<String>,

    #[command(flatten)]
    pub measuring: MeasureArgs,
}

struct WatchFiles {
    _lock: StateLock,
    reported: PathBuf,
}

impl WatchFiles {
    fn take(ledger: &Path, name: &str) -> Result<Self> {
        let ledger = std::path::absolute(ledger)?;
        let file = key(&[&ledger.to_string_lossy(), name]);
        let path = paths::state_dir()?.join("watches").join(file);
        let reported = path.with_extension("reported");
        let lock = StateLock::hold(path, |by| {
            let hint = "wait until that ends, or give one of two files another `name` in `[watch]`";
            HintedError::new(format!("the watch `{name}` runs already{by}"), hint)
        })?;
        Ok(Self { _lock: lock, reported })
    }

    fn reported(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(&self.reported).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn report(&self, search: &str) -> Result<()> {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.reported)?;
        writeln!(file, "{search}")?;
        Ok(())
    }
}
