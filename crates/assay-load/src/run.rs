//! When a run ends, and its state, shared by its clients and the owner of the session.
//!
//! A run has a warm part, which may be absent, and a measured part. Clients begin each part together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// When a run ends. Checked between events: a long event is finished, unless the run is cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunBound {
    /// No event begins later than this after the common start.
    Time(Duration),
    Events(u64),
    /// Like `Events`, but no event begins later than `time` after the common start.
    EventsWithin {
        events: u64,
        time: Duration,
    },
    /// Open loop: events of all clients together are due at this rate, evenly spaced, for `time`. A late client begins
    /// at once, and latency counts from when the event was due, so stalls are not hidden. Events that cannot begin soon
    /// after `time` are dropped and counted as [`crate::SessionRun::backlog`].
    Rate {
        time: Duration,
        per_second: f64,
    },
}

/// How long after their time late events of an open loop may begin: a tenth of it, within these bounds.
const CATCH_UP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

impl RunBound {
    /// How long after the start the last event may begin; `None` where events are counted.
    pub(crate) fn last_begin(self) -> Option<Duration> {
        let [least, most] = CATCH_UP;
        match self {
            Self::Time(time) | Self::EventsWithin { time, .. } => Some(time),
            Self::Rate { time, .. } => Some(time + (time / 10).clamp(least, most)),
            Self::Events(_) => None,
        }
    }
}

const MAX_SLEEP: Duration = Duration::from_millis(100);

pub(crate) struct RunState {
    /// Runs first, if present; its events are counted separately.
    pub(crate) warm: Option<RunPart>,
    pub(crate) measured: RunPart,
    stop: AtomicBool,
}

pub(crate) struct RunPart {
    pub(crate) first_sequence: u64,
    bound: RunBound,
    clients: u32,
    ready: Barrier,
    start: OnceLock<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventStart {
    At(Instant),
    /// Due after the time of the run, which ends then.
    Never {
        end: Instant,
    },
}

impl RunState {
    pub(crate) fn new(warm: Option<RunPart>, measured: RunPart) -> Self {
        Self { warm, measured, stop: AtomicBool::new(false) }
    }

    /// Makes every client end after its current event.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_over(&self, part: &RunPart, now: Instant) -> bool {
        part.is_over(now) || self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn sleep_until(&self, part: &RunPart, due: Instant, mut now: Instant) -> bool {
        while now < due {
            std::thread::sleep(due.saturating_duration_since(now).min(MAX_SLEEP));
            now = Instant::now();
            if self.is_over(part, now) {
                return false;
            }
        }
        true
    }
}

impl RunPart {
    pub(crate) fn new(first_sequence: u64, bound: RunBound, clients: u32) -> Self {
        Self {
            first_sequence,
            bound,
            clients,
            ready: Barrier::new(clients as usize),
            start: OnceLock::new(),
        }
    }

    /// A client's even share of the events. The first clients get one more if the total does not divide evenly.
    pub(crate) fn quota(&self, client: u32) -> u64 {
        match self.bound {
            RunBound::Time(_) | RunBound::Rate { .. } => u64::MAX,
            RunBound::Events(total) | RunBound::EventsWithin { events: total, .. } => {
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

    /// When a client's event is due, counted from 0. `None` in a closed loop, where it is due when the previous one
    /// ends.
    #[inline]
    pub(crate) fn due(&self, client: u32, event: u64) -> Option<EventStart> {
        let RunBound::Rate { time, per_second } = self.bound else { return None };
        let turn = event as f64 * f64::from(self.clients) + f64::from(client);
        let after = Duration::try_from_secs_f64(turn / per_second).unwrap_or(Duration::MAX);
        let start = *self.start.get()?;
        match start.checked_add(after) {
            Some(at) if after < time => Some(EventStart::At(at)),
            _ => Some(EventStart::Never { end: start.checked_add(time).unwrap_or(start) }),
        }
    }

    #[inline]
    fn is_over(&self, now: Instant) -> bool {
        self.bound.last_begin().is_some_and(|last| self.since_start(now) >= last)
    }

    /// How many events were due within `elapsed`; `None` in a closed loop.
    pub(crate) fn due_within(&self, elapsed: Duration) -> Option<u64> {
        let RunBound::Rate { time, per_second } = self.bound else { return None };
        Some((time.min(elapsed).as_secs_f64() * per_second).ceil() as u64)
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
    fn events_of_an_open_loop_are_due_evenly_over_all_clients() {
        let bound = RunBound::Rate { time: Duration::from_secs(1), per_second: 4.0 };
        let run = RunPart::new(0, bound, 2);
        run.start.set(Instant::now()).unwrap();
        let start = *run.start.get().unwrap();
        let at = |ms| Some(EventStart::At(start + Duration::from_millis(ms)));
        assert_eq!(
            [run.due(0, 0), run.due(1, 0), run.due(0, 1), run.due(1, 1)],
            [at(0), at(250), at(500), at(750)]
        );
        let never = Some(EventStart::Never { end: start + Duration::from_secs(1) });
        assert_eq!(run.due(0, 2), never);
        assert_eq!(run.due_within(Duration::from_millis(600)), Some(3));
        assert_eq!(run.due_within(Duration::from_secs(9)), Some(4));
        assert_eq!(run.due(0, u64::MAX), never);
    }

    #[test]
    fn events_are_split_evenly() {
        for (total, clients) in [(10, 3), (2, 4), (0, 1), (8, 8)] {
            let run = RunPart::new(0, RunBound::Events(total), clients);
            let shares: Vec<u64> = (0..clients).map(|client| run.quota(client)).collect();
            assert_eq!(shares.iter().sum::<u64>(), total);
            let (least, most) = (shares.iter().min(), shares.iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1);
        }
    }
}
