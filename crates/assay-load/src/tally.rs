//! Counters of one client during a run.

use std::time::Duration;

use assay_model::WorkCounters;
use assay_wire::{Counted, Reply};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::error::{Error, Result};
use crate::kinds::Kinds;
use crate::live::{Gauge, RunProgress};

/// Upper bound of the latency histogram, nanoseconds: a longer event counts as an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// With more clients, each histogram keeps one digit less and takes 17 kB instead of 135 kB.
const CLIENTS_EXACT: usize = 128;

#[derive(Debug, Clone)]
pub(crate) struct Tally {
    counters: WorkCounters,
    reconnects: u64,
    /// 32-bit counts: there is one histogram per client, and no client has billions of equal latencies.
    latency: Histogram<u32>,
    /// By statement number of a user's test.
    statements: Vec<StatementWork>,
    /// When each event ended, from the start of its part; only in a trace.
    pub(crate) ends: Option<Vec<Duration>>,
    pub(crate) kinds: Kinds,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementWork {
    pub count: u64,
    /// Total time from sending it to the end of the reply, nanoseconds.
    pub ns: u64,
}

pub(crate) struct Total {
    counters: WorkCounters,
    latency: Histogram<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Tallies {
    pub(crate) warm: Tally,
    pub(crate) measured: Tally,
}

impl Tallies {
    /// `clients`: the number of clients, which decides the precision.
    pub(crate) fn new(clients: usize) -> Result<Self> {
        let digits = if clients > CLIENTS_EXACT { DIGITS - 1 } else { DIGITS };
        Ok(Self { warm: Tally::new(1)?, measured: Tally::new(digits)? })
    }

    pub(crate) fn clear(&mut self) {
        self.warm.clear();
        self.measured.clear();
    }
}

impl Tally {
    fn new(digits: u8) -> Result<Self> {
        let latency = Histogram::new_with_bounds(1, LONGEST_NS, digits).map_err(histogram_error)?;
        let (counters, statements) = (WorkCounters::default(), Vec::new());
        let kinds = Kinds::default();
        Ok(Self { counters, reconnects: 0, latency, statements, ends: None, kinds })
    }

    pub(crate) fn clear(&mut self) {
        // Keep the memory of `errors` and of the histogram.
        let mut errors = std::mem::take(&mut self.counters.errors);
        errors.clear();
        self.counters = WorkCounters { errors, ..WorkCounters::default() };
        self.reconnects = 0;
        self.latency.reset();
        self.statements.fill(StatementWork::default());
        self.ends = None;
        self.kinds.clear();
    }

    pub(crate) fn events(&self) -> u64 {
        self.counters.events
    }

    pub(crate) fn progress(&self) -> RunProgress {
        let WorkCounters { events, read, write, other, event_ns_sum, ref errors, .. } =
            self.counters;
        let errors = errors.iter().map(|(_, count)| count).sum();
        let reconnects = self.reconnects;
        RunProgress { events, read, write, other, errors, reconnects, event_ns_sum }
    }

    pub(crate) fn reconnects(&self) -> u64 {
        self.reconnects
    }

    pub(crate) fn count_reconnect(&mut self) {
        self.reconnects += 1;
    }

    #[inline]
    pub(crate) fn count_event(&mut self, latency: Duration) {
        let latency_ns = nanoseconds(latency);
        self.counters.events += 1;
        self.counters.event_ns_sum = self.counters.event_ns_sum.saturating_add(latency_ns);
        self.latency.saturating_record(latency_ns);
        self.kinds.end(latency);
    }

    #[inline]
    pub(crate) fn count_reply(&mut self, reply: &Reply) {
        count_reply(&mut self.counters, reply);
    }

    #[inline]
    pub(crate) fn count_statement(&mut self, number: usize, time: Duration) {
        if number >= self.statements.len() {
            self.statements.resize(number + 1, StatementWork::default());
        }
        if let Some(statement) = self.statements.get_mut(number) {
            statement.count += 1;
            statement.ns = statement.ns.saturating_add(nanoseconds(time));
        }
    }

    pub(crate) fn statements(&self) -> &[StatementWork] {
        &self.statements
    }

    #[inline]
    pub(crate) fn show(&self, gauge: &Gauge) {
        gauge.show(self.progress());
    }

    pub(crate) fn count_error(&mut self, code: u32) {
        add_errors(&mut self.counters.errors, code, 1);
    }

    pub(crate) fn count_bytes(&mut self, sent: u64, received: u64) {
        self.counters.bytes_sent += sent;
        self.counters.bytes_received += received;
    }
}

/// Counts one executed statement. Its result alone decides its class.
#[inline]
pub(crate) fn count_reply(counters: &mut WorkCounters, reply: &Reply) {
    counters.rows += reply.rows;
    match reply.counted() {
        Counted::Read => counters.read += 1,
        Counted::Write => counters.write += 1,
        Counted::Other => counters.other += 1,
    }
}

impl Total {
    pub(crate) fn of<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Result<Self> {
        let mut total = Self { counters: WorkCounters::default(), latency: latency_histogram()? };
        tallies.for_each(|tally| total.add(tally));
        Ok(total)
    }

    fn add(&mut self, other: &Tally) {
        let (all, one) = (&mut self.counters, &other.counters);
        all.events += one.events;
        all.read += one.read;
        all.write += one.write;
        all.other += one.other;
        all.rows += one.rows;
        all.bytes_sent += one.bytes_sent;
        all.bytes_received += one.bytes_received;
        all.event_ns_sum = all.event_ns_sum.saturating_add(one.event_ns_sum);
        one.errors.iter().for_each(|(code, count)| add_errors(&mut all.errors, *code, *count));
        for one in other.latency.iter_recorded() {
            // The lowest value of a wider bucket would be too low.
            let middle = other.latency.median_equivalent(one.value_iterated_to());
            self.latency.saturating_record_n(middle, one.count_at_value().into());
        }
    }

    pub(crate) fn into_counters(self, elapsed: Duration) -> Result<WorkCounters> {
        let mut counters = self.counters;
        counters.elapsed_ns = nanoseconds(elapsed);
        counters.errors.sort_unstable();
        counters.latency_hdr = serialized(&self.latency)?;
        Ok(counters)
    }
}

pub(crate) fn latency_histogram() -> Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).map_err(histogram_error)
}

/// V2 encoding.
pub(crate) fn serialized(latency: &Histogram<u64>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(latency, &mut bytes).map_err(histogram_error)?;
    Ok(bytes)
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Latencies of a run's events, nanoseconds, decoded from [`WorkCounters::latency_hdr`].
pub fn latencies(latency_hdr: &[u8]) -> Result<Histogram<u64>> {
    Deserializer::new().deserialize(&mut &*latency_hdr).map_err(histogram_error)
}

fn add_errors(errors: &mut Vec<(u32, u64)>, code: u32, more: u64) {
    match errors.iter_mut().find(|(known, _)| *known == code) {
        Some((_, count)) => *count += more,
        None => errors.push((code, more)),
    }
}

fn histogram_error(cause: impl std::fmt::Debug) -> Error {
    Error::Histogram(format!("{cause:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_add_up_and_the_histogram_survives() {
        let mut first = Tally::new(DIGITS).unwrap();
        first.count_event(Duration::from_micros(100));
        first.count_error(1213);
        let mut second = Tally::new(DIGITS).unwrap();
        second.count_event(Duration::from_secs(100_000));
        second.count_error(1213);
        second.count_error(1020);
        let total = Total::of([&first, &second].into_iter()).unwrap();
        let counters = total.into_counters(Duration::from_millis(5)).unwrap();
        assert_eq!((counters.events, counters.elapsed_ns), (2, 5_000_000));
        assert_eq!(counters.event_ns_sum, 100_000_000_100_000);
        assert_eq!(counters.errors, [(1020, 1), (1213, 2)]);
        let latency = latencies(&counters.latency_hdr).unwrap();
        assert_eq!(latency.len(), 2);
        assert!((99_900..100_100).contains(&latency.value_at_quantile(0.5)));
    }

    #[test]
    fn clearing_leaves_nothing() {
        let mut tally = Tally::new(DIGITS).unwrap();
        tally.count_event(Duration::from_micros(1));
        tally.count_error(1205);
        tally.count_bytes(1, 2);
        tally.clear();
        let counters =
            Total::of([&tally].into_iter()).unwrap().into_counters(Duration::ZERO).unwrap();
        assert_eq!(WorkCounters { latency_hdr: Vec::new(), ..counters }, WorkCounters::default());
    }
}
