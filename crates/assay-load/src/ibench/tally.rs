//! Counts of one thread.

use std::time::{Duration, Instant};

use assay_model::Statements;
use assay_model::limits::SERIES_COUNTS;
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
        if let Some((count, longest)) = self.seconds.get_mut(second) {
            *count = count.saturating_add(units);
            *longest = longest_us.max(*longest);
        }
    }
}

/// Seconds beyond the ledger's limit count as the last one.
fn second_of(since_start: Duration) -> usize {
    usize::try_from(since_start.as_secs()).unwrap_or(usize::MAX).min(SERIES_COUNTS - 1)
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
}
