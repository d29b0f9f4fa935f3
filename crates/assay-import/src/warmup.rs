//! Warm-up that a report of sysbench includes.

use crate::client_run::{Client, ClientRun, Interval};

pub(crate) fn seconds(run: &ClientRun) -> Option<f64> {
    let of_command = || run.option("warmup-time")?.parse::<f64>().ok();
    let said = run.warmup_s.or_else(of_command).filter(|_| run.client == Client::Sysbench);
    said.filter(|seconds| seconds.is_finite() && *seconds > 0.0)
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Warmup {
    /// No warm-up, or the report excludes it.
    NotCounted,
    /// The report includes it. The run is without it, apart from its response times.
    LeftOut(Box<ClientRun>),
    /// The report includes it, and has no intervals to subtract.
    Counted,
    Unknown,
}

/// Decides by the intervals, or else by the time, and subtracts the warm-up.
pub(crate) fn of(run: &ClientRun) -> Warmup {
    let (Some(warmup), Some(all_s)) = (seconds(run), run.seconds) else {
        return Warmup::NotCounted;
    };
    if run.intervals.is_empty() {
        let asked: Option<f64> = run.option("time").and_then(|it| it.parse().ok());
        return match asked.filter(|it| *it > 0.0) {
            None => Warmup::Unknown,
            Some(asked) if all_s > asked + warmup / 2.0 => Warmup::Counted,
            Some(_) => Warmup::NotCounted,
        };
    }
    let events = run.events.or(run.transactions).unwrap_or(0) as f64;
    let rate = |of: fn(&Interval) -> f64, from: f64, to: f64| work(&run.intervals, of, from, to);
    let last = run.intervals.last().map_or(0.0, |it| it.at_s);
    let (before, after) = (rate(|it| it.tps, 0.0, warmup), rate(|it| it.tps, warmup, last));
    // Work after the last interval is part of both.
    let rest = run.intervals.last().map_or(0.0, |it| it.tps * (all_s - last).max(0.0));
    let is_counted = (events - before - after - rest).abs() < (events - after).abs()
        && all_s > warmup
        && before > 0.0;
    if !is_counted {
        return Warmup::NotCounted;
    }
    let queries = rate(|it| it.qps, 0.0, warmup);
    Warmup::LeftOut(Box::new(without(run, warmup, before, queries)))
}

/// Work of the intervals between two times; a partly covered interval counts in part.
fn work(intervals: &[Interval], of: fn(&Interval) -> f64, from: f64, to: f64) -> f64 {
    let starts = std::iter::once(0.0).chain(intervals.iter().map(|it| it.at_s));
    let part = |(start, interval): (f64, &Interval)| {
        let seconds = interval.at_s.min(to) - start.max(from);
        of(interval) * seconds.max(0.0)
    };
    starts.zip(intervals).map(part).sum()
}

fn without(run: &ClientRun, warmup: f64, events: f64, queries: f64) -> ClientRun {
    let less = |count: u64, share: f64| (count as f64 * (1.0 - share).max(0.0)).round() as u64;
    let share = |part: f64, all: Option<u64>| part / all.filter(|it| *it > 0).unwrap_or(1) as f64;
    let of_events = share(events, run.events.or(run.transactions));
    let all = run.queries.or(run.total);
    let of_queries = if all.is_some() { share(queries, all) } else { of_events };
    ClientRun {
        read: run.read.map(|it| less(it, of_queries)),
        write: run.write.map(|it| less(it, of_queries)),
        other: run.other.map(|it| less(it, of_queries)),
        total: run.total.map(|it| less(it, of_queries)),
        queries: run.queries.map(|it| less(it, of_queries)),
        events: run.events.map(|it| less(it, of_events)),
        transactions: run.transactions.map(|it| less(it, of_events)),
        seconds: run.seconds.map(|it| it - warmup),
        intervals: run.intervals.iter().filter(|it| it.at_s > warmup).copied().collect(),
        ..run.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::sysbench_run;

    /// A run of 30 s with 100 transactions per second, after 10 s with 10.
    fn run(head: &str, total_s: u32, events: u32) -> ClientRun {
        let interval = |at: u32| {
            let tps = if at <= 10 { 10 } else { 100 };
            format!(
                "[ {at}s ] thds: 4 tps: {tps}.00 qps: {tps}0.00 (r/w/o: 1.00/1.00/1.00) lat (ms,95%): 1.00\n"
            )
        };
        let intervals: String = (1..=8).map(|it| interval(it * 5)).collect();
        let queries = events * 10;
        let text = format!(
            "sysbench 1.1.0 (x)\n\n{head}Number of threads: 4\n\n{intervals}SQL statistics:\n\
             read: {queries}\nwrite: 0\nother: 0\ntotal: {queries}\ntransactions: {events} (1.0 per sec.)\n\
             queries: {queries} (1.0 per sec.)\ntime elapsed: {total_s}.0012s\ntotal number of events: {events}\n"
        );
        let (run, faults) = sysbench_run("sb.o", text.as_bytes()).unwrap();
        assert!(faults.is_empty());
        run
    }

    #[test]
    fn warming_up_that_is_counted_is_left_out() {
        let header = "Running the test with following options:\nWarmup time: 10s\n";
        let Warmup::LeftOut(run) = of(&run(header, 40, 3100)) else { panic!("not left out") };
        assert_eq!((run.events, run.read, run.queries), (Some(3000), Some(30_000), Some(30_000)));
        assert_eq!(run.intervals.len(), 6);
        assert!(run.seconds.is_some_and(|it| (it - 30.0012).abs() < 1e-9));
    }

    #[test]
    fn warming_up_that_is_not_counted_stays_out() {
        let header = "Warmup time: 10s\n";
        assert_eq!(of(&run(header, 30, 3000)), Warmup::NotCounted);
        assert_eq!(of(&run("", 40, 3100)), Warmup::NotCounted);
        let command = "sysbench oltp_point_select --warmup-time=10 --time=30 run\n";
        let mut message = run(command, 40, 3100);
        assert!(matches!(of(&message), Warmup::LeftOut(_)));
        message.intervals.clear();
        assert_eq!(of(&message), Warmup::Counted);
        message.seconds = Some(30.0);
        assert_eq!(of(&message), Warmup::NotCounted);
        message.options.retain(|(name, _)| name != "time");
        assert_eq!(of(&message), Warmup::Unknown);
    }
}
