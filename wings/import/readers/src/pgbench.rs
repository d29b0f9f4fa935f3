//! Parser of the summary of pgbench 9.6 to 18.

use std::io::BufRead;

use crate::client_run::{BenchmarkClient, ClientRun, ReportInterval};
use crate::line::{self, ParseResult, each_line};

/// Maximum number of intervals kept: a week of seconds.
const INTERVALS_MAX: usize = 604_800;

/// Maximum number of names and weights of scripts kept: pgbench takes 128 scripts.
const SCRIPTS_MAX: usize = 256;

/// Lines of the summary in which comparable runs must agree.
const OF_WORK: [(&str, &str); 6] = [
    ("scaling factor", "scale"),
    ("query mode", "protocol"),
    ("partition method", "partition-method"),
    ("partitions", "partitions"),
    ("maximum number of tries", "max-tries"),
    ("number of threads", "jobs"),
];

/// Also reads the lines of `--progress` before the summary. A line of the summary without its number is a fault; other
/// text is skipped.
pub fn pgbench_run(file: &str, content: impl BufRead) -> ParseResult<ClientRun> {
    let mut run = ClientRun { client: BenchmarkClient::Pgbench, ..ClientRun::default() };
    // A summary of several scripts has a part for each of them.
    let (mut is_part, mut parts) = (false, Vec::new());
    let faults = each_line(file, content, |_, line| {
        let text = line.trim();
        is_part |= text.starts_with("SQL script ") || text.starts_with("statement latencies");
        if let Some(rest) = text.strip_prefix("pgbench (") {
            let number = |text: &str| {
                let version = text.split([' ', ')', ',']).next().unwrap_or_default();
                assay_model::shortened(version).into_owned()
            };
            let version = number(rest.trim_start_matches("PostgreSQL) "));
            // The server's is printed if it is another one.
            let of_server = rest.split_once(", server ").map(|(_, server)| number(server));
            if !rest.starts_with("PostgreSQL)") {
                let server = of_server.unwrap_or_else(|| version.clone());
                run.server_version.get_or_insert(server);
            }
            if run.versions.len() < 2 {
                run.versions.push(version);
            }
            return Ok(());
        }
        if let Some(progress) = text.strip_prefix("progress: ") {
            if run.intervals.len() < INTERVALS_MAX {
                run.intervals
                    .push(interval(progress).ok_or("the line of progress lacks a number")?);
            }
            return Ok(());
        }
        let is_error = text.starts_with("pgbench: error:") || text.starts_with("pgbench: fatal:");
        if is_error || text.starts_with("Run was aborted") || text.contains(" aborted in command ")
        {
            run.fatal.get_or_insert_with(|| assay_model::shortened(text).into_owned());
            return Ok(());
        }
        if is_part {
            parts.extend(part(text).filter(|_| parts.len() < SCRIPTS_MAX));
            return Ok(());
        }
        let colon = text.split_once(':').map(|(name, value)| (name, value.trim()));
        let equals = text.split_once(" = ").map(|(name, value)| (name, value.trim()));
        equals.or(colon).map_or(Ok(()), |(name, value)| summary_line(&mut run, name, value))
    })?;
    if !parts.is_empty() {
        run.options.push(("scripts".to_owned(), parts.join(" ")));
    }
    // Every transaction is an event.
    run.events = run.transactions;
    run.seconds = run.seconds.or_else(|| {
        let tps = run.tps.filter(|it| *it > 0.0)?;
        Some(run.transactions? as f64 / tps)
    });
    Ok((run, faults))
}

/// How often one of several scripts ran: first its name, then its weight.
fn part(text: &str) -> Option<String> {
    if let Some(script_line) = text.strip_prefix("SQL script ") {
        return Some(script(script_line.split_once(": ")?.1));
    }
    let weight = text.trim_start_matches(['-', ' ']).strip_prefix("weight: ")?;
    Some(format!("@{}", weight.split_whitespace().next()?))
}

fn summary_line(run: &mut ClientRun, name: &str, text: &str) -> Result<(), String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let bad = || format!("`{name}` is `{}`", assay_model::shortened(text));
    let number = |text: &str| line::number(text).map(Some).ok_or_else(bad);
    let count = |text: &str| text.parse::<u64>().map(Some).map_err(|_| bad());
    // Older versions cannot retry, and do not say so.
    if (name, text) == ("maximum number of tries", "1") {
        return Ok(());
    }
    if let Some((_, option)) = OF_WORK.iter().find(|(line, _)| *line == name) {
        run.options.push(((*option).to_owned(), assay_model::shortened(text).into_owned()));
        return Ok(());
    }
    // `number of transactions above the 5.0 ms latency limit: 15/113 (13.274%)`
    if let Some(limit) = name.strip_prefix("number of transactions above the ") {
        let limit = limit.trim_end_matches(" latency limit");
        run.options.push(("latency-limit".to_owned(), assay_model::shortened(limit).into_owned()));
        run.late = count(first.split('/').next().unwrap_or_default())?;
        return Ok(());
    }
    match name {
        "transaction type" => {
            run.script = Some(script(text));
            run.reports = run.reports.saturating_add(1);
        }
        "number of clients" => run.threads = Some(first.parse().map_err(|_| bad())?),
        "duration" => run.options.push(("time".to_owned(), first.to_owned())),
        "number of transactions per client" => {
            run.options.push(("transactions".to_owned(), first.to_owned()));
        }
        "number of transactions actually processed" => {
            run.transactions = count(first.split('/').next().unwrap_or_default())?;
        }
        "number of failed transactions" | "number of transactions skipped" => {
            let more = count(first)?.unwrap_or(0);
            run.given_up = Some(run.given_up.unwrap_or(0).saturating_add(more));
        }
        "total number of retries" => run.ignored_errors = count(first)?,
        "initial connection time" => run.connecting_ms = number(first)?,
        // Printed with `--connect`, which is other work.
        "average connection time" => run.options.push(("connect".to_owned(), "on".to_owned())),
        "latency average" => run.latency.avg = number(first)?,
        "latency stddev" => run.latency.stddev = number(first)?,
        "rate limit schedule lag" => {
            // `avg 0.1 (max 2.3) ms`
            run.lag_ms = number(text.split_whitespace().nth(1).unwrap_or_default())?;
        }
        // Older versions print the rate twice; the other one counts from the first statement on.
        "tps" if text.contains("including connections") => run.tps_with_connecting = number(first)?,
        "tps" => run.tps = number(first)?,
        _ => {}
    }
    Ok(())
}

/// Short name: `tpcb-like` for `<builtin: TPC-B (sort of)>`, or the name of the file.
fn script(text: &str) -> String {
    let name = match text.trim_start_matches("<builtin: ").trim_end_matches('>') {
        "TPC-B (sort of)" => "tpcb-like",
        "simple update" => "simple-update",
        "select only" => "select-only",
        "multiple scripts" => "several scripts",
        file => file.rsplit('/').next().unwrap_or(file),
    };
    assay_model::shortened(name).into_owned()
}

/// `5.0 s, 834.0 tps, lat 1.194 ms stddev 0.5, 0 failed`
fn interval(text: &str) -> Option<ReportInterval> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|it| it.is_finite());
    let mut parts = text.split(", ");
    let at_s = number(parts.next()?.strip_suffix(" s")?)?;
    let tps = number(parts.next()?.strip_suffix(" tps")?)?;
    let lat = parts.find_map(|it| it.strip_prefix("lat "))?;
    let latency_ms = number(lat.split_whitespace().next()?).unwrap_or(0.0);
    Some(ReportInterval { at_s, threads: None, tps, qps: tps, latency_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "pgbench (16.1)\nstarting vacuum...end.\n\
        progress: 1.0 s, 834.0 tps, lat 1.194 ms stddev 0.512, 0 failed\n\
        transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 10\nquery mode: prepared\n\
        number of clients: 10\nnumber of threads: 2\nmaximum number of tries: 1\nduration: 60 s\n\
        number of transactions actually processed: 54000\nnumber of failed transactions: 3 (0.006%)\n\
        latency average = 11.013 ms\nlatency stddev = 7.351 ms\ninitial connection time = 45.758 ms\n\
        tps = 900.000000 (without initial connection time)\n";

    fn read(text: &str) -> (ClientRun, Vec<String>) {
        let (run, faults) = pgbench_run("p", text.as_bytes()).unwrap();
        (run, faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_summary_is_read() {
        let (run, faults) = read(NEW);
        assert_eq!(faults, [""; 0]);
        assert!(run.is_complete() && !run.is_paced());
        assert_eq!((run.script.as_deref(), run.threads), (Some("tpcb-like"), Some(10)));
        // Older versions do not print that they never retry; their runs can be compared with this one.
        assert_eq!(run.option("max-tries"), None);
        assert_eq!(read(&NEW.replace("tries: 1", "tries: 3")).0.option("max-tries"), Some("3"));
        assert_eq!((run.option("scale"), run.option("protocol")), (Some("10"), Some("prepared")));
        assert_eq!((run.transactions, run.tps, run.given_up), (Some(54000), Some(900.0), Some(3)));
        assert_eq!((run.seconds, run.latency.avg), (Some(60.0), Some(11.013)));
        assert_eq!((run.intervals.len(), run.intervals[0].tps), (1, 834.0));
        assert_eq!(run.versions, ["16.1"]);
        assert_eq!(run.server_version.as_deref(), Some("16.1"));
        let other =
            read(&NEW.replace("(16.1)", "(16.1 (Debian 16.1-1), server 15.5 (Debian 15.5-1))")).0;
        assert_eq!(
            (other.versions[0].as_str(), other.server_version.as_deref()),
            ("16.1", Some("15.5"))
        );
    }

    #[test]
    fn a_run_that_connects_for_each_transaction_is_read() {
        let text = NEW
            .replace("initial connection time = 45.758", "average connection time = 2.134")
            .replace("without initial connection time", "including reconnection times");
        let (run, faults) = read(&text);
        assert_eq!(faults, [""; 0]);
        assert!(run.is_complete());
        assert_eq!((run.tps, run.option("connect")), (Some(900.0), Some("on")));
    }

    #[test]
    fn older_and_limited_runs_are_read() {
        let (run, faults) = read(
            "transaction type: dir/mine.sql\nscaling factor: 1\nquery mode: simple\nnumber of clients: 1\n\
             number of threads: 1\nnumber of transactions per client: 100\n\
             number of transactions actually processed: 100/100\nlatency average: 1.500 ms\n\
             rate limit schedule lag: avg 0.100 (max 2.300) ms\n\
             tps = 85.184871 (including connections establishing)\n\
             tps = 85.296346 (excluding connections establishing)\n",
        );
        assert_eq!(faults, [""; 0]);
        assert_eq!((run.script.as_deref(), run.transactions), (Some("mine.sql"), Some(100)));
        assert_eq!((run.tps, run.latency.avg), (Some(85.296346), Some(1.5)));
        assert!(run.is_paced() && run.is_complete());
    }

    #[test]
    fn parts_of_scripts_are_not_the_whole_and_errors_are_kept() {
        let (run, _) = read(
            "transaction type: multiple scripts\nnumber of transactions actually processed: 10\n\
             tps = 5.0 (without initial connection time)\nSQL script 1: <builtin: select only>\n\
             \x20- latency average = 9.9 ms\ntps = 1.0 (x)\nlatency average = 7 ms\n",
        );
        assert_eq!((run.tps, run.latency.avg), (Some(5.0), None));
        let weighted = |weight: u32| {
            read(&format!(
                "transaction type: multiple scripts\nSQL script 1: <builtin: select only>\n \
                 - weight: {weight} (targets 50.0% of total)\nSQL script 2: d/b.sql\n - weight: 1 (x)\n"
            ))
        };
        assert_eq!(weighted(1).0.option("scripts"), Some("select-only @1 b.sql @1"));
        assert_ne!(weighted(1).0.option("scripts"), weighted(9).0.option("scripts"));
        let (run, faults) = read("pgbench: error: connection to server failed\ntps = x (y)\n");
        assert!(run.fatal.is_some() && !run.is_complete());
        assert_eq!(faults, ["p:2: `tps` is `x (y)`"]);
    }
}
