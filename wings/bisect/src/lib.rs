//! `assay bisect`: which version made a change. A search is a list of ordinary studies, each of which compares one
//! version with the first one. Its whole state is in the studies, so it can be resumed at any point.

mod alike;
mod arguments;
mod held;
mod known;
mod messages;
mod own;
mod program;
mod range;
mod search;
mod searching;
mod state;
mod unusable;
mod versions;
mod wish;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_ledger::Ledger;
use assay_model::{SystemSpec, Test};
use assay_plan::{CommonOption, Request};

use assay_command::args::{Measuring, Resume};
use assay_command::exit::Exit;
use assay_command::opened::open_ledger;
use assay_command::verb::{Arguments, Group};
use assay_command::{config_file, report, study_id};
use assay_run::advice::Advised;
use assay_run::progress::{Progress, print};
use assay_run::systems::{Environment, environment, machine_facts};
use assay_run::{paths, study};
use held::Held;
use known::{Suspected, searches};
use searching::{Halt, searched};
use state::Search;

pub use alike::is_alike;
pub use arguments::Bisect;
pub use known::{Known, known, meant};
pub use program::{Found, check_program};
pub use range::Range as Wanted;
pub use search::{error, maker, noise_of_watch, ratio, value};
pub use searching::lacking;
pub use unusable::own_fault;
pub use versions::first;
pub use wish::{Wish, without_effort};

impl Arguments for Bisect {
    const NAME: &'static str = "bisect";
    const ABOUT: &'static str = "Find the release or commit that made a change";
    const GROUP: Group = Group::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        bisect(self, cache_dir)
    }
}

/// Default limit of all comparisons, seconds.
const BUDGET_S: f64 = 3600.0;

pub fn bisect(args: &Bisect, cache_dir: Option<&Path>) -> Result<Exit> {
    report::check(&args.measuring.output, None, &args.measuring.ledger)?;
    let program = args.run_on_found.as_deref();
    check_program(program)?;
    let progress = Progress::new(args.measuring.quiet);
    let Measuring { offline, accept_expired_index, .. } = args.measuring;
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    let (ranges, request) = match &args.study {
        Some(study) => from_study(study, args, &open_ledger(&file)?)?,
        None => {
            let words = args.range.as_deref().unwrap_or_default();
            let range = Wanted::read(words, args.commits.as_deref())?;
            let quiet = args.measuring.quiet;
            let request =
                config_file::with_configs(args.request()?, Path::new(""), &[range.product], quiet)?;
            let machine = machine_facts(&env.cache_dir)?;
            (vec![range], config_file::scale(request, machine, quiet)?)
        }
    };
    let wish = Wish {
        ranges,
        paths: args.paths.clone(),
        measure: args.measure(),
        request,
        budget_s: args.request()?.budget_s.unwrap_or(BUDGET_S),
        watch: None,
    };
    let mut ledger = Ledger::open(&file)?;
    let taken = wish.taken(&file, &env, &ledger)?;
    own::remember(&taken.0, program)?;
    let exit = go_on(taken, &args.measuring, program, &env, &mut ledger);
    progress.finish();
    exit
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    Interrupted,
    Uncertain,
    Certain,
}

pub fn search(
    wish: &Wish,
    file: &Path,
    env: &Environment<'_>,
    ledger: &mut Ledger,
) -> Result<Sought> {
    let (mut search, held) = wish.taken(file, env, ledger)?;
    match searched(&mut search, &held, env, ledger) {
        None => {
            let answer = messages::bisection(&search, false, messages::Functions::default());
            let is_certain = Suspected::of(&answer).is_none();
            held.end(&search);
            Ok(if is_certain { Sought::Certain } else { Sought::Uncertain })
        }
        Some(Halt::Interrupted) => Ok(Sought::Interrupted),
        Some(Halt::Failed(error)) => Err(error),
    }
}

pub fn resume(id: &str, args: &Resume, cache_dir: Option<&Path>) -> Result<Exit> {
    let Measuring { offline, accept_expired_index, quiet, .. } = args.measuring;
    let progress = Progress::new(quiet);
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    let mut ledger = Ledger::open(&file)?;
    let search = |ledger: &Ledger| -> Result<Search> {
        let search = searches(ledger, |part| part.id == id)?.pop();
        search.with_context(|| format!("there is no search `{id}` of yours"))
    };
    let begun = search(&ledger)?;
    let test = begun.request.tests.first().map_or("", String::as_str);
    let held = Held::take(&file, &begun.words, begun.terms.measure, test)?;
    // Another process may have continued it until now.
    let search = search(&ledger)?;
    if !search.has_ended() && !own::is_own(&search) {
        bail!(Advised::new(
            format!("search `{id}` was not begun by your own assay, so it is only read"),
            format!(
                "begin one of your own: `assay bisect {}`",
                assay_plan::shell_quoted(&search.words)
            ),
        ));
    }
    let program = own::remembered(&search);
    check_program(program.as_deref())?;
    let exit = go_on((search, held), &args.measuring, program.as_deref(), &env, &mut ledger);
    progress.finish();
    exit
}

fn without_common(spec: &SystemSpec, request: &Request) -> SystemSpec {
    let common = request.config_options.iter().filter_map(|it| CommonOption::read(it).ok());
    let common: Vec<CommonOption> = common.collect();
    let is_own = |(name, value): &&(String, String)| {
        !common.iter().any(|it| it.name == *name && it.value == *value)
    };
    let overrides = spec.overrides.iter().filter(is_own).cloned().collect();
    SystemSpec { overrides, ..spec.clone() }
}

fn from_study(name: &str, args: &Bisect, ledger: &Ledger) -> Result<(Vec<Wanted>, Request)> {
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
        bail!(Advised::new(
            format!("study `{}` has no test `{}` of several systems", record.study.id, args.test),
            "`assay report STUDY` lists its tests"
        ))
    };
    let systems = [0, cell.system].map(|system| record.systems.get(system));
    let [Some(first), Some(last)] = systems else { bail!("the study has no such systems") };
    let versions = [first, last].map(|it| it.artifact.version());
    let of_study = assay_plan::request_of(&record.study)?;
    // Those of config files come with the request, and not every version accepts them.
    let [one, other] = [first, last].map(|it| without_common(&it.spec, &of_study));
    let wanted = Wanted::of_systems(&one, &other, versions).ok_or_else(|| {
        Advised::new(
            format!("`{}` and `{}` are not two versions of one product", first.name, last.name),
            "name a range: `assay bisect mariadb@10.6..11.8 --test TEST`",
        )
    })?;
    // Its data and settings, but not its effort: a comparison has its own time.
    let Request { preset, check, profile, slice_s, write_slice_s, turn_s, blocks, rounds, .. } =
        args.request()?;
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

fn go_on(
    (mut search, held): (Search, Held),
    args: &Measuring,
    run_on_found: Option<&str>,
    env: &Environment<'_>,
    ledger: &mut Ledger,
) -> Result<Exit> {
    // A search that this user's assay did not begin counts as ended, and is shown.
    let halted = match own::is_own(&search) {
        true => searched(&mut search, &held, env, ledger),
        false => None,
    };
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
    report::put(&args.output, &assay_report::bisection(&answer))?;
    if is_interrupted {
        print(&format!("interrupted: {continues}"));
        return Ok(Exit::Interrupted);
    }
    let Some((version, step)) = answer.found() else {
        held.end(&search);
        return Ok(Exit::Incomplete);
    };
    if let Some(program) = run_on_found {
        let after = answer.ranges.last().and_then(|it| it.versions.get(step.after));
        let found = Found {
            search: &search.id,
            test: answer.test,
            version: &version.version,
            after: after.map(|it| &it.version),
            step,
        };
        found.run(program)?;
    }
    held.end(&search);
    Ok(Exit::Done)
}
