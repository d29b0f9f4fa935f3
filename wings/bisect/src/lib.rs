//! `assay bisect`: which version made a change. A search is a list of ordinary studies, each of which compares one
//! version with the first one. Its whole state is in the studies, so it can be resumed at any point.

mod decisions;
mod driver;
mod known_step;
mod ledger_searches;
mod lock;
mod measure;
mod messages;
pub mod page;
mod program;
mod range;
mod request;
mod search;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_ledger::Ledger;
use assay_model::{Counting, JudgedFigures, SearchMeasure, SystemSpec, Test};
use assay_options::word;
use assay_plan::{CommonOption, LONGER_LOOK, Request};
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{FormatWord, MeasureArgs, ResumeArgs, StudyArgs, TestOptions};
use assay_command::exit::Exit;
use assay_command::keys::refused;
use assay_command::ledger_files::open_ledger;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, config_file, report, study_id};
use assay_run::advice::HintedError;
use assay_run::progress::{Progress, print};
use assay_run::systems::{Environment, environment, machine_facts};
use assay_run::{paths, study};
use driver::{Halt, searched};
use ledger_searches::{meant, searches};
use lock::{SearchLock, is_own, remember_program, remembered_program};
use measure::firm_measure;
use request::begun_measure;
use search::VersionSearch;

pub use driver::lacking;
pub use ledger_searches::{KnownSearch, SuspectedChange, known};
pub use measure::can_count;
pub use program::{FoundChange, check_program};
pub use range::{SearchRange, first};
pub use request::{SearchRequest, with_effort};
pub use search::{error, is_alike, maker, own_fault, pooled, prior_noise, ratio, value};

/// Default limit of all comparisons, seconds.
const BUDGET_S: f64 = 3600.0;

impl Arguments for BisectArgs {
    const NAME: &'static str = "bisect";
    const ABOUT: &'static str = "Find the release or commit that made a change";
    const GROUP: CommandGroup = CommandGroup::Measure;
    const EXITS: &'static [(Exit, &'static str)] =
        &[(Exit::Incomplete, "found no change, or is not certain")];

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let MeasureArgs { offline, accept_expired_index, quiet, ledger, output, .. } =
            &self.measuring;
        report::check(output, None, ledger)?;
        let program = self.run_on_found.as_deref();
        check_program(program)?;
        let progress = Progress::new(*quiet);
        let env = environment(cache_dir, *offline, *accept_expired_index, &progress)?;
        let file = paths::ledger_file(ledger.file.as_deref())?;
        let (ranges, request, shown_by) = match &self.study {
            Some(study) => from_study(study, self, &open_ledger(&file)?)?,
            None => {
                let words = self.range.as_deref().unwrap_or_default();
                let range = SearchRange::read(words, self.commits.as_deref())?;
                let (folder, products) = (Path::new(""), [range.product]);
                let request =
                    config_file::with_configs(self.request()?, folder, &products, *quiet)?;
                let machine = machine_facts(&env.cache_dir)?;
                (vec![range], config_file::scale(request, machine, *quiet)?, None)
            }
        };
        let mut ledger = Ledger::open(&file)?;
        let chosen = match self.measure().or(shown_by) {
            None => begun_measure(&ranges, &self.paths, &request, &ledger)?,
            chosen => chosen,
        };
        let request = SearchRequest {
            measure: chosen.map_or_else(|| firm_measure(&request, &ranges, &env), Ok)?,
            ranges,
            paths: self.paths.clone(),
            request,
            budget_s: self.request()?.budget_s.unwrap_or(BUDGET_S),
            followed: None,
        };
        let begun = request.begin(&file, &env, &ledger)?;
        remember_program(&begun.0, program)?;
        let exit = go_on(begun, &self.measuring, program, &env, &mut ledger);
        progress.finish();
        exit
    }

    fn resume(
        args: &ResumeArgs,
        ledger: &Ledger,
        cache_dir: Option<&Path>,
    ) -> Result<Option<Exit>> {
        let search = meant(ledger, args)?;
        search.map(|search| resume(&search, args, cache_dir)).transpose()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchEnd {
    Interrupted,
    Uncertain,
    Certain,
}

pub fn search(
    request: &SearchRequest,
    file: &Path,
    env: &Environment<'_>,
    ledger: &mut Ledger,
) -> Result<SearchEnd> {
    let (mut search, lock) = request.begin(file, env, ledger)?;
    match searched(&mut search, &lock, env, ledger) {
        None => {
            let answer = messages::bisection(&search, false, messages::Functions::default());
            let is_certain = SuspectedChange::in_answer(&answer).is_none();
            lock.end(&search);
            Ok(if is_certain { SearchEnd::Certain } else { SearchEnd::Uncertain })
        }
        Some(Halt::Interrupted) => Ok(SearchEnd::Interrupted),
        Some(Halt::Failed(error)) => Err(error),
    }
}

fn resume(id: &str, args: &ResumeArgs, cache_dir: Option<&Path>) -> Result<Exit> {
    let MeasureArgs { offline, accept_expired_index, quiet, .. } = args.measuring;
    let progress = Progress::new(quiet);
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    let mut ledger = Ledger::open(&file)?;
    let search = |ledger: &Ledger| -> Result<VersionSearch> {
        let search = searches(ledger, |part| part.id == id)?.pop();
        search.with_context(|| format!("there is no search `{id}` of yours"))
    };
    let begun = search(&ledger)?;
    let lock = SearchLock::take(&file, &begun.words, begun.terms.measure, begun.test())?;
    // Another process may have continued it until now.
    let search = search(&ledger)?;
    if !search.has_ended() && !is_own(&search) {
        let words = assay_plan::shell_quoted(&search.words);
        bail!(HintedError::new(
            format!("search `{id}` was not begun by your own assay, so it is only read"),
            format!("begin one of your own: `assay bisect {words}`"),
        ));
    }
    let program = remembered_program(&search);
    check_program(program.as_deref())?;
    let exit = go_on((search, lock), &args.measuring, program.as_deref(), &env, &mut ledger);
    progress.finish();
    exit
}

/// A system without the options of config files, which come with the request, and which not every version accepts.
fn without_common(spec: &SystemSpec, request: &Request) -> SystemSpec {
    let common = request.config_options.iter().filter_map(|it| CommonOption::read(it).ok());
    let common: Vec<CommonOption> = common.collect();
    let mut spec = spec.clone();
    spec.overrides.retain(|(name, value)| {
        !common.iter().any(|option| option.name == *name && option.value == *value)
    });
    spec
}

fn from_study(
    name: &str,
    args: &BisectArgs,
    ledger: &Ledger,
) -> Result<(Vec<SearchRange>, Request, Option<SearchMeasure>)> {
    let id = study_id::find(ledger, Some(name), |_| true)?;
    let record = study::own(ledger, &id.context("there is no study yet")?, "searched")?;
    let judgement = assay_verdict::judge(&record);
    let of_test = |test: Test| test.name() == args.test;
    let size = |it: &assay_verdict::CellJudgement| {
        it.rqps.or(it.count.as_ref()?.ratio).map(|ratio| ratio.value.ln().abs())
    };
    let cells = judgement.cells.iter().filter(|it| of_test(it.cell.test) && it.system != 0);
    let most = cells.max_by(|a, b| size(a).unwrap_or(0.0).total_cmp(&size(b).unwrap_or(0.0)));
    let Some(cell) = most else {
        bail!(HintedError::new(
            format!("study `{}` has no test `{}` of several systems", record.study.id, args.test),
            "`assay report STUDY` lists its tests"
        ))
    };
    let [first, last] = [0, cell.system].map(|system| &record.systems[system]);
    let versions = [first, last].map(|system| system.artifact.version());
    let of_study = assay_plan::request_of(&record.study)?;
    let [one, other] = [first, last].map(|system| without_common(&system.spec, &of_study));
    let range = SearchRange::of_systems(&one, &other, versions).ok_or_else(|| {
        HintedError::new(
            format!("`{}` and `{}` are not two versions of one product", first.name, last.name),
            "name a range: `assay bisect mariadb@10.6..11.8 --test TEST`",
        )
    })?;
    // Its data and settings, but not its effort: a comparison has its own time.
    let request = Request { tests: vec![args.test.clone()], ..of_study };
    let mut request = with_effort(request, args.request()?);
    request.setups.truncate(1);
    for setup in &mut request.setups {
        setup.clients = Some(vec![cell.cell.setup.clients]);
        // Otherwise the workload determines them.
        if cell.cell.test.schema.facts().own_rows().is_none() {
            setup.tables = Some(cell.cell.setup.tables);
            setup.rows = Some(cell.cell.setup.rows);
        }
    }
    let [first, last] = range.ends.clone();
    let reversed = range.with_ends([last, first]);
    Ok((vec![range, reversed], request, measure::shown_by(cell)))
}

fn go_on(
    (mut search, lock): (VersionSearch, SearchLock),
    args: &MeasureArgs,
    run_on_found: Option<&str>,
    env: &Environment<'_>,
    ledger: &mut Ledger,
) -> Result<Exit> {
    // A search that this user's assay did not begin counts as ended, and is shown.
    let halted = if is_own(&search) { searched(&mut search, &lock, env, ledger) } else { None };
    let continues = format!("`assay resume {}` continues the search", search.id);
    if let Some(Halt::Failed(error)) = halted {
        if search.comparisons() > 0 {
            print(&format!("note: {continues}"));
        }
        return Err(error);
    }
    let is_interrupted = halted.is_some();
    if is_interrupted && search.comparisons() == 0 && search.unfinished.is_none() {
        print("interrupted before the first comparison ended; run the command again");
        return Ok(Exit::Interrupted);
    }
    let functions = messages::functions(&search, ledger)?;
    let answer = messages::bisection(&search, is_interrupted, functions);
    report::put(&args.output, &page::bisection(&answer))?;
    if is_interrupted {
        print(&format!("interrupted: {continues}"));
        return Ok(Exit::Interrupted);
    }
    let found = answer.found();
    if let Some(((version, step), program)) = found.zip(run_on_found) {
        let after = answer.ranges.last().and_then(|range| range.versions.get(step.after));
        let (search, test) = (&search.id, answer.test);
        let after = after.map(|after| &after.version);
        FoundChange { search, test, version: &version.version, after, step }.run(program)?;
    }
    lock.end(&search);
    Ok(if found.is_some() { Exit::Done } else { Exit::Incomplete })
}

const BISECT: &str = "\
Each version is compared with the first one. The next version is the one that is expected to narrow
the search most for its time. Releases come from the catalog, one of each series first. Commits
are those of a local repository along first parents, which assay builds.

Exit codes: 0 found, 3 no change or not certain, 4 interrupted; `assay resume` continues.";

/// `assay bisect`.
#[derive(Debug, Args)]
#[command(after_help = BISECT)]
#[command(mut_arg("test", |test| test.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
#[command(mut_args(of_searches))]
pub struct BisectArgs {
    /// The releases to search, such as `mariadb@10.6..11.8`, or a repository: `postgres@git:../postgres`
    #[arg(value_name = "PRODUCT@A..B", required_unless_present = "study")]
    pub range: Option<String>,

    /// The commits of the repository to search, the older end first, such as `REL_17_0..master`
    #[arg(value_name = "GOOD..BAD")]
    pub commits: Option<String>,

    /// The test that changed
    #[arg(long, value_name = "TEST")]
    pub test: String,

    /// Search between two systems of a study, with its data and settings
    #[arg(long, value_name = "STUDY", conflicts_with = "range")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    /// Consider only commits that change one of these files or directories
    #[arg(long, value_name = "PATH,...", value_delimiter = ',', requires = "commits")]
    pub paths: Vec<String>,

    /// What versions are compared by [default: by `--judge`, else `instructions` where they can be counted, else `cpu`]
    ///
    /// `--count` stands for `instructions`. A count has one client.
    #[arg(long, value_parser = word::<SearchMeasure>())]
    by: Option<SearchMeasure>,

    /// Run a program once the version is found
    ///
    /// The words of the program are separated by spaces; there is no shell. It gets the answer in ASSAY_VERSION,
    /// ASSAY_AFTER, ASSAY_TITLE, ASSAY_TEST, ASSAY_RATIO, ASSAY_PROBABILITY and ASSAY_SEARCH.
    #[arg(long, value_name = "PROGRAM")]
    pub run_on_found: Option<String>,

    #[command(flatten)]
    asked: StudyArgs,

    #[command(flatten)]
    pub measuring: MeasureArgs,

    #[command(flatten)]
    test_options: TestOptions,
}

fn of_searches(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "budget_s" => option
            .help("Time limit of all comparisons together, such as `30m` [default: 1h]")
            .long_help(None),
        "judge" => option
            .help("Figure by which versions are compared, and which decides when a comparison ends")
            .long_help(None),
        "count" => {
            option.help("Compare by counted instructions; the machine may be busy").long_help(None)
        }
        // A search decides them.
        "tests" | "twin" | LONGER_LOOK | "threshold" => refused(option).conflicts_with("test"),
        "set" | "check" => option.hide(true),
        "preset" | "clients" | "terms" | "profile" => option.hide_short_help(true),
        _ => option,
    }
}

impl BisectArgs {
    /// `None` if the command names none.
    pub fn measure(&self) -> Option<SearchMeasure> {
        let Request { count, judge, .. } = self.asked.request;
        match (count, self.by, judge) {
            (Counting::None, Some(by), _) => Some(by),
            (Counting::None, None, JudgedFigures::Time) => Some(SearchMeasure::Qps),
            (Counting::None, None, JudgedFigures::Cpu) => Some(SearchMeasure::Cpu),
            (Counting::None, None, JudgedFigures::Both) => None,
            _ => Some(SearchMeasure::Instructions),
        }
    }

    /// What each comparison asks for, without its systems.
    pub fn request(&self) -> Result<Request> {
        let request = self.test_options.in_request(self.asked.request(&[], &self.measuring))?;
        Ok(Request { tests: vec![self.test.clone()], ..request })
    }
}
