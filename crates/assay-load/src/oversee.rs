//! Looking on while clients work: when a run is told to end, and when it is cut off.

use std::time::{Duration, Instant};

use assay_wire::Stop;

use crate::live::SoFar;
use crate::session::Bound;

/// How long clients may take to end once somebody asked them to.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// How often a request to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often it is seen whether a run goes on that nobody looks at: rarely, as that takes CPU time too.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Somebody who looks on.
pub struct Watch<'a> {
    /// How long clients may take to end after the time of a run; then they are cut off.
    pub grace: Duration,
    /// Ends the run early.
    pub stop: Stop,
    /// How often `tell` is called.
    pub every: Duration,
    /// Takes the time since the start and what was done until then.
    pub tell: &'a mut dyn FnMut(Duration, SoFar),
}

/// What is to be done about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    None,
    /// Clients are to end after the event that they are in.
    Stop,
    /// They are not waited for any longer.
    Cut,
}

/// Decides how long a run is waited for.
pub(crate) struct Overseer<'w, 'a> {
    watch: Option<&'w mut Watch<'a>>,
    start: Instant,
    /// When a run that ends by itself should be over by all means.
    deadline: Option<Instant>,
    /// How long no event may end, where a run has no time.
    patience: Duration,
    last: (u64, Instant),
    told: u32,
    /// Whether it was told to stop.
    pub(crate) is_stopped: bool,
}

impl<'w, 'a> Overseer<'w, 'a> {
    pub(crate) fn new(
        bound: Bound,
        patience: Duration,
        watch: Option<&'w mut Watch<'a>>,
        start: Instant,
    ) -> Self {
        let grace = watch.as_ref().map_or(patience, |watch| watch.grace);
        let deadline = bound.last_begin().and_then(|time| start.checked_add(time + grace));
        Self { watch, start, deadline, patience, last: (0, start), told: 0, is_stopped: false }
    }

    /// How long to wait before the next look.
    pub(crate) fn pause(&self) -> Duration {
        if self.watch.is_some() { LOOK_EVERY } else { CHECK_EVERY.min(self.patience) }
    }

    pub(crate) fn look(&mut self, now: Instant, so_far: SoFar) -> Action {
        if so_far.events != self.last.0 {
            self.last = (so_far.events, now);
        }
        let mut action = Action::None;
        if let Some(watch) = &mut self.watch {
            let elapsed = now.saturating_duration_since(self.start);
            if elapsed >= watch.every.saturating_mul(self.told.saturating_add(1)) {
                self.told = (elapsed.as_secs_f64() / watch.every.as_secs_f64()) as u32;
                (watch.tell)(elapsed, so_far);
            }
            if watch.stop.is_asked() && !self.is_stopped {
                self.is_stopped = true;
                self.deadline = Some(now + STOP_GRACE);
                action = Action::Stop;
            }
        }
        let is_late = match self.deadline {
            Some(deadline) => now >= deadline,
            None => now.saturating_duration_since(self.last.1) >= self.patience,
        };
        if is_late { Action::Cut } else { action }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_run_by_time_is_cut_off_after_it_and_one_by_events_when_it_stands_still() {
        let start = Instant::now();
        let events = |events| SoFar { events, ..SoFar::default() };
        let mut timed = Overseer::new(Bound::Time(10 * SECOND), 5 * SECOND, None, start);
        assert_eq!(timed.look(start + 14 * SECOND, events(0)), Action::None);
        assert_eq!(timed.look(start + 15 * SECOND, events(99)), Action::Cut);
        let mut counted = Overseer::new(Bound::Events(9), 5 * SECOND, None, start);
        assert_eq!(counted.look(start + 4 * SECOND, events(1)), Action::None);
        assert_eq!(counted.look(start + 8 * SECOND, events(1)), Action::None);
        assert_eq!(counted.look(start + 9 * SECOND, events(1)), Action::Cut);
    }

    #[test]
    fn whoever_looks_on_is_told_and_may_stop_it() {
        let start = Instant::now();
        let mut told = Vec::new();
        let stop = Stop::default();
        let mut tell = |after: Duration, _| told.push(after.as_secs());
        let mut watch = Watch { grace: SECOND, stop: stop.clone(), every: SECOND, tell: &mut tell };
        let mut overseer = Overseer::new(Bound::Time(60 * SECOND), SECOND, Some(&mut watch), start);
        for half_seconds in [0, 1, 2, 3, 6, 7] {
            let now = start + half_seconds * SECOND / 2;
            assert_eq!(overseer.look(now, SoFar::default()), Action::None);
        }
        stop.ask();
        let now = start + 4 * SECOND;
        assert_eq!(overseer.look(now, SoFar::default()), Action::Stop);
        assert_eq!(overseer.look(now + SECOND, SoFar::default()), Action::None);
        assert_eq!(overseer.look(now + STOP_GRACE, SoFar::default()), Action::Cut);
        assert_eq!(told, [1, 3, 4, 5, 6]);
    }
}
