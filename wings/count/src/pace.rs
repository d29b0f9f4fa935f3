//! How long a count takes: the time of its steps so far, and the time left.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A step of a count. Users see the steps in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CountStep {
    /// Loading of data that the cache does not have, without valgrind.
    Load,
    /// Starts of servers, with the filling of their caches.
    Start,
    Connect,
    /// Counts of idle servers.
    Idle,
    Size,
    Warm,
    Batches,
    /// Names of functions, and the ledger.
    Keep,
}

impl CountStep {
    fn words(self) -> &'static str {
        match self {
            Self::Load => "data",
            Self::Start => "starts",
            Self::Connect => "connections",
            Self::Idle => "idle servers",
            Self::Size => "sizes of batches",
            Self::Warm => "warm-up",
            Self::Batches => "batches",
            Self::Keep => "names and ledger",
        }
    }

    fn is_of_test(self) -> bool {
        !matches!(self, Self::Load | Self::Start)
    }
}

/// Work of a count that is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountRemainder {
    /// Each starts all servers.
    pub(crate) starts: usize,
    pub(crate) tests: usize,
}

#[derive(Debug, Default)]
pub(crate) struct CountPace {
    spent: BTreeMap<CountStep, Duration>,
    starts: u32,
    /// Tests that are kept, more than once if they were undecided.
    tests: u32,
}

impl CountPace {
    pub(crate) fn timed<T>(&mut self, step: CountStep, act: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = act();
        self.add(step, began.elapsed());
        done
    }

    pub(crate) fn add(&mut self, step: CountStep, took: Duration) {
        *self.spent.entry(step).or_default() += took;
        self.starts += u32::from(step == CountStep::Start);
        self.tests += u32::from(step == CountStep::Keep);
    }

    fn spent(&self, is_included: impl Fn(CountStep) -> bool) -> Duration {
        let included = self.spent.iter().filter(|(step, _)| is_included(**step));
        included.map(|(_, spent)| *spent).sum()
    }

    /// Seconds until the rest is done, if it goes on like the tests so far; `None` until a test is counted.
    pub(crate) fn left_s(&self, rest: CountRemainder) -> Option<f64> {
        let mean_s = |is_included: fn(CountStep) -> bool, count: u32| {
            (count > 0).then(|| self.spent(is_included).as_secs_f64() / f64::from(count))
        };
        let test_s = mean_s(CountStep::is_of_test, self.tests)?;
        let start_s = mean_s(|step| step == CountStep::Start, self.starts).unwrap_or(0.0);
        Some(test_s * rest.tests as f64 + start_s * rest.starts as f64)
    }

    pub(crate) fn total(&self) -> Duration {
        self.spent(|_| true)
    }

    /// `starts 41 s, batches 60 s`, of the steps that took a second.
    pub(crate) fn words(&self) -> String {
        let long = self.spent.iter().filter(|(_, spent)| spent.as_secs_f64() >= 1.0);
        let words =
            long.map(|(step, spent)| format!("{} {:.0} s", step.words(), spent.as_secs_f64()));
        words.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_tests_so_far() {
        let mut pace = CountPace::default();
        let rest = CountRemainder { starts: 1, tests: 6 };
        let seconds = Duration::from_secs;
        pace.add(CountStep::Load, seconds(100));
        pace.add(CountStep::Start, seconds(30));
        pace.add(CountStep::Batches, seconds(7));
        assert_eq!(pace.left_s(rest), None);
        pace.add(CountStep::Keep, seconds(1));
        assert_eq!(pace.left_s(rest), Some(6.0 * 8.0 + 30.0));
        pace.add(CountStep::Batches, seconds(3));
        pace.add(CountStep::Keep, seconds(1));
        assert_eq!(pace.left_s(CountRemainder { starts: 0, tests: 5 }), Some(5.0 * 6.0));
        assert_eq!(pace.total(), seconds(142));
    }

    #[test]
    fn only_steps_that_took_a_second_are_named() {
        let mut pace = CountPace::default();
        pace.add(CountStep::Keep, Duration::from_millis(400));
        pace.add(CountStep::Start, Duration::from_millis(40_600));
        let words = pace.timed(CountStep::Warm, || "done");
        assert_eq!((words, pace.words().as_str()), ("done", "starts 41 s"));
    }
}
