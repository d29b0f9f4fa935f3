//! Raw runs of the Insert Benchmark as a study.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use assay_model::{CellId, Series, Setup, Slice, SliceId, Statements, StepWork, WorkCounters};

use crate::NoStudy;
use crate::ibench::{IbenchRun, IbenchSecond, ResponseTimes};
use crate::step_study::step_of;
use crate::study::{About, Gathered, empty, reported};

#[derive(Debug, Clone, PartialEq)]
pub struct IbenchResult {
    /// Such as `l.i0` or `qr100.L1`.
    pub step: String,
    /// Name of the server's directory.
    pub server: String,
    /// Duration, whole seconds; `None` if only the clients know it.
    pub seconds: Option<u32>,
    pub clients: Vec<IbenchRun>,
}

type WithSeries = (Slice, Vec<(SliceId, Series)>);

/// Includes the series of every client. The rows of the tables are those of `l.i0`.
pub fn study_of_ibench_runs(results: &[IbenchResult], about: &About) -> Result<Gathered, NoStudy> {
    let mut repeated = Vec::new();
    let mut steps: Vec<(&str, CellId)> = Vec::new();
    let mut servers: Vec<String> = Vec::new();
    let mut slices: BTreeMap<(usize, usize), WithSeries> = BTreeMap::new();
    let rows = rows_loaded(results).unwrap_or(about.setup.rows);
    for result in results {
        let Some((name, test)) = step_of(&result.step) else { continue };
        let number = steps.iter().position(|(it, _)| *it == name).unwrap_or_else(|| {
            let clients = result.clients.len().max(1) as u32;
            let setup = Setup { clients, tables: clients, rows };
            steps.push((name, CellId { test, setup }));
            steps.len() - 1
        });
        let system = servers.iter().position(|it| *it == result.server).unwrap_or_else(|| {
            servers.push(result.server.clone());
            servers.len() - 1
        });
        let Some((_, cell)) = steps.get(number) else { continue };
        let slice = slice(*cell, system, result, about);
        let id = slice.id();
        let series = series(result).into_iter().map(|series| (id, series)).collect();
        match slices.entry((number, system)) {
            Entry::Vacant(place) => drop(place.insert((slice, series))),
            Entry::Occupied(_) => repeated.push(format!("{} of {}", result.step, result.server)),
        }
    }
    if slices.is_empty() {
        return Err(NoStudy::NoTests);
    }
    let mut record = empty(&servers, steps.into_iter().map(|(_, cell)| cell).collect(), about);
    for (slice, series) in slices.into_values() {
        record.slices.push(slice);
        record.series.extend(series);
    }
    Ok(Gathered { record, repeated, left_out: Vec::new() })
}

fn rows_loaded(results: &[IbenchResult]) -> Option<u32> {
    let load = results.iter().find(|it| it.step == "l.i0")?;
    let last = load.clients.first()?.seconds.last()?;
    u32::try_from(last.totals[0]).ok().filter(|rows| *rows > 0)
}

fn slice(cell: CellId, system: usize, result: &IbenchResult, about: &About) -> Slice {
    let mut step = StepWork::default();
    for client in &result.clients {
        let done = client.seconds.last().map_or([0; 3], |last| last.totals);
        let [inserted, deleted, _] = done;
        step.insert.add(&statements(&client.inserts, inserted));
        step.delete.add(&statements(&client.deletes, deleted));
        // The rows of queries are not counted.
        step.query.add(&statements(&client.queries, 0));
    }
    let message = result.clients.iter().filter_map(|client| {
        Some(client.seconds.iter().map(|second| second.seconds).sum::<f64>()).filter(|it| *it > 0.0)
    });
    let seconds = result.seconds.map(f64::from).or_else(|| message.reduce(f64::max)).unwrap_or(0.0);
    let work = WorkCounters {
        read: step.query.statements,
        elapsed_ns: (seconds * 1e9) as u64,
        ..WorkCounters::default()
    };
    Slice { step: Some(Box::new(step)), ..reported(cell, system, work, about) }
}

fn statements(times: &ResponseTimes, rows: u64) -> Statements {
    Statements {
        statements: times.counts.iter().sum(),
        rows,
        retries: 0,
        buckets: times.counts,
        longest_ns: (times.longest_s.unwrap_or(0.0) * 1e9) as u64,
    }
}

/// A quantity of a series: the word before the number of the client, and its value in a second.
type Quantity = (&'static str, fn(&IbenchSecond) -> f64);

const QUANTITIES: [Quantity; 6] = [
    ("insert", |it| it.inserts * it.seconds),
    ("delete", |it| it.deletes * it.seconds),
    ("query", |it| it.queries * it.seconds),
    ("insert-longest-us", |it| it.longest_us[0]),
    ("delete-longest-us", |it| it.longest_us[1]),
    ("query-longest-us", |it| it.longest_us[2]),
];

fn series(result: &IbenchResult) -> Vec<Series> {
    let of_client = |(client, number): (&IbenchRun, u32)| {
        QUANTITIES.map(|(word, value)| Series {
            name: format!("{word}.{number}"),
            step_ms: 1000,
            counts: client.seconds.iter().map(|second| value(second).round() as u64).collect(),
        })
    };
    result.clients.iter().zip(1..).flat_map(of_client).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ibench_run;

    fn result(step: &str, totals: &[&str]) -> IbenchResult {
        let mut text = String::new();
        for totals in totals {
            text += &format!("1.0\t1.0\t100\t100\t100\t100\t7\t7\t5\t6\t7\t{totals}\t0\t0\t0\n");
        }
        text += "Insert rt:  0  2  0  0  0  0  0  0  0  0  0.007\nQuery rt:  9  0  0  0  0  0  0  0  0  0  0.001\n";
        let (run, faults) = ibench_run("o.ib", text.as_bytes()).unwrap();
        assert_eq!(faults, []);
        IbenchResult {
            step: step.to_owned(),
            server: "pg1520.cxa".to_owned(),
            seconds: Some(2),
            clients: vec![run],
        }
    }

    #[test]
    fn counts_series_and_rows_are_those_of_the_clients() {
        let setup = Setup { clients: 1, tables: 1, rows: 1 };
        let (reported_in, id, assay_version) = (String::new(), "raw".to_owned(), String::new());
        let about = About { reported_in, id, imported_ms: 0, setup, assay_version };
        let results = [
            result("l.i0", &["100\t0\t0", "200\t0\t0"]),
            result("qr100.L1", &["100\t100\t4", "200\t200\t9"]),
            result("x", &[]),
        ];
        let record = study_of_ibench_runs(&results, &about).unwrap().record;
        let names: Vec<_> = record.study.cells.iter().map(|it| it.id.test.name()).collect();
        assert_eq!((names, record.study.setups[0].rows), (vec!["l.i0", "qr100"], 200));
        let rates: Vec<_> = record.slices.iter().map(|it| it.ops_per_second()).collect();
        assert_eq!(rates, [Some(100.0), Some(4.5)]);
        let queries = &record.slices[1].step.as_ref().unwrap().query;
        assert_eq!((queries.statements, queries.longest_ns), (9, 1_000_000));
        let inserts = record.series.iter().find(|(_, series)| series.name == "insert.1").unwrap();
        assert_eq!(inserts.1.counts, [100, 100]);
        assert_eq!(record.series.len(), 2 * QUANTITIES.len());
    }
}
