//! Output of sysbench 1.0 and 1.1.

use std::io::{BufRead, Result};

use crate::line::{Fault, each_line};

/// A run of sysbench as its output tells it. What the output does not say is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SysbenchRun {
    /// The version, such as `1.1.0`.
    pub version: Option<String>,
    /// The script or test, from the command line, without directory and `.lua`.
    pub script: Option<String>,
    /// Options of the command line, without the dashes; passwords are left out.
    pub options: Vec<(String, String)>,
    /// Number of clients.
    pub threads: Option<u32>,
    /// Statements that read.
    pub read: Option<u64>,
    /// Statements that write.
    pub write: Option<u64>,
    /// Statements that do neither.
    pub other: Option<u64>,
    /// All statements.
    pub queries: Option<u64>,
    /// Statements per second, as printed.
    pub qps: Option<f64>,
    /// Transactions per second, as printed.
    pub tps: Option<f64>,
    /// Events.
    pub events: Option<u64>,
    /// Errors after which an event was started again.
    pub ignored_errors: Option<u64>,
    /// Connections that replaced lost ones.
    pub reconnects: Option<u64>,
    /// Measured time, seconds.
    pub seconds: Option<f64>,
    /// Response times.
    pub latency: SysbenchLatency,
    /// The lines of `--report-interval`.
    pub intervals: Vec<Interval>,
    /// Number of reports: an output may be of several runs.
    pub reports: u32,
    /// The first line that says why the run failed.
    pub fatal: Option<String>,
}

/// Response times, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SysbenchLatency {
    /// The shortest.
    pub min: Option<f64>,
    /// The mean.
    pub avg: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// A percentile, and the response time there.
    pub percentile: Option<(f64, f64)>,
}

/// What was done since the line before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The end of the interval, seconds since the start.
    pub at_s: f64,
    /// Transactions per second.
    pub tps: f64,
    /// Statements per second.
    pub qps: f64,
    /// The percentile of the response time, milliseconds.
    pub latency_ms: f64,
}

impl SysbenchRun {
    /// The value of an option of the command line.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether there is a report, and no more than one: a run that fails prints none.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let counts = [self.read, self.write, self.other];
        self.reports == 1 && counts.iter().all(Option::is_some) && self.seconds.is_some()
    }
}

/// Reads the output of a run. A command line before it is read too; other text is skipped.
///
/// # Errors
/// When the content cannot be read. A line of the report without its number is a fault.
pub fn sysbench_run(file: &str, content: impl BufRead) -> Result<(SysbenchRun, Vec<Fault>)> {
    let mut run = SysbenchRun::default();
    let faults = each_line(file, content, |number, line| {
        let text = line.trim();
        if number == 1 && text.contains("sysbench") && text.contains(" --") {
            read_command(&mut run, text);
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix("sysbench ") {
            run.version = rest.split([' ', '-']).next().map(str::to_owned);
        } else if let Some(interval) = text.strip_prefix("[ ").filter(|it| it.contains(" thds: ")) {
            run.intervals.push(interval_of(interval).ok_or("the interval lacks a number")?);
        } else if text.starts_with("FATAL: ") {
            run.fatal.get_or_insert_with(|| text.to_owned());
        } else if let Some((name, value)) = text.split_once(':') {
            return report_line(&mut run, name.trim(), value.trim());
        }
        Ok(())
    })?;
    Ok((run, faults))
}

fn read_command(run: &mut SysbenchRun, text: &str) {
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
        if !name.contains("password") {
            run.options.push((name.replace('_', "-"), value.to_owned()));
        }
    }
}

fn is_test(word: &str) -> bool {
    word.starts_with("oltp_") || word.starts_with("select_random_") || word == "bulk_insert"
}

/// A line `name: value` of the report; others are skipped.
fn report_line(run: &mut SysbenchRun, name: &str, text: &str) -> std::result::Result<(), String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let bad = || format!("`{name}` is `{}`", assay_model::shortened(text));
    let count = || first.parse::<u64>().map(Some).map_err(|_| bad());
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
        number.map(Some).ok_or_else(bad)
    };
    let per_second = || {
        let inside = text.split_once('(').map_or("", |(_, rest)| rest);
        number(inside.split_whitespace().next().unwrap_or_default())
    };
    match name {
        "Number of threads" => run.threads = Some(first.parse().map_err(|_| bad())?),
        "read" => run.read = count()?,
        "write" => run.write = count()?,
        "other" => run.other = count()?,
        "transactions" => run.tps = per_second()?,
        "queries" => {
            (run.queries, run.qps) = (count()?, per_second()?);
            run.reports = run.reports.saturating_add(1);
        }
        "ignored errors" => run.ignored_errors = count()?,
        "reconnects" => run.reconnects = count()?,
        "time elapsed" | "total time" => run.seconds = number(first.trim_end_matches('s'))?,
        "total number of events" => run.events = count()?,
        "min" => run.latency.min = number(first)?,
        "avg" => run.latency.avg = number(first)?,
        "max" => run.latency.max = number(first)?,
        percentile => {
            let Some(at) = percentile.strip_suffix("th percentile") else { return Ok(()) };
            run.latency.percentile = number(at)?.zip(number(first)?);
        }
    }
    Ok(())
}

/// `10s ] thds: 12 tps: 1234.56 qps: 24691.20 (r/w/o: ...) lat (ms,95%): 11.24 ...`
fn interval_of(text: &str) -> Option<Interval> {
    let after = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        rest.split_whitespace().next()?.parse::<f64>().ok().filter(|it| it.is_finite())
    };
    Some(Interval {
        at_s: text.split_once('s')?.0.trim().parse().ok().filter(|it: &f64| it.is_finite())?,
        tps: after(" tps: ")?,
        qps: after(" qps: ")?,
        latency_ms: after("%): ")?,
    })
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

    fn read(text: &str) -> (SysbenchRun, Vec<String>) {
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
            assert_eq!((run.version.as_deref(), run.threads), (Some("1.1.0"), Some(4)));
            assert_eq!((run.read, run.write, run.other), (Some(1400), Some(400), Some(200)));
            assert_eq!((run.queries, run.qps, run.tps), (Some(2000), Some(200.0), Some(10.0)));
            assert_eq!((run.events, run.seconds), (Some(100), Some(10.0003)));
            assert_eq!((run.ignored_errors, run.reconnects), (Some(1), Some(0)));
            assert_eq!(run.latency.percentile, Some((95.0, 7.07)));
            assert_eq!((run.latency.min, run.latency.max), (Some(0.05), Some(9.89)));
            let [interval] = run.intervals.as_slice() else { panic!("{:?}", run.intervals) };
            assert_eq!((interval.at_s, interval.tps, interval.latency_ms), (1.0, 99.5, 11.24));
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
    fn a_run_that_failed_says_why_and_bad_numbers_are_named() {
        let (run, faults) = read(
            "FATAL: mysql_drv_query() returned error 1062\nFATAL: other\n    queries: x (1 per sec.)\n",
        );
        assert!(run.fatal.unwrap().ends_with("1062"));
        assert_eq!(faults, ["sb.o:3: `queries` is `x (1 per sec.)`"]);
    }
}
