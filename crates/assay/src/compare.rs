//! The commands that measure: `compare`, `run`, `resume` and their variants.

use std::path::Path;

use anyhow::{Context, Result, bail};
use assay_ledger::{Ledger, Problem};
use assay_model::{
    Conclusions, Experiment, Product, Study, StudyRecord, StudySummary, Verdict, counted,
};
use assay_plan::{NamedFile, Plan, Request};

use crate::advice::Advised;
use crate::cli::{
    Compare, Count, ExplainTerms, Gate, InsertBench, Measuring, Resume, RunFile, ShardNumber,
    Upgrade,
};
use crate::errors::print_error;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, print};
use crate::study::{self, Changed, Foreign, Stopped, Unfinished};
use crate::systems::{Environment, machine_facts, on_disk};
use crate::written::Written;
use crate::{
    bisect, captured, config_file, feeds, paths, recorded, report, shards, stacks, study_id,
    which_default, workload,
};

pub(crate) fn compare(args: &Compare, cache_dir: Option<&Path>) -> Result<Exit> {
    from_request(args.request(), &args.measuring, More::explaining(args.explain), cache_dir)
}

pub(crate) fn upgrade(args: &Upgrade, cache_dir: Option<&Path>) -> Result<Exit> {
    let request = captured::upgrade(args)?;
    from_request(request, &args.measuring, More::explaining(args.explain), cache_dir)
}

pub(crate) fn count(args: &Count, cache_dir: Option<&Path>) -> Result<Exit> {
    from_request(args.request(), &args.measuring, More::default(), cache_dir)
}

pub(crate) fn insert_bench(args: &InsertBench, cache_dir: Option<&Path>) -> Result<Exit> {
    from_request(args.request(), &args.measuring, More::default(), cache_dir)
}

pub(crate) fn gate(args: &Gate, cache_dir: Option<&Path>) -> Result<Exit> {
    let junit = args.junit.as_deref();
    match args.request() {
        Some(request) => {
            from_request(request, &args.measuring, More { junit, ..More::default() }, cache_dir)
        }
        None => judge_by_limits(args),
    }
}

fn judge_by_limits(args: &Gate) -> Result<Exit> {
    report::check(&args.measuring.output, args.junit.as_deref(), &args.measuring.ledger)?;
    feeds::check(&args.measuring.output)?;
    let mut record = report::found(&args.measuring.ledger, args.study.as_deref())?;
    if record.foreign && args.junit.is_some() {
        bail!(Foreign::new(&record.study.id, "judged in a file that CI acts on (`--junit`)"));
    }
    let study = &mut record.study;
    if let Some(limits) = args.limits() {
        if args.limits_instructions() != (study.experiment == Experiment::Counted) {
            let (has, limits, use_) = match study.experiment {
                Experiment::Counted => ("counted instructions", "rates", "`--max-more`"),
                _ => ("measured rates", "instructions", "`--max-slowdown`"),
            };
            bail!(Advised::new(
                format!("study `{}` {has}; these limits are for {limits}", study.id),
                format!("use {use_}")
            ))
        }
        let chosen = assay_plan::gate(&limits, study.set, &study.cells)?;
        if study.gate.as_ref().is_none_or(|own| own.margins != chosen.margins) {
            print(
                "note: limits chosen after seeing the results prove nothing; run a new gate with them",
            );
        }
        study.gate = Some(chosen);
    }
    let Some(gate) = &mut study.gate else {
        bail!(Advised::new(
            format!("study `{}` has no limits", study.id),
            match study.experiment {
                Experiment::Counted => "give them with `--max-more`, such as `--max-more 1%`",
                _ => "give them with `--max-slowdown`, such as `--max-slowdown 3%`",
            }
        ))
    };
    gate.allow_undecided |= args.allow_undecided;
    report::write_gate(&record, &args.measuring.output, args.junit.as_deref())
}

const STUDY_FILES: &str = "name a study file: TOML with `compare = [\"mariadb@10.11\", \"mariadb@11.8\"]` and, by the \
     same names, the options of `assay compare`";

pub(crate) fn run(args: &RunFile, cache_dir: Option<&Path>) -> Result<Exit> {
    let request = read_study(&args.study_file)?;
    if request.insert_bench.is_some() && args.instead.is_any() {
        bail!(Advised::new(
            "the Insert Benchmark has steps of its own, without tests and budget",
            "leave `--tests`, `--set` and `--budget` out, or change `[insert-bench]` in the file"
        ));
    }
    let request = args.instead.of(request);
    let mut request = resolved(request, &args.study_file, &[], args.measuring.quiet)?;
    request.source = args.from.source.clone().or(request.source);
    request.offline |= args.measuring.offline;
    request.accept_expired_index |= args.measuring.accept_expired_index;
    let directory = args.study_file.parent().unwrap_or(Path::new(""));
    let shard = args.shard.map(|shard| (shard, directory));
    from_request(request, &args.measuring, More { shard, ..More::default() }, cache_dir)
}

/// Reads a study file; `-` is stdin.
pub(crate) fn read_study(file: &Path) -> Result<Request> {
    let name = file.display().to_string();
    let text = if file.as_os_str() == "-" {
        paths::text(std::io::stdin(), "stdin", STUDY_FILES)
            .context("cannot read the study from stdin")?
    } else {
        paths::check_file(file, STUDY_FILES)?;
        paths::text(fs_err::File::open(file)?, &name, STUDY_FILES)?
    };
    Ok(assay_plan::read_study(&name, &text)?)
}

pub(crate) fn resolved(
    request: Request,
    study_file: &Path,
    searched: &[Product],
    quiet: bool,
) -> Result<Request> {
    let directory = study_file.parent().unwrap_or(Path::new(""));
    let mut request = config_file::with_configs(request, directory, searched, quiet)?;
    let beside = |path: &str| {
        let there = directory.join(path);
        // Scripts that come with sysbench are found by name.
        let is_stock = assay_plan::is_script(path) && !there.exists();
        if is_stock { path.to_owned() } else { there.display().to_string() }
    };
    request.workload = request.workload.iter().map(|it| NamedFile::of(it).at(beside)).collect();
    Ok(request)
}

#[derive(Default)]
struct More<'a> {
    junit: Option<&'a Path>,
    shard: Option<(ShardNumber, &'a Path)>,
    explains_terms: bool,
}

impl More<'_> {
    fn explaining(explain: ExplainTerms) -> Self {
        Self { explains_terms: explain.explain_terms, ..Self::default() }
    }
}

fn from_request(
    request: Request,
    args: &Measuring,
    More { junit, shard, explains_terms }: More<'_>,
    cache_dir: Option<&Path>,
) -> Result<Exit> {
    report::check(&args.output, junit, &args.ledger)?;
    feeds::check(&args.output)?;
    stacks::check(&args.output, || Ok(request.clone()))?;
    let request = config_file::with_configs(request, Path::new(""), &[], args.quiet)?;
    let cache_dir = paths::made_cache_dir(cache_dir)?;
    let machine = machine_facts(&cache_dir)?;
    let machine = if shard.is_some() { shards::on_a_node(machine, &request) } else { machine };
    let request = config_file::scale(request, machine, args.quiet)?;
    let suite = workload::suite(&request)?;
    let plan = assay_plan::plan_of(&request, machine, suite.clone());
    let plan = plan.map_err(|error| on_disk(error, &cache_dir))?;
    let plan = match shard {
        Some((shard, directory)) => shards::narrowed(plan, shard, directory)?,
        None => plan,
    };
    let mut ledger = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    if !args.quiet {
        let overrun = assay_plan::overrun(&plan.study, plan.systems.len());
        let specs: Vec<_> = plan.systems.iter().map(|it| &it.spec).collect();
        assay_plan::told_disk(&specs).iter().for_each(|told| print(&format!("note: {told}")));
        without_tables(&plan).iter().for_each(|told| print(&format!("note: {told}")));
        let normal = assay_plan::without_realtime(&request, &plan.study, machine);
        normal.iter().for_each(|told| print(&format!("note: {told}")));
        let warnings = overruled(&request, &plan.study).into_iter().chain(overrun);
        warnings.for_each(|warning| print(&format!("warning: {warning}")));
    }
    let written = Written::of(&request);
    let begun =
        Begun::Now { offline: request.offline, accept_expired_index: request.accept_expired_index };
    let of_shard =
        plan.shard.as_ref().map(|shard| shards::begun(&mut ledger, shard)).transpose()?;
    let asked = which_default::Asked { request: &request, suite: &suite, machine };
    let more = (junit, explains_terms.then_some(&asked));
    let measured =
        measure(args, more, &cache_dir, &mut ledger, &begun, |env, ledger| {
            match of_shard.flatten() {
                Some(id) => shards::go_on(&id, plan, env, ledger),
                None => study::run(plan, env, ledger),
            }
        });
    measured.map_err(|error| match written.and_then(|it| it.place(&error)) {
        Some(place) => error.context(format!("a server refuses what stands in {place}")),
        None => error,
    })
}

/// Note for scripts whose tables nobody creates on the servers that assay starts.
fn without_tables(plan: &Plan) -> Option<String> {
    let is_bare =
        plan.study.user_data().is_some_and(|data| data.tables.is_empty() && data.dump.is_none());
    let is_started = plan.systems.iter().any(|system| system.url.is_none());
    (is_bare && is_started).then(|| {
        "no statement names a table of pgbench, so the servers start without tables; if the scripts need some, name a \
         workload file with `[table.NAME]` beside them"
            .to_owned()
    })
}

/// Note for a preset that does not use a threshold as small as the requested one.
fn overruled(request: &Request, study: &Study) -> Option<String> {
    let is_timed = study.experiment != Experiment::Counted;
    let asked = request.threshold.filter(|&asked| is_timed && asked != assay_plan::THRESHOLD)?;
    let used = assay_verdict::threshold(study);
    let percent = |share: f64| (share * 1e5).round() / 1e3;
    (asked < used).then(|| {
        format!(
            "preset {} calls no changes below {}%, so it ignores the threshold of {}%; `--preset quick` \
             uses it",
            study.preset.word(),
            percent(used),
            percent(asked),
        )
    })
}

pub(crate) fn resume(args: &Resume, cache_dir: Option<&Path>) -> Result<Exit> {
    report::check(&args.measuring.output, None, &args.measuring.ledger)?;
    feeds::check(&args.measuring.output)?;
    let file = paths::ledger_file(args.measuring.ledger.file.as_deref())?;
    // Read-only, so that a mistyped name creates no file.
    let ledger = Ledger::open_read_only(&file)?;
    if let Some(search) = bisect::meant(&ledger, args)? {
        return bisect::resume(&search, args, cache_dir);
    }
    let is_open = |it: &StudySummary| {
        (args.more.is_some() || !it.finished) && study::is_mine(&ledger, &it.id)
    };
    let found = study_id::find(&ledger, args.study.as_deref(), is_open)?;
    let Some(id) = found else {
        if let Some(foreign) = study_id::find(&ledger, None, |it| !it.finished)? {
            bail!(Foreign::new(&foreign, "resumed"));
        }
        bail!(Advised::new(
            format!("there is no unfinished study in `{}`", file.display()),
            "`assay resume latest --more 10m` gives more time to the latest one that has ended"
        ))
    };
    let cache_dir = paths::made_cache_dir(cache_dir)?;
    let mut ledger = Ledger::open(&file)?;
    stacks::check(&args.measuring.output, || {
        Ok(assay_plan::request_of(&ledger.read(&id)?.study)?)
    })?;
    let before = ledger.conclusions(&id)?;
    let resume =
        |env: &Environment, ledger: &mut Ledger| study::resume(&id, args.more, env, ledger);
    let exit = measure(
        &args.measuring,
        (None, None),
        &cache_dir,
        &mut ledger,
        &Begun::Before(id.clone()),
        resume,
    )?;
    if let Some((before, after)) = before.zip(ledger.conclusions(&id)?) {
        let record = ledger.read(&id)?;
        let names: Vec<&str> = record.systems.iter().map(|system| system.name.as_str()).collect();
        let changed = changed(&record.study, &names, &before, &after);
        if !changed.is_empty() {
            print(&format!("note: the new time changed verdicts on QPS: {}", changed.join("; ")));
        }
    }
    Ok(exit)
}

/// Verdicts that differ from those decided earlier.
fn changed(
    study: &Study,
    systems: &[&str],
    before: &Conclusions,
    after: &Conclusions,
) -> Vec<String> {
    let pairs = before.cells.iter().filter_map(|old| {
        let mut cells = after.cells.iter();
        let new = cells.find(|new| (new.cell, new.system) == (old.cell, old.system))?;
        let is_changed = old.verdict != Verdict::Undecided && new.verdict != old.verdict;
        is_changed.then_some((old, new))
    });
    let words = pairs.filter_map(|(old, new)| {
        let (cell, system) = (study.cells.get(old.cell)?.id, systems.get(old.system)?);
        let clients = counted(u64::from(cell.setup.clients), "client");
        let [old, new] = [old.verdict, new.verdict].map(Verdict::word);
        Some(format!("{} ({clients}) of {system} was {old} and is {new}", cell.test.name))
    });
    words.collect()
}

enum Begun {
    Now { offline: bool, accept_expired_index: bool },
    Before(String),
}

fn measure(
    args: &Measuring,
    (junit, explained): (Option<&Path>, Option<&which_default::Asked<'_>>),
    cache_dir: &Path,
    ledger: &mut Ledger,
    begun: &Begun,
    carry_out: impl FnOnce(&Environment, &mut Ledger) -> Result<String, Stopped>,
) -> Result<Exit> {
    let progress = Progress::new(args.quiet);
    let (offline, accept_expired_index) = match *begun {
        Begun::Now { offline, accept_expired_index } => (offline, accept_expired_index),
        Begun::Before(_) => (args.offline, args.accept_expired_index),
    };
    let environment = Environment {
        cache_dir: cache_dir.to_owned(),
        offline,
        accept_expired_index,
        progress: &progress,
        interrupt: Interrupt::listen()?,
    };
    let outcome = carry_out(&environment, ledger);
    progress.finish();
    let (id, stopped) = match outcome {
        Ok(id) => (id, None),
        // A study that was asked to stop may also fail because of that, for example if a package client got the same
        // Ctrl-C.
        Err(stopped) if environment.interrupt.check().is_err() => match stopped.study {
            Some(id) => (id, Some(("interrupted", Exit::Interrupted))),
            None => {
                print(&never_begun(begun));
                return Ok(Exit::Interrupted);
            }
        },
        Err(Stopped { study: Some(id), error }) if error.is::<Unfinished>() => {
            print_error(&error);
            (id, Some(("unfinished", Exit::Error)))
        }
        Err(stopped) => {
            // A refused study does not continue.
            let goes_on = |id: &String| {
                !stopped.error.is::<Changed>()
                    && !is_gone(&stopped.error)
                    && kept(ledger, id).is_ok_and(|it| !it.slices.is_empty())
            };
            if let Some(id) = stopped.study.filter(goes_on) {
                print(&format!(
                    "note: the measurements so far are in `{}`; `assay resume {id}` continues the study",
                    ledger.path().display()
                ));
            }
            return Err(stopped.error);
        }
    };
    let mut record = kept(ledger, &id).context("cannot read the measurements back")?;
    // The measurements stand even if this fails.
    if let (Some(asked), None) = (explained, &stopped) {
        if let Err(error) = which_default::explain(&record, asked, &environment, ledger) {
            print_error(&error.context("cannot find out which settings made the changes"));
        }
        record = kept(ledger, &id).unwrap_or(record);
    }
    let written = report::write_measured(&record, &args.output, junit, &progress);
    if let Some((how, exit)) = stopped {
        // A failed step of the Insert Benchmark is a result, although later steps are missing.
        let is_result = record.study.is_insert_benchmark() && exit == Exit::Error;
        let exit = match written {
            Ok(Exit::Incomplete) if is_result => Exit::Incomplete,
            _ => exit,
        };
        // The terminal may have been closed together with the study.
        if let Err(error) = written {
            print(&format!("note: {error:#}"));
        }
        print(&format!("{how}: `assay resume {id}` continues the study"));
        return Ok(exit);
    }
    match environment.interrupt.check() {
        Ok(()) => written,
        // Interrupted while searching for the settings that made changes.
        Err(_) => written.map(|_| Exit::Interrupted),
    }
}

/// Reads the study as the next command will: the open ledger may have been replaced or damaged meanwhile.
fn kept(ledger: &Ledger, id: &str) -> Result<StudyRecord> {
    recorded::read(&Ledger::open_read_only(ledger.path())?, id)
}

/// Whether the ledger was removed or replaced. SQLite may still find the study in its log.
fn is_gone(error: &anyhow::Error) -> bool {
    let mut of_ledger = error.chain().filter_map(|it| it.downcast_ref::<assay_ledger::Error>());
    of_ledger.any(|it| matches!(it.problem, Problem::Gone))
}

/// Message for a command interrupted before it measured anything.
fn never_begun(begun: &Begun) -> String {
    match begun {
        Begun::Before(id) => format!(
            "interrupted before anything was measured; study `{id}` is as it was, and `assay resume {id}` continues it"
        ),
        Begun::Now { .. } => {
            "interrupted before the study started; run the command again to start it".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Conclusion, Preset};
    use assay_plan::MachineFacts;

    use super::*;

    #[test]
    fn a_study_is_kept_if_the_file_of_its_ledger_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.db");
        let ledger = Ledger::open(&path).unwrap();
        let told = |ledger: &Ledger| format!("{:#}", kept(ledger, "s").unwrap_err());
        assert!(told(&ledger).contains("`s`"), "{}", told(&ledger));
        fs_err::remove_file(&path).unwrap();
        assert!(told(&ledger).contains("no such file"), "{}", told(&ledger));
        let of = |problem| anyhow::Error::from(assay_ledger::Error { path: path.clone(), problem });
        assert!(is_gone(&of(Problem::Gone).context("cannot measure")));
        assert!(!is_gone(&of(Problem::Missing)));
    }

    #[test]
    fn a_study_that_waited_to_go_on_had_started() {
        let told = never_begun(&Begun::Before("s1".to_owned()));
        assert!(!told.contains("started") && told.contains("`assay resume s1`"), "{told}");
        let new = Begun::Now { offline: false, accept_expired_index: false };
        assert!(never_begun(&new).contains("before the study started"));
    }

    #[test]
    fn verdicts_that_more_time_takes_back_are_named() {
        let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let plan = assay_plan::plan(&Request::of_systems(&words), machine).unwrap();
        let concluded = |verdicts: [Verdict; 3]| {
            let cells = (0..).zip(verdicts).map(|(cell, verdict)| Conclusion {
                cell,
                system: 0,
                verdict,
                qps: None,
                rqps: None,
                cpu_verdict: None,
                cpu_ratio: None,
            });
            Conclusions { judged_by: String::new(), cells: cells.collect() }
        };
        let before = concluded([Verdict::Same, Verdict::Undecided, Verdict::Slower]);
        let after = concluded([Verdict::Undecided, Verdict::Slower, Verdict::Slower]);
        let test = &plan.study.cells[0].id.test.name;
        let expected = format!("{test} (1 client) of mariadb@11.8 was same and is undecided");
        assert_eq!(changed(&plan.study, &["mariadb@11.8"], &before, &after), [expected]);
    }

    #[test]
    fn a_threshold_ignored_by_smoke_is_reported() {
        let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let told = |preset, threshold| {
            let request = Request { preset, threshold, ..Request::of_systems(&words) };
            overruled(&request, &assay_plan::plan(&request, machine).unwrap().study)
        };
        let smoke = told(Preset::Smoke, Some(0.03)).unwrap();
        assert!(smoke.contains("below 10%") && smoke.contains("threshold of 3%"), "{smoke}");
        assert_eq!(told(Preset::Smoke, Some(0.2)), None);
        assert_eq!(told(Preset::Smoke, Some(assay_plan::THRESHOLD)), None);
        assert_eq!(told(Preset::Quick, Some(0.03)), None);
    }
}
