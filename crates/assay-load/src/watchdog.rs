//! Monitors a run: reports progress, stops it on request, and cuts it off when it stalls.

use std::time::{Duration, Instant};

use assay_wire::Stop;

use crate::live::RunProgress;
use crate::run::RunBound;

/// How long clients may take to end after a request to stop.
const STOP_GRACE: Duration = Duration::from_secs(2);

const MONITOR_EVERY: Duration = Duration::from_millis(100);

/// Check interval of an unmonitored run: long, because a check takes CPU time.
const CHECK_EVERY: Duration = Duration::from_secs(5);

pub struct RunMonitor<'a> {
    /// How long clients may overrun the time of a run before they are cut off.
    pub grace: Duration,
    pub stop: Stop,
    pub every: Duration,
    /// Called with the time since the start and the progress until then.
    pub report: &'a mut dyn FnMut(Duration, RunProgress),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchdogAction {
    None,
    Stop,
    Cut,
}

pub(crate) struct Watchdog<'w, 'a> {
    monitor: Option<&'w mut RunMonitor<'a>>,
    start: Instant,
    /// When to cut off a timed run.
    deadline: Option<Instant>,
    /// Cuts off an untimed run this long after the last event ended.
    stall_limit: Duration,
    last: (u64, Instant),
    reports: u32,
    pub(crate) is_stopped: bool,
}

impl<'w, 'a> Watchdog<'w, 'a> {
    pub(crate) fn new(
        bound: RunBound,
        stall_limit: Duration,
        monitor: Option<&'w mut RunMonitor<'a>>,
        start: Instant,
    ) -> Self {
        let grace = monitor.as_ref().map_or(stall_limit, |monitor| monitor.grace);
        let deadline = bound.last_begin().and_then(|time| start.checked_add(time + grace));
        let (last, reports) = ((0, start), 0);
        Self { monitor, start, deadline, stall_limit, last, reports, is_stopped: false }
    }

    pub(crate) fn pause(&self) -> Duration {
        if self.monitor.is_some() { MONITOR_EVERY } else { CHECK_EVERY.min(self.stall_limit) }
    }

    pub(crate) fn is_monitored(&self) -> bool {
        self.monitor.is_some()
    }

    pub(crate) fn look(&mut self, now: Instant, progress: RunProgress) -> WatchdogAction {
        if progress.events != self.last.0 {
            self.last = (progress.events, now);
        }
        let mut action = WatchdogAction::None;
        if let Some(monitor) = &mut self.monitor {
            let elapsed = now.saturating_duration_since(self.start);
            if elapsed >= monitor.every.saturating_mul(self.reports.saturating_add(1)) {
                self.reports = (elapsed.as_secs_f64() / monitor.every.as_secs_f64()) as u32;
                (monitor.report)(elapsed, progress);
            }
            if monitor.stop.is_asked() && !self.is_stopped {
                self.is_stopped = true;
                self.deadline = Some(now + STOP_GRACE);
                action = WatchdogAction::Stop;
            }
        }
        let is_late = match self.deadline {
            Some(deadline) => now >= deadline,
            None => now.saturating_duration_since(self.last.1) >= self.stall_limit,
        };
        if is_late { WatchdogAction::Cut } else { action }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn timed_runs_are_cut_off_at_their_end_and_counted_runs_when_they_stall() {
        let start = Instant::now();
        let events = |events| RunProgress { events, ..RunProgress::default() };
        let mut timed = Watchdog::new(RunBound::Time(10 * SECOND), 5 * SECOND, None, start);
        assert_eq!(timed.look(start + 14 * SECOND, events(0)), WatchdogAction::None);
        assert_eq!(timed.look(start + 15 * SECOND, events(99)), WatchdogAction::Cut);
        let mut counted = Watchdog::new(RunBound::Events(9), 5 * SECOND, None, start);
        assert_eq!(counted.look(start + 4 * SECOND, events(1)), WatchdogAction::None);
        assert_eq!(counted.look(start + 8 * SECOND, events(1)), WatchdogAction::None);
        assert_eq!(counted.look(start + 9 * SECOND, events(1)), WatchdogAction::Cut);
    }

    #[test]
    fn a_monitor_gets_reports_and_may_stop_the_run() {
        let start = Instant::now();
        let mut reported = Vec::new();
        let stop = Stop::default();
        let mut report = |after: Duration, _| reported.push(after.as_secs());
        let mut monitor =
            RunMonitor { grace: SECOND, stop: stop.clone(), every: SECOND, report: &mut report };
        let mut watchdog =
            Watchdog::new(RunBound::Time(60 * SECOND), SECOND, Some(&mut monitor), start);
        for half_seconds in [0, 1, 2, 3, 6, 7] {
            let now = start + half_seconds * SECOND / 2;
            assert_eq!(watchdog.look(now, RunProgress::default()), WatchdogAction::None);
        }
        stop.ask();
        let now = start + 4 * SECOND;
        assert_eq!(watchdog.look(now, RunProgress::default()), WatchdogAction::Stop);
        assert_eq!(watchdog.look(now + SECOND, RunProgress::default()), WatchdogAction::None);
        assert_eq!(watchdog.look(now + STOP_GRACE, RunProgress::default()), WatchdogAction::Cut);
        assert_eq!(reported, [1, 3, 4, 5, 6]);
    }
}
