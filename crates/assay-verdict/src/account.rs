//! Time and hardware per operation, and latency.

use assay_model::{CpuPlacement, PlannedCell, Slice, recorded_values};
use hdrhistogram::Histogram;

/// Largest tolerated contradiction between counters and clock, as a share of the time. They are read one after the
/// other.
pub(crate) const RESOLUTION: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

pub(crate) fn operations(slice: &Slice) -> f64 {
    slice.ops()
}

pub(crate) fn server_cpu_per_op(slice: &Slice) -> Option<f64> {
    let cpu = slice.counter("connection_cpu_ns")? + slice.counter("background_cpu_ns")?;
    let ops = slice.counted_ops();
    (cpu > 0 && ops > 0.0).then(|| cpu as f64 / ops)
}

/// The part of [`server_cpu_per_op`] of the threads that serve connections.
pub(crate) fn serving_cpu_per_op(slice: &Slice) -> Option<f64> {
    let cpu = slice.counter("connection_cpu_ns")?;
    let ops = slice.counted_ops();
    (cpu > 0 && ops > 0.0).then(|| cpu as f64 / ops)
}

/// Waits for a CPU per operation, of clients and the threads that serve them, nanoseconds.
pub(crate) fn cpu_waits_per_op(slice: &Slice) -> Option<f64> {
    let server = slice.counter("connection_runq_ns")?;
    let waits = server.checked_add(slice.counter("client_runq_ns")?)?;
    let ops = slice.counted_ops();
    (ops > 0.0).then(|| waits as f64 / ops)
}

/// Whether each client of a cell shares a CPU with the thread that serves it, and with no other client, on a machine
/// with this many CPUs.
pub(crate) fn shares_cpu(planned: &PlannedCell, cpus: u32) -> bool {
    let clients = planned.id.setup.clients;
    match planned.placement {
        CpuPlacement::OneCpu | CpuPlacement::ConnectionsOnOneCpu => clients == 1,
        CpuPlacement::Pairs => clients <= cpus,
        CpuPlacement::Free => false,
    }
}

pub(crate) struct Account {
    pub(crate) time_us: f64,
    pub(crate) client_us: f64,
    /// Its serving thread: on a CPU, on the run queue, or waiting for the disk, which exclude each other.
    pub(crate) thread_us: f64,
    pub(crate) runq_us: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AccountRest {
    pub(crate) runq_us: f64,
    /// Time counted twice.
    pub(crate) overlap_us: f64,
    pub(crate) other_us: f64,
}

impl Account {
    /// `None` if the thread was busier than the time allows.
    pub(crate) fn rest(&self, shares_cpu: bool) -> Option<AccountRest> {
        let busy_us = self.thread_us - self.runq_us;
        if busy_us > (1.0 + RESOLUTION) * self.time_us {
            return None;
        }
        // The thread's states exclude each other. Scheduler time in excess was before or after the operation: a server
        // that is stopped and continued queues all its threads.
        let runq_us = self.runq_us.min((self.time_us - busy_us).max(0.0));
        let excess = self.client_us + busy_us + runq_us - self.time_us;
        let behind_client = if shares_cpu { runq_us.min(self.client_us) } else { 0.0 };
        let overlap_us = excess.max(behind_client).max(0.0);
        Some(AccountRest { runq_us, overlap_us, other_us: overlap_us - excess })
    }
}

/// Fewest events of a slice with a judged tail: two of them are above the 99th percentile.
const TAIL_EVENTS: u64 = 200;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LatencyTail {
    /// 99th percentile of the latencies, nanoseconds.
    pub(crate) p99: f64,
    /// It, divided by the median.
    pub(crate) dispersion: f64,
}

/// `None` for too few events, and for a test whose tail is not judged.
pub(crate) fn latency_tail(slice: &Slice) -> Option<LatencyTail> {
    let hdr = slice.work.latency_hdr.as_slice();
    if !slice.cell.test.planning.judges_tail || hdr.is_empty() {
        return None;
    }
    let mut values: Vec<(f64, u64)> = Vec::new();
    let mut events = 0_u64;
    recorded_values(hdr, |value, count| {
        events = events.saturating_add(count);
        values.push((value as f64, events));
    })?;
    let (median, p99) = (quantile(&values, 0.5)?, quantile(&values, 0.99)?);
    let tail = LatencyTail { p99, dispersion: p99 / median };
    (events >= TAIL_EVENTS && median > 0.0).then_some(tail)
}

/// A quantile of values, each with the number of events up to it. Between two events, it is their weighted geometric
/// mean (Hazen's positions): in a slice of few events, the smallest value with enough events below it depends on their
/// number, which differs between a fast and a slow system.
fn quantile(values: &[(f64, u64)], share: f64) -> Option<f64> {
    let (_, events) = *values.last()?;
    let rank = (share * events as f64 + 0.5).max(1.0);
    let value = |rank: u64| {
        let at = values.partition_point(|(_, up_to)| *up_to < rank.min(events));
        values.get(at).map(|(value, _)| *value)
    };
    let (low, high) = (value(rank as u64)?, value(rank as u64 + 1)?);
    Some(low.powf(1.0 - rank.fract()) * high.powf(rank.fract()))
}

/// Merges the histograms of slices; `None` if one is missing or unreadable.
pub(crate) fn latency<'a>(slices: impl Iterator<Item = &'a Slice>) -> Option<Latency> {
    let mut merged = Histogram::<u64>::new(3).ok()?;
    let (mut events, mut ns) = (0_u64, 0.0);
    for slice in slices {
        events = events.saturating_add(slice.work.events);
        ns += slice.work.event_ns_sum as f64;
        recorded_values(&slice.work.latency_hdr, |value, count| {
            // It grows as needed, so it takes every value.
            let _ = merged.record_n(value, count);
        })?;
    }
    let us = |nanoseconds: u64| Some(nanoseconds as f64 / 1e3);
    (!merged.is_empty() && events > 0).then(|| Latency {
        mean: Some(ns / 1e3 / events as f64),
        p50: us(merged.value_at_quantile(0.50)),
        p95: us(merged.value_at_quantile(0.95)),
        p99: us(merged.value_at_quantile(0.99)),
        max: us(merged.max()),
    })
}

pub(crate) fn published_latency(published: &[(String, f64)]) -> Option<Latency> {
    let figure = |name: &str| published.iter().find(|(it, _)| it == name).map(|(_, us)| *us);
    let found = Latency {
        mean: figure("latency_avg_us"),
        p50: figure("latency_p50_us"),
        p95: figure("latency_p95_us"),
        p99: figure("latency_p99_us"),
        max: figure("latency_max_us"),
    };
    let all = [found.mean, found.p50, found.p95, found.p99, found.max];
    all.iter().any(Option::is_some).then_some(found)
}

/// Published figures common to all slices: counts are summed, extremes kept, others averaged.
pub(crate) fn published(slices: &[&Slice]) -> Vec<(String, f64)> {
    let Some((first, rest)) = slices.split_first() else { return Vec::new() };
    let of_all = first.published.iter().filter_map(|(name, value)| {
        let others = rest.iter().map(|slice| slice.figure(name)).collect::<Option<Vec<_>>>();
        let all: Vec<f64> = std::iter::once(*value).chain(others?).collect();
        let figure = match name.as_str() {
            "latency_min_us" => all.iter().copied().fold(f64::INFINITY, f64::min),
            "latency_max_us" => all.iter().copied().fold(0.0, f64::max),
            "reconnects" | "given_up" | "late" => all.iter().sum(),
            _ => all.iter().sum::<f64>() / all.len() as f64,
        };
        Some((name.clone(), figure))
    });
    of_all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Point queries on one CPU, as measured: the thread is on the run queue whenever its client runs, and never idle.
    #[test]
    fn in_line_behind_the_own_client_is_counted_once() {
        let point = Account { time_us: 14.9, client_us: 4.9, thread_us: 10.0 + 4.9, runq_us: 4.9 };
        let rest = point.rest(true).unwrap();
        assert!((rest.overlap_us - 4.9).abs() < 1e-9 && rest.other_us.abs() < 1e-9, "{rest:?}");
    }

    #[test]
    fn waiting_beyond_the_own_client_stays() {
        let update =
            Account { time_us: 52.7, client_us: 5.0, thread_us: 40.9 + 10.4, runq_us: 10.4 };
        let rest = update.rest(true).unwrap();
        assert!((rest.overlap_us - 5.0).abs() < 1e-9, "{rest:?}");
        assert!((rest.other_us - 1.4).abs() < 1e-9, "{rest:?}");
        // With separate CPUs for client and server, only the difference is known.
        let rest = update.rest(false).unwrap();
        assert!((rest.overlap_us - 3.6).abs() < 1e-9 && rest.other_us.abs() < 1e-9, "{rest:?}");
    }

    /// Slow queries between stops of the server, as measured: 167 µs on the run queue do not fit into the time.
    #[test]
    fn queueing_beyond_the_time_was_not_during_the_operation() {
        let points =
            Account { time_us: 521.0, client_us: 18.0, thread_us: 503.0 + 167.0, runq_us: 167.0 };
        let rest = points.rest(true).unwrap();
        assert!((rest.runq_us - 18.0).abs() < 1e-9, "{rest:?}");
        assert!((rest.overlap_us - 18.0).abs() < 1e-9 && rest.other_us.abs() < 1e-9, "{rest:?}");
    }

    #[test]
    fn a_thread_that_was_busier_than_the_time_allows_tells_nothing() {
        let all_threads = Account { time_us: 50.0, client_us: 5.0, thread_us: 90.0, runq_us: 10.0 };
        assert_eq!(all_threads.rest(true), None);
        assert_eq!(all_threads.rest(false), None);
    }

    #[test]
    fn a_quantile_lies_between_the_events_around_it() {
        let four = [(1.0, 1), (2.0, 2), (8.0, 4)];
        for (share, expected) in [(0.0, 1.0), (0.5, 4.0), (0.75, 8.0), (1.0, 8.0)] {
            let found = quantile(&four, share).unwrap();
            assert!((found - expected).abs() < 1e-9, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
        // Logarithms of latencies with an exponential tail: whatever the number of events, the mean is that of all.
        for events in [200_u64, 299, 300, 450] {
            let mut log = 0.0;
            let expected = (0..events).map(|after| {
                log += 1.0 / (events - after) as f64;
                (f64::exp(log), after + 1)
            });
            let found = quantile(&expected.collect::<Vec<_>>(), 0.99).unwrap();
            assert!((found / 100.0).ln().abs() < 0.05, "{events}: {found}");
        }
    }

    #[test]
    fn where_nothing_overlaps_all_terms_add_up() {
        let idle = Account { time_us: 100.0, client_us: 5.0, thread_us: 40.0, runq_us: 0.0 };
        let rest = AccountRest { runq_us: 0.0, overlap_us: 0.0, other_us: 55.0 };
        assert_eq!(idle.rest(true), Some(rest));
        assert_eq!(idle.rest(false), Some(rest));
    }
}
