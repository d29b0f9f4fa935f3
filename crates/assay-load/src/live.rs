//! Progress of clients, readable while they work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// One client's progress, on its own cache lines so that reading it slows no other client.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Gauge {
    /// Those of [`RunProgress`].
    numbers: [AtomicU64; 7],
    /// Events by latency bucket; empty unless latencies are shown while the clients work.
    latencies: Box<[AtomicU32]>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunProgress {
    pub events: u64,
    pub read: u64,
    pub write: u64,
    pub other: u64,
    /// Errors after which an event was retried.
    pub errors: u64,
    /// After a lost connection, or after the set number of events.
    pub reconnects: u64,
    pub event_ns_sum: u64,
}

impl RunProgress {
    pub fn queries(&self) -> u64 {
        self.read + self.write + self.other
    }

    pub fn since(&self, earlier: &Self) -> Self {
        self.combined(earlier, u64::saturating_sub)
    }

    pub fn and(&self, other: &Self) -> Self {
        self.combined(other, u64::saturating_add)
    }

    fn combined(self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let mut numbers = self.numbers();
        for (number, other) in numbers.iter_mut().zip(other.numbers()) {
            *number = join(*number, other);
        }
        Self::of_numbers(numbers)
    }

    fn numbers(self) -> [u64; 7] {
        let Self { events, read, write, other, errors, reconnects, event_ns_sum } = self;
        [events, read, write, other, errors, reconnects, event_ns_sum]
    }

    fn of_numbers(numbers: [u64; 7]) -> Self {
        let [events, read, write, other, errors, reconnects, event_ns_sum] = numbers;
        Self { events, read, write, other, errors, reconnects, event_ns_sum }
    }
}

/// Low bits of a latency that are dropped: the unit is 256 ns.
const UNIT_BITS: u32 = 8;
/// Each power of two is divided into `2^PART_BITS` buckets, so a percentile is accurate to 1.6%.
const PART_BITS: u32 = 6;
/// Enough buckets for more than an hour.
pub(crate) const BUCKETS: usize = 2048;

pub(crate) fn bucket(latency: Duration) -> usize {
    let units = u64::try_from(latency.as_nanos() >> UNIT_BITS).unwrap_or(u64::MAX);
    let octave = (u64::BITS - units.leading_zeros()).saturating_sub(PART_BITS + 1);
    let index = (u64::from(octave) << PART_BITS) + (units >> octave);
    usize::try_from(index).unwrap_or(usize::MAX).min(BUCKETS - 1)
}

pub(crate) fn longest_in(bucket: usize) -> Duration {
    let octave = ((bucket >> PART_BITS) as u32).saturating_sub(1);
    let units = (bucket as u64 - (u64::from(octave) << PART_BITS)) + 1;
    Duration::from_nanos(((units << octave) << UNIT_BITS) - 1)
}

pub struct IntervalLatencies {
    gauges: Vec<Arc<Gauge>>,
    /// Events by latency bucket at the end of the last interval.
    before: Vec<u64>,
}

impl IntervalLatencies {
    pub(crate) fn new(gauges: &[Arc<Gauge>]) -> Self {
        let mut new = Self { gauges: gauges.to_vec(), before: Vec::new() };
        new.before = new.counts();
        new
    }

    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; BUCKETS];
        for gauge in &self.gauges {
            for (count, one) in counts.iter_mut().zip(&gauge.latencies) {
                *count += u64::from(one.load(Ordering::Relaxed));
            }
        }
        counts
    }

    /// Ends an interval. Returns a percentile of the latencies of the events that ended in it, accurate to 1.6%; `None`
    /// if none ended.
    pub fn percentile(&mut self, percentile: f64) -> Option<Duration> {
        let counts = self.counts();
        let ended: Vec<u64> = counts
            .iter()
            .zip(&self.before)
            .map(|(now, before)| now.saturating_sub(*before))
            .collect();
        self.before = counts;
        percentile_of(&ended, percentile)
    }
}

/// `counts`: events by latency bucket. `None` if they are all zero.
pub(crate) fn percentile_of(counts: &[u64], percentile: f64) -> Option<Duration> {
    let all: u64 = counts.iter().sum();
    let wanted = ((all as f64 * percentile / 100.0).round() as u64).max(1);
    let mut seen = 0;
    let found = counts.iter().position(|count| {
        seen += count;
        seen >= wanted
    });
    found.filter(|_| all > 0).map(longest_in)
}

impl Gauge {
    pub(crate) fn with_latencies() -> Self {
        Self { latencies: (0..BUCKETS).map(|_| AtomicU32::new(0)).collect(), ..Self::default() }
    }

    #[inline]
    pub(crate) fn show_latency(&self, latency: Duration) {
        if self.latencies.is_empty() {
            return;
        }
        // Only the client's own thread writes.
        let count = &self.latencies[bucket(latency)];
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Publishes the client's progress. Only its own thread calls this. Plain stores never wait for another CPU.
    #[inline]
    pub(crate) fn show(&self, done: RunProgress) {
        for (number, new) in self.numbers.iter().zip(done.numbers()) {
            number.store(new, Ordering::Relaxed);
        }
    }

    fn progress(&self) -> RunProgress {
        RunProgress::of_numbers(
            self.numbers.each_ref().map(|number| number.load(Ordering::Relaxed)),
        )
    }
}

pub(crate) fn total(gauges: &[Arc<Gauge>]) -> RunProgress {
    gauges.iter().fold(RunProgress::default(), |sum, gauge| sum.and(&gauge.progress()))
}

#[derive(Debug, Default)]
pub struct Seconds {
    counts: Vec<u64>,
    counted: u64,
    /// Time of the last report, seconds, and events until then.
    last: (f64, u64),
}

impl Seconds {
    /// Records the number of events that ended within `elapsed`. They are spread evenly since the last report.
    pub fn see(&mut self, elapsed: Duration, events: u64) {
        let (before, of_before) = self.last;
        let now = elapsed.as_secs_f64();
        if now <= before {
            return;
        }
        loop {
            let end = self.counts.len() as f64 + 1.0;
            if end > now {
                break;
            }
            let part = (end - before) / (now - before);
            let until = of_before + (part * events.saturating_sub(of_before) as f64).round() as u64;
            self.counts.push(until.saturating_sub(self.counted));
            self.counted = until;
        }
        self.last = (now, events);
    }

    pub fn counts(self) -> Vec<u64> {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_are_narrow() {
        for bucket_number in 1..BUCKETS - 1 {
            let (before, longest) = (longest_in(bucket_number - 1), longest_in(bucket_number));
            assert_eq!(bucket(longest), bucket_number);
            assert_eq!(bucket(before + Duration::from_nanos(1)), bucket_number);
            let width = (longest - before).as_secs_f64();
            assert!(bucket_number < 64 || width / longest.as_secs_f64() < 0.016);
        }
        assert!(longest_in(BUCKETS - 2) > Duration::from_secs(3600));
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn an_interval_has_the_latencies_of_its_own_events() {
        let gauges = [Arc::new(Gauge::with_latencies()), Arc::new(Gauge::with_latencies())];
        let mut latencies = IntervalLatencies::new(&gauges);
        assert_eq!(latencies.percentile(95.0), None);
        let ms = Duration::from_millis;
        (0..99).for_each(|_| gauges[0].show_latency(ms(1)));
        gauges[1].show_latency(ms(50));
        let of_95 = latencies.percentile(95.0).unwrap();
        assert!(of_95 >= ms(1) && of_95 < ms(1).mul_f64(1.02), "{of_95:?}");
        gauges[1].show_latency(ms(50));
        assert!(latencies.percentile(50.0).unwrap() >= ms(50));
        assert_eq!(latencies.percentile(95.0), None);
    }

    #[test]
    fn clients_add_up() {
        let gauges = [Arc::<Gauge>::default(), Arc::default()];
        let one = RunProgress {
            events: 2,
            read: 3,
            write: 4,
            other: 5,
            errors: 6,
            reconnects: 8,
            event_ns_sum: 7,
        };
        gauges.iter().for_each(|gauge| gauge.show(one));
        let both = total(&gauges);
        assert_eq!((both.queries(), both.errors, both.event_ns_sum), (24, 12, 14));
        assert_eq!(both.reconnects, 16);
        assert_eq!(both.since(&one), one);
    }

    #[test]
    fn events_belong_to_the_second_in_which_they_ended() {
        let mut seconds = Seconds::default();
        let ms = Duration::from_millis;
        for (at, events) in [(500, 50), (900, 90), (1100, 110), (2050, 205), (2050, 999)] {
            seconds.see(ms(at), events);
        }
        // Nothing ends for two seconds and more.
        seconds.see(ms(4950), 205);
        seconds.see(ms(5050), 225);
        assert_eq!(seconds.counts(), [100, 100, 5, 0, 10]);
        assert!(Seconds::default().counts().is_empty());
    }
}
