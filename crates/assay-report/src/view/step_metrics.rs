//! The metrics of each step of the Insert Benchmark: what the hardware did, per second and per operation.

use assay_model::{Series, Slice, SliceOutcome};

use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::number::{NONE, figure};

/// The columns with their names as published.
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

const NOTE: &str = "inserts and queries per second; reads and writes of the device per second, per operation (o) and \
                    per inserted row (i); context switches; CPU of the machine, in percent of all CPUs and per \
                    operation; size of the database and of the data directory (GB) and of the server's memory at the \
                    end; longest response time; rates that half and 99 % of the seconds reach, client 1";

/// A table for each step that was measured, with a row for each system: its first repeat.
pub(super) fn tables(study: &JudgedStudy) -> Vec<ShadedTable> {
    let cells = study.record.study.cells.iter().map(|planned| planned.id);
    let tables = cells.map(|cell| {
        let rows: Vec<ShadedRow> = (0..study.record.systems.len())
            .filter_map(|system| {
                let slices = study.record.slices.iter();
                let is_wanted = |it: &&Slice| {
                    (it.system, it.cell) == (system, cell)
                        && !matches!(it.outcome, SliceOutcome::Failed(_))
                };
                let slice = slices.filter(is_wanted).min_by_key(|it| (it.block, it.round))?;
                let series = study.record.series.iter().filter(|(of, _)| *of == slice.id());
                let series: Vec<&Series> = series.map(|(_, series)| series).collect();
                let cpus = f64::from(study.record.host().cpus.max(1));
                let cells = metrics(slice, &series, cpus)?.map(shown).to_vec();
                Some(ShadedRow { name: study.label(system).to_owned(), cells })
            })
            .collect();
        ShadedTable {
            title: format!("{}: metrics", cell.test.name()),
            note: NOTE.to_owned(),
            corner: "system",
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }
    });
    tables.filter(|table| !table.rows.is_empty()).collect()
}

fn shown(value: Option<f64>) -> ShadedCell {
    let text = value.map_or_else(|| NONE.to_owned(), |value| figure(Some(value)));
    ShadedCell { text, shade: Shade::None }
}

/// The metrics of a step, in the order of [`COLUMNS`].
fn metrics(slice: &Slice, series: &[&Series], cpus: f64) -> Option<[Option<f64>; COLUMNS.len()]> {
    let step = slice.step.as_ref()?;
    let seconds = slice.work.elapsed_ns as f64 / 1e9;
    let has_queries = slice.cell.test.queue()?.queries.is_some();
    let headline = if has_queries { &step.query } else { &step.insert };
    let operations = if has_queries { step.query.statements } else { step.insert.rows } as f64;
    let ratio = |amount: f64, by: f64| (by > 0.0).then(|| amount / by);
    let inserts = step.insert.rows as f64;
    let device = slice.host.and_then(|host| host.device);
    let of_device = |of: fn(&assay_model::DeviceCounters) -> u64, by: f64| {
        device.and_then(|device| ratio(of(&device) as f64, by))
    };
    let host = |of: fn(&assay_model::HostCounters) -> u64, by: f64| {
        slice.host.and_then(|host| ratio(of(&host) as f64, by))
    };
    let mb = |kb: Option<f64>| kb.map(|kb| kb / 1024.0);
    let kind = if has_queries { "query.1" } else { "insert.1" };
    let counts = series.iter().find(|series| series.name == kind).map(|it| it.counts.as_slice());
    let gb = |name: &str| {
        let size = series.iter().find(|series| series.name == name)?.counts.first()?;
        Some(*size as f64 / 1e9)
    };
    let reached = |percent: f64| counts.and_then(|counts| reached_in(counts, percent));
    Some([
        ratio(inserts, slice.rate_s()),
        ratio(step.query.statements as f64, seconds),
        of_device(|it| it.reads, seconds),
        mb(of_device(|it| it.read_kb, seconds)),
        of_device(|it| it.writes, seconds),
        mb(of_device(|it| it.write_kb, seconds)),
        of_device(|it| it.reads, operations),
        of_device(|it| it.read_kb, operations),
        of_device(|it| it.writes, inserts),
        of_device(|it| it.write_kb, inserts),
        host(|it| it.context_switches, seconds),
        host(|it| it.busy_ns, seconds * cpus * 1e7),
        host(|it| it.context_switches, operations),
        host(|it| it.busy_ns, operations * 1e3),
        gb("database-bytes"),
        gb("data-directory-bytes"),
        gb("resident-bytes"),
        Some(headline.longest_ns as f64 / 1e9),
        reached(50.0),
        reached(99.0),
    ])
}

/// The rate that a percentage of the seconds reach or exceed: the published percentiles count from the highest rate
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
