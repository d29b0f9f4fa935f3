//! What the clients of a session and its owner tell each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use crate::session::Bound;

/// One run, shared by all clients.
pub(crate) struct Run {
    /// Sequence number of each client's first event.
    pub(crate) first_sequence: u64,
    bound: Bound,
    clients: u32,
    ready: Barrier,
    start: OnceLock<Instant>,
    stop: AtomicBool,
}

impl Run {
    pub(crate) fn new(first_sequence: u64, bound: Bound, clients: u32) -> Self {
        Self {
            first_sequence,
            bound,
            clients,
            ready: Barrier::new(clients as usize),
            start: OnceLock::new(),
            stop: AtomicBool::new(false),
        }
    }

    /// How many events a client may run: an even share, the first clients one more where it does
    /// not divide.
    pub(crate) fn quota(&self, client: u32) -> u64 {
        match self.bound {
            Bound::Time(_) => u64::MAX,
            Bound::Events(total) => {
                let clients = u64::from(self.clients);
                total / clients + u64::from(u64::from(client) < total % clients)
            }
        }
    }

    /// Waits until every client is ready; all get the same start.
    pub(crate) fn wait_for_start(&self) -> Instant {
        self.ready.wait();
        *self.start.get_or_init(Instant::now)
    }

    /// Whether no further event may begin.
    #[inline]
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let timed_out = match self.bound {
            Bound::Time(limit) => self.since_start(now) >= limit,
            Bound::Events(_) => false,
        };
        timed_out || self.stop.load(Ordering::Relaxed)
    }

    /// Makes every client end after the event it is in.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Time from the common start; zero before it.
    pub(crate) fn since_start(&self, now: Instant) -> Duration {
        self.start.get().map_or(Duration::ZERO, |start| now.saturating_duration_since(*start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_split_evenly() {
        for (total, clients) in [(10, 3), (2, 4), (0, 1), (8, 8)] {
            let run = Run::new(0, Bound::Events(total), clients);
            let shares: Vec<u64> = (0..clients).map(|client| run.quota(client)).collect();
            assert_eq!(shares.iter().sum::<u64>(), total);
            let (least, most) = (shares.iter().min(), shares.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1);
        }
    }
}
