//! Directories of raw runs: one for each server, with the files of all its tests.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{BufRead, Result};

use assay_model::{CellId, Slice};

use crate::NoStudy;
use crate::line::{Fault, each_line, value};
use crate::metrics::{RATE, RunName};
use crate::runs::{setup, work};
use crate::study::{About, Gathered, Tests, empty, reported};
use crate::sysbench::SysbenchRun;

/// Metrics of a run by their names.
pub type RunMetrics = Vec<(String, f64)>;

/// A run of a server in a test, as its files tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct RawRun {
    /// Name of the server: that of its directory.
    pub server: String,
    /// The name of its files without the words before the test, such as `point-query.pre.range100.pk1.dop8`.
    pub name: String,
    /// The output of sysbench.
    pub run: SysbenchRun,
    /// Metrics per operation and per second, by their names.
    pub metrics: RunMetrics,
}

/// The study that runs tell of. Setups are those of their command lines; runs that failed, and those that only fill
/// caches, are left out.
///
/// # Errors
/// [`NoStudy::NoTests`] if no run is left.
pub fn study_of_raw_runs(runs: &[RawRun], about: &About) -> std::result::Result<Gathered, NoStudy> {
    let mut repeated = Vec::new();
    let mut tests = Tests::default();
    let mut servers: Vec<String> = Vec::new();
    let mut cells: Vec<CellId> = Vec::new();
    let mut slices: BTreeMap<(CellId, usize), Slice> = BTreeMap::new();
    let counts = |raw: &&RawRun| {
        let is_failed = !raw.run.is_complete() || raw.run.fatal.is_some();
        !is_failed && !RunName::of(&raw.name).is_warm_up()
    };
    let runs: Vec<&RawRun> = runs.iter().filter(counts).collect();
    let most = runs.iter().map(|raw| setup(&raw.run, about.setup).rows).max();
    for raw in runs {
        let name = RunName::of(&raw.name);
        let mut setup = setup(&raw.run, about.setup);
        // `update-one` says that its table has one row.
        if setup.rows == 1 {
            setup.rows = most.unwrap_or(setup.rows);
        }
        let cell = CellId { test: tests.get(&name.in_tables()), setup };
        if !cells.contains(&cell) {
            cells.push(cell);
        }
        let system = servers.iter().position(|server| *server == raw.server);
        let system = system.unwrap_or_else(|| {
            servers.push(raw.server.clone());
            servers.len() - 1
        });
        let published = raw.metrics.iter().filter(|(name, _)| name != RATE).cloned().collect();
        let slice = reported(cell, system, work(&raw.run), about);
        match slices.entry((cell, system)) {
            Entry::Vacant(place) => drop(place.insert(Slice { published, ..slice })),
            Entry::Occupied(_) => repeated.push(format!("{} of {}", raw.name, raw.server)),
        }
    }
    if cells.is_empty() {
        return Err(NoStudy::NoTests);
    }
    let mut record = empty(&servers, cells, about);
    record.slices = slices.into_values().collect();
    Ok(Gathered { record, repeated })
}

/// Reads the metrics of one run, `sb.met.*`: lines of names, each followed by a line of numbers.
///
/// # Errors
/// When the content cannot be read. Lines that make no sense are faults.
pub fn run_metrics(file: &str, content: impl BufRead) -> Result<(RunMetrics, Vec<Fault>)> {
    let mut names: Vec<String> = Vec::new();
    let mut metrics = Vec::new();
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.first() == Some(&"samp") {
            names = cells.iter().map(|&name| name.to_owned()).collect();
            return Ok(());
        }
        // The number of samples is not the same for both tools.
        for (name, text) in names.drain(..).zip(&cells).skip(1) {
            if let Some(value) = value(text)? {
                metrics.push((name, value));
            }
        }
        Ok(())
    })?;
    Ok((metrics, faults))
}

#[cfg(test)]
mod tests {
    use assay_model::Setup;

    use super::*;

    fn run(server: &str, name: &str, queries: u64) -> RawRun {
        let run = SysbenchRun {
            threads: Some(40),
            read: Some(queries),
            write: Some(0),
            other: Some(0),
            seconds: Some(10.0),
            reports: 1,
            ..SysbenchRun::default()
        };
        let metrics = vec![("cpu/o".to_owned(), 0.5), ("o/s".to_owned(), 7.0)];
        RawRun { server: server.to_owned(), name: name.to_owned(), run, metrics }
    }

    #[test]
    fn runs_of_servers_meet_in_cells() {
        let setup = Setup { clients: 1, tables: 8, rows: 100 };
        let (reported_in, id, assay_version) = (String::new(), "raw".to_owned(), String::new());
        let about = About { reported_in, id, imported_ms: 0, setup, assay_version };
        let runs = [
            run("x.pg1023.a.pk1", "hot-points.range100.pk1.dop40", 1000),
            run("x.pg1023.a.pk1", "point-query.warm.range100.pk1.dop8", 1000),
            run("x.pg1110.a.pk1", "hot-points.range100.pk1.dop40", 1100),
        ];
        let record = study_of_raw_runs(&runs, &about).unwrap().record;
        let names: Vec<_> = record.study.cells.iter().map(|it| it.id.test.name()).collect();
        assert_eq!(names, ["hot-points"]);
        assert_eq!(record.study.setups, [Setup { clients: 40, ..setup }]);
        let rates: Vec<_> = record.slices.iter().map(|it| it.ops_per_second()).collect();
        assert_eq!(rates, [Some(100.0), Some(110.0)]);
        assert_eq!(record.slices[0].published, [("cpu/o".to_owned(), 0.5)]);
        assert_eq!(study_of_raw_runs(&runs[1..2], &about), Err(NoStudy::NoTests));
    }

    #[test]
    fn metrics_of_a_run_have_names() {
        let text = "iostat, vmstat normalized by operation rate\nsamp\tr/s\to/s\n335\t0.1\t115903.08\n\n\
                    samp\tcs/s\tcpu/o\n350\t490264\t0.000694\n";
        let (metrics, faults) = run_metrics("sb.met", text.as_bytes()).unwrap();
        assert_eq!(faults, []);
        let names: Vec<_> = metrics.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let expected =
            [("r/s", 0.1), ("o/s", 115_903.08), ("cs/s", 490_264.0), ("cpu/o", 0.000_694)];
        assert_eq!(names, expected);
    }
}
