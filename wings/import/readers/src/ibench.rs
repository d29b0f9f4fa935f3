//! Output of Mark Callaghan's client of the Insert Benchmark, `o.ib.dop<n>.<client>`, and a study of such runs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufRead};

use assay_model::limits::COUNT_MAX;
use assay_model::{CellId, Series, Setup, Slice, SliceId, Statements, StepWork, WorkCounters};

use crate::line::{self, ParseResult, each_line, not_a_number};
use crate::steps::step_of;
use crate::study::{ImportFacts, NoStudy, PublishedStudy, empty, place_of, reported};

const COLUMNS: usize = 17;

/// Buckets of response times: up to 256 µs, 1, 4, 16, 64, 256 ms, 1, 4, 16 s, and more.
pub const BUCKETS: usize = 10;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct IbenchOutput {
    /// About one entry per second.
    pub seconds: Vec<IbenchSecond>,
    pub inserts: ResponseTimes,
    pub deletes: ResponseTimes,
    pub queries: ResponseTimes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IbenchSecond {
    pub seconds: f64,
    /// Rows per second.
    pub inserts: f64,
    /// Rows per second.
    pub deletes: f64,
    /// Per second.
    pub queries: f64,
    /// The longest insert, delete and query, microseconds.
    pub longest_us: [f64; 3],
    /// Rows inserted, rows deleted and queries done since the start.
    pub totals: [u64; 3],
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ResponseTimes {
    pub counts: [u64; BUCKETS],
    /// The longest, seconds; `None` if not in the output.
    pub longest_s: Option<f64>,
}

/// Skips lines that are not part of the output.
pub fn ibench_run(file: &str, content: impl BufRead) -> ParseResult<IbenchOutput> {
    let mut run = IbenchOutput::default();
    let faults = each_line(file, content, |_, line| {
        if let Some((kind, numbers)) = line.trim().split_once(" rt:") {
            let times = response_times(numbers)?;
            match (kind, times) {
                ("Insert", Some(times)) => run.inserts = times,
                ("Delete", Some(times)) => run.deletes = times,
                ("Query", Some(times)) => run.queries = times,
                // Header of the buckets.
                _ => {}
            }
            return Ok(());
        }
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.len() == COLUMNS && cells.first() != Some(&"i_sec") {
            run.seconds.push(second(&cells)?);
        }
        Ok(())
    })?;
    Ok((run, faults))
}

fn second(cells: &[&str]) -> Result<IbenchSecond, String> {
    let number = |at: usize| {
        let text = cells.get(at).copied().unwrap_or_default();
        line::number(text).ok_or_else(|| not_a_number(text))
    };
    let count = |at: usize| number(at).map(|number| number as u64);
    Ok(IbenchSecond {
        seconds: number(0)?,
        inserts: number(2)?,
        deletes: number(4)?,
        queries: number(6)?,
        longest_us: [number(8)?, number(9)?, number(10)?],
        totals: [count(11)?, count(12)?, count(13)?],
    })
}

/// `None` for the header of the buckets.
fn response_times(text: &str) -> Result<Option<ResponseTimes>, String> {
    let cells: Vec<&str> = text.split_whitespace().collect();
    if cells.first() == Some(&"256us") {
        return Ok(None);
    }
    let [counts @ .., longest] = cells.as_slice() else { return Err("no counts".to_owned()) };
    let mut times = ResponseTimes { longest_s: line::number(longest), ..ResponseTimes::default() };
    if counts.len() != BUCKETS || times.longest_s.is_none() {
        return Err(format!("{} of {} buckets", counts.len(), BUCKETS));
    }
    for (count, text) in times.counts.iter_mut().zip(counts) {
        let number = text.parse().ok().filter(|number| *number <= COUNT_MAX);
        *count =
            number.ok_or_else(|| format!("`{}` is not a count", assay_model::shortened(text)))?;
    }
    Ok(Some(times))
}

/// Duration of a step, whole seconds, from the first line of its summary `o.res.dop<n>`: `1 processes, 3000
/// rows-per-process, 31 seconds, ...`.
pub fn step_seconds(content: impl BufRead) -> io::Result<Option<u32>> {
    let mut seconds = None;
    each_line("", content, |number, line| {
        let message = || line.split(", ").find_map(|part| part.strip_suffix(" seconds"));
        if number == 1 {
            seconds = message().and_then(|it| it.parse().ok()).filter(|it| *it > 0);
        }
        Ok(())
    })?;
    Ok(seconds)
}

#[derive(Debug, Clone, PartialEq)]
pub struct IbenchResult {
    /// Such as `l.i0` or `qr100.L1`.
    pub step: String,
    /// Name of the server's directory.
    pub server: String,
    /// Duration, whole seconds; `None` if only the clients know it.
    pub seconds: Option<u32>,
    pub clients: Vec<IbenchOutput>,
}

type WithSeries = (Slice, Vec<(SliceId, Series)>);

/// Includes the series of every client. The rows of the tables are those of `l.i0`.
pub fn study_of_ibench_runs(
    results: &[IbenchResult],
    about: &ImportFacts,
) -> Result<PublishedStudy, NoStudy> {
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
        let system = place_of(&mut servers, &result.server);
        let slice = slice(steps[number].1, system, result, about);
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
    Ok(PublishedStudy { record, repeated, left_out: Vec::new() })
}

fn rows_loaded(results: &[IbenchResult]) -> Option<u32> {
    let load = results.iter().find(|it| it.step == "l.i0")?;
    let last = load.clients.first()?.seconds.last()?;
    u32::try_from(last.totals[0]).ok().filter(|rows| *rows > 0)
}

fn slice(cell: CellId, system: usize, result: &IbenchResult, about: &ImportFacts) -> Slice {
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
type SeriesQuantity = (&'static str, fn(&IbenchSecond) -> f64);

const QUANTITIES: [SeriesQuantity; 6] = [
    ("insert", |it| it.inserts * it.seconds),
    ("delete", |it| it.deletes * it.seconds),
    ("query", |it| it.queries * it.seconds),
    ("insert-longest-us", |it| it.longest_us[0]),
    ("delete-longest-us", |it| it.longest_us[1]),
    ("query-longest-us", |it| it.longest_us[2]),
];

fn series(result: &IbenchResult) -> Vec<Series> {
    let of_client = |(client, number): (&IbenchOutput, u32)| {
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

    #[test]
    fn seconds_and_response_times_are_found_among_other_lines() {
        let text = "python3 iibench.py --dbms=postgres\n\
            i_sec\tt_sec\ti_ips\tt_ips\ti_dps\tt_dps\ti_qps\tt_qps\tmax_i\tmax_d\tmax_q\t\
            t_ins\tt_del\tt_query\tr\tr\tr\n\
            get_min_trxid = 1 in 0.002 seconds\n\n\
            1.0\t1.0\t50\t50\t100\t50\t6511\t6511\t4678\t3088\t3491\t50\t100\t6512\t0\t0\t0\n\
            1.0\t1.0\tx\t50\t100\t50\t6511\t6511\t4678\t3088\t3491\t50\t100\t6512\t0\t0\t0\n\
            Insert rt:     256us       1ms       4ms      16ms      64ms     256ms   1s   4s   16s   gt   max\n\
            Insert rt:         0         0        55         5         0         0   0    0    0     0    0.007142\n\
            \x20Query rt:    1 2\nTotals: 30.0 secs\n";
        let (run, faults) = ibench_run("o.ib", text.as_bytes()).unwrap();
        let message: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(message, ["o.ib:6: `x` is not a number", "o.ib:9: 1 of 10 buckets"]);
        let [second] = run.seconds.as_slice() else { panic!("{run:?}") };
        assert_eq!((second.inserts, second.deletes, second.queries), (50.0, 100.0, 6511.0));
        assert_eq!((second.longest_us, second.totals), ([4678.0, 3088.0, 3491.0], [50, 100, 6512]));
        assert_eq!((run.inserts.counts[2], run.inserts.longest_s), (55, Some(0.007_142)));
    }

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
        let about = ImportFacts::of_tests(setup);
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
