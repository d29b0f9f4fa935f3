//! `assay bisect`: which version made a change. A search is a list of ordinary studies, each of which compares one
//! version with the first one. It has no state of its own: the studies say what it is and how far it has come, so it
//! goes on wherever it was cut off.

mod held;
mod range;
mod search;
mod state;
mod told;
mod versions;

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use assay_ledger::Ledger;
use assay_model::{BisectMeasure, BisectPart, Counting, SystemSpec, Test, counted};
use assay_plan::{Plan, Request, SystemRequest, parse_system};
use assay_study::BisectAction;
use jiff::Timestamp;

use crate::advice::Advised;
use crate::cli::{self, Measuring, Resume};
use crate::exit::Exit;
use crate::opened::open_ledger;
use crate::progress::{Progress, print};
use crate::study::{self, Stopped};
use crate::systems::{Environment, environment, fetch_one, machine_facts, on_disk, provisioner};
use crate::{paths, recorded, report, study_id, workload};
use held::Held;
use range::Range as Wanted;
use search::{COMPARISON_S, Range, Terms};
use state::Search;

/// Seconds of all comparisons, unless the user sets another limit.
const BUDGET_S: f64 = 3600.0;

/// The least that a search may compare: the ends alone need some comparisons.
const COMPARISONS_MIN: u32 = 6;

/// `assay bisect`.
pub(crate) fn bisect(args: &cli::Bisect, cache_dir: Option<&Path>) -> Result<Exit> {
    report::check(&args.measuring.output, None, &args.measuring.ledger)?;
    let progress = Progress::new(args.measuring.quiet);
    let Measuring { offline, accept_expired_index, .. } = args.measuring;
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    let (wanted, request) = match &args.study {
        Some(study) => from_study(study, args, &open_ledger(&file)?)?,
        None => {
            let words = args.range.as_deref().unwrap_or_default();
            (vec![Wanted::read(words, args.commits.as_deref())?], args.request())
        }
    };
    let request = timed(request, args.measure());
    let comparisons = args.request().budget_s.unwrap_or(BUDGET_S) / COMPARISON_S;
    let mut ledger = Ledger::open(&file)?;
    let names: Vec<String> = wanted.iter().map(|it| named(it, &args.paths)).collect();
    let is_asked =
        |part: &BisectPart| names.contains(&part.range) && part.measure == args.measure();
    // The same command goes on with a search that did not come to its end.
    let begun = |ledger: &Ledger| -> Result<Option<Search>> {
        let mut all = searches(ledger, is_asked)?;
        all.retain(|search| is_alike(&search.request, &request) && !search.has_ended());
        Ok(all.pop())
    };
    let first = || versions::first(&wanted, &args.paths, request.source.as_deref(), &env);
    let (words, found) = match begun(&ledger)? {
        Some(search) => (search.words, None),
        None => {
            let found = first()?;
            (named(&found.range, &args.paths), Some(found))
        }
    };
    let held = Held::take(&file, &words, args.measure(), &args.test)?;
    // Another process may have gone on with it, or begun it, until now.
    let search = match begun(&ledger)? {
        Some(search) => {
            progress.note(&format!("going on with search {}", search.id));
            search
        }
        None => {
            let found = found.map_or_else(first, Ok)?;
            let terms = Terms {
                measure: args.measure(),
                is_of_commits: found.is_of_commits,
                comparisons_max: (comparisons as u32).clamp(COMPARISONS_MIN, 1000),
            };
            Search {
                id: new_id(),
                words,
                request: Request { source: found.source.or(request.source.clone()), ..request },
                terms,
                releases: found.releases,
                ranges: vec![Range::new(found.versions)],
                spent_s: 0.0,
                unfinished: None,
            }
        }
    };
    let program = args.run_on_found.as_deref();
    let exit = go_on((search, held), &args.measuring, program, &env, &mut ledger);
    progress.finish();
    exit
}

/// The search that `assay resume` means: by its own id or that of one of its studies, or the latest one, if nothing
/// else is unfinished.
pub(crate) fn meant(ledger: &Ledger, args: &Resume) -> Result<Option<String>> {
    if args.more.is_some() {
        return Ok(None);
    }
    let parts = ledger.bisections()?;
    if parts.is_empty() {
        return Ok(None);
    }
    if let Some(name) = &args.study
        && parts.iter().any(|(_, part)| part.id == *name)
    {
        return Ok(Some(name.clone()));
    }
    let study = study_id::find(ledger, args.study.as_deref(), |study| !study.finished)?;
    match study {
        Some(study) => Ok(parts.into_iter().find(|(id, _)| *id == study).map(|(_, part)| part.id)),
        None => {
            let all = searches(ledger, |_| true)?;
            let latest = all.into_iter().rev().find(|search| !search.has_ended());
            Ok(latest.map(|search| search.id))
        }
    }
}

/// Goes on with a search of the ledger, or shows it once more.
pub(crate) fn resume(id: &str, args: &Resume, cache_dir: Option<&Path>) -> Result<Exit> {
    let Measuring { offline, accept_expired_index, quiet, .. } = args.measuring;
    let progress = Progress::new(quiet);
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    let mut ledger = Ledger::open(&file)?;
    let search = |ledger: &Ledger| -> Result<Search> {
        let search = searches(ledger, |part| part.id == id)?.pop();
        search.with_context(|| format!("there is no search `{id}`"))
    };
    let begun = search(&ledger)?;
    let test = begun.request.tests.first().map_or("", String::as_str);
    let held = Held::take(&file, &begun.words, begun.terms.measure, test)?;
    // Another process may have gone on with it until now.
    let search = search(&ledger)?;
    let exit = go_on((search, held), &args.measuring, None, &env, &mut ledger);
    progress.finish();
    exit
}

/// The range and the request for what changed in a study.
fn from_study(name: &str, args: &cli::Bisect, ledger: &Ledger) -> Result<(Vec<Wanted>, Request)> {
    let id = study_id::find(ledger, Some(name), |_| true)?;
    let record = recorded::read(ledger, &id.context("there is no study yet")?)?;
    let judgement = assay_verdict::judge(&record);
    let of_test = |test: Test| test.name() == args.test;
    let size = |it: &assay_verdict::CellJudgement| {
        it.rqps.or(it.count.as_ref()?.ratio).map(|ratio| ratio.value.ln().abs())
    };
    let cells = judgement.cells.iter().filter(|it| of_test(it.cell.test) && it.system != 0);
    let most = cells.max_by(|a, b| size(a).unwrap_or(0.0).total_cmp(&size(b).unwrap_or(0.0)));
    let Some(cell) = most else {
        bail!(Advised::new(
            format!("study `{}` has no test `{}` of several systems", record.study.id, args.test),
            "`assay report STUDY` lists its tests"
        ))
    };
    let systems = [0, cell.system].map(|system| record.systems.get(system));
    let [Some(first), Some(last)] = systems else { bail!("the study has no such systems") };
    let versions = [first, last].map(|it| it.artifact.version());
    let wanted = Wanted::of_systems(&first.spec, &last.spec, versions).ok_or_else(|| {
        Advised::new(
            format!("`{}` and `{}` are not two versions of one product", first.name, last.name),
            "name a range: `assay bisect mariadb@10.6..11.8 --test TEST`",
        )
    })?;
    let of_study = assay_plan::request_of(&record.study).unwrap_or_default();
    // Its data and settings, but not its effort: a comparison has time of its own.
    let Request { preset, check, profile, slice_s, write_slice_s, turn_s, blocks, rounds, .. } =
        args.request();
    let tests = vec![args.test.clone()];
    let mut request = Request {
        tests,
        preset,
        check,
        profile,
        slice_s,
        write_slice_s,
        turn_s,
        blocks,
        rounds,
        ..of_study
    };
    request.setups.truncate(1);
    for setup in &mut request.setups {
        setup.clients = Some(vec![cell.cell.setup.clients]);
        setup.tables = Some(cell.cell.setup.tables);
        setup.rows = Some(cell.cell.setup.rows);
    }
    Ok((vec![wanted.clone(), wanted.reversed()], request))
}

/// The request of a single comparison, without its systems.
fn timed(request: Request, measure: BisectMeasure) -> Request {
    let request = Request {
        systems: Vec::new(),
        twin: Some(false),
        gate: None,
        threshold: None,
        count: Counting::None,
        budget_s: Some(COMPARISON_S),
        ..request
    };
    if measure != BisectMeasure::Instructions {
        return request;
    }
    let mut request = Request { count: Counting::Only, budget_s: None, twin: None, ..request };
    request.setups.iter_mut().for_each(|setup| setup.clients = None);
    request
}

/// Whether two requests ask for the same, apart from their systems and from where these come.
fn is_alike(one: &Request, other: &Request) -> bool {
    let bare = |request: &Request| {
        let source = None;
        let request = Request { systems: Vec::new(), source, offline: false, ..request.clone() };
        assay_plan::read_study("request", &assay_plan::write_study(&with_systems(&request)))
    };
    matches!((bare(one), bare(other)), (Ok(one), Ok(other)) if one == other)
}

/// A request needs systems to be written.
fn with_systems(request: &Request) -> Request {
    let systems = ["mariadb@1", "mariadb@2"].map(SystemRequest::of).to_vec();
    Request { systems, ..request.clone() }
}

/// What is searched, with the paths that narrow it.
fn named(range: &Wanted, paths: &[String]) -> String {
    let words = range.words();
    if paths.is_empty() { words } else { format!("{words} -- {}", paths.join(" ")) }
}

/// The name of a new search.
fn new_id() -> String {
    let now = Timestamp::now();
    let milliseconds = now.subsec_nanosecond() / 1_000_000;
    format!("bisect-{}-{milliseconds:03}", now.strftime("%Y%m%d-%H%M%S"))
}

/// The searches of a ledger, the oldest first.
fn searches(ledger: &Ledger, fits: impl Fn(&BisectPart) -> bool) -> Result<Vec<Search>> {
    let mut all: Vec<Search> = Vec::new();
    for (study, part) in ledger.bisections()?.into_iter().filter(|(_, part)| fits(part)) {
        let record = recorded::read(ledger, &study)?;
        let place = all.iter().position(|it| it.id == part.id);
        let search = match place.and_then(|place| all.get_mut(place)) {
            Some(search) => search,
            None => {
                all.push(Search::begun(&part, &record));
                let Some(search) = all.last_mut() else { continue };
                search
            }
        };
        search.add(&part, &record);
    }
    Ok(all)
}

/// Why a search stopped before its end.
enum Halt {
    Interrupted,
    Failed(anyhow::Error),
}

impl<T: Into<anyhow::Error>> From<T> for Halt {
    fn from(error: T) -> Self {
        Self::Failed(error.into())
    }
}

/// Searches to the end, and shows the answer.
fn go_on(
    (mut search, held): (Search, Held),
    args: &Measuring,
    run_on_found: Option<&str>,
    env: &Environment<'_>,
    ledger: &mut Ledger,
) -> Result<Exit> {
    let began = Instant::now();
    let spent_s = search.spent_s;
    let mut driver = Searching { search: &mut search, held: &held, env, ledger, spent_s, began };
    let halted = driver.search_on().err();
    env.progress.finish();
    if let Some(Halt::Failed(error)) = halted {
        if search.comparisons() > 0 {
            print(&format!("note: `assay resume {}` continues the search", search.id));
        }
        return Err(error);
    }
    let is_interrupted = halted.is_some();
    if is_interrupted && search.comparisons() == 0 && search.unfinished.is_none() {
        print("interrupted before the first comparison ended; run the command again");
        return Ok(Exit::Interrupted);
    }
    let functions = told::functions(&search, ledger)?;
    let answer = told::told(&search, is_interrupted, functions);
    report::put(&args.output, &assay_report::bisection(&answer))?;
    if is_interrupted {
        print(&format!("interrupted: `assay resume {}` continues the search", search.id));
        return Ok(Exit::Interrupted);
    }
    held.end();
    let Some((version, step)) = answer.found() else { return Ok(Exit::Incomplete) };
    if let Some(program) = run_on_found {
        let after = answer.ranges.last().and_then(|it| it.versions.get(step.after));
        let environment = [
            ("ASSAY_SEARCH", search.id.clone()),
            ("ASSAY_TEST", answer.test.to_owned()),
            ("ASSAY_VERSION", version.version.words.clone()),
            ("ASSAY_AFTER", after.map(|it| it.version.words.clone()).unwrap_or_default()),
            ("ASSAY_TITLE", version.version.title.clone().unwrap_or_default()),
            ("ASSAY_RATIO", step.ratio.value.to_string()),
            ("ASSAY_PROBABILITY", step.probability.to_string()),
        ];
        run(program, environment)?;
    }
    Ok(Exit::Done)
}

/// Runs a program of the user's.
fn run<const N: usize>(program: &str, environment: [(&str, String); N]) -> Result<()> {
    let mut words = program.split_whitespace();
    let name = words.next().context("`--run-on-found` names no program")?;
    // stdout is for the result.
    let mut command = Command::new(name);
    command.args(words).envs(environment).stdout(std::io::stderr());
    let status = command.status().with_context(|| format!("cannot run `{name}`"))?;
    anyhow::ensure!(status.success(), "`{name}` failed: {status}");
    Ok(())
}

/// A search as it goes on.
struct Searching<'a, 'e> {
    search: &'a mut Search,
    held: &'a Held,
    env: &'a Environment<'e>,
    ledger: &'a mut Ledger,
    /// Seconds that the search took before this process.
    spent_s: f64,
    began: Instant,
}

impl Searching<'_, '_> {
    fn search_on(&mut self) -> Result<(), Halt> {
        self.finish_unfinished()?;
        self.leave_out_known();
        loop {
            let Some(range) = self.search.range() else { return Ok(()) };
            if let ControlFlow::Continue(action) = range.next(self.search.terms) {
                self.compare(action)?;
                continue;
            }
            let Some(narrower) = self.search.narrower() else { return Ok(()) };
            self.env.progress.note(&format!(
                "{} changed between two series; searching {} releases there",
                self.test(),
                narrower.len()
            ));
            let narrower = range.narrowed(narrower);
            self.search.ranges.push(narrower);
            self.leave_out_known();
        }
    }

    /// Leaves out the versions that an earlier process could not use after the last comparison.
    fn leave_out_known(&mut self) {
        let Some(range) = self.search.ranges.last_mut() else { return };
        for (version, why) in self.held.skipped(&range.versions) {
            range.skip(version, why);
        }
    }

    fn test(&self) -> &str {
        self.search.request.tests.first().map_or("the test", String::as_str)
    }

    /// Finishes the study that was cut off.
    fn finish_unfinished(&mut self) -> Result<(), Halt> {
        let Some(id) = self.search.unfinished.take() else { return Ok(()) };
        let outcome = study::resume(&id, None, self.env, self.ledger);
        if let Err(stopped) = outcome {
            self.search.unfinished = Some(id);
            return Err(self.halted(stopped.error));
        }
        self.add(&id)
    }

    fn halted(&self, error: anyhow::Error) -> Halt {
        match self.env.interrupt.check() {
            Err(_) => Halt::Interrupted,
            Ok(()) => Halt::Failed(error),
        }
    }

    /// Adds what a study of the ledger found.
    fn add(&mut self, id: &str) -> Result<(), Halt> {
        let record = recorded::read(self.ledger, id)?;
        if let Some(part) = record.study.bisect.clone() {
            let spent_s = self.search.spent_s;
            self.search.add(&part, &record);
            self.search.spent_s = self.search.spent_s.max(spent_s);
        }
        Ok(())
    }

    /// Compares a version with the base, and adds what comes of it.
    fn compare(&mut self, action: BisectAction) -> Result<(), Halt> {
        for version in [action.base, action.candidate] {
            if let Some(why) = self.lacking(version)? {
                return self.skip(version, why);
            }
        }
        let plan = self.plan(action)?;
        let names: Vec<&str> = plan.systems.iter().map(|it| it.name.as_str()).collect();
        self.env.progress.note(&format!(
            "comparison {}, at most {}: {} with {}",
            self.search.comparisons() + 1,
            self.search.terms.comparisons_max,
            names.last().copied().unwrap_or_default(),
            names.first().copied().unwrap_or_default(),
        ));
        match study::run(plan, self.env, self.ledger) {
            Ok(id) => self.add(&id),
            Err(Stopped { study, error }) => {
                if self.env.interrupt.check().is_err() {
                    self.search.unfinished = study;
                    return Err(Halt::Interrupted);
                }
                // The base has run before, so it is the version that does not start.
                let is_known = self.search.range().is_some_and(|it| it.has_run(action.base));
                let is_of_server =
                    || error.chain().any(|it| it.downcast_ref::<assay_servers::Error>().is_some());
                match is_known && study.is_none() && is_of_server() {
                    true => self.skip(action.candidate, format!("{:#}", error.root_cause())),
                    false => Err(Halt::Failed(error)),
                }
            }
        }
    }

    fn skip(&mut self, version: usize, why: String) -> Result<(), Halt> {
        let Some(range) = self.search.ranges.last_mut() else { return Ok(()) };
        let Some(skipped) = range.versions.get(version) else { return Ok(()) };
        let why = why.lines().next().unwrap_or_default().to_owned();
        self.env.progress.failed(&skipped.name, &format!("is skipped: {why}"));
        self.held.skip(skipped, &why)?;
        range.skip(version, why);
        Ok(())
    }

    /// Gets or builds a version; why it cannot be had, if that is its own fault.
    fn lacking(&self, version: usize) -> Result<Option<String>, Halt> {
        let Some(range) = self.search.range().filter(|it| !it.has_run(version)) else {
            return Ok(None);
        };
        let Some(words) = range.versions.get(version).map(|it| it.words.as_str()) else {
            return Ok(None);
        };
        let spec: SystemSpec = parse_system(words)?;
        // The study reports its own downloads; only a build shows its progress here.
        let quiet = Progress::new(true);
        let progress = if self.search.terms.is_of_commits { self.env.progress } else { &quiet };
        let env = Environment {
            cache_dir: self.env.cache_dir.clone(),
            interrupt: self.env.interrupt.clone(),
            progress,
            ..*self.env
        };
        let source = self.search.request.source.clone();
        let provisioner = provisioner(&env)?.with_source(source)?;
        match fetch_one(&provisioner, words, &spec, None, &env) {
            Ok(_) => Ok(None),
            Err(error) if self.env.interrupt.check().is_err() => Err(self.halted(error)),
            Err(error) => {
                let causes = error.chain();
                let mut of_source =
                    causes.filter_map(|it| it.downcast_ref::<assay_provision::Error>());
                match of_source.next().filter(|it| is_its_own(it)) {
                    Some(cause) => Ok(Some(cause.to_string())),
                    None => Err(Halt::Failed(error)),
                }
            }
        }
    }

    fn plan(&self, action: BisectAction) -> Result<Plan> {
        let range = self.search.range().context("there is nothing to search")?;
        let words = [action.base, action.candidate].map(|at| range.versions.get(at));
        let systems = words.iter().flatten().map(|it| SystemRequest::of(&it.words)).collect();
        let request = Request { systems, ..self.search.request.clone() };
        let cache_dir = &self.env.cache_dir;
        let suite = workload::suite(&request)?;
        let plan = assay_plan::plan_of(&request, machine_facts(cache_dir)?, suite);
        let mut plan = plan.map_err(|error| on_disk(error, cache_dir))?;
        if plan.study.cells.len() > 1 {
            let tests = counted(plan.study.cells.len() as u64, "test");
            bail!(Advised::new(
                format!("`--test {}` stands for {tests} or setups", self.test()),
                "a search is for one test with one number of clients"
            ));
        }
        plan.study.bisect = Some(BisectPart {
            id: self.search.id.clone(),
            range: self.search.words.clone(),
            measure: self.search.terms.measure,
            comparisons_max: self.search.terms.comparisons_max,
            level: (self.search.ranges.len() - 1) as u32,
            releases: self.search.releases.clone(),
            versions: range.versions.clone(),
            unusable: range.unusable.clone(),
            version: action.candidate,
            spent_s: self.spent_s + self.began.elapsed().as_secs_f64(),
        });
        Ok(plan)
    }
}

/// Whether a version cannot be had because of what it is, not because of the network, the disk or missing tools.
fn is_its_own(error: &assay_provision::Error) -> bool {
    use assay_provision::Error;
    error.missing_room().is_none()
        && !matches!(
            error,
            Error::Network { .. }
                | Error::Download { .. }
                | Error::ClientMissing { .. }
                | Error::DistributionMissing { .. }
                | Error::ExpiredIndex { .. }
                | Error::ToolMissing(_)
                | Error::Io(_)
        )
}
