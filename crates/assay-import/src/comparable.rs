//! Differences that make the work of two runs different.

use crate::checks::per_event;
use crate::client_run::{Client, ClientRun, SystemRun};

/// Prefixes of options that do not change the work of a script.
const OF_ANY_WORK: [&str; 16] = [
    "config-file",
    "db-debug",
    "db-driver",
    "debug",
    "events",
    "histogram",
    "jobs",
    "mysql-",
    "percentile",
    "pgsql-",
    "report-",
    "threads",
    "time",
    "transactions",
    "verbosity",
    "warmup-time",
];

/// Options that do change the work despite such a prefix.
const OF_WORK: [&str; 3] = ["mysql-storage-engine", "mysql-table-engine", "mysql-ignore-errors"];

/// A difference that makes rates incomparable, as found in both runs.
pub(crate) fn difference(first: &SystemRun, other: &SystemRun) -> Option<String> {
    let (one, two) = (&first.run, &other.run);
    let tell = |of_other: String, of_first: String| {
        Some(format!("{of_other}, and `{}` {of_first}", first.file))
    };
    if one.client != two.client {
        return tell(
            format!("it is an output of {}", two.client),
            format!("one of {}", one.client),
        );
    }
    if family(one) != family(two) {
        let of = |run: &ClientRun| format!("{} {}", run.client, version(run));
        return tell(format!("it is of {}", of(two)), format!("of {}", of(one)));
    }
    if let (Some(script), Some(expected)) = (&two.script, &one.script)
        && script != expected
    {
        return tell(format!("it ran the script `{script}`"), format!("`{expected}`"));
    }
    if let Some(option) = differing_option(one, two) {
        let value = |run: &ClientRun| {
            let value = run.option(option).map(assay_model::shortened);
            value.map_or_else(|| format!("no `{option}`"), |it| format!("`{option}` {it}"))
        };
        return tell(format!("it has {}", value(two)), format!("has {}", value(one)));
    }
    if limit(one) != limit(two) {
        return tell(
            format!("it was {}", limit_in_words(two)),
            format!("was {}", limit_in_words(one)),
        );
    }
    statements(one, two).and_then(|(of_other, of_first)| tell(of_other, of_first)).map(|message| {
        let is_same = one.script.is_some() && one.script == two.script;
        let why =
            if is_same { "; their command lines are the same, so a script was edited" } else { "" };
        format!("{message}{why}")
    })
}

fn version(run: &ClientRun) -> &str {
    run.versions.first().map_or("", String::as_str)
}

/// The scripts of sysbench 0.5 are not those of 1.0.
fn family(run: &ClientRun) -> Option<bool> {
    (run.client == Client::Sysbench).then(|| version(run).starts_with("0."))
}

/// An option that changes the work and differs. A run without a command line may have had any options.
fn differing_option<'a>(one: &'a ClientRun, other: &'a ClientRun) -> Option<&'a str> {
    if one.options.is_empty() || other.options.is_empty() {
        return None;
    }
    let mut names = one.options.iter().chain(&other.options).map(|(name, _)| name.as_str());
    names.find(|name| {
        let is_any = OF_ANY_WORK.iter().any(|it| name.starts_with(it)) && !OF_WORK.contains(name);
        !is_any && *name != "rate" && one.option(name) != other.option(name)
    })
}

/// Limit of transactions per second; 0 if only the delays show that there was one.
fn limit(run: &ClientRun) -> Option<f64> {
    run.target.or(run.lag_ms.map(|_| 0.0))
}

fn limit_in_words(run: &ClientRun) -> String {
    match limit(run) {
        None => "not limited in its rate".to_owned(),
        Some(0.0) => "limited in its rate".to_owned(),
        Some(rate) => format!("limited to {rate} transactions/s"),
    }
}

/// The statements per event of the second and the first run, if they differ.
fn statements(one: &ClientRun, other: &ClientRun) -> Option<(String, String)> {
    let (first, second) = (one.statements_per_event()?, other.statements_per_event()?);
    let slack = one.slack_per_event() + other.slack_per_event();
    let differs = |[a, b]: [f64; 2]| (a - b).abs() > 0.02 * a.max(b) + slack;
    // A `DELETE` that finds nothing counts as another statement, not as a write.
    let [reads, rest] = [0, 1].map(|at| [first[at], second[at]]);
    (differs(reads) || differs(rest)).then(|| {
        let words = |run: &ClientRun, [reads, rest]: [f64; 2]| {
            let all = reads + rest;
            let word = if per_event(all) == "1" { "query" } else { "queries" };
            format!("{} {word} per transaction ({})", per_event(all), parts(run))
        };
        (format!("it sent {}", words(other, second)), words(one, first))
    })
}

/// `14 reads, 4 writes, 2 others`
fn parts(run: &ClientRun) -> String {
    let events = run.events.unwrap_or(0).max(1) as f64;
    let part = |count: Option<u64>, one: &str| {
        let each = per_event(count.filter(|it| *it > 0)? as f64 / events);
        let end = if each == "1" { "" } else { "s" };
        Some(format!("{each} {one}{end}"))
    };
    let parts = [part(run.read, "read"), part(run.write, "write"), part(run.other, "other")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}
