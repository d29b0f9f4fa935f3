//! Outputs of benchmark clients as a study: clients of one script, a sweep over clients, and repeats.

use std::collections::BTreeSet;

use assay_model::{
    Artifact, CellId, Dialect, Product, Setup, Slice, StudyRecord, System, WorkCounters,
};

use crate::checks::{self, Warmup};
use crate::client_run::{BenchmarkClient, ClientRun, SystemRun};
use crate::reservations::{self, difference};
use crate::study::{ImportFacts, empty, reported, reservation, unknown_test};

/// Why runs make no study, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoRuns {
    pub what: String,
    pub hint: &'static str,
}

/// Compares runs of one script with those of the first system. Clients, tables and rows of the outputs override those
/// of `about`.
pub fn study_of_runs(runs: &[SystemRun], about: &ImportFacts) -> Result<StudyRecord, NoRuns> {
    for SystemRun { file, run, .. } in runs {
        if !run.is_complete() || run.fatal.is_some() {
            return Err(incomplete(file, run));
        }
        let what = checks::contradictions(run);
        if !what.is_empty() {
            return Err(NoRuns {
                what: format!("`{file}` contradicts itself: {}", what.join("; ")),
                hint: "import the output as the program wrote it",
            });
        }
    }
    let (runs, mut doubts) = without_foreign_commands(runs);
    let Some((first, others)) = runs.split_first() else {
        let hint = "import the outputs of runs";
        return Err(NoRuns { what: "there are no runs".to_owned(), hint });
    };
    for other in others {
        if let Some(what) = difference(first, other) {
            return Err(NoRuns {
                what: format!("`{}` cannot be compared: {what}", other.file),
                hint: "import runs that differ only in the server, or in the number of clients",
            });
        }
    }
    let names = systems(&runs);
    if names.len() > 1 && !has_common_clients(&runs, about) {
        let clients = |SystemRun { file, run, .. }: &SystemRun| {
            format!("{file} {}", run.threads.map_or("?".to_owned(), |clients| clients.to_string()))
        };
        let clients: Vec<String> = runs.iter().map(clients).collect();
        return Err(NoRuns {
            what: format!("the runs have different numbers of clients: {}", clients.join(", ")),
            hint: "to import a sweep of one system, name it: `assay import sysbench NAME=FILE NAME=FILE`",
        });
    }
    doubts.extend(reservations::of_runs(&runs));
    let runs = without_warmup(runs, &mut doubts);
    let record = record(&runs, &names, about);
    Ok(StudyRecord {
        events: doubts.into_iter().map(|it| reservation(it, about)).collect(),
        ..record
    })
}

/// Not exactly one report: the run failed, or the file is not the output of a run.
fn incomplete(file: &str, run: &ClientRun) -> NoRuns {
    let what = match (&run.fatal, run.reports) {
        (Some(why), 0) => format!("`{file}` has no report: {why}"),
        (Some(why), _) => format!("`{file}` failed: {why}"),
        (None, 0) => format!("`{file}` has no report: its run did not end, or the file is cut off"),
        (None, 1) => format!("`{file}` is cut off: its report lacks counts or the time"),
        (None, many) => {
            let what = format!(
                "`{file}` has {many} reports: of several runs, or of `--report-checkpoints`"
            );
            let hint = "split it, and import each run as a file of its own: \
                        `assay import sysbench NAME=FILE NAME=FILE`";
            return NoRuns { what, hint };
        }
    };
    NoRuns { what, hint: "import the whole output of a run that ended by itself" }
}

/// Drops command lines that contradict their reports, with a reservation for each.
fn without_foreign_commands(runs: &[SystemRun]) -> (Vec<SystemRun>, Vec<String>) {
    let mut doubts = Vec::new();
    let mut kept = runs.to_vec();
    for SystemRun { file, run, .. } in &mut kept {
        let differences = checks::command_contradicts(run);
        if differences.is_empty() {
            continue;
        }
        doubts.push(format!(
            "{file}: its command line is not that of its report ({}), so script, options, tables and rows are not \
             taken from it",
            differences.join("; ")
        ));
        (run.script, run.options) = (None, Vec::new());
    }
    (kept, doubts)
}

/// Subtracts warm-up that reports include. Runs that need a reservation add one to `doubts`.
fn without_warmup(mut runs: Vec<SystemRun>, doubts: &mut Vec<String>) -> Vec<SystemRun> {
    for SystemRun { file, run, .. } in &mut runs {
        let seconds = checks::warmup_seconds(run).unwrap_or(0.0);
        let all = run.seconds.unwrap_or(0.0);
        match checks::warmup(run) {
            Warmup::NotCounted => {}
            Warmup::LeftOut(without) => {
                doubts.push(format!(
                    "{file}: its report counts {seconds} s of warming up in its {all:.0} s; by its intervals, they are \
                     left out of rates and counts, but not of response times"
                ));
                *run = *without;
            }
            Warmup::Counted => doubts.push(format!(
                "{file}: its report counts {seconds} s of warming up in its {all:.0} s, and has no intervals \
                 (`--report-interval`) by which they could be left out"
            )),
            Warmup::Unknown => doubts.push(format!(
                "{file}: it warmed up for {seconds} s, and nothing tells whether its report counts them"
            )),
        }
    }
    runs
}

/// In order of appearance.
fn systems(runs: &[SystemRun]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    runs.iter().map(|it| &it.system).filter(|it| seen.insert(*it)).cloned().collect()
}

fn has_common_clients(runs: &[SystemRun], about: &ImportFacts) -> bool {
    let clients = |it: &SystemRun| setup(&it.run, about.setup).clients;
    runs.iter().any(|one| {
        runs.iter().any(|other| one.system != other.system && clients(one) == clients(other))
    })
}

fn record(runs: &[SystemRun], names: &[String], about: &ImportFacts) -> StudyRecord {
    // Options or the author may have changed the script, so it is not equated with assay's.
    let known = runs.iter().find_map(|it| it.run.script.as_deref());
    let client = runs.first().map(|it| it.run.client).unwrap_or_default();
    let script = unknown_test(known.unwrap_or(match client {
        BenchmarkClient::Sysbench => "sysbench",
        BenchmarkClient::Pgbench => "pgbench",
    }));
    // Some of the outputs may lack tables and rows.
    let known = runs.iter().find(|it| tells_rows(&it.run)).map(|it| setup(&it.run, about.setup));
    let otherwise = known.unwrap_or(about.setup);
    let cell = |it: &SystemRun| CellId { test: script, setup: setup(&it.run, otherwise) };
    let cells: BTreeSet<CellId> = runs.iter().map(cell).collect();
    let mut record = empty(names, cells.into_iter().collect(), about);
    for run in runs {
        let system = names.iter().position(|name| *name == run.system);
        let system = system.expect("the names are those of the runs");
        let slice = reported(cell(run), system, work(&run.run), about);
        let repeats = record.slices.iter().filter(|it| (it.cell, it.system) == (cell(run), system));
        let block = repeats.count() as u32;
        record.slices.push(Slice { block, published: figures(&run.run), ..slice });
        if is_of_postgres(&run.run) {
            make_postgres(&mut record.systems[system]);
        }
    }
    record.study.blocks = record.slices.iter().map(|it| it.block + 1).max().unwrap_or(1);
    record
}

fn is_of_postgres(run: &ClientRun) -> bool {
    run.client == BenchmarkClient::Pgbench || run.option("db-driver") == Some("pgsql")
}

/// If the name of an output does not give the product, only the driver does.
fn make_postgres(system: &mut System) {
    let product = Product::of_dialect(Dialect::Postgres);
    (system.spec.product, system.spec.engine) = (product, product.default_engine());
    if let Artifact::Reported(server) = &mut system.artifact {
        server.product = Some(product);
    }
}

/// Rows per scale unit in pgbench's largest table.
const ROWS_OF_SCALE: u32 = 100_000;

fn tells_rows(run: &ClientRun) -> bool {
    ["tables", "table-size", "scale"].iter().any(|option| run.option(option).is_some())
}

pub(crate) fn setup(run: &ClientRun, otherwise: Setup) -> Setup {
    let number = |name: &str| run.option(name)?.parse::<u32>().ok().filter(|it| *it > 0);
    let is_own = run.script.as_deref().is_some_and(|it| BUILT_IN.contains(&it));
    let of_scale = || number("scale").filter(|_| is_own)?.checked_mul(ROWS_OF_SCALE);
    Setup {
        clients: run.threads.unwrap_or(otherwise.clients).max(1),
        tables: number("tables").unwrap_or(otherwise.tables),
        rows: number("table-size").or_else(of_scale).unwrap_or(otherwise.rows),
    }
}

/// Scripts of pgbench whose tables have a scale.
const BUILT_IN: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];

pub(crate) fn work(run: &ClientRun) -> WorkCounters {
    let seconds = run.seconds.unwrap_or(0.0);
    let events = run.events.unwrap_or(0);
    let mean_ms = run.latency.avg.unwrap_or(0.0);
    // pgbench counts only transactions.
    let uncounted = if run.client == BenchmarkClient::Pgbench { events } else { 0 };
    WorkCounters {
        events,
        read: run.read.unwrap_or(0),
        write: run.write.unwrap_or(0),
        other: run.other.unwrap_or(uncounted),
        errors: run
            .ignored_errors
            .filter(|it| *it > 0)
            .map(|count| (0, count))
            .into_iter()
            .collect(),
        elapsed_ns: (seconds * 1e9) as u64,
        event_ns_sum: (mean_ms * 1e6 * events as f64) as u64,
        ..WorkCounters::default()
    }
}

/// Further figures of the output: response times, lost connections, limits.
pub(crate) fn figures(run: &ClientRun) -> Vec<(String, f64)> {
    let latency = &run.latency;
    let us = |name: &str, ms: Option<f64>| ms.map(|ms| (format!("latency_{name}_us"), us(ms)));
    let times = [
        us("min", latency.min),
        us("avg", latency.avg),
        us("max", latency.max),
        us("stddev", latency.stddev),
    ];
    let percentiles = latency.percentiles();
    let percentiles = percentiles.iter().filter_map(|(at, ms)| us(&format!("p{at}"), Some(*ms)));
    let others = [
        ("reconnects", run.reconnects.filter(|it| *it > 0).map(|it| it as f64)),
        ("given_up", run.given_up.filter(|it| *it > 0).map(|it| it as f64)),
        ("late", run.late.map(|it| it as f64)),
        ("target_tps", run.target),
        ("schedule_lag_us", run.lag_ms.map(self::us)),
    ];
    let others = others.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    times.into_iter().flatten().chain(percentiles).chain(others).collect()
}

/// Removes the digits that multiplying adds.
fn us(ms: f64) -> f64 {
    (ms * 1e6).round() / 1e3
}
