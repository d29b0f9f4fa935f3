//! Number, duration and latency distribution of events by kind.

use std::time::Duration;

use assay_model::{RESPONSE_CLASSES, response_bound_us};

use crate::live::{BUCKETS, bucket, longest_in, percentile_of};

#[derive(Debug, Clone)]
struct Kind {
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
    all: Vec<Kind>,
    current: Option<usize>,
}

impl Kind {
    fn new(name: &'static str) -> Self {
        Self { name, events: 0, ns_sum: 0, latencies: vec![0; BUCKETS].into() }
    }
}

impl Kinds {
    /// Begins an event. A retried event may begin as another kind.
    pub(crate) fn begin(&mut self, name: &'static str) {
        self.current = Some(self.place(name));
    }

    pub(crate) fn end(&mut self, latency: Duration) {
        let kind = self.current.take().and_then(|place| self.all.get_mut(place));
        let Some(kind) = kind else { return };
        kind.events += 1;
        kind.ns_sum =
            kind.ns_sum.saturating_add(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
        if let Some(count) = kind.latencies.get_mut(bucket(latency)) {
            *count = count.saturating_add(1);
        }
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
            let Some(kind) = self.all.get_mut(place) else { continue };
            kind.events += one.events;
            kind.ns_sum = kind.ns_sum.saturating_add(one.ns_sum);
            for (count, more) in kind.latencies.iter_mut().zip(&one.latencies) {
                *count = count.saturating_add(*more);
            }
        }
    }

    /// Sorted by name.
    pub(crate) fn work(&self) -> Vec<KindWork> {
        let work = |kind: &Kind| {
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
            self.all.push(Kind::new(name));
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
        if let Some(sum) = classes.get_mut(class) {
            *sum += count;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

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
