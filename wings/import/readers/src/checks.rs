//! Consistency checks on figures that an output prints more than once, and on warm-up that a report of sysbench
//! includes.

use assay_model::{counted, thousands};

use crate::client_run::{BenchmarkClient, ClientRun, ReportInterval};

/// Rates are printed with two decimals, and their time is not quite the printed one.
const RATE_TOLERANCE: f64 = 0.02;

/// Adjacent buckets of sysbench's histogram differ by 1.8%.
const BUCKET: f64 = 1.02;

/// How far a run may miss the requested time: the last events end after it.
const TIME_TOLERANCE: f64 = 0.1;

const TIME_TOLERANCE_S: f64 = 5.0;

pub(crate) fn contradictions(run: &ClientRun) -> Vec<String> {
    let all = [
        versions(run),
        sum_of_statements(run),
        transactions(run),
        rate("transactions", run.transactions, run.tps, run.seconds),
        rate("queries", run.queries, run.qps, run.seconds),
        rate("ignored errors", run.ignored_errors, run.errors_per_second, run.seconds),
        threads(run),
        duration(run),
        busy(run),
        histogram(run),
        intervals(run),
    ];
    all.into_iter().flatten().collect()
}

/// The same for response times, which do not affect the rate.
pub(crate) fn doubtful_response_times(run: &ClientRun) -> Vec<String> {
    [response_times(run), mean(run)].into_iter().flatten().collect()
}

/// A report has one version; output of another run may precede it.
fn versions(run: &ClientRun) -> Option<String> {
    let [one, other, ..] = run.versions.as_slice() else { return None };
    Some(format!("it names two versions, {one} and {other}"))
}

fn sum_of_statements(run: &ClientRun) -> Option<String> {
    let (read, write, other) = (run.read?, run.write?, run.other?);
    let sum = read.saturating_add(write).saturating_add(other);
    let said = run.total.into_iter().chain(run.queries).find(|said| *said != sum)?;
    Some(format!(
        "{} reads, {} writes and {} others are {}, not {}",
        thousands(read),
        thousands(write),
        thousands(other),
        queries(sum),
        thousands(said)
    ))
}

fn queries(number: u64) -> String {
    match number {
        1 => "1 query".to_owned(),
        number => format!("{} queries", thousands(number)),
    }
}

/// A transaction of a script is an event. sysbench 0.5 counts only those of `BEGIN`.
fn transactions(run: &ClientRun) -> Option<String> {
    if run.versions.iter().any(|it| it.starts_with("0.")) {
        return None;
    }
    let (transactions, events) = (run.transactions?, run.events?);
    (transactions != events).then(|| {
        format!("{} are {}", counted(transactions, "transaction"), counted(events, "event"))
    })
}

/// A rate is a count divided by the time.
fn rate(what: &str, count: Option<u64>, rate: Option<f64>, seconds: Option<f64>) -> Option<String> {
    let (count, rate, seconds) = (count?, rate?, seconds.filter(|it| *it > 0.0)?);
    let follows = count as f64 / seconds;
    let difference = (follows - rate).abs();
    (difference > RATE_TOLERANCE * follows.max(rate) + 0.02).then(|| {
        format!(
            "{} {what} in {seconds:.1} s are {follows:.2} per second, not {rate:.2}",
            thousands(count)
        )
    })
}

/// The events of a thread, times the threads, are all events.
fn threads(run: &ClientRun) -> Option<String> {
    let (threads, events, each) = (run.threads?, run.events?, run.events_of_thread?);
    let all = each * f64::from(threads);
    let tolerance = 0.001 * events as f64 + 0.0001 * f64::from(threads);
    ((all - events as f64).abs() > tolerance).then(|| {
        format!(
            "{} with {each} events each are not {}",
            counted(threads, "thread"),
            counted(events, "event")
        )
    })
}

/// The time follows from count and rate, which excludes connecting unless it says otherwise. Transactions that began
/// before the end may take long.
fn duration(run: &ClientRun) -> Option<String> {
    let (transactions, tps) = (run.transactions?, run.tps_with_connecting.or(run.tps)?);
    let said: f64 =
        run.option("time").filter(|_| run.client == BenchmarkClient::Pgbench)?.parse().ok()?;
    let seconds = (tps > 0.0).then(|| transactions as f64 / tps)?;
    let connecting = run.connecting_ms.unwrap_or(0.0) / 1000.0;
    let last_ones = 10.0 * run.latency.avg.unwrap_or(0.0) / 1000.0;
    let least = (1.0 - TIME_TOLERANCE) * (said - connecting) - 1.0;
    let most = LONGEST * said + TIME_TOLERANCE_S + last_ones;
    (seconds < least || seconds > most).then(|| {
        format!(
            "{} at {tps:.2} per second take {seconds:.1} s, not {said} s",
            counted(transactions, "transaction")
        )
    })
}

/// Longest run of pgbench as a multiple of its duration, because of the last transactions.
const LONGEST: f64 = 3.0;

/// All clients of pgbench together cannot be busy for longer than the run.
fn busy(run: &ClientRun) -> Option<String> {
    let of_pgbench = run.client == BenchmarkClient::Pgbench && !run.is_paced();
    // Old versions count connecting as part of a transaction if each has a new connection.
    let tps = run.tps_with_connecting.or(run.tps).filter(|_| of_pgbench)?;
    let (clients, avg) = (run.threads?, run.latency.avg?);
    let at_once = tps * avg / 1000.0;
    (at_once > (1.0 + TIME_TOLERANCE) * f64::from(clients) + 0.01).then(|| {
        format!(
            "{tps:.2} transactions of {avg} ms per second need {at_once:.1} clients, and it had {clients}"
        )
    })
}

fn response_times(run: &ClientRun) -> Option<String> {
    let latency = &run.latency;
    let (min, avg, max) = (latency.min?, latency.avg?, latency.max?);
    if avg > max || min > avg {
        return Some(format!("a mean of {avg} ms is not between {min} and {max} ms"));
    }
    let (at, ms) = latency.percentile?;
    let within = ms <= BUCKET * max + 0.01 && ms >= min / BUCKET - 0.01;
    (!within).then(|| format!("a percentile {at} of {ms} ms is not between {min} and {max} ms"))
}

/// The mean is the sum divided by the events, and all threads together cannot be busy for longer than the run.
fn mean(run: &ClientRun) -> Option<String> {
    let (sum, avg, events) = (run.latency.sum?, run.latency.avg?, run.events.filter(|it| *it > 0)?);
    let follows = sum / events as f64;
    if (follows - avg).abs() > 0.01 + 0.01 * follows.max(avg) {
        return Some(format!(
            "response times of {sum} ms in {} are {follows:.2} ms each, not {avg}",
            counted(events, "event")
        ));
    }
    let (threads, seconds) = (run.threads?, run.seconds?);
    let most = 1000.0 * f64::from(threads) * seconds;
    // Transactions that wait for their turn take longer than the threads do.
    let is_busier = sum > (1.0 + TIME_TOLERANCE) * most + 1000.0 * f64::from(threads);
    (is_busier && !run.is_paced()).then(|| {
        format!(
            "{} in {seconds:.1} s have {most:.0} ms, and the response times add up to {sum:.0} ms",
            counted(threads, "thread")
        )
    })
}

fn histogram(run: &ClientRun) -> Option<String> {
    let (events, counted_events) = (run.events?, run.latency.counted());
    let differs = !run.latency.histogram.is_empty() && counted_events != events;
    differs.then(|| {
        format!(
            "the histogram has {}, the report {}",
            counted(counted_events, "event"),
            thousands(events)
        )
    })
}

fn intervals(run: &ClientRun) -> Option<String> {
    let (threads, seconds) = (run.threads?, run.seconds?);
    let of_intervals = run.intervals.iter().filter_map(|it| it.threads);
    if let Some(most) = of_intervals.max().filter(|most| *most > threads) {
        return Some(format!("it reports {most} threads while it ran, and {threads} before"));
    }
    // The time of the report may begin after warming up.
    let last = run.intervals.last()?.at_s - warmup_seconds(run).unwrap_or(0.0);
    (last > seconds + TIME_TOLERANCE_S + TIME_TOLERANCE * seconds).then(|| {
        format!(
            "it reports the second {last} while it ran, and a time of {seconds:.1} s at its end"
        )
    })
}

/// Contradictions between command line and report: the command belongs to another output.
pub(crate) fn command_contradicts(run: &ClientRun) -> Vec<String> {
    if run.client != BenchmarkClient::Sysbench || (run.script.is_none() && run.options.is_empty()) {
        return Vec::new();
    }
    let number = |name: &str| run.option(name)?.parse::<f64>().ok();
    let differ = |said: f64, found: f64| (said - found).abs() > 0.005 * said.max(found);
    let mut all = Vec::new();
    if let Some((said, found)) = number("threads").zip(run.threads)
        && differ(said, f64::from(found))
    {
        all.push(format!("--threads={said}, and it had {}", counted(found, "thread")));
    }
    if let Some((said, found)) = number("time").zip(run.seconds) {
        // An older limit counts events.
        let has_events = number("events").is_some_and(|it| it > 0.0);
        let least = (1.0 - TIME_TOLERANCE) * said;
        // The report may include the warm-up.
        let longest = said + warmup_seconds(run).unwrap_or(0.0);
        let most = (1.0 + TIME_TOLERANCE) * longest + TIME_TOLERANCE_S;
        if said > 0.0 && (found < least && !has_events || found > most) {
            all.push(format!("--time={said}, and it took {found:.0} s"));
        }
    }
    let target = number("rate").unwrap_or(0.0);
    match (target > 0.0, run.target) {
        (true, Some(found)) if !differ(target, found) => {}
        (false, None) => {}
        (_, Some(found)) => all.push(format!(
            "{}, and it was limited to {found} transactions/s",
            if target > 0.0 { format!("--rate={target}") } else { "no --rate".to_owned() }
        )),
        // Only versions from 1.0 on print the rate.
        (true, None) if run.versions.first().is_some_and(|it| it.starts_with("0.")) => {}
        (true, None) => all.push(format!("--rate={target}, and it was not limited")),
    }
    if let Some((said, (found, _))) = number("percentile").zip(run.latency.percentile)
        && differ(said, found)
    {
        all.push(format!("--percentile={said}, and it has percentile {found}"));
    }
    if let Some((said, events)) = number("events").zip(run.events)
        && said > 0.0
        && events as f64 > said + f64::from(run.threads.unwrap_or(1))
    {
        all.push(format!("--events={said}, and it had {}", counted(events, "event")));
    }
    all
}

/// Compares the statements per event with those of the script: it may have been edited, or be another one.
pub(crate) fn script_contradicts(run: &ClientRun) -> Option<String> {
    let expected = expected_statements(run)?;
    let [read, rest] = run.statements_per_event()?;
    let found = read + rest;
    let is_as_said = (found - expected).abs() <= 0.02 * expected + run.slack_per_event();
    (!is_as_said).then(|| {
        let script = run.script.as_deref().unwrap_or_default();
        format!(
            "`{script}` sends {} per transaction, and it sent {}",
            queries(expected as u64),
            per_event(found)
        )
    })
}

pub(crate) fn per_event(statements: f64) -> String {
    let rounded = (100.0 * statements).round() / 100.0;
    rounded.to_string()
}

/// For the scripts of sysbench 1.0 and 1.1.
fn expected_statements(run: &ClientRun) -> Option<f64> {
    if run.versions.first().is_none_or(|it| it.starts_with("0.")) {
        return None;
    }
    let number = |name: &str, usual: f64| match run.option(name) {
        Some(text) => text.parse::<f64>().ok(),
        None => Some(usual),
    };
    let is_on = |name: &str, usual: bool| {
        run.option(name).map_or(usual, |it| !matches!(it, "off" | "no" | "false" | "0"))
    };
    let transaction = if is_on("skip-trx", false) { 0.0 } else { 2.0 };
    let points = || number("point-selects", 10.0);
    let ranges = || {
        let kinds = ["simple-ranges", "sum-ranges", "order-ranges", "distinct-ranges"];
        let all: Option<Vec<f64>> = kinds.into_iter().map(|kind| number(kind, 1.0)).collect();
        Some(if is_on("range-selects", true) { all?.iter().sum() } else { 0.0 })
    };
    let writes = || {
        let updates = number("index-updates", 1.0)? + number("non-index-updates", 1.0)?;
        Some(updates + 2.0 * number("delete-inserts", 1.0)?)
    };
    Some(match run.script.as_deref()? {
        "oltp_read_write" => points()? + ranges()? + writes()? + transaction,
        "oltp_read_only" => points()? + ranges()? + transaction,
        "oltp_write_only" => writes()? + transaction,
        "oltp_point_select"
        | "oltp_update_index"
        | "oltp_update_non_index"
        | "oltp_insert"
        | "oltp_delete"
        | "select_random_points"
        | "select_random_ranges" => 1.0,
        _ => return None,
    })
}

pub(crate) fn warmup_seconds(run: &ClientRun) -> Option<f64> {
    let of_command = || run.option("warmup-time")?.parse::<f64>().ok();
    let said = run.warmup_s.or_else(of_command).filter(|_| run.client == BenchmarkClient::Sysbench);
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
pub(crate) fn warmup(run: &ClientRun) -> Warmup {
    let (Some(warmup), Some(all_s)) = (warmup_seconds(run), run.seconds) else {
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
    let last = &run.intervals[run.intervals.len() - 1];
    let work = |rate, from, to| work_between(&run.intervals, rate, from, to);
    let before = work(|it: &ReportInterval| it.tps, 0.0, warmup);
    let after = work(|it| it.tps, warmup, last.at_s);
    // Work after the last interval is part of both.
    let rest = last.tps * (all_s - last.at_s).max(0.0);
    let is_counted = (events - before - after - rest).abs() < (events - after).abs()
        && all_s > warmup
        && before > 0.0;
    if !is_counted {
        return Warmup::NotCounted;
    }
    let queries = work(|it| it.qps, 0.0, warmup);
    Warmup::LeftOut(Box::new(without_warmup(run, warmup, before, queries)))
}

/// Work of the intervals between two times; a partly covered interval counts in part.
fn work_between(
    intervals: &[ReportInterval],
    rate: fn(&ReportInterval) -> f64,
    from: f64,
    to: f64,
) -> f64 {
    let starts = std::iter::once(0.0).chain(intervals.iter().map(|it| it.at_s));
    let part = |(start, interval): (f64, &ReportInterval)| {
        let seconds = interval.at_s.min(to) - start.max(from);
        rate(interval) * seconds.max(0.0)
    };
    starts.zip(intervals).map(part).sum()
}

fn without_warmup(run: &ClientRun, warmup: f64, events: f64, queries: f64) -> ClientRun {
    let less = |count: Option<u64>, share: f64| {
        count.map(|count| (count as f64 * (1.0 - share).max(0.0)).round() as u64)
    };
    let share = |part: f64, all: Option<u64>| part / all.filter(|it| *it > 0).unwrap_or(1) as f64;
    let of_events = share(events, run.events.or(run.transactions));
    let all = run.queries.or(run.total);
    let of_queries = if all.is_some() { share(queries, all) } else { of_events };
    ClientRun {
        read: less(run.read, of_queries),
        write: less(run.write, of_queries),
        other: less(run.other, of_queries),
        total: less(run.total, of_queries),
        queries: less(run.queries, of_queries),
        events: less(run.events, of_events),
        transactions: less(run.transactions, of_events),
        seconds: run.seconds.map(|it| it - warmup),
        intervals: run.intervals.iter().filter(|it| it.at_s > warmup).copied().collect(),
        ..run.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::pgbench_run;
    use crate::sysbench::sysbench_run;

    /// A whole report of 3,000 transactions of `oltp_read_write`, after `head`.
    fn report(head: &str) -> String {
        format!(
            "{head}sysbench 1.0.20 (x)\n\nNumber of threads: 2\n\nSQL statistics:\n    queries performed:\n\
             read: 42000\nwrite: 12000\nother: 6000\ntotal: 60000\n\
             transactions: 3000 (50.00 per sec.)\nqueries: 60000 (1000.00 per sec.)\n\
             ignored errors: 0 (0.00 per sec.)\nreconnects: 0 (0.00 per sec.)\n\
             General statistics:\n total time: 60.0012s\n total number of events: 3000\n\
             Latency (ms):\n min: 6.25\n avg: 40.00\n max: 500.00\n 95th percentile: 60.00\n sum: 120000.00\n\
             Threads fairness:\n events (avg/stddev): 1500.0000/0.00\n"
        )
    }

    fn read(text: &str) -> ClientRun {
        let (run, faults) = sysbench_run("x", text.as_bytes()).unwrap();
        assert_eq!(faults, []);
        run
    }

    #[test]
    fn a_report_that_agrees_with_itself_is_sound() {
        let head = "sysbench oltp_read_write --threads=2 --time=60 run\n";
        let run = read(&report(head));
        assert_eq!([contradictions(&run), doubtful_response_times(&run)].concat(), [""; 0]);
        assert_eq!(command_contradicts(&run), [""; 0]);
        assert_eq!(script_contradicts(&run), None);
    }

    #[test]
    fn each_number_that_contradicts_another_is_told() {
        for (old, new, message) in [
            (
                "read: 42000",
                "read: 43000",
                "43,000 reads, 12,000 writes and 6,000 others are 61,000 queries",
            ),
            ("total: 60000", "total: 70000", "not 70,000"),
            ("events: 3000", "events: 4000", "3,000 transactions are 4,000 events"),
            (
                "(50.00 per",
                "(55.00 per",
                "3,000 transactions in 60.0 s are 50.00 per second, not 55.00",
            ),
            ("(1000.00 per", "(900.00 per", "not 900.00"),
            ("errors: 0 (0.00", "errors: 60 (9.00", "60 ignored errors"),
            ("threads: 2", "threads: 4", "4 threads with 1500 events each are not 3,000 events"),
            ("max: 500.00", "max: 30.00", "a mean of 40 ms is not between 6.25 and 30 ms"),
            ("percentile: 60.00", "percentile: 600.00", "is not between 6.25 and 500 ms"),
            ("avg: 40.00", "avg: 44.00", "are 40.00 ms each, not 44"),
            ("1.0.20 (x)\n", "1.0.20 (x)\nsysbench 1.1.0 (y)\n", "two versions, 1.0.20 and 1.1.0"),
            (
                "Threads f",
                "Latency histogram (x)\n 1.0 |** 7\nThreads f",
                "the histogram has 7 events",
            ),
            (
                "SQL s",
                "[ 90s ] thds: 2 tps: 1.0 qps: 2.0 lat (ms,95%): 1.0\nSQL s",
                "the second 90",
            ),
            (
                "SQL s",
                "[ 9s ] thds: 8 tps: 1.0 qps: 2.0 lat (ms,95%): 1.0\nSQL s",
                "8 threads while",
            ),
        ] {
            let text = report("");
            assert!(text.contains(old), "{old}");
            let run = read(&text.replace(old, new));
            let found = [contradictions(&run), doubtful_response_times(&run)].concat();
            assert!(found.iter().any(|it| it.contains(message)), "{new}: {found:?}");
        }
    }

    #[test]
    fn a_summary_of_pgbench_that_contradicts_itself_is_told() {
        const SUMMARY: &str = "transaction type: <builtin: select only>\nnumber of clients: 4\n\
            duration: 60 s\nnumber of transactions actually processed: 60000\n\
            latency average = 4.000 ms\ninitial connection time = 2000.000 ms\n\
            tps = 1020.000000 (without initial connection time)\n";
        let found = |old: &str, new: &str| {
            assert!(SUMMARY.contains(old), "{old}");
            contradictions(&pgbench_run("x", SUMMARY.replace(old, new).as_bytes()).unwrap().0)
        };
        assert_eq!(found("", ""), [""; 0]);
        // A transaction of twenty seconds began at the end.
        assert_eq!(found("tps = 1020", "tps = 750"), [""; 0]);
        // In an old version each transaction had a new connection.
        let connecting = "tps = 1000.0 (including connections establishing)\ntps = 3300";
        assert_eq!(found("tps = 1020", connecting), [""; 0]);
        for (old, new, message) in [
            ("duration: 60", "duration: 600", "take 58.8 s, not 600 s"),
            ("tps = 1020", "tps = 120", "take 500.0 s, not 60 s"),
            ("clients: 4", "clients: 2", "need 4.1 clients, and it had 2"),
        ] {
            let found = found(old, new);
            assert!(found.len() == 1 && found[0].contains(message), "{new}: {found:?}");
        }
    }

    #[test]
    fn a_command_line_of_another_run_is_told() {
        for (options, message) in [
            ("--threads=8", "--threads=8, and it had 2 threads"),
            ("--time=180", "--time=180, and it took 60 s"),
            ("--time=10", "--time=10, and it took 60 s"),
            ("--rate=100", "--rate=100, and it was not limited"),
            ("--percentile=99", "--percentile=99, and it has percentile 95"),
            ("--events=100", "--events=100, and it had 3,000 events"),
        ] {
            let head = format!("sysbench oltp_read_write {options} run\n");
            assert_eq!(command_contradicts(&read(&report(&head))), [message]);
        }
        let paced = report("sysbench oltp_read_write --threads=2 run\n")
            .replace("threads: 2\n", "threads: 2\nTarget transaction rate: 50/sec\n");
        let message = ["no --rate, and it was limited to 50 transactions/s"];
        assert_eq!(command_contradicts(&read(&paced)), message);
        let bare = paced.split_once('\n').unwrap().1;
        assert_eq!(command_contradicts(&read(bare)), [""; 0]);
    }

    #[test]
    fn a_script_that_was_edited_is_told() {
        let contradiction = |head: &str| script_contradicts(&read(&report(head)));
        let message = contradiction("sysbench oltp_point_select --threads=2 run\n");
        let expected = "`oltp_point_select` sends 1 query per transaction, and it sent 20";
        assert_eq!(message.as_deref(), Some(expected));
        for same in ["oltp_read_write", "mine.lua", "oltp_read_only --point_selects=14"] {
            assert_eq!(
                contradiction(&format!("sysbench {same} --threads=2 run\n")),
                None,
                "{same}"
            );
        }
        assert!(contradiction("sysbench oltp_read_write --skip-trx --threads=2 run\n").is_some());
    }

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
        let Warmup::LeftOut(run) = warmup(&run(header, 40, 3100)) else { panic!("not left out") };
        assert_eq!((run.events, run.read, run.queries), (Some(3000), Some(30_000), Some(30_000)));
        assert_eq!(run.intervals.len(), 6);
        assert!(run.seconds.is_some_and(|it| (it - 30.0012).abs() < 1e-9));
    }

    #[test]
    fn warming_up_that_is_not_counted_stays_out() {
        let header = "Warmup time: 10s\n";
        assert_eq!(warmup(&run(header, 30, 3000)), Warmup::NotCounted);
        assert_eq!(warmup(&run("", 40, 3100)), Warmup::NotCounted);
        let command = "sysbench oltp_point_select --warmup-time=10 --time=30 run\n";
        let mut message = run(command, 40, 3100);
        assert!(matches!(warmup(&message), Warmup::LeftOut(_)));
        message.intervals.clear();
        assert_eq!(warmup(&message), Warmup::Counted);
        message.seconds = Some(30.0);
        assert_eq!(warmup(&message), Warmup::NotCounted);
        message.options.retain(|(name, _)| name != "time");
        assert_eq!(warmup(&message), Warmup::Unknown);
    }
}
