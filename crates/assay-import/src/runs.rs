//! Outputs of sysbench as a study.

use assay_model::{
    Artifact, CellId, Product, Setup, StudyRecord, System, SystemSpec, WorkCounters,
};

use crate::study::{About, empty, reported, unknown_test};
use crate::sysbench::SysbenchRun;

/// Why outputs of sysbench are no study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRuns {
    /// This one has no single report: its run failed, or the file is not the output of a run.
    Incomplete {
        /// Number of the output, from 0.
        number: usize,
        /// The first line that says why.
        why: Option<String>,
    },
    /// This one has another script, or other numbers of clients, tables or rows than the first.
    Different {
        /// Number of the output, from 0.
        number: usize,
        /// What differs.
        what: String,
    },
}

/// Beginnings of options that do not change the work of a script.
const OF_ANY_WORK: [&str; 12] = [
    "config-file",
    "db-debug",
    "db-driver",
    "events",
    "max-requests",
    "mysql-",
    "pgsql-",
    "report-",
    "threads",
    "time",
    "verbosity",
    "warmup-time",
];

/// The study that compares runs of one script with the first of them. What their command lines tell of clients, tables
/// and rows replaces what `about` says.
///
/// # Errors
/// [`NoRuns`].
pub fn study_of_runs(runs: &[(String, SysbenchRun)], about: &About) -> Result<StudyRecord, NoRuns> {
    let failed = |run: &SysbenchRun| !run.is_complete() || run.fatal.is_some();
    let incomplete = runs.iter().position(|(_, run)| failed(run));
    if let Some(number) = incomplete {
        let why = runs.get(number).and_then(|(_, run)| run.fatal.clone());
        return Err(NoRuns::Incomplete { number, why });
    }
    let Some((_, first)) = runs.first() else {
        return Err(NoRuns::Incomplete { number: 0, why: None });
    };
    let setup = setup(first, about.setup);
    for (number, (_, run)) in runs.iter().enumerate() {
        let what = if run.script != first.script {
            "script".to_owned()
        } else if self::setup(run, about.setup) != setup {
            "number of threads, tables or rows".to_owned()
        } else if let Some(option) = differing_option(run, first) {
            format!("`--{option}`")
        } else {
            continue;
        };
        return Err(NoRuns::Different { number, what });
    }
    // It may have been changed by its options, or by its author: it is no script of assay's.
    let script = unknown_test(first.script.as_deref().unwrap_or("sysbench"));
    let about = About { setup, ..about.clone() };
    let names: Vec<String> = runs.iter().map(|(name, _)| name.clone()).collect();
    let cell = CellId { test: script, setup };
    let mut record = empty(&names, vec![cell], &about);
    for (system, (_, run)) in record.systems.iter_mut().zip(runs) {
        if run.option("db-driver") == Some("pgsql") {
            of_postgres(system);
        }
    }
    let slices = runs.iter().enumerate();
    record.slices =
        slices.map(|(system, (_, run))| reported(cell, system, work(run), &about)).collect();
    Ok(record)
}

/// An option of the work that is not the same in both runs.
fn differing_option<'a>(one: &'a SysbenchRun, other: &'a SysbenchRun) -> Option<&'a str> {
    let mut names = one.options.iter().chain(&other.options).map(|(name, _)| name.as_str());
    names.find(|name| {
        let is_of_work = !OF_ANY_WORK.iter().any(|it| name.starts_with(it));
        is_of_work && one.option(name) != other.option(name)
    })
}

/// Only the driver of a run tells the product, if the name of its output does not.
fn of_postgres(system: &mut System) {
    let product = Product::Postgres;
    (system.spec.product, system.spec.engine) = (product, SystemSpec::default_engine(product));
    if let Artifact::Reported(server) = &mut system.artifact {
        server.product = Some(product);
    }
}

/// Clients, tables and rows as the output tells them.
pub(crate) fn setup(run: &SysbenchRun, otherwise: Setup) -> Setup {
    let number = |name: &str| run.option(name)?.parse::<u32>().ok().filter(|it| *it > 0);
    Setup {
        clients: run.threads.unwrap_or(otherwise.clients).max(1),
        tables: number("tables").unwrap_or(otherwise.tables),
        rows: number("table-size").unwrap_or(otherwise.rows),
    }
}

pub(crate) fn work(run: &SysbenchRun) -> WorkCounters {
    let seconds = run.seconds.unwrap_or(0.0);
    let events = run.events.unwrap_or(0);
    let mean_ms = run.latency.avg.unwrap_or(0.0);
    WorkCounters {
        events,
        read: run.read.unwrap_or(0),
        write: run.write.unwrap_or(0),
        other: run.other.unwrap_or(0),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(queries: u64, threads: u32) -> SysbenchRun {
        SysbenchRun {
            script: Some("oltp_read_only".to_owned()),
            options: [("table-size", "5000"), ("db-driver", "pgsql")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            threads: Some(threads),
            read: Some(queries),
            write: Some(0),
            other: Some(0),
            reports: 1,
            qps: Some(queries as f64 / 10.0),
            events: Some(queries / 16),
            seconds: Some(10.0),
            ..SysbenchRun::default()
        }
    }

    fn about() -> About {
        About {
            reported_in: "sysbench".to_owned(),
            id: "imported-1".to_owned(),
            imported_ms: 0,
            setup: Setup { clients: 1, tables: 1, rows: 1 },
            assay_version: String::new(),
        }
    }

    fn of(runs: [SysbenchRun; 2]) -> Result<StudyRecord, NoRuns> {
        let names = ["old.txt", "new.txt"].map(str::to_owned);
        study_of_runs(&names.into_iter().zip(runs).collect::<Vec<_>>(), &about())
    }

    #[test]
    fn runs_of_one_script_are_compared() {
        let record = of([run(1600, 4), run(3200, 4)]).unwrap();
        let [cell] = record.study.cells.as_slice() else { panic!("{:?}", record.study.cells) };
        assert_eq!(cell.id.setup, Setup { clients: 4, tables: 1, rows: 5000 });
        assert_eq!(cell.id.test.name(), "oltp_read_only");
        assert!(record.systems.iter().all(|it| it.artifact.product() == Some(Product::Postgres)));
        let rates: Vec<_> = record.slices.iter().map(assay_model::Slice::ops_per_second).collect();
        assert_eq!(rates, [Some(160.0), Some(320.0)]);
    }

    #[test]
    fn runs_that_differ_or_failed_are_refused() {
        let what = "number of threads, tables or rows".to_owned();
        let other = of([run(1600, 4), run(1600, 8)]);
        assert_eq!(other.unwrap_err(), NoRuns::Different { number: 1, what });
        let script = SysbenchRun { script: Some("oltp_insert".to_owned()), ..run(1, 4) };
        let other = of([run(1600, 4), script]);
        assert_eq!(other.unwrap_err(), NoRuns::Different { number: 1, what: "script".to_owned() });
        let mut zipfian = run(1600, 4);
        zipfian.options.push(("rand-type".to_owned(), "zipfian".to_owned()));
        let what = "`--rand-type`".to_owned();
        let other = of([run(1600, 4), zipfian]);
        assert_eq!(other.unwrap_err(), NoRuns::Different { number: 1, what });
        let fatal = SysbenchRun { fatal: Some("FATAL: x".to_owned()), ..SysbenchRun::default() };
        let why = Some("FATAL: x".to_owned());
        assert_eq!(of([run(1, 4), fatal]).unwrap_err(), NoRuns::Incomplete { number: 1, why });
    }
}
