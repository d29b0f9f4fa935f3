//! Doubts about a comparison of runs, and differences that make it impossible, as sentences without a capital letter
//! and a full stop.

use std::collections::BTreeMap;

use assay_model::{counted, thousands};

use crate::checks::{
    command_contradicts, contradictions, doubtful_response_times, per_event, script_contradicts,
};
use crate::client_run::{BenchmarkClient, ClientRun, SystemRun};

/// Errors per transaction from which on they are reported.
const ERRORS_MIN: f64 = 0.001;

/// Relative difference of durations above which it is reported.
const DURATIONS: f64 = 0.1;

/// A limited run below this share of its limit was limited by its capacity.
const REACHED: f64 = 0.95;

/// Fewest repeats with a trend, and least change from first to last.
const TREND: (usize, f64) = (3, 0.02);

/// Fewest intervals for which one without transactions is reported.
const INTERVALS_MIN: usize = 3;

/// All doubts about runs of one kind of work: contradictions within a file, work that differs from that of the first
/// run, and what concerns several of them.
pub fn run_doubts(runs: &[SystemRun]) -> Vec<String> {
    let within = runs.iter().flat_map(|one| {
        let found = contradictions(&one.run).into_iter().chain(command_contradicts(&one.run));
        found.map(move |what| format!("{} contradicts itself: {what}", one.file))
    });
    let mut all: Vec<String> = within.collect();
    if let Some((first, others)) = runs.split_first() {
        let differing = others.iter().filter_map(|other| {
            Some(format!("{} did other work: {}", other.file, difference(first, other)?))
        });
        all.extend(differing);
    }
    all.extend(of_runs(runs));
    all
}

pub(crate) fn of_runs(runs: &[SystemRun]) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(limits(runs));
    all.extend(errors(runs));
    all.extend(runs.iter().filter_map(|it| {
        let what = script_contradicts(&it.run)?;
        Some(format!("{}: {what}: the script was edited, or is another one", it.file))
    }));
    all.extend(runs.iter().flat_map(|it| {
        let doubts = doubtful_response_times(&it.run).into_iter();
        doubts
            .map(|doubt| format!("{}: its response times contradict each other: {doubt}", it.file))
    }));
    all.extend(runs.iter().filter(|it| is_cut(&it.run)).map(|it| {
        format!("{}: its report ends before its response times: the file is cut off", it.file)
    }));
    all.extend(commands(runs));
    all.extend(different(runs, "versions", |run| {
        run.versions.first().map(|it| format!("{} {it}", run.client))
    }));
    all.extend(durations(runs));
    all.extend(different(runs, "times of warming up", |run| {
        let is_command = !run.options.is_empty() && run.client == BenchmarkClient::Sysbench;
        is_command.then(|| format!("{} s", run.option("warmup-time").unwrap_or("0")))
    }));
    all.extend(different(runs, "numbers of pgbench's own threads", |run| {
        run.option("jobs").map(str::to_owned)
    }));
    all.extend(different(runs, "percentiles of the response time", |run| {
        run.latency.percentile.map(|(at, _)| at.to_string())
    }));
    all.extend(clients(runs));
    all.extend(runs.iter().filter_map(stalls));
    all.extend(trends(runs));
    all.extend(copies(runs));
    all
}

fn copies(runs: &[SystemRun]) -> Option<String> {
    let pair = runs.iter().enumerate().find_map(|(number, it)| {
        let is_copy = |other: &&SystemRun| other.system != it.system && other.run == it.run;
        Some((it, runs.get(number + 1..)?.iter().find(is_copy)?))
    });
    // A nearly empty file equals many others.
    let (one, other) = pair.filter(|(one, _)| one.run.latency.avg.is_some())?;
    Some(format!(
        "{} and {} are the same to the last digit: they are one run, compared with itself",
        one.file, other.file
    ))
}

/// Every report of sysbench has events and response times at its end.
fn is_cut(run: &ClientRun) -> bool {
    run.client == BenchmarkClient::Sysbench && (run.events.is_none() || run.latency.avg.is_none())
}

/// Limited rates say nothing about capacity.
fn limits(runs: &[SystemRun]) -> Option<String> {
    let first = runs.first().filter(|it| it.run.is_paced())?;
    let limit = match first.run.target {
        Some(target) => format!("limited to {target} transactions/s"),
        None => "limited in their rates".to_owned(),
    };
    let late = runs.iter().filter_map(|it| {
        let (target, tps) = (it.run.target?, it.run.tps?);
        (tps < REACHED * target).then(|| format!("{} reached {tps:.1}", it.file))
    });
    let late: Vec<String> = late.collect();
    let late = if late.is_empty() { String::new() } else { format!(" ({})", late.join(", ")) };
    Some(format!(
        "all runs were {limit}{late}: rates say nothing about capacity, so there is no relative QPS; compare response \
         times"
    ))
}

fn errors(runs: &[SystemRun]) -> Option<String> {
    let errors_of = |run: &ClientRun| {
        let given_up = run.given_up.unwrap_or(0);
        run.ignored_errors.unwrap_or(0).saturating_add(given_up)
    };
    let each = |run: &ClientRun| errors_of(run) as f64 / run.events.unwrap_or(0).max(1) as f64;
    let reconnects = |run: &ClientRun| run.reconnects.unwrap_or(0);
    let is_many = |it: &SystemRun| each(&it.run) >= ERRORS_MIN || reconnects(&it.run) > 0;
    runs.iter().any(is_many).then(|| {
        let message = runs.iter().map(|it| {
            let lost = match reconnects(&it.run) {
                0 => String::new(),
                lost => format!(", {}", counted(lost, "reconnect")),
            };
            format!(
                "{} {} errors per transaction ({} in {}{lost})",
                it.file,
                short(each(&it.run)),
                counted(errors_of(&it.run), "error"),
                thousands(it.run.events.unwrap_or(0)),
            )
        });
        let message: Vec<String> = message.collect();
        format!("errors make rates doubtful: {}", message.join(", "))
    })
}

fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        0.1.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Reported only if other outputs have a command line.
fn commands(runs: &[SystemRun]) -> Option<String> {
    let without: Vec<&str> =
        runs.iter().filter(|it| it.run.script.is_none()).map(|it| it.file.as_str()).collect();
    (!without.is_empty() && without.len() < runs.len()).then(|| {
        format!(
            "script and options of {} are unknown, those of the others are not",
            without.join(", ")
        )
    })
}

/// Runs that lack the fact are ignored.
fn different(
    runs: &[SystemRun],
    what: &str,
    fact_of: impl Fn(&ClientRun) -> Option<String>,
) -> Option<String> {
    let mut files: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for it in runs {
        if let Some(fact) = fact_of(&it.run) {
            files.entry(fact).or_default().push(&it.file);
        }
    }
    (files.len() > 1).then(|| {
        let message: Vec<String> =
            files.iter().map(|(fact, files)| format!("{fact} in {}", files.join(", "))).collect();
        format!("different {what}: {}", message.join("; "))
    })
}

/// Ignores runs with a fixed amount of work.
fn durations(runs: &[SystemRun]) -> Option<String> {
    let seconds = || runs.iter().filter_map(|it| it.run.seconds);
    let events = || runs.iter().filter_map(|it| it.run.events);
    let (least, most) = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(0.0, f64::max));
    let has_same_work = events().min() == events().max();
    (most > (1.0 + DURATIONS) * least && !has_same_work).then(|| {
        let message: Vec<String> = runs
            .iter()
            .map(|it| format!("{} {:.0} s", it.file, it.run.seconds.unwrap_or(0.0)))
            .collect();
        format!(
            "different durations: {}; a rate depends on how long caches and writes had",
            message.join(", ")
        )
    })
}

fn clients(runs: &[SystemRun]) -> Vec<String> {
    let mut systems: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    let mut all: Vec<&str> = Vec::new();
    for it in runs {
        let known = systems.entry(it.run.threads.unwrap_or(1)).or_default();
        if !known.contains(&it.system.as_str()) {
            known.push(&it.system);
        }
        if !all.contains(&it.system.as_str()) {
            all.push(&it.system);
        }
    }
    let lacking = |(clients, known): (&u32, &Vec<&str>)| {
        let without: Vec<&str> = all.iter().copied().filter(|it| !known.contains(it)).collect();
        (!without.is_empty()).then(|| {
            format!("{} has no run with {}", without.join(", "), counted(*clients, "client"))
        })
    };
    systems.iter().filter_map(lacking).collect()
}

fn stalls(it: &SystemRun) -> Option<String> {
    let intervals = &it.run.intervals;
    let stalled = intervals.iter().filter(|interval| interval.tps == 0.0).count();
    (stalled > 0 && intervals.len() >= INTERVALS_MIN).then(|| {
        format!("{}: no transaction ended in {stalled} of {} intervals", it.file, intervals.len())
    })
}

/// Repeats that get faster, or slower, each time.
fn trends(runs: &[SystemRun]) -> Vec<String> {
    let mut repeats: Vec<((&str, u32), Vec<f64>)> = Vec::new();
    for it in runs {
        let key = (it.system.as_str(), it.run.threads.unwrap_or(1));
        let Some((events, seconds)) = it.run.events.zip(it.run.seconds) else { continue };
        let rate = events as f64 / seconds;
        match repeats.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rates)) => rates.push(rate),
            None => repeats.push((key, vec![rate])),
        }
    }
    let several = repeats.len() > 1 && repeats.iter().any(|it| it.0.1 != repeats[0].0.1);
    let trend = |((system, clients), rates): &((&str, u32), Vec<f64>)| {
        let (first, last) = (rates.first()?, rates.last()?);
        let (fewest, least) = TREND;
        let is_trend = |is: fn(f64, f64) -> bool| {
            rates.windows(2).all(|pair| matches!(pair, [one, next] if is(*one, *next)))
        };
        let word = match () {
            () if is_trend(|one, next| next < one) => "falls",
            () if is_trend(|one, next| next > one) => "rises",
            () => return None,
        };
        let is_told = rates.len() >= fewest && (last / first).ln().abs() > least;
        is_told.then(|| {
            let rates: Vec<String> = rates.iter().map(|it| format!("{it:.1}")).collect();
            let at = if several { format!(" with {}", counted(*clients, "client")) } else { String::new() };
            format!(
                "a trend among the repeats of {system}{at}: the rate {word} from each to the next ({} \
                 transactions/s), so they are not repeats of the same, and the interval does not cover it",
                rates.join(", ")
            )
        })
    };
    repeats.iter().filter_map(trend).collect()
}

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
        let named = |run: &ClientRun| format!("{} {}", run.client, version(run));
        return tell(format!("it is of {}", named(two)), format!("of {}", named(one)));
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
    (run.client == BenchmarkClient::Sysbench).then(|| version(run).starts_with("0."))
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
