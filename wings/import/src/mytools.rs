//! Results in the layouts of Mark Callaghan's tools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_import::{
    About, Gathered, Metrics, NoStudy, QpsTable, StepRow, metrics, qps_table, rate_table,
    step_results, step_rows, steps_of_server, study_of, study_of_steps, summary_results,
};
use assay_ledger::Ledger;
use assay_model::{Setup, StudyRecord, counted};

use super::common::{about, add, name, open, plain_name, tell, tell_left_out};
use super::data_sets::{self, DataSet};
use super::raw;
use super::unread::Unread;
use crate::arguments::ImportTables;
use assay_command::exit::Exit;
use assay_command::report;
use assay_run::advice::Advised;
use assay_run::paths;
use assay_run::progress::print;

/// Adds published results to the ledger, and shows the study if there is only one.
pub(super) fn run(args: &ImportTables) -> Result<Exit> {
    report::check(&args.output, None, &args.ledger)?;
    let mut sets: Vec<(DataSet, Option<&Path>)> = Vec::new();
    let mut unread = Unread::default();
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
        bail!(Advised::new(
            "there are no published results in these directories",
            "a table of queries per second is called `qps.abs.NAME.tsv`; name the file if yours has another name"
        ));
    }
    let mut records: Vec<StudyRecord> = Vec::new();
    let mut exit = if is_lost { Exit::Incomplete } else { Exit::Done };
    for (set, searched) in &sets {
        let context = Context { searched: *searched, setup: args.setup.setup() };
        match studies(set, &context) {
            Ok(found) => {
                for gathered in found {
                    if tell_left_out(&gathered) {
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
        bail!(Advised::new(
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
        let clients: BTreeSet<u32> = record.study.setups.iter().map(|it| it.clients).collect();
        let clients: Vec<String> = clients.iter().map(u32::to_string).collect();
        let clients = format!("clients {}", clients.join(", "));
        print(&format!("{}: {what}, {clients}, from {}", record.study.id, place(record)));
    }
    Ok(exit)
}

fn left_out(error: &anyhow::Error) -> Exit {
    print(&format!("warning: left out: {error:#}"));
    Exit::Incomplete
}

fn place(record: &StudyRecord) -> &str {
    record.systems.first().map_or("", |it| it.artifact.channel())
}

struct Context<'a> {
    /// The directory that the user named, if the data set was found in one.
    searched: Option<&'a Path>,
    setup: Setup,
}

impl Context<'_> {
    /// The path below the directory that the user named, or the name of the file. The rest of the path is private.
    fn origin(&self, path: &Path) -> String {
        let above = self.searched.map(|it| it.parent().unwrap_or(it));
        let below = above.and_then(|above| path.strip_prefix(above).ok());
        below.map_or_else(|| name(path), |below| below.display().to_string())
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
fn studies(set: &DataSet, context: &Context) -> Result<Vec<Gathered>> {
    let of = |path: &Path| format!("cannot import `{}`", path.display());
    match set {
        DataSet::Table { table, metrics } => {
            let study = || table_study(table, metrics.as_deref(), context);
            Ok(vec![study().with_context(|| of(table))?])
        }
        DataSet::Metrics(path) => Ok(vec![metrics_study(path, context).with_context(|| of(path))?]),
        DataSet::Steps(paths) => step_studies(paths, context),
        DataSet::Servers(paths) => Ok(vec![server_study(paths, context)?]),
        DataSet::Rates { rates, inserts } => {
            let study = || rate_study(rates, inserts.as_deref(), context);
            Ok(vec![study().with_context(|| of(rates))?])
        }
        DataSet::RawRuns(paths) => {
            Ok(vec![raw::of_sysbench(paths, context.origin_of_all(paths), context.setup)?])
        }
        DataSet::RawSteps(paths) => {
            Ok(vec![raw::of_steps(paths, context.origin_of_all(paths), context.setup)?])
        }
    }
}

fn table_study(table: &Path, metrics: Option<&Path>, context: &Context) -> Result<Gathered> {
    let (found, faults) = qps_table(&table.display().to_string(), open(table)?)?;
    tell(&faults);
    let metrics = metrics.map(read_metrics).transpose()?;
    study_of_table(&found, metrics.as_ref(), context.origin(table), context.setup)
}

fn read_metrics(path: &Path) -> Result<Metrics> {
    let (found, faults) = metrics(&path.display().to_string(), open(path)?)?;
    tell(&faults);
    Ok(found)
}

/// The rates of metrics are in one of their columns.
fn metrics_study(path: &Path, context: &Context) -> Result<Gathered> {
    let metrics = read_metrics(path)?;
    study_of_table(&metrics.table(), Some(&metrics), context.origin(path), context.setup)
}

fn study_of_table(
    table: &QpsTable,
    metrics: Option<&Metrics>,
    reported_in: String,
    setup: Setup,
) -> Result<Gathered> {
    let clients = metrics.and_then(Metrics::clients).unwrap_or(setup.clients);
    let about = about(reported_in, Setup { clients, ..setup });
    let whole = |record| Gathered { record, repeated: Vec::new(), left_out: Vec::new() };
    study_of(table, metrics, &about).map(whole).map_err(|why| {
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
        Advised::new(what, hint).into()
    })
}

fn read_rows(path: &Path) -> Result<Vec<StepRow>> {
    let read = || -> Result<_> { Ok(step_rows(&path.display().to_string(), open(path)?)?) };
    let (rows, faults) = read().with_context(|| format!("cannot import `{}`", path.display()))?;
    tell(&faults);
    Ok(rows)
}

/// A study for each family of servers, because a family has its own base.
fn step_studies(paths: &[PathBuf], context: &Context) -> Result<Vec<Gathered>> {
    let mut families: BTreeMap<usize, Vec<(String, StepRow)>> = BTreeMap::new();
    for path in paths {
        let step = plain_name(path).trim_start_matches("mrg.").to_owned();
        for row in read_rows(path)? {
            families.entry(row.family).or_default().push((step.clone(), row));
        }
    }
    let study = |rows: &Vec<(String, StepRow)>| {
        let results =
            rows.iter().flat_map(|(step, row)| step_results(step, std::slice::from_ref(row)));
        let results: Vec<_> = results.collect();
        step_study(&results, context.origin_of_all(paths), context.setup)
    };
    if families.is_empty() {
        bail!(no_steps(&context.origin_of_all(paths)));
    }
    families.values().map(study).collect()
}

fn server_study(paths: &[PathBuf], context: &Context) -> Result<Gathered> {
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
    step_study(&results, context.origin_of_all(paths), context.setup)
}

fn rate_study(rates: &Path, inserts: Option<&Path>, context: &Context) -> Result<Gathered> {
    let read = |path: &Path| -> Result<_> {
        let (table, faults) = rate_table(&path.display().to_string(), open(path)?)?;
        tell(&faults);
        Ok(table)
    };
    let (table, inserts) = (read(rates)?, inserts.map(read).transpose()?);
    let origin = context.origin(rates);
    step_study(&summary_results(&table, inserts.as_ref()), origin, context.setup)
}

fn step_study(
    results: &[assay_import::StepResult],
    reported_in: String,
    setup: Setup,
) -> Result<Gathered> {
    let place = reported_in.clone();
    let about: About = about(reported_in, setup);
    study_of_steps(results, &about).map_err(|_| no_steps(&place).into())
}

fn no_steps(place: &str) -> Advised {
    Advised::new(
        format!("`{place}` has no step of the Insert Benchmark"),
        "the steps are those of the files' names, such as `mrg.l.i0` and `mrg.qr100.L1`",
    )
}
