//! What clients have done so far, for those who look on while they work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One client's counters, on cache lines of their own: looking at one client's disturbs no other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Gauge {
    events: AtomicU64,
    read: AtomicU64,
    write: AtomicU64,
    other: AtomicU64,
    errors: AtomicU64,
    event_ns_sum: AtomicU64,
}

/// What was done so far, by one client or by all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Events that have ended.
    pub events: u64,
    /// Queries that returned rows.
    pub read: u64,
    /// Queries that changed rows.
    pub write: u64,
    /// All other queries.
    pub other: u64,
    /// Errors after which an event was begun again.
    pub errors: u64,
    /// Latencies of all events, nanoseconds.
    pub event_ns_sum: u64,
}

impl SoFar {
    /// All queries.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.read + self.write + self.other
    }

    /// What was done since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(&self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            events: join(self.events, other.events),
            read: join(self.read, other.read),
            write: join(self.write, other.write),
            other: join(self.other, other.other),
            errors: join(self.errors, other.errors),
            event_ns_sum: join(self.event_ns_sum, other.event_ns_sum),
        }
    }
}

impl Gauge {
    /// Shows what the client has done; called by nobody else. Plain stores: nothing waits for another CPU.
    #[inline]
    pub(crate) fn show(&self, done: SoFar) {
        let SoFar { events, read, write, other, errors, event_ns_sum } = done;
        self.events.store(events, Ordering::Relaxed);
        self.read.store(read, Ordering::Relaxed);
        self.write.store(write, Ordering::Relaxed);
        self.other.store(other, Ordering::Relaxed);
        self.errors.store(errors, Ordering::Relaxed);
        self.event_ns_sum.store(event_ns_sum, Ordering::Relaxed);
    }

    fn seen(&self) -> SoFar {
        SoFar {
            events: self.events.load(Ordering::Relaxed),
            read: self.read.load(Ordering::Relaxed),
            write: self.write.load(Ordering::Relaxed),
            other: self.other.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            event_ns_sum: self.event_ns_sum.load(Ordering::Relaxed),
        }
    }
}

/// What all clients together have done.
pub(crate) fn total(gauges: &[Arc<Gauge>]) -> SoFar {
    let all = gauges.iter().map(|gauge| gauge.seen());
    all.fold(SoFar::default(), |sum, one| sum.with(&one, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_add_up() {
        let gauges = [Arc::<Gauge>::default(), Arc::default()];
        let one = SoFar { events: 2, read: 3, write: 4, other: 5, errors: 6, event_ns_sum: 7 };
        gauges.iter().for_each(|gauge| gauge.show(one));
        let both = total(&gauges);
        assert_eq!((both.queries(), both.errors, both.event_ns_sum), (24, 12, 14));
        assert_eq!(both.since(&one), one);
    }
}
