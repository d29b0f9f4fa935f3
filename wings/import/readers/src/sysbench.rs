//! Parser of the output of sysbench 0.5, 1.0 and 1.1.

use std::io::BufRead;

use crate::client_run::{ClientRun, ReportInterval};
use crate::line::{self, ParseResult, each_line};

/// Maximum number of histogram buckets kept: sysbench has 1,024.
const BUCKETS_MAX: usize = 4096;

/// Maximum number of intervals kept: a week of seconds.
const INTERVALS_MAX: usize = 604_800;

/// Also reads a command line before the output. A line of the report without its number is a fault; other text is
/// skipped.
pub fn sysbench_run(file: &str, content: impl BufRead) -> ParseResult<ClientRun> {
    let mut run = ClientRun::default();
    let mut is_histogram = false;
    let faults = each_line(file, content, |number, line| {
        let text = line.trim();
        // A log may have the commands and outputs of `prepare` before those of the run.
        if run.reports == 0 && is_command(text, number) {
            read_command(&mut run, text);
            return Ok(());
        }
        if text.starts_with("Latency histogram") {
            is_histogram = true;
        } else if let Some((value, count)) = text.split_once('|').filter(|_| is_histogram) {
            add_bucket(&mut run, value, count)?;
        } else if let Some(rest) = text.strip_prefix("sysbench ") {
            let version = rest.split([' ', '-', ':']).next().unwrap_or_default();
            let is_version = version.starts_with(|first: char| first.is_ascii_digit());
            let is_new = !run.versions.iter().any(|it| it == version);
            if is_version && is_new && run.versions.len() < 2 {
                run.versions.push(version.to_owned());
            }
        } else if let Some(interval) = text.strip_prefix('[').filter(|it| is_interval(it)) {
            if run.intervals.len() < INTERVALS_MAX {
                run.intervals.push(interval_of(interval).ok_or("the interval lacks a number")?);
            }
        } else if let Some(rest) = text.strip_prefix("Warming up for ") {
            let seconds = rest.split_whitespace().next().and_then(line::number);
            run.warmup_s = run.warmup_s.or(seconds);
        } else if text.starts_with("FATAL: ") {
            run.fatal.get_or_insert_with(|| assay_model::shortened(text).into_owned());
        } else if let Some((name, value)) = text.split_once(':') {
            return report_line(&mut run, name.trim(), value.trim());
        }
        Ok(())
    })?;
    Ok((run, faults))
}

/// Whether a line is the command of the run. Before the output, scripts show other commands too.
fn is_command(text: &str, number: u64) -> bool {
    let is_run = || number == 1 || text.split_whitespace().any(|word| word == "run");
    text.contains("sysbench") && text.contains(" --") && is_run()
}

fn read_command(run: &mut ClientRun, text: &str) {
    (run.script, run.options) = (None, Vec::new());
    for word in text.split_whitespace() {
        let Some(option) = word.strip_prefix("--") else {
            let name = word.rsplit('/').next().unwrap_or(word);
            if let Some(script) = name.strip_suffix(".lua").or(Some(name).filter(|it| is_test(it)))
            {
                run.script = Some(script.to_owned());
            }
            continue;
        };
        let (name, value) = option.split_once('=').unwrap_or((option, "on"));
        let name = name.replace('_', "-");
        match name.as_str() {
            // The script of sysbench 0.5, and old names of options.
            "test" => {
                let script = value.rsplit('/').next().unwrap_or(value);
                run.script = Some(script.trim_end_matches(".lua").to_owned());
            }
            "num-threads" => run.options.push(("threads".to_owned(), value.to_owned())),
            "max-time" => run.options.push(("time".to_owned(), value.to_owned())),
            "max-requests" => run.options.push(("events".to_owned(), value.to_owned())),
            "oltp-tables-count" => run.options.push(("tables".to_owned(), value.to_owned())),
            "oltp-table-size" => run.options.push(("table-size".to_owned(), value.to_owned())),
            "tx-rate" => run.options.push(("rate".to_owned(), value.to_owned())),
            _ if name.contains("password") => {}
            _ => run.options.push((name, value.to_owned())),
        }
    }
}

fn is_test(word: &str) -> bool {
    word.starts_with("oltp_") || word.starts_with("select_random_") || word == "bulk_insert"
}

/// `  0.123 |****  17`
fn add_bucket(run: &mut ClientRun, value: &str, count: &str) -> Result<(), String> {
    let bad = || format!("`{}` is no bucket", assay_model::shortened(value));
    let count = count.split_whitespace().last().and_then(|count| count.parse().ok());
    let bucket = line::number(value.trim()).zip(count).ok_or_else(bad)?;
    if run.latency.histogram.len() == BUCKETS_MAX {
        return Err(format!("more than {BUCKETS_MAX} buckets"));
    }
    run.latency.histogram.push(bucket);
    Ok(())
}

/// A line `name: value` of the report; others are skipped.
fn report_line(run: &mut ClientRun, name: &str, text: &str) -> Result<(), String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let bad = || format!("`{name}` is `{}`", assay_model::shortened(text));
    let count = || first.parse::<u64>().map(Some).map_err(|_| bad());
    let number = |text: &str| line::number(text).map(Some).ok_or_else(bad);
    let per_second = || {
        let inside = text.split_once('(').map_or("", |(_, rest)| rest);
        number(inside.split_whitespace().next().unwrap_or_default())
    };
    let ms = || number(first.trim_end_matches("ms"));
    match name {
        "Warmup time" => run.warmup_s = number(first.trim_end_matches('s'))?,
        "Number of threads" => run.threads = Some(first.parse().map_err(|_| bad())?),
        "Target transaction rate" => {
            run.target = number(first.trim_end_matches("/sec"))?.filter(|it| *it > 0.0);
        }
        "read" => run.read = count()?,
        "write" => run.write = count()?,
        "other" => run.other = count()?,
        "total" => run.total = count()?,
        "transactions" => {
            (run.transactions, run.tps) = (count()?, per_second()?);
            run.reports = run.reports.saturating_add(1);
        }
        "queries" => (run.queries, run.qps) = (count()?, per_second()?),
        "ignored errors" | "deadlocks" => {
            (run.ignored_errors, run.errors_per_second) = (count()?, per_second().ok().flatten());
        }
        "reconnects" => run.reconnects = count()?,
        "time elapsed" | "total time" => run.seconds = number(first.trim_end_matches('s'))?,
        "total number of events" => run.events = count()?,
        "total time taken by event execution" => {
            run.latency.sum = number(first.trim_end_matches('s'))?.map(|seconds| 1000.0 * seconds);
        }
        "events (avg/stddev)" => {
            run.events_of_thread = number(first.split('/').next().unwrap_or_default())?;
        }
        "min" => run.latency.min = ms()?,
        "avg" => run.latency.avg = ms()?,
        "max" => run.latency.max = ms()?,
        "sum" => run.latency.sum = ms()?,
        percentile => {
            // `95th percentile` or, in sysbench 0.5, `approx.  95 percentile`.
            let Some(at) = percentile.strip_suffix("percentile") else { return Ok(()) };
            let at = at.trim().trim_start_matches("approx.").trim().trim_end_matches("th");
            run.latency.percentile = number(at)?.zip(ms()?);
        }
    }
    Ok(())
}

fn is_interval(text: &str) -> bool {
    text.contains(" thds: ") || text.contains(" threads: ")
}

/// ` 10s ] thds: 12 tps: 1234.56 qps: 24691.20 (r/w/o: ...) lat (ms,95%): 11.24 ...` or, in sysbench 0.5,
/// `  10s] threads: 12, tps: 1234.56, reads: 17283.84, writes: 4938.24, response time: 11.24ms (95%), ...`.
fn interval_of(text: &str) -> Option<ReportInterval> {
    let after = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        let number = rest.split_whitespace().next()?.trim_end_matches(',').trim_end_matches("ms");
        number.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0)
    };
    let at_s = text.split_once('s')?.0.trim().parse().ok().filter(|it: &f64| it.is_finite())?;
    let threads = after(" thds: ").or_else(|| after(" threads: ")).map(|it| it as u32);
    let tps = after(" tps: ")?;
    let Some(qps) = after(" qps: ") else {
        let qps = after(" reads: ")? + after(" writes: ")?;
        return Some(ReportInterval {
            at_s,
            threads,
            tps,
            qps,
            latency_ms: after(" response time: ")?,
        });
    };
    Some(ReportInterval { at_s, threads, tps, qps, latency_ms: after("%): ")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "sysbench 1.1.0-3ceba0b (using bundled LuaJIT 2.1.0-beta3)\n\nNumber of threads: 4\n\
        [ 1s ] thds: 4 tps: 99.50 qps: 1990.00 (r/w/o: 1393.00/398.00/199.00) \
        lat (ms,95%): 11.24 err/s: 0.00 reconn/s: 0.00\n\
        SQL statistics:\n    queries performed:\n        read:                            1400\n\
        \x20       write:                           400\n        other:                           200\n\
        \x20       total:                           2000\n\
        \x20   transactions:                        100    (10.00 per sec.)\n\
        \x20   queries:                             2000   (200.00 per sec.)\n\
        \x20   ignored errors:                      1      (0.10 per sec.)\n\
        \x20   reconnects:                          0      (0.00 per sec.)\n\n";

    fn read(text: &str) -> (ClientRun, Vec<String>) {
        let (run, faults) = sysbench_run("sb.o", text.as_bytes()).unwrap();
        (run, faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn both_versions_of_the_report_are_read() {
        let new = "Throughput:\n    events/s (eps):                      10.0000\n\
                   \x20   time elapsed:                        10.0003s\n\
                   \x20   total number of events:              100\n";
        let old = "General statistics:\n    total time:                          10.0003s\n\
                   \x20   total number of events:              100\n";
        let latency = "Latency (ms):\n         min:                                    0.05\n\
                       \x20        avg:                                    4.06\n\
                       \x20        max:                                    9.89\n\
                       \x20        95th percentile:                        7.07\n";
        for general in [new, old] {
            let (run, faults) = read(&[REPORT, general, latency].concat());
            assert_eq!(faults, [""; 0]);
            assert!(run.is_complete());
            assert_eq!(
                (run.versions.as_slice(), run.threads),
                (&["1.1.0".to_owned()][..], Some(4))
            );
            assert_eq!((run.read, run.write, run.other), (Some(1400), Some(400), Some(200)));
            assert_eq!((run.queries, run.qps, run.tps), (Some(2000), Some(200.0), Some(10.0)));
            assert_eq!((run.events, run.seconds), (Some(100), Some(10.0003)));
            assert_eq!((run.ignored_errors, run.reconnects), (Some(1), Some(0)));
            assert_eq!(run.latency.percentile, Some((95.0, 7.07)));
            assert_eq!((run.latency.min, run.latency.max), (Some(0.05), Some(9.89)));
            let [interval] = run.intervals.as_slice() else { panic!("{:?}", run.intervals) };
            assert_eq!((interval.at_s, interval.tps, interval.latency_ms), (1.0, 99.5, 11.24));
            assert_eq!((interval.threads, run.transactions), (Some(4), Some(100)));
        }
    }

    #[test]
    fn the_command_line_tells_script_and_options() {
        let (run, _) = read(
            "LUA_PATH=?.lua bench/sysbench --db-driver=mysql --table_size=50 --threads=1 lua/oltp_point_select.lua run \
             --mysql-password=secret --skip-trx\n8 CPUs\n",
        );
        assert_eq!(run.script.as_deref(), Some("oltp_point_select"));
        assert_eq!((run.option("table-size"), run.option("skip-trx")), (Some("50"), Some("on")));
        assert!(!format!("{run:?}").contains("secret"));
        assert!(!run.is_complete());
    }

    #[test]
    fn sysbench_0_5_is_read() {
        let (run, faults) = read(
            "sysbench --test=tests/db/oltp.lua --oltp-tables-count=4 --oltp-table-size=1000 --num-threads=4 \
             --max-time=10 --max-requests=0 run\r\nsysbench 0.5:  multi-threaded system evaluation benchmark\r\n\
             \r\nNumber of threads: 4\r\n\
             [   1s] threads: 4, tps: 99.50, reads: 1393.00, writes: 398.00, response time: 11.24ms (95%), errors: \
             0.00, reconnects:  0.00\r\nOLTP test statistics:\r\n    queries performed:\r\n        read: 1400\r\n\
             write: 400\r\nother: 200\r\ntotal: 2000\r\n    transactions: 100    (10.00 per sec.)\r\n\
             read/write requests: 1800   (180.00 per sec.)\r\nother operations: 200    (20.00 per sec.)\r\n\
             ignored errors: 3 (0.30 per sec.)\r\nreconnects: 1 (0.10 per sec.)\r\n\r\nGeneral statistics:\r\n\
             total time: 10.0003s\r\ntotal number of events: 100\r\n\
             total time taken by event execution: 39.9920s\r\n    response time:\r\n         min: 0.05ms\r\n\
             avg: 399.92ms\r\nmax: 989.00ms\r\napprox.  95 percentile: 507.07ms\r\n",
        );
        assert_eq!(faults, [""; 0]);
        assert!(run.is_complete());
        assert_eq!(
            (run.script.as_deref(), run.versions.as_slice()),
            (Some("oltp"), &["0.5".to_owned()][..])
        );
        assert_eq!((run.option("tables"), run.option("table-size")), (Some("4"), Some("1000")));
        assert_eq!((run.ignored_errors, run.reconnects, run.total), (Some(3), Some(1), Some(2000)));
        assert_eq!(
            (run.latency.percentile, run.latency.sum),
            (Some((95.0, 507.07)), Some(39_992.0))
        );
        assert_eq!((run.intervals.len(), run.intervals[0].qps), (1, 1791.0));
        assert_eq!(crate::checks::contradictions(&run), [""; 0]);
        assert_eq!(crate::checks::command_contradicts(&run), [""; 0]);
        assert_eq!(crate::checks::doubtful_response_times(&run), [""; 0]);
    }

    #[test]
    fn a_log_of_a_whole_session_has_the_command_of_its_run() {
        let (run, _) = read(&[
            "sysbench oltp_read_write --tables=2 prepare\nsysbench 1.1.0 (x)\nCreating table 'sbtest1'...\n\
             + sysbench oltp_read_only --tables=4 run\n",
            REPORT,
        ].concat());
        assert_eq!(
            (run.script.as_deref(), run.option("tables")),
            (Some("oltp_read_only"), Some("4"))
        );
        assert_eq!((run.versions.as_slice(), run.reports), (&["1.1.0".to_owned()][..], 1));
    }

    #[test]
    fn a_run_that_failed_says_why_and_bad_numbers_are_named() {
        let (run, faults) = read(
            "FATAL: mysql_drv_query() returned error 1062\nFATAL: other\n    queries: x (1 per sec.)\n",
        );
        assert!(run.fatal.unwrap().ends_with("1062"));
        assert_eq!(faults, ["sb.o:3: `queries` is `x (1 per sec.)`"]);
    }
}
