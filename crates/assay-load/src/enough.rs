//! How many values to try per statement: enough to find differences that only few values show, in bounded time.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

/// Values tried with a statement, however slow it is.
const LEAST: u32 = 3;

/// Values tried with a fast statement.
const MOST: u32 = 300;

const EACH: Duration = Duration::from_secs(1);

/// Rows kept to show differences: of a statement's first answers, and of later ones.
const ROWS_FIRST: usize = 200;
const ROWS_LATER: usize = 20;
const ANSWERS_FIRST: u32 = 3;

/// Share of a study's time for asking all systems.
const PART: f64 = 0.1;

/// Bounds of the time for asking a system, seconds.
const ALL_S: (f64, f64) = (10.0, 60.0);

#[must_use]
pub fn time_of_answers(budget_s: f64, systems: usize) -> Duration {
    let (least, most) = ALL_S;
    let part = budget_s * PART / systems.max(1) as f64;
    Duration::from_secs_f64(if part.is_finite() { part.clamp(least, most) } else { most })
}

/// Splits the remaining time evenly, up to `EACH`.
pub(crate) fn share(left: Duration, statements: usize) -> Duration {
    (left / u32::try_from(statements).unwrap_or(u32::MAX).max(1)).min(EACH)
}

/// Statements of a test still to be asked with other values, by number.
pub(crate) struct Wanted {
    open: BTreeMap<usize, Asked>,
    each: Duration,
}

#[derive(Default)]
struct Asked {
    texts: BTreeSet<u64>,
    times: u32,
    time: Duration,
}

impl Wanted {
    pub(crate) fn new(statements: impl Iterator<Item = usize>, each: Duration) -> Self {
        Self { open: statements.map(|number| (number, Asked::default())).collect(), each }
    }

    /// Whether a statement is wanted with these values; true only once for each text.
    pub(crate) fn takes(&mut self, number: usize, sql: &[u8]) -> bool {
        let Some(asked) = self.open.get_mut(&number) else { return false };
        let mut hasher = DefaultHasher::new();
        sql.hash(&mut hasher);
        asked.texts.insert(hasher.finish())
    }

    pub(crate) fn count(&mut self, number: usize, took: Duration) {
        let Some(asked) = self.open.get_mut(&number) else { return };
        asked.times += 1;
        asked.time = asked.time.saturating_add(took);
        if asked.times >= MOST || (asked.times >= LEAST && asked.time >= self.each) {
            self.end(number);
        }
    }

    pub(crate) fn end(&mut self, number: usize) {
        self.open.remove(&number);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn has_least(&self) -> bool {
        self.open.values().all(|asked| asked.times >= LEAST)
    }

    pub(crate) fn rows_kept(&self, number: usize) -> usize {
        let is_first = self.open.get(&number).is_none_or(|asked| asked.times < ANSWERS_FIRST);
        if is_first { ROWS_FIRST } else { ROWS_LATER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn values_are_taken_once() {
        let mut wanted = Wanted::new(0..2, EACH);
        assert!(wanted.takes(0, b"SELECT 1"));
        assert!(!wanted.takes(0, b"SELECT 1"));
        assert!(wanted.takes(1, b"SELECT 1"));
        assert!(!wanted.takes(2, b"SELECT 1"), "no such statement");
    }

    #[test]
    fn a_cheap_statement_gets_hundreds_of_values_and_a_slow_one_few() {
        let asked = |took: Duration| {
            let mut wanted = Wanted::new(0..1, EACH);
            let mut times = 0;
            while !wanted.is_over() {
                wanted.count(0, took);
                times += 1;
            }
            times
        };
        assert_eq!([MS, 50 * MS, 5000 * MS].map(asked), [MOST, 20, LEAST]);
    }

    #[test]
    fn few_rows_of_later_answers_are_kept() {
        let mut wanted = Wanted::new(0..1, EACH);
        let kept = [0, 1, 2, 3].map(|_| {
            let kept = wanted.rows_kept(0);
            wanted.count(0, MS);
            kept
        });
        assert_eq!(kept, [ROWS_FIRST, ROWS_FIRST, ROWS_FIRST, ROWS_LATER]);
    }

    #[test]
    fn the_time_follows_from_the_study_and_is_shared() {
        let seconds = |budget, systems| time_of_answers(budget, systems).as_secs();
        assert_eq!([seconds(900.0, 2), seconds(60.0, 2), seconds(1e6, 2)], [45, 10, 60]);
        assert_eq!(seconds(f64::NAN, 0), 60);
        assert_eq!(share(Duration::from_secs(45), 90), 500 * MS);
        assert_eq!(share(Duration::from_secs(45), 1), EACH);
        assert_eq!(share(Duration::ZERO, 0), Duration::ZERO);
    }
}
