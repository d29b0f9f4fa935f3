//! When a run ends.

use std::time::Duration;

/// When a run ends. It is checked between events: a long event is finished, unless the run is cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// No event begins later than this after the common start.
    Time(Duration),
    /// This many events in total, split evenly over the clients.
    Events(u64),
    /// The same, but no event begins later than this after the common start.
    EventsWithin {
        /// Events in total.
        events: u64,
        /// The time.
        time: Duration,
    },
    /// Open loop: events of all clients together are due at this rate, evenly, for that time. A client that is late
    /// begins at once, and latency counts from the moment when the event was due, so that a stall is not hidden. Events
    /// that cannot begin soon after the time are left out and counted as [`crate::Finished::backlog`].
    Rate {
        /// How long events are due.
        time: Duration,
        /// Events per second.
        per_second: f64,
    },
}

/// How long after their time the late events of an open loop may begin: a tenth of it, within these bounds.
const CATCH_UP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

impl Bound {
    /// How long after the start the last event may begin; `None` where the events are counted.
    pub(crate) fn last_begin(self) -> Option<Duration> {
        let [least, most] = CATCH_UP;
        match self {
            Self::Time(time) | Self::EventsWithin { time, .. } => Some(time),
            Self::Rate { time, .. } => Some(time + (time / 10).clamp(least, most)),
            Self::Events(_) => None,
        }
    }
}
