//! Parser of the logs of transactions that `pgbench --log` writes, with or without `--aggregate-interval`.

use std::collections::BTreeMap;
use std::io::BufRead;

use crate::line::{ParseResult, each_line};

/// Maximum number of seconds or intervals kept: a week of seconds.
const SECONDS_MAX: usize = 604_800;

/// Seconds since 1970 of September 2001: pgbench has fewer clients than that.
const EPOCH_MIN: u64 = 1_000_000_000;

/// Transactions by the second since 1970 in which they ended, or in which their interval began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PgbenchLog {
    counts: BTreeMap<u64, u64>,
}

impl PgbenchLog {
    /// Adds the log of another thread of the same run.
    pub fn add(&mut self, other: &Self) {
        other.counts.iter().for_each(|(second, count)| self.count(*second, *count));
    }

    fn count(&mut self, second: u64, count: u64) {
        if self.counts.len() < SECONDS_MAX || self.counts.contains_key(&second) {
            let known = self.counts.entry(second).or_default();
            *known = known.saturating_add(count);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Transactions per second of each interval, without the first and the last, which are cut off. Empty if the log
    /// is of several runs.
    pub fn rates(&self) -> Vec<f64> {
        let starts: Vec<u64> = self.counts.keys().copied().collect();
        let [first, .., last] = starts.as_slice() else { return Vec::new() };
        let step = starts.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1);
        if (last - first) / step >= SECONDS_MAX as u64 {
            return Vec::new();
        }
        let inner = (first + step..*last).step_by(usize::try_from(step).unwrap_or(1));
        let count = |start: u64| self.counts.get(&start).copied().unwrap_or(0);
        inner.map(|start| count(start) as f64 / step as f64).collect()
    }
}

/// `CLIENT NUMBER MICROSECONDS SCRIPT SECOND MICROSECONDS`, or for intervals `SECOND TRANSACTIONS SUM ...`.
pub fn pgbench_log(file: &str, content: impl BufRead) -> ParseResult<PgbenchLog> {
    let mut log = PgbenchLog::default();
    let faults = each_line(file, content, |_, line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A transaction that was skipped or failed has a word in place of its time.
        if words.len() < 6 || words[2].parse::<u64>().is_err() {
            return Ok(());
        }
        let number = |place: usize| words[place].parse::<u64>().map_err(|_| NO_NUMBER.to_owned());
        let (second, count) = match number(0)? {
            start if start >= EPOCH_MIN => (start, number(1)?),
            _ => (number(4)?, 1),
        };
        if second >= EPOCH_MIN {
            log.count(second, count);
        }
        Ok(())
    })?;
    Ok((log, faults))
}

const NO_NUMBER: &str = "a field is not a number";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_counted_by_second() {
        let text = "0 1 2241 0 1700000000 995598\n0 2 100 0 1700000001 5\n1 1 100 0 1700000001 6\n\
                    0 3 skipped 0 1700000002 1\n0 4 9 0 1700000003 1\n0 5 9 0 1700000004 1\n";
        let (mut log, faults) = pgbench_log("l", text.as_bytes()).unwrap();
        assert_eq!(faults.len(), 0);
        assert_eq!(log.rates(), [2.0, 0.0, 1.0]);
        log.add(&log.clone());
        assert_eq!(log.rates(), [4.0, 0.0, 2.0]);
    }

    #[test]
    fn intervals_are_read_and_far_apart_runs_have_no_rates() {
        let text = "1345828501 5601 1542744 483552416 61 2573\n1345828503 7884 1979812 5 60 2437\n\
                    1345828505 7208 1979422 7 58 2509\n";
        let (log, _) = pgbench_log("l", text.as_bytes()).unwrap();
        assert_eq!(log.rates(), [3942.0]);
        let far = "1345828501 1 2 3 4 5\n18446744073709551615 1 2 3 4 5\n1345828502 1 2 3 4 5\n";
        let (log, _) = pgbench_log("l", far.as_bytes()).unwrap();
        assert_eq!(log.rates(), [0.0; 0]);
        let (none, _) = pgbench_log("l", b"hello\n1 2 3\n".as_slice()).unwrap();
        assert!(none.is_empty() && none.rates().is_empty());
    }
}
