//! Output of Mark Callaghan's client of the Insert Benchmark, `o.ib.dop<n>.<client>`.

use std::io::{BufRead, Result};

use crate::line::{Fault, each_line};

const COLUMNS: usize = 17;

/// Buckets of response times: up to 256 µs, 1, 4, 16, 64, 256 ms, 1, 4, 16 s, and more.
pub const BUCKETS: usize = 10;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct IbenchRun {
    /// About one entry per second.
    pub seconds: Vec<IbenchSecond>,
    pub inserts: ResponseTimes,
    pub deletes: ResponseTimes,
    pub queries: ResponseTimes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IbenchSecond {
    pub seconds: f64,
    /// Rows per second.
    pub inserts: f64,
    /// Rows per second.
    pub deletes: f64,
    /// Per second.
    pub queries: f64,
    /// The longest insert, delete and query, microseconds.
    pub longest_us: [f64; 3],
    /// Rows inserted, rows deleted and queries done since the start.
    pub totals: [u64; 3],
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ResponseTimes {
    pub counts: [u64; BUCKETS],
    /// The longest, seconds; `None` if not in the output.
    pub longest_s: Option<f64>,
}

/// Skips lines that are not part of the output.
pub fn ibench_run(file: &str, content: impl BufRead) -> Result<(IbenchRun, Vec<Fault>)> {
    let mut run = IbenchRun::default();
    let faults = each_line(file, content, |_, line| {
        if let Some((kind, numbers)) = line.trim().split_once(" rt:") {
            let times = response_times(numbers)?;
            match (kind, times) {
                ("Insert", Some(times)) => run.inserts = times,
                ("Delete", Some(times)) => run.deletes = times,
                ("Query", Some(times)) => run.queries = times,
                // Header of the buckets.
                _ => {}
            }
            return Ok(());
        }
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.len() == COLUMNS && cells.first() != Some(&"i_sec") {
            run.seconds.push(second(&cells)?);
        }
        Ok(())
    })?;
    Ok((run, faults))
}

fn second(cells: &[&str]) -> std::result::Result<IbenchSecond, String> {
    let number = |at: usize| {
        let text = cells.get(at).copied().unwrap_or_default();
        let number = text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
        number.ok_or_else(|| format!("`{}` is not a number", assay_model::shortened(text)))
    };
    let count = |at: usize| number(at).map(|number| number as u64);
    Ok(IbenchSecond {
        seconds: number(0)?,
        inserts: number(2)?,
        deletes: number(4)?,
        queries: number(6)?,
        longest_us: [number(8)?, number(9)?, number(10)?],
        totals: [count(11)?, count(12)?, count(13)?],
    })
}

/// `None` for the header of the buckets.
fn response_times(text: &str) -> std::result::Result<Option<ResponseTimes>, String> {
    let cells: Vec<&str> = text.split_whitespace().collect();
    if cells.first() == Some(&"256us") {
        return Ok(None);
    }
    let [counts @ .., longest] = cells.as_slice() else { return Err("no counts".to_owned()) };
    let mut times = ResponseTimes { longest_s: longest.parse().ok(), ..ResponseTimes::default() };
    if counts.len() != BUCKETS || times.longest_s.is_none_or(|it| !(it.is_finite() && it >= 0.0)) {
        return Err(format!("{} of {} buckets", counts.len(), BUCKETS));
    }
    for (count, text) in times.counts.iter_mut().zip(counts) {
        let number = text.parse().map_err(|_| assay_model::shortened(text).into_owned());
        *count = number.map_err(|text| format!("`{text}` is not a count"))?;
    }
    Ok(Some(times))
}

/// Duration of a step, whole seconds, from the first line of its summary `o.res.dop<n>`: `1 processes, 3000
/// rows-per-process, 31 seconds, ...`.
pub fn step_seconds(content: impl BufRead) -> Result<Option<u32>> {
    let mut seconds = None;
    each_line("", content, |number, line| {
        let message = || line.split(", ").find_map(|part| part.strip_suffix(" seconds"));
        if number == 1 {
            seconds = message().and_then(|it| it.parse().ok()).filter(|it| *it > 0);
        }
        Ok(())
    })?;
    Ok(seconds)
}

/// The rate that this share of the seconds reaches or exceeds, as Mark Callaghan computes it: the one at the rounded
/// rank from the highest rate, with halves rounded to even. `None` without seconds.
#[must_use]
pub fn rate_reached(rates: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = rates.collect();
    sorted.sort_by(|one, other| other.total_cmp(one));
    let rank = (share * sorted.len() as f64).round_ties_even() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_response_times_are_found_among_other_lines() {
        let text = "python3 iibench.py --dbms=postgres\n\
            i_sec\tt_sec\ti_ips\tt_ips\ti_dps\tt_dps\ti_qps\tt_qps\tmax_i\tmax_d\tmax_q\t\
            t_ins\tt_del\tt_query\tr\tr\tr\n\
            get_min_trxid = 1 in 0.002 seconds\n\n\
            1.0\t1.0\t50\t50\t100\t50\t6511\t6511\t4678\t3088\t3491\t50\t100\t6512\t0\t0\t0\n\
            1.0\t1.0\tx\t50\t100\t50\t6511\t6511\t4678\t3088\t3491\t50\t100\t6512\t0\t0\t0\n\
            Insert rt:     256us       1ms       4ms      16ms      64ms     256ms   1s   4s   16s   gt   max\n\
            Insert rt:         0         0        55         5         0         0   0    0    0     0    0.007142\n\
            \x20Query rt:    1 2\nTotals: 30.0 secs\n";
        let (run, faults) = ibench_run("o.ib", text.as_bytes()).unwrap();
        let message: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(message, ["o.ib:6: `x` is not a number", "o.ib:9: 1 of 10 buckets"]);
        let [second] = run.seconds.as_slice() else { panic!("{run:?}") };
        assert_eq!((second.inserts, second.deletes, second.queries), (50.0, 100.0, 6511.0));
        assert_eq!((second.longest_us, second.totals), ([4678.0, 3088.0, 3491.0], [50, 100, 6512]));
        assert_eq!((run.inserts.counts[2], run.inserts.longest_s), (55, Some(0.007_142)));
    }

    #[test]
    fn a_rate_is_taken_at_the_rounded_rank() {
        let rates = || (1..=30).map(f64::from);
        assert_eq!(rate_reached(rates(), 0.5), Some(16.0));
        assert_eq!(rate_reached(rates(), 0.99), Some(1.0));
        assert_eq!(rate_reached(rates(), 0.0), Some(30.0));
        assert_eq!(rate_reached(std::iter::empty(), 0.5), None);
    }
}
