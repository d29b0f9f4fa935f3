//! The progress of clients, readable while they work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One client's progress, on cache lines of its own, so that reading it slows no other client.
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

/// Work done so far, by one client or by all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// Events that have ended.
    pub events: u64,
    /// Queries that returned rows.
    pub read: u64,
    /// Queries that changed rows.
    pub write: u64,
    /// All other queries.
    pub other: u64,
    /// Errors after which an event was retried.
    pub errors: u64,
    /// Sum of the latencies of all events, nanoseconds.
    pub event_ns_sum: u64,
}

impl RunProgress {
    /// All queries.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.read + self.write + self.other
    }

    /// The work since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    /// The work of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
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
    /// Publishes the client's progress. Only its own thread calls this. Plain stores never wait for another CPU.
    #[inline]
    pub(crate) fn show(&self, done: RunProgress) {
        let RunProgress { events, read, write, other, errors, event_ns_sum } = done;
        self.events.store(events, Ordering::Relaxed);
        self.read.store(read, Ordering::Relaxed);
        self.write.store(write, Ordering::Relaxed);
        self.other.store(other, Ordering::Relaxed);
        self.errors.store(errors, Ordering::Relaxed);
        self.event_ns_sum.store(event_ns_sum, Ordering::Relaxed);
    }

    fn seen(&self) -> RunProgress {
        RunProgress {
            events: self.events.load(Ordering::Relaxed),
            read: self.read.load(Ordering::Relaxed),
            write: self.write.load(Ordering::Relaxed),
            other: self.other.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            event_ns_sum: self.event_ns_sum.load(Ordering::Relaxed),
        }
    }
}

/// The progress of all clients together.
pub(crate) fn total(gauges: &[Arc<Gauge>]) -> RunProgress {
    let all = gauges.iter().map(|gauge| gauge.seen());
    all.fold(RunProgress::default(), |sum, one| sum.and(&one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_add_up() {
        let gauges = [Arc::<Gauge>::default(), Arc::default()];
        let one =
            RunProgress { events: 2, read: 3, write: 4, other: 5, errors: 6, event_ns_sum: 7 };
        gauges.iter().for_each(|gauge| gauge.show(one));
        let both = total(&gauges);
        assert_eq!((both.queries(), both.errors, both.event_ns_sum), (24, 12, 14));
        assert_eq!(both.since(&one), one);
    }
}
