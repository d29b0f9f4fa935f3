//! Hardware metrics of each step of the Insert Benchmark, per second and per operation.

use std::borrow::Cow;

use assay_model::{CellId, Series, Slice};

use super::shades::{ShadedRow, ShadedTable};
use super::step_repeat::StepRepeat;
use super::study::JudgedStudy;
use crate::number::{NONE, figure};

const COLUMNS: [&str; 20] = [
    "ips",
    "qps",
    "rps",
    "rMB/s",
    "wps",
    "wMB/s",
    "r/o",
    "rKB/o",
    "w/i",
    "wKB/i",
    "cs/s",
    "cpu %",
    "cs/o",
    "cpu µs/o",
    "dbgb1",
    "dbgb2",
    "rss GB",
    "max s",
    "p50",
    "p99",
];

const PUBLISHED: [&str; 20] = [
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups",
    "cspq", "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99",
];

const NOTE: &str = "inserts and queries per second; reads and writes of the device per second, per operation (o) and \
                    per inserted row (i); context switches; CPU of the machine, in percent of all CPUs and per \
                    operation; size of the database and of the data directory (GB) and of the server's memory at the \
                    end; longest response time; rates that half and 99% of the seconds reach, client 1";

/// Names in `iostat` of the averages of the device.
const DEVICE_COLUMNS: [&str; 12] = [
    "r/s", "rMB/s", "rrqm/s", "r_await", "rareq-sz", "w/s", "wMB/s", "wrqm/s", "w_await",
    "wareq-sz", "aqu-sz", "%util",
];

const DEVICE_NOTE: &str = "means over the step, named as iostat does: requests, MB and merged requests per second; \
                           time (ms) and size (KB) of a request; requests in progress; percent of the time with any";

/// Two tables for each step that was measured, with a row for each system: its first repeat.
pub(super) fn tables(study: &JudgedStudy) -> Vec<ShadedTable> {
    let cpus = f64::from(study.record.host().cpus.max(1));
    let cells = study.record.study.cells.iter().map(|planned| planned.id);
    let tables = cells.flat_map(|cell| {
        let name = cell.test.name();
        let all = StepRepeats::new(study, cell);
        [
            all.table(format!("{name}: metrics"), NOTE, &COLUMNS, |repeat| {
                match repeat.slice.published.is_empty() {
                    true => metrics(repeat, cpus).map(|it| it.map(figure).to_vec()),
                    false => Some(PUBLISHED.map(|name| published(&repeat.slice, name)).to_vec()),
                }
            }),
            all.table(format!("{name}: device"), DEVICE_NOTE, &DEVICE_COLUMNS, |repeat| {
                device(&repeat.slice, &repeat.series).map(|it| it.map(figure).to_vec())
            }),
        ]
    });
    tables.filter(|table| !table.rows.is_empty()).collect()
}

/// The first repeat of each system in a step.
struct StepRepeats<'a>(Vec<(&'a str, StepRepeat<'a>)>);

impl<'a> StepRepeats<'a> {
    fn new(study: &'a JudgedStudy<'a>, cell: CellId) -> Self {
        let of_system = |system| {
            let repeat = StepRepeat::new(study.record, cell, system)?;
            Some((study.label(system), repeat))
        };
        Self((0..study.record.systems.len()).filter_map(of_system).collect())
    }

    fn table(
        &self,
        title: String,
        note: &str,
        columns: &[&str],
        texts: impl Fn(&StepRepeat<'_>) -> Option<Vec<String>>,
    ) -> ShadedTable {
        let row =
            |(name, repeat): &(&str, StepRepeat<'_>)| Some(ShadedRow::plain(*name, texts(repeat)?));
        ShadedTable {
            title,
            note: note.to_owned(),
            corner: "system",
            columns: columns.iter().map(|it| (*it).to_owned()).collect(),
            rows: self.0.iter().filter_map(row).collect(),
        }
    }
}

/// In the order of [`DEVICE_COLUMNS`]; `None` if the counters of the device are unknown.
fn device(
    slice: &Slice,
    series: &[Cow<'_, Series>],
) -> Option<[Option<f64>; DEVICE_COLUMNS.len()]> {
    let counter = |name| slice.counter(name);
    let seconds = slice.work.elapsed_ns as f64 / 1e9;
    let count = |name: &str| {
        let series = series.iter().find(|series| series.name == name)?;
        series.counts.first().map(|count| *count as f64)
    };
    count("device-busy-ms")?;
    let ratio = |amount: f64, by: f64| (by > 0.0).then(|| amount / by);
    let side = |requests: u64, kb: u64, merges: &str, ms: &str| {
        let (requests, kb) = (requests as f64, kb as f64);
        [
            ratio(requests, seconds),
            ratio(kb / 1024.0, seconds),
            count(merges).and_then(|merges| ratio(merges, seconds)),
            count(ms).and_then(|ms| ratio(ms, requests)),
            ratio(kb, requests),
        ]
    };
    let [r, rmb, rrqm, r_await, rareq] = side(
        counter("host_device_reads")?,
        counter("host_device_read_kb")?,
        "device-read-merges",
        "device-read-ms",
    );
    let [w, wmb, wrqm, w_await, wareq] = side(
        counter("host_device_writes")?,
        counter("host_device_write_kb")?,
        "device-write-merges",
        "device-write-ms",
    );
    let of_time = |name: &str| count(name).and_then(|ms| ratio(ms / 1000.0, seconds));
    let util = of_time("device-busy-ms").map(|part| 100.0 * part.min(1.0));
    let queue = of_time("device-queue-ms");
    Some([r, rmb, rrqm, r_await, rareq, w, wmb, wrqm, w_await, wareq, queue, util])
}

/// With its published digits.
fn published(slice: &Slice, name: &str) -> String {
    let value = slice.published.iter().find(|(it, _)| it == name).map(|(_, value)| value);
    value.map_or_else(|| NONE.to_owned(), ToString::to_string)
}

/// In the order of [`COLUMNS`].
fn metrics(repeat: &StepRepeat<'_>, cpus: f64) -> Option<[Option<f64>; COLUMNS.len()]> {
    let StepRepeat { slice, rate_s, series } = repeat;
    let step = slice.step.as_ref()?;
    let seconds = slice.work.elapsed_ns as f64 / 1e9;
    let has_queries = slice.cell.test.ibench()?.queries.is_some();
    let headline = if has_queries { &step.query } else { &step.insert };
    let operations = if has_queries { step.query.statements } else { step.insert.rows } as f64;
    let ratio = |amount: f64, by: f64| (by > 0.0).then(|| amount / by);
    let inserts = step.insert.rows as f64;
    let counted = |name, by: f64| slice.counter(name).and_then(|amount| ratio(amount as f64, by));
    let mb = |kb: Option<f64>| kb.map(|kb| kb / 1024.0);
    let kind = if has_queries { "query.1" } else { "insert.1" };
    let counts = series.iter().find(|series| series.name == kind).map(|it| it.counts.as_slice());
    let gb = |name: &str| {
        let size = series.iter().find(|series| series.name == name)?.counts.first()?;
        Some(*size as f64 / 1e9)
    };
    let reached = |percent: f64| counts.and_then(|counts| reached_in(counts, percent));
    Some([
        ratio(inserts, *rate_s),
        ratio(step.query.statements as f64, seconds),
        counted("host_device_reads", seconds),
        mb(counted("host_device_read_kb", seconds)),
        counted("host_device_writes", seconds),
        mb(counted("host_device_write_kb", seconds)),
        counted("host_device_reads", operations),
        counted("host_device_read_kb", operations),
        counted("host_device_writes", inserts),
        counted("host_device_write_kb", inserts),
        counted("host_context_switches", seconds),
        counted("host_busy_ns", seconds * cpus * 1e7),
        counted("host_context_switches", operations),
        counted("host_busy_ns", operations * 1e3),
        gb("database-bytes"),
        gb("data-directory-bytes"),
        gb("resident-bytes"),
        Some(headline.longest_ns as f64 / 1e9),
        reached(50.0),
        reached(99.0),
    ])
}

/// The rate that this percentage of the seconds reach or exceed: the published percentiles count from the highest rate
/// down. `None` with fewer than ten seconds.
fn reached_in(counts: &[u64], percent: f64) -> Option<f64> {
    if counts.len() < 10 {
        return None;
    }
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|one, other| other.cmp(one));
    let line = (percent / 100.0 * sorted.len() as f64).round() as usize;
    sorted.get(line.saturating_sub(1)).map(|rate| *rate as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_count_from_the_highest_rate() {
        let counts: Vec<u64> = (1..=100).collect();
        assert_eq!(reached_in(&counts, 50.0), Some(51.0));
        assert_eq!(reached_in(&counts, 99.0), Some(2.0));
        assert_eq!(reached_in(&counts[..9], 50.0), None);
    }
}
