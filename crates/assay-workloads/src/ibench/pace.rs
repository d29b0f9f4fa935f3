//! The pace of a step with a background rate.

use std::time::Duration;

/// Statements come in bursts, one at the start of each second.
const BURST: Duration = Duration::from_secs(1);

/// The next burst follows at once if a second has taken at least this long.
const ALMOST: Duration = Duration::from_millis(950);

/// Due times of statements at a background rate. Time lost in a slow second is not made up.
#[derive(Debug, Clone)]
pub struct Pace {
    per_second: u64,
    checked: Duration,
}

impl Pace {
    #[must_use]
    pub fn new(per_second: u64) -> Self {
        Self { per_second: per_second.max(1), checked: Duration::ZERO }
    }

    /// When the wait after statement `number` (from 0), generated at `now`, ends; `None` for no wait. Both times count
    /// from the start of the step.
    pub fn wait_until(&mut self, number: u64, now: Duration) -> Option<Duration> {
        if !number.is_multiple_of(self.per_second) {
            return None;
        }
        let next = self.checked + BURST;
        if now.saturating_sub(self.checked) < ALMOST {
            self.checked = next;
            return Some(next);
        }
        self.checked = now;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_begin_every_second() {
        let mut pace = Pace::new(2);
        let mut now = Duration::ZERO;
        let mut begun = Vec::new();
        for number in 0..7 {
            begun.push(now.as_millis());
            now += Duration::from_millis(10);
            now = pace.wait_until(number, now).unwrap_or(now);
        }
        assert_eq!(begun, [0, 1000, 1010, 2000, 2010, 3000, 3010]);
    }

    #[test]
    fn a_slow_second_is_not_made_up_for() {
        let mut pace = Pace::new(1);
        let seconds = Duration::from_secs;
        assert_eq!(pace.wait_until(0, Duration::ZERO), Some(seconds(1)));
        assert_eq!(pace.wait_until(1, seconds(4)), None);
        assert_eq!(pace.wait_until(2, seconds(4)), Some(seconds(5)));
    }
}
