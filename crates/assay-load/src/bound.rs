//! When a run ends.

use std::time::Duration;

/// When a run ends. Checked between events: a long event is finished, unless the run is cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// No event begins later than this after the common start.
    Time(Duration),
    /// Total number of events, split evenly over the clients.
    Events(u64),
    /// Like `Events`, but no event begins later than `time` after the common start.
    EventsWithin { events: u64, time: Duration },
    /// Open loop: events of all clients together are due at this rate, evenly spaced, for `time`. A late client begins
    /// at once, and latency counts from when the event was due, so stalls are not hidden. Events that cannot begin soon
    /// after `time` are dropped and counted as [`crate::Finished::backlog`].
    Rate { time: Duration, per_second: f64 },
}

/// How long after their time late events of an open loop may begin: a tenth of it, within these bounds.
const CATCH_UP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

impl Bound {
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
