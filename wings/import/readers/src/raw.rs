//! Directories of raw runs: one per server, with the files of all its tests.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::BufRead;

use assay_model::{CellId, Slice};

use crate::checks;
use crate::client_run::{ClientRun, SystemRun};
use crate::line::{ParseResult, each_line, value};
use crate::metrics::{RATE, RunName};
use crate::reservations::{self, difference};
use crate::runs::{figures, setup, work};
use crate::samples::{Iostat, RunMetrics, Vmstat, busiest_device, metrics_of_samples};
use crate::study::{
    ImportFacts, NoStudy, PublishedStudy, PublishedTests, empty, place_of, reported, reservation,
};

#[derive(Debug, Clone, PartialEq)]
pub struct RawRun {
    /// Name of the server's directory.
    pub server: String,
    /// Name of the files without the prefix before the test, such as `point-query.pre.range100.pk1.dop8`.
    pub name: String,
    pub run: ClientRun,
    /// Metrics per operation and per second; empty without a file of metrics.
    pub metrics: RunMetrics,
    /// Samples, if metrics must be computed from them.
    pub vmstat: Option<Vmstat>,
    pub iostat: Option<Iostat>,
}

impl RawRun {
    fn fault(&self) -> Option<String> {
        let run = &self.run;
        if let Some(fatal) = &run.fatal {
            return Some(fatal.clone());
        }
        if !run.is_complete() {
            return Some(match run.reports {
                0 => "it has no report".to_owned(),
                1 => "its report is cut off".to_owned(),
                many => format!("it has {many} reports"),
            });
        }
        checks::contradictions(run)
            .into_iter()
            .next()
            .map(|it| format!("it contradicts itself: {it}"))
    }

    fn named(&self) -> SystemRun {
        let file = format!("{}/sb.o.{}", self.server, self.name);
        SystemRun { system: self.server.clone(), file, run: self.run.clone() }
    }
}

const RESERVATIONS: usize = 20;

/// Setups come from the command lines. Leaves out runs that failed, contradict themselves or only fill caches.
pub fn study_of_raw_runs(runs: &[RawRun], about: &ImportFacts) -> Result<PublishedStudy, NoStudy> {
    let mut repeated = Vec::new();
    let mut tests = PublishedTests::default();
    let mut servers: Vec<String> = Vec::new();
    let mut cells: Vec<CellId> = Vec::new();
    let mut slices: BTreeMap<(CellId, usize), Slice> = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut cells_of: BTreeMap<CellId, Vec<SystemRun>> = BTreeMap::new();
    let (device, mut doubts) = busiest_device(runs.iter().filter_map(|raw| raw.iostat.as_ref()));
    let mut counts = |raw: &&RawRun| match raw.fault() {
        _ if RunName::parse(&raw.name).is_warm_up() => false,
        Some(fault) => {
            left_out.push(format!("{}: {fault}", raw.named().file));
            false
        }
        None => true,
    };
    let runs: Vec<&RawRun> = runs.iter().filter(|raw| counts(raw)).collect();
    let most = runs.iter().map(|raw| setup(&raw.run, about.setup).rows).max();
    for raw in runs {
        let name = RunName::parse(&raw.name);
        let mut setup = setup(&raw.run, about.setup);
        // The command line of `update-one` has a table of one row.
        if setup.rows == 1 {
            setup.rows = most.unwrap_or(setup.rows);
        }
        let cell = CellId { test: tests.get(&name.in_tables()), setup };
        if !cells.contains(&cell) {
            cells.push(cell);
        }
        let system = place_of(&mut servers, &raw.server);
        cells_of.entry(cell).or_default().push(raw.named());
        let slice = reported(cell, system, work(&raw.run), about);
        let metrics = if raw.metrics.is_empty() {
            metrics_of_samples(raw.vmstat.as_ref(), raw.iostat.as_ref(), &device, &slice)
        } else {
            raw.metrics.clone()
        };
        let metrics = metrics.into_iter().filter(|(name, _)| name != RATE);
        let published = metrics.chain(figures(&raw.run)).collect();
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
    cells_of.iter().for_each(|(cell, runs)| doubts.extend(doubts_on(*cell, runs)));
    if let Some(more) = doubts.len().checked_sub(RESERVATIONS).filter(|more| *more > 0) {
        doubts.truncate(RESERVATIONS);
        doubts
            .push(format!("{} like these", assay_model::counted(more as u64, "more reservation")));
    }
    record.events = doubts.into_iter().map(|it| reservation(it, about)).collect();
    Ok(PublishedStudy { record, repeated, left_out })
}

fn doubts_on(cell: CellId, runs: &[SystemRun]) -> Vec<String> {
    let mut doubts = reservations::of_runs(runs);
    if let Some((first, rest)) = runs.split_first() {
        let others = rest.iter().filter_map(|it| Some((it, difference(first, it)?)));
        doubts.extend(others.map(|(it, what)| format!("{} is other work: {what}", it.file)));
    }
    for it in runs {
        let of_command = checks::command_contradicts(&it.run);
        doubts.extend(of_command.into_iter().map(|what| format!("{}: {what}", it.file)));
    }
    doubts.into_iter().map(|doubt| format!("{}: {doubt}", cell.test)).collect()
}

/// Parses the metrics of one run, `sb.met.*`: lines of names, each followed by a line of numbers.
pub fn run_metrics(file: &str, content: impl BufRead) -> ParseResult<RunMetrics> {
    let mut names: Vec<String> = Vec::new();
    let mut metrics = Vec::new();
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if cells.first() == Some(&"samp") {
            names = cells.iter().map(|&name| name.to_owned()).collect();
            return Ok(());
        }
        // The first column, the number of samples, differs between the two tools.
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
        let run = ClientRun {
            threads: Some(40),
            read: Some(queries),
            write: Some(0),
            other: Some(0),
            seconds: Some(10.0),
            reports: 1,
            ..ClientRun::default()
        };
        let metrics = vec![("cpu/o".to_owned(), 0.5), ("o/s".to_owned(), 7.0)];
        RawRun {
            server: server.to_owned(),
            name: name.to_owned(),
            run,
            metrics,
            vmstat: None,
            iostat: None,
        }
    }

    #[test]
    fn runs_of_servers_meet_in_cells() {
        let setup = Setup { clients: 1, tables: 8, rows: 100 };
        let about = ImportFacts::of_tests(setup);
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
