//! Results in the layouts of Mark Callaghan's tools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_import::{
    IbenchResult, IbenchRow, Metrics, NoStudy, PublishedStudy, QpsTable, RawRun, ibench_run,
    iostat, qps_table, rate_table, run_metrics, step_result, step_rows, step_seconds,
    steps_of_server, study_of, study_of_ibench_runs, study_of_raw_runs, study_of_steps,
    summary_results, sysbench_run, vmstat, without_size,
};
use assay_ledger::Ledger;
use assay_model::{EventKind, Setup, StudyEvent, StudyRecord, counted};
use clap::Args;

use super::common::{
    SetupArgs, about, add, cannot_import, name, open, parsed, plain_name, print_left_out,
};
use super::data_sets::{self, CLIENT, ResultFiles, UnreadFiles, clients_by_name, files};
use assay_command::args::{FormatWord, LedgerArg, Output};
use assay_command::exit::Exit;
use assay_command::report;
use assay_run::advice::HintedError;
use assay_run::paths;
use assay_run::progress::print;

/// `assay import mytools`.
#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct ImportTables {
    /// Files, or directories that are searched for what assay knows; each data set becomes a study
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    pub setup: SetupArgs,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

/// Adds published results to the ledger, and shows the study if there is only one.
pub(super) fn run(args: &ImportTables) -> Result<Exit> {
    report::check(&args.output, None, &args.ledger)?;
    let mut sets: Vec<(ResultFiles, Option<&Path>)> = Vec::new();
    let mut unread = UnreadFiles::default();
    for path in &args.paths {
        match path.is_dir() {
            true => {
                let found = data_sets::found(path, &mut unread)?;
                sets.extend(found.into_iter().map(|set| (set, Some(path.as_path()))));
            }
            false => sets.push((data_sets::named(path), None)),
        }
    }
    let is_lost = unread.tell();
    if sets.is_empty() {
        bail!(HintedError::new(
            "there are no published results in these directories",
            "a table of queries per second is called `qps.abs.NAME.tsv`; name the file if yours has another name"
        ));
    }
    let mut records: Vec<StudyRecord> = Vec::new();
    let mut exit = if is_lost { Exit::Incomplete } else { Exit::Done };
    for (set, searched) in &sets {
        let (setup, clients) = (args.setup.setup(), args.setup.clients);
        let context = ImportContext { searched: *searched, setup, clients };
        match studies(set, &context) {
            Ok(found) => {
                for gathered in found {
                    if print_left_out(&gathered) {
                        exit = Exit::Incomplete;
                    }
                    records.push(gathered.record);
                }
            }
            Err(error) if sets.len() == 1 => return Err(error),
            Err(error) => exit = left_out(&error),
        }
    }
    let is_shaped = args.output.format.is_some() || args.output.output.is_some();
    if records.len() > 1 && is_shaped {
        bail!(HintedError::new(
            format!("`--format` and `-o` show one study, and these are {}", records.len()),
            "leave them out, then use `assay report STUDY --format html -o FILE`"
        ));
    }
    let mut ledger = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    let mut added: Vec<StudyRecord> = Vec::new();
    for record in &records {
        match add(&mut ledger, record).with_context(|| format!("cannot import `{}`", place(record)))
        {
            Ok(record) => added.push(record),
            Err(error) if records.len() == 1 => return Err(error),
            Err(error) => exit = left_out(&error),
        }
    }
    if let [record] = added.as_slice() {
        let written = report::write(record, &args.output)?;
        return Ok(if exit == Exit::Done { written } else { exit });
    }
    for record in &added {
        let (cells, systems) = (record.study.cells.len() as u64, record.systems.len() as u64);
        let what = format!("{} of {}", counted(cells, "test"), counted(systems, "system"));
        print(&format!("{}: {what}, {}, from {}", record.study.id, clients(record), place(record)));
    }
    Ok(exit)
}

fn clients(record: &StudyRecord) -> String {
    if record.events.iter().any(|it| it.what == unknown_clients()) {
        return "an unknown number of clients".to_owned();
    }
    let clients: BTreeSet<u32> = record.study.setups.iter().map(|it| it.clients).collect();
    let clients: Vec<String> = clients.iter().map(u32::to_string).collect();
    format!("clients {}", clients.join(", "))
}

fn unknown_clients() -> EventKind {
    let what = "the number of clients is unknown: reports show 1 in its place; `--clients` sets it";
    EventKind::Reservation { what: what.to_owned() }
}

fn left_out(error: &anyhow::Error) -> Exit {
    print(&format!("warning: left out: {error:#}"));
    Exit::Incomplete
}

fn place(record: &StudyRecord) -> &str {
    record.systems.first().map_or("", |it| it.artifact.channel())
}

struct ImportContext<'a> {
    /// The directory that the user named, if the data set was found in one.
    searched: Option<&'a Path>,
    setup: Setup,
    /// `None` if the user did not give the number.
    clients: Option<u32>,
}

impl ImportContext<'_> {
    /// The path below the directory that the user named, or the name of the file. The rest of the path is private.
    fn origin(&self, path: &Path) -> String {
        let above = self.searched.map(|it| it.parent().unwrap_or(it));
        let below = above.and_then(|above| path.strip_prefix(above).ok());
        below.map_or_else(|| name(path), |below| below.display().to_string())
    }

    /// The study of files in `path`, of which `told` is the number of clients that they contain.
    fn study(
        &self,
        path: &Path,
        told: Option<u32>,
        study: impl FnOnce(Setup) -> Result<PublishedStudy>,
    ) -> Result<PublishedStudy> {
        let known = told.or(self.clients).or_else(|| clients_by_name(path));
        let clients = known.unwrap_or(self.setup.clients);
        let mut study = study(Setup { clients, ..self.setup })?;
        if known.is_none() {
            let when_ms = study.record.study.started_ms;
            let event = StudyEvent { when_ms, system: None, what: unknown_clients() };
            study.record.events.push(event);
        }
        Ok(study)
    }

    fn origin_of_all(&self, paths: &[PathBuf]) -> String {
        match paths {
            [only] => self.origin(only),
            [first, ..] => first.parent().map_or_else(String::new, |it| self.origin(it)),
            [] => String::new(),
        }
    }
}

/// One study, or one for each family of servers.
fn studies(set: &ResultFiles, context: &ImportContext) -> Result<Vec<PublishedStudy>> {
    match set {
        ResultFiles::Table { table, metrics } => {
            let study = || table_study(table, metrics.as_deref(), context);
            Ok(vec![study().with_context(|| cannot_import(table))?])
        }
        ResultFiles::Metrics(path) => {
            Ok(vec![metrics_study(path, context).with_context(|| cannot_import(path))?])
        }
        ResultFiles::Steps(paths) => step_studies(paths, context),
        ResultFiles::Servers(paths) => Ok(vec![server_study(paths, context)?]),
        ResultFiles::Rates { rates, inserts } => {
            let study = || rate_study(rates, inserts.as_deref(), context);
            Ok(vec![study().with_context(|| cannot_import(rates))?])
        }
        ResultFiles::RawRuns(paths) => {
            Ok(vec![study_of_sysbench(paths, context.origin_of_all(paths), context.setup)?])
        }
        ResultFiles::RawSteps(paths) => {
            Ok(vec![study_of_raw_steps(paths, context.origin_of_all(paths), context.setup)?])
        }
    }
}

fn table_study(
    table: &Path,
    metrics: Option<&Path>,
    context: &ImportContext,
) -> Result<PublishedStudy> {
    let found = parsed(table, qps_table)?;
    let metrics = metrics.map(|path| parsed(path, assay_import::metrics)).transpose()?;
    study_of_table(&found, metrics.as_ref(), table, context)
}

/// The rates of metrics are in one of their columns.
fn metrics_study(path: &Path, context: &ImportContext) -> Result<PublishedStudy> {
    let metrics = parsed(path, assay_import::metrics)?;
    study_of_table(&metrics.table(), Some(&metrics), path, context)
}

fn study_of_table(
    table: &QpsTable,
    metrics: Option<&Metrics>,
    path: &Path,
    context: &ImportContext,
) -> Result<PublishedStudy> {
    let whole = |record| PublishedStudy { record, repeated: Vec::new(), left_out: Vec::new() };
    let study = |setup| {
        let about = about(context.origin(path), setup);
        study_of(table, metrics, &about).map(whole).map_err(no_study)
    };
    context.study(path, metrics.and_then(Metrics::clients), study)
}

fn no_study(why: NoStudy) -> anyhow::Error {
    let (what, hint) = match why {
        NoStudy::Relative => (
            "its numbers are ratios, from which no rates follow",
            "import the absolute ones, which are called `qps.abs.NAME.tsv`",
        ),
        NoStudy::NoServers => (
            "it has no names of servers",
            "import the tsv file, which lists them as `col-1 : NAME`",
        ),
        NoStudy::NoTests => (
            "it has no rows that can be read",
            "a row is tab-separated: a number for each server, then the test",
        ),
    };
    HintedError::new(what, hint).into()
}

fn read_rows(path: &Path) -> Result<Vec<IbenchRow>> {
    parsed(path, step_rows).with_context(|| cannot_import(path))
}

/// A study for each family of servers, because a family has its own base.
fn step_studies(paths: &[PathBuf], context: &ImportContext) -> Result<Vec<PublishedStudy>> {
    let mut families: BTreeMap<usize, Vec<(String, IbenchRow)>> = BTreeMap::new();
    for path in paths {
        let step = plain_name(path).trim_start_matches("mrg.").to_owned();
        for row in read_rows(path)? {
            families.entry(row.family).or_default().push((step.clone(), row));
        }
    }
    let study = |rows: &Vec<(String, IbenchRow)>| {
        let results = rows.iter().filter_map(|(step, row)| step_result(step, row));
        let results: Vec<_> = results.collect();
        step_study(&results, context.origin_of_all(paths), &paths[0], context)
    };
    if families.is_empty() {
        bail!(no_steps(&context.origin_of_all(paths)));
    }
    families.values().map(study).collect()
}

fn server_study(paths: &[PathBuf], context: &ImportContext) -> Result<PublishedStudy> {
    let mut results = Vec::new();
    for path in paths {
        let rows = read_rows(path)?;
        let found = steps_of_server(&rows);
        if found.is_empty() {
            print(&format!(
                "warning: {}: its {} rows are not the steps that are known",
                name(path),
                rows.len()
            ));
        }
        results.extend(found);
    }
    step_study(&results, context.origin_of_all(paths), &paths[0], context)
}

fn rate_study(
    rates: &Path,
    inserts: Option<&Path>,
    context: &ImportContext,
) -> Result<PublishedStudy> {
    let table = parsed(rates, rate_table)?;
    let inserts = inserts.map(|path| parsed(path, rate_table)).transpose()?;
    let results = summary_results(&table, inserts.as_ref());
    step_study(&results, context.origin(rates), rates, context)
}

fn step_study(
    results: &[assay_import::StepResult],
    reported_in: String,
    path: &Path,
    context: &ImportContext,
) -> Result<PublishedStudy> {
    context.study(path, None, |setup| {
        let about = about(reported_in, setup);
        study_of_steps(results, &about).map_err(|_| no_steps(&about.reported_in).into())
    })
}

fn no_steps(place: &str) -> HintedError {
    HintedError::new(
        format!("`{place}` has no step of the Insert Benchmark"),
        "the steps are those of the files' names, such as `mrg.l.i0` and `mrg.qr100.L1`",
    )
}

fn study_of_sysbench(
    directories: &[PathBuf],
    origin: String,
    setup: Setup,
) -> Result<PublishedStudy> {
    let mut runs = Vec::new();
    for directory in directories {
        let files = files(directory)?;
        for (file, path) in files.iter().filter(|(_, path)| path.is_file()) {
            // The log of the pause after the writes, among others, has a similar name.
            let Some(run) = file.strip_prefix("sb.o.") else { continue };
            let read = || raw_run(path, &files, run, name(directory));
            let raw = read().with_context(|| cannot_import(path))?;
            let is_log = raw.run.reports == 0 && !run.contains(".dop");
            runs.extend(Some(raw).filter(|_| !is_log));
        }
    }
    let about = about(origin, setup);
    study_of_raw_runs(&runs, &about).map_err(|_| {
        let hint = "an output of sysbench is called `sb.o.TEST.range100.pk1.dop1` and ends with its report";
        HintedError::new("there is no complete output of sysbench", hint).into()
    })
}

fn raw_run(
    output: &Path,
    files: &BTreeMap<String, PathBuf>,
    run: &str,
    server: String,
) -> Result<RawRun> {
    let found = parsed(output, sysbench_run)?;
    let beside = |word: &str| files.get(&format!("sb.{word}.{run}")).filter(|it| it.is_file());
    let metrics = beside("met").map(|path| parsed(path, run_metrics)).transpose()?;
    let metrics = metrics.unwrap_or_default();
    // The metrics were made from these.
    let samples = |word: &str| beside(word).filter(|_| metrics.is_empty());
    let vmstat = samples("vm").map(|path| parsed(path, vmstat)).transpose()?;
    let iostat = samples("io").map(|path| parsed(path, iostat)).transpose()?;
    Ok(RawRun { server, name: run.to_owned(), run: found, metrics, vmstat, iostat })
}

fn study_of_raw_steps(
    directories: &[PathBuf],
    origin: String,
    setup: Setup,
) -> Result<PublishedStudy> {
    let mut results = Vec::new();
    let plain: BTreeSet<String> =
        directories.iter().map(|it| without_size(&name(it)).to_owned()).collect();
    for directory in directories {
        let full = name(directory);
        // The size is part of the name if it distinguishes servers.
        let server =
            if plain.len() < directories.len() { full.as_str() } else { without_size(&full) };
        let mut steps = Vec::new();
        for (step, path) in files(directory)? {
            if path.is_dir() && !path.is_symlink() {
                let read = || result(&path, step, server.to_owned());
                steps.extend(read().with_context(|| cannot_import(&path))?);
            }
        }
        steps.sort_by_key(|result: &IbenchResult| order(&result.step));
        results.extend(steps);
    }
    let about = about(origin, setup);
    study_of_ibench_runs(&results, &about).map_err(|_| {
        let hint = "the steps are the names of directories, such as `l.i0` and `qr100.L1`";
        HintedError::new("there is no output of a step of the Insert Benchmark", hint).into()
    })
}

/// Loads first, then query steps by number: `qr100.L1`, `qp100.L2`.
fn order(step: &str) -> (bool, u32, String) {
    let number = step.rsplit_once(".L").and_then(|(_, number)| number.parse().ok());
    let place = ["l.i0", "l.x", "l.i1", "l.i2"].iter().position(|it| *it == step);
    let is_query = place.is_none();
    (is_query, number.or(place.map(|it| it as u32)).unwrap_or(u32::MAX), step.to_owned())
}

/// Result of the clients of a step; `None` without their outputs.
fn result(directory: &Path, step: String, server: String) -> Result<Option<IbenchResult>> {
    let mut clients = Vec::new();
    let mut seconds = None;
    for (file, path) in files(directory)? {
        if file.starts_with(CLIENT) {
            clients.push(parsed(&path, ibench_run)?);
        } else if file.starts_with("o.res.dop") {
            seconds = step_seconds(open(&path)?)?;
        }
    }
    Ok((!clients.is_empty()).then_some(IbenchResult { step, server, seconds, clients }))
}
