//! Counters of one client during a run, in total and by kind of event.

use std::time::Duration;

use assay_model::{RESPONSE_CLASSES, WorkCounters, response_bound_us};
use assay_wire::{Reply, ReplyClass};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::error::{LoadError, Result};
use crate::live::{BUCKETS, Gauge, RunProgress, bucket, longest_in, percentile_of};

/// Upper bound of the latency histogram, nanoseconds: a longer event counts as an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// With more clients, each histogram keeps one digit less and takes 17 kB instead of 135 kB.
const CLIENTS_EXACT: usize = 128;

#[derive(Debug, Clone)]
pub(crate) struct ClientTally {
    counters: WorkCounters,
    pub(crate) reconnects: u64,
    /// 32-bit counts: there is one histogram per client, and no client has billions of equal latencies.
    latency: Histogram<u32>,
    /// By statement number of a user's test.
    pub(crate) statements: Vec<StatementWork>,
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

#[derive(Debug, Clone)]
pub(crate) struct Tallies {
    pub(crate) warm: ClientTally,
    pub(crate) measured: ClientTally,
}

impl Tallies {
    /// `clients`: the number of clients, which decides the precision.
    pub(crate) fn new(clients: usize) -> Result<Self> {
        let digits = if clients > CLIENTS_EXACT { DIGITS - 1 } else { DIGITS };
        Ok(Self { warm: ClientTally::new(1)?, measured: ClientTally::new(digits)? })
    }

    pub(crate) fn clear(&mut self) {
        self.warm.clear();
        self.measured.clear();
    }
}

impl ClientTally {
    fn new(digits: u8) -> Result<Self> {
        let latency = Histogram::new_with_bounds(1, LONGEST_NS, digits).map_err(histogram_error)?;
        let (counters, statements, kinds) = Default::default();
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
        let statement = &mut self.statements[number];
        statement.count += 1;
        statement.ns = statement.ns.saturating_add(nanoseconds(time));
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
        ReplyClass::Read => counters.read += 1,
        ReplyClass::Write => counters.write += 1,
        ReplyClass::Other => counters.other += 1,
    }
}

/// The work of several clients in this time.
pub(crate) fn combined_work<'a>(
    tallies: impl Iterator<Item = &'a ClientTally>,
    elapsed: Duration,
) -> Result<WorkCounters> {
    let (mut all, mut latency) = (WorkCounters::default(), latency_histogram()?);
    for ClientTally { counters: one, latency: own, .. } in tallies {
        all.add_statements(one);
        all.events += one.events;
        all.event_ns_sum = all.event_ns_sum.saturating_add(one.event_ns_sum);
        one.errors.iter().for_each(|(code, count)| add_errors(&mut all.errors, *code, *count));
        for recorded in own.iter_recorded() {
            // The lowest value of a wider bucket would be too low.
            let middle = own.median_equivalent(recorded.value_iterated_to());
            latency.saturating_record_n(middle, recorded.count_at_value().into());
        }
    }
    all.elapsed_ns = nanoseconds(elapsed);
    all.errors.sort_unstable();
    all.latency_hdr = serialized(&latency)?;
    Ok(all)
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

fn histogram_error(cause: impl std::fmt::Debug) -> LoadError {
    LoadError::Histogram(format!("{cause:?}"))
}

#[derive(Debug, Clone)]
struct KindTally {
    name: &'static str,
    events: u64,
    ns_sum: u64,
    /// Events by latency bucket.
    latencies: Box<[u32]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindWork {
    pub name: &'static str,
    pub events: u64,
    /// Sum of their latencies, nanoseconds.
    pub ns_sum: u64,
    /// 95th percentile of their latencies, accurate to 1.6%.
    pub p95: Duration,
    /// Events by latency class.
    pub classes: [u64; RESPONSE_CLASSES],
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Kinds {
    all: Vec<KindTally>,
    current: Option<usize>,
}

impl Kinds {
    /// Begins an event. A retried event may begin as another kind.
    pub(crate) fn begin(&mut self, name: &'static str) {
        self.current = Some(self.place(name));
    }

    pub(crate) fn end(&mut self, latency: Duration) {
        let Some(place) = self.current.take() else { return };
        let kind = &mut self.all[place];
        kind.events += 1;
        kind.ns_sum = kind.ns_sum.saturating_add(nanoseconds(latency));
        let count = &mut kind.latencies[bucket(latency)];
        *count = count.saturating_add(1);
    }

    /// Resets all counts and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.current = None;
        for kind in &mut self.all {
            (kind.events, kind.ns_sum) = (0, 0);
            kind.latencies.fill(0);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for one in &other.all {
            let place = self.place(one.name);
            let kind = &mut self.all[place];
            kind.events += one.events;
            kind.ns_sum = kind.ns_sum.saturating_add(one.ns_sum);
            for (count, more) in kind.latencies.iter_mut().zip(&one.latencies) {
                *count = count.saturating_add(*more);
            }
        }
    }

    /// Sorted by name.
    pub(crate) fn work(&self) -> Vec<KindWork> {
        let work = |kind: &KindTally| {
            let counts: Vec<u64> = kind.latencies.iter().map(|count| u64::from(*count)).collect();
            let p95 = percentile_of(&counts, 95.0).unwrap_or_default();
            let classes = classes(&counts);
            KindWork { name: kind.name, events: kind.events, ns_sum: kind.ns_sum, p95, classes }
        };
        let mut all: Vec<KindWork> = self.all.iter().map(work).collect();
        all.sort_by_key(|kind| kind.name);
        all
    }

    fn place(&mut self, name: &'static str) -> usize {
        let known = self.all.iter().position(|kind| kind.name == name);
        known.unwrap_or_else(|| {
            self.all.push(KindTally {
                name,
                events: 0,
                ns_sum: 0,
                latencies: vec![0; BUCKETS].into(),
            });
            self.all.len() - 1
        })
    }
}

/// Converts bucket counts to class counts. A bucket belongs to the class in which it ends.
fn classes(counts: &[u64]) -> [u64; RESPONSE_CLASSES] {
    let mut classes = [0; RESPONSE_CLASSES];
    let mut class = 0;
    for (bucket, count) in counts.iter().enumerate() {
        let longest = longest_in(bucket).as_micros();
        while response_bound_us(class).is_some_and(|bound| u128::from(bound) <= longest) {
            class += 1;
        }
        classes[class] += count;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_add_up_and_the_histogram_survives() {
        let mut first = ClientTally::new(DIGITS).unwrap();
        first.count_event(Duration::from_micros(100));
        first.count_error(1213);
        let mut second = ClientTally::new(DIGITS).unwrap();
        second.count_event(Duration::from_secs(100_000));
        second.count_error(1213);
        second.count_error(1020);
        let tallies = [&first, &second].into_iter();
        let counters = combined_work(tallies, Duration::from_millis(5)).unwrap();
        assert_eq!((counters.events, counters.elapsed_ns), (2, 5_000_000));
        assert_eq!(counters.event_ns_sum, 100_000_000_100_000);
        assert_eq!(counters.errors, [(1020, 1), (1213, 2)]);
        let latency = latencies(&counters.latency_hdr).unwrap();
        assert_eq!(latency.len(), 2);
        assert!((99_900..100_100).contains(&latency.value_at_quantile(0.5)));
    }

    #[test]
    fn clearing_leaves_nothing() {
        let mut tally = ClientTally::new(DIGITS).unwrap();
        tally.count_event(Duration::from_micros(1));
        tally.count_error(1205);
        tally.count_bytes(1, 2);
        tally.clear();
        let counters = combined_work([&tally].into_iter(), Duration::ZERO).unwrap();
        assert_eq!(WorkCounters { latency_hdr: Vec::new(), ..counters }, WorkCounters::default());
    }

    #[test]
    fn events_are_counted_under_their_kind() {
        let ms = Duration::from_millis;
        let mut one = Kinds::default();
        for latency in 1..=100 {
            one.begin("a");
            one.end(ms(latency));
        }
        one.begin("b");
        one.begin("a");
        one.end(ms(1));
        one.end(ms(7));
        let mut all = Kinds::default();
        all.add(&one);
        all.begin("b");
        all.end(ms(3));
        let work = all.work();
        assert_eq!(
            work.iter().map(|it| (it.name, it.events)).collect::<Vec<_>>(),
            [("a", 101), ("b", 1)]
        );
        assert_eq!(work[0].ns_sum, 5_051_000_000);
        assert!(work[0].p95 >= ms(95) && work[0].p95 < ms(98), "{:?}", work[0].p95);
        let of_a = &work[0].classes;
        assert_eq!(of_a.iter().sum::<u64>(), 101);
        // The bounds around 1 ms are 816 and 1024 µs, and there are two latencies of 1 ms.
        let class = (0..of_a.len()).find(|it| response_bound_us(*it) == Some(1024)).unwrap();
        assert_eq!(of_a[class - 1..=class + 3], [0, 2, 0, 0, 1]);
        all.clear();
        assert!(all.work().iter().all(|it| it.events == 0 && it.p95 == Duration::ZERO));
    }
}
