//! Counts of one thread, and figures of a step computed from its seconds.

use std::time::{Duration, Instant};

use assay_model::limits::SERIES_COUNTS;
use assay_model::{RateLoss, SLA, Statements};
use hdrhistogram::Histogram;

use crate::error::Result;
use crate::tally::{latency_histogram, nanoseconds};

const SECONDS: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct IbenchTally {
    pub(super) statements: Statements,
    pub(super) latency: Histogram<u64>,
    /// Sum of the response times, nanoseconds.
    pub(super) ns_sum: u64,
    /// Rows (of queries: statements) and the longest response time in microseconds, by second of the step.
    pub(super) seconds: Vec<(u32, u32)>,
    counts_rows: bool,
}

impl IbenchTally {
    pub(super) fn new(counts_rows: bool) -> Result<Self> {
        Ok(Self {
            statements: Statements::default(),
            latency: latency_histogram()?,
            ns_sum: 0,
            seconds: Vec::with_capacity(SECONDS),
            counts_rows,
        })
    }

    pub(super) fn count(&mut self, start: Instant, sent: Instant, answered: Instant, rows: u64) {
        let response = nanoseconds(answered.saturating_duration_since(sent));
        self.statements.count(response, rows);
        self.latency.saturating_record(response);
        self.ns_sum = self.ns_sum.saturating_add(response);
        let units = if self.counts_rows { u32::try_from(rows).unwrap_or(u32::MAX) } else { 1 };
        let longest_us = u32::try_from(response / 1000).unwrap_or(u32::MAX);
        let second = second_of(answered.saturating_duration_since(start));
        self.add_second(second, (units, longest_us));
    }

    pub(super) fn add_seconds(&mut self, seconds: &[(u32, u32)]) {
        for (second, counted) in seconds.iter().enumerate() {
            self.add_second(second, *counted);
        }
    }

    fn add_second(&mut self, second: usize, (units, longest_us): (u32, u32)) {
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, (0, 0));
        }
        let (count, longest) = &mut self.seconds[second];
        *count = count.saturating_add(units);
        *longest = longest_us.max(*longest);
    }
}

/// Seconds beyond the ledger's limit count as the last one.
fn second_of(since_start: Duration) -> usize {
    usize::try_from(since_start.as_secs()).unwrap_or(usize::MAX).min(SERIES_COUNTS - 1)
}

/// Parts of a step whose rates are compared. Variation that lasts longer than a part is not seen as noise.
const PARTS: usize = 10;

/// Minimum seconds of a step, without its first and last.
const SECONDS_MIN: usize = 20;

/// Standard error of the rate as a fraction of it, by the method of batch means: the rates of ten parts of the step
/// vary by noise and by effects longer than a second, and their mean has a tenth of their variance. The first and last
/// second are incomplete. `None` for a short step.
pub(super) fn relative_error(seconds: &[(u32, u32)]) -> Option<f64> {
    let whole = seconds.get(1..seconds.len().checked_sub(1)?)?;
    if whole.len() < SECONDS_MIN {
        return None;
    }
    let of_part = whole.len() / PARTS;
    let rate = |part: &[(u32, u32)]| {
        part.iter().map(|(count, _)| f64::from(*count)).sum::<f64>() / part.len() as f64
    };
    let rates: Vec<f64> = whole.chunks_exact(of_part).take(PARTS).map(rate).collect();
    let parts = PARTS as f64;
    let mean = rates.iter().sum::<f64>() / parts;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (parts - 1.0);
    (mean > 0.0).then(|| (variance / parts).sqrt() / mean)
}

/// The second from which a step's inserts stayed behind their rate until the end; `None` if the rate was kept.
///
/// `seconds` has the inserts and the deletes: for each second, the rows and the longest response time in microseconds.
/// The first second has one burst of `first` rows, each later one `target` rows.
pub(super) fn broke(
    [inserts, deletes]: [&[(u32, u32)]; 2],
    elapsed: Duration,
    (first, target): (f64, f64),
) -> Option<RateLoss> {
    let rows: f64 = inserts.iter().map(|(rows, _)| f64::from(*rows)).sum();
    // Whole seconds, as in `Slice::rate_s`.
    if rows >= SLA * target * elapsed.as_secs().max(1) as f64 {
        return None;
    }
    let mut so_far = 0.0;
    let kept = inserts.iter().zip(1..).filter_map(|((rows, _), second)| {
        so_far += f64::from(*rows);
        let due = first + target * f64::from(second - 1);
        (so_far >= SLA * due).then_some(second)
    });
    let second: u32 = kept.last().unwrap_or(0) + 1;
    let longest = |seconds: &[(u32, u32)]| {
        seconds.get(second as usize - 1).map_or(0, |(_, longest)| u64::from(*longest))
    };
    Some(RateLoss { second, insert_us: longest(inserts), delete_us: longest(deletes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_belong_to_the_second_in_which_they_end() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut tally = IbenchTally::new(true).unwrap();
        tally.count(start, at(10), at(20), 50);
        tally.count(start, at(900), at(2100), 50);
        tally.count(start, at(2100), at(2101), 50);
        assert_eq!(tally.seconds, [(50, 10_000), (0, 0), (100, 1_200_000)]);
        assert_eq!(tally.statements.rows, 150);
        let mut queries = IbenchTally::new(false).unwrap();
        queries.count(start, at(0), at(1), 10);
        assert_eq!(queries.seconds, [(1, 1000)]);
    }

    #[test]
    fn parts_that_differ_make_a_rate_uncertain() {
        let step = |rate: fn(usize) -> u32| -> Vec<(u32, u32)> {
            (0..102).map(|second| (rate(second), 0)).collect()
        };
        assert_eq!(relative_error(&step(|_| 100)), Some(0.0));
        // Halves of the step at 90 and 110: their standard deviation is 10.54, a third of that for ten parts.
        let error = relative_error(&step(|second| if second < 51 { 90 } else { 110 })).unwrap();
        assert!((error - 0.0333).abs() < 1e-4, "{error}");
        // Alternation within a part averages out.
        let error = relative_error(&step(|second| if second % 2 == 0 { 90 } else { 110 })).unwrap();
        assert!(error < 1e-9, "{error}");
        assert_eq!(relative_error(&step(|_| 100)[..20]), None);
        assert_eq!(relative_error(&[]), None);
    }

    const RATE: (f64, f64) = (50.0, 100.0);

    #[test]
    fn the_second_is_the_first_of_those_that_are_behind_until_the_end() {
        let inserts =
            [(50, 5), (100, 5), (20, 900_000), (180, 7), (100, 5), (10, 950_000), (40, 3)];
        let deletes = [(100, 5); 7];
        let seconds = Duration::from_secs;
        let broken = broke([&inserts, &deletes], seconds(7), RATE).unwrap();
        assert_eq!(broken, RateLoss { second: 6, insert_us: 950_000, delete_us: 5 });
        assert_eq!(broke([&[], &[]], seconds(3), RATE).map(|it| it.second), Some(1));
    }

    #[test]
    fn the_burst_of_the_first_second_is_small_by_design() {
        let mut inserts = vec![(100, 5); 20];
        inserts[0].0 = 50;
        inserts[3] = (0, 1);
        // Nothing is behind before the stall.
        let broken = broke([&inserts, &[]], Duration::from_secs(22), RATE).unwrap();
        assert_eq!(broken.second, 4);
        let all = Duration::from_secs_f64(19.9);
        assert_eq!(broke([&inserts, &[]], all, RATE), None);
        assert!(broke([&inserts, &[]], Duration::from_secs(20), RATE).is_some());
    }
}
