//! The result of a benchmark: for people, with sysbench's figures, and for scripts.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use assay_load::{ClientWork, KindWork, Reporter, RunProgress, SessionRun, StatementWork};
use assay_model::{Test, TpccKind, UserStep, WorkCounters, counted};
use assay_wire::code_name;
use serde::Serialize;

use crate::arguments::BenchArgs;
use assay_command::exit::Exit;
use assay_run::progress::print;

const SCHEMA: u32 = 1;

const RATE_MET: f64 = 0.99;

/// Seconds that the last events may take before a short run counts as too slow.
const LAST_S: f64 = 0.1;

#[derive(Serialize)]
pub(super) struct BenchResult {
    schema: u32,
    test: String,
    clients: u32,
    /// Null if unknown, like the rows of each.
    tables: Option<u32>,
    rows_per_table: Option<u32>,
    #[serde(skip)]
    data: String,
    seconds: f64,
    events: u64,
    /// Including those that clients send in order to end.
    queries: u64,
    #[serde(skip)]
    queries_of_events: u64,
    read: u64,
    write: u64,
    other: u64,
    errors: BTreeMap<String, u64>,
    ignored_errors: u64,
    reconnects: u64,
    qps: f64,
    tps: f64,
    rate: Option<f64>,
    backlog: Option<u64>,
    cut_off: u32,
    interrupted: bool,
    latency_us: Option<LatencyUs>,
    /// Response times in steps of 1.8%; null unless asked for.
    latency_histogram: Option<Vec<HistogramStep>>,
    client_cpu_us_per_query: Option<f64>,
    bytes_sent: u64,
    bytes_received: u64,
    /// Version and cipher; null without TLS.
    pub(super) tls: Option<String>,
    rows: u64,
    /// The statements of a user's test, in order; empty if there is only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    statements: Vec<StatementTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tpcc: Option<TpccRates>,
}

impl BenchResult {
    pub(super) fn sent_nothing(&self) -> bool {
        self.queries_of_events == 0
    }

    pub(super) fn numbers(&self) -> Vec<(&'static str, f64)> {
        let seconds =
            |take: fn(&LatencyUs) -> f64| self.latency_us.as_ref().map_or(0.0, take) / 1e6;
        vec![
            ("threads_running", 0.0),
            ("time_interval", self.seconds),
            ("time_total", self.seconds),
            ("latency_pct", seconds(|it| it.p95)),
            ("latency_min", seconds(|it| it.min)),
            ("latency_avg", seconds(|it| it.avg)),
            ("latency_max", seconds(|it| it.max)),
            ("latency_sum", seconds(|it| it.sum)),
            ("events", self.events as f64),
            ("reads", self.read as f64),
            ("writes", self.write as f64),
            ("other", self.other as f64),
            ("errors", self.ignored_errors as f64),
            ("reconnects", self.reconnects as f64),
        ]
    }
}

/// From sending a statement to the end of the reply.
#[derive(Serialize)]
struct StatementTime {
    transaction: String,
    statement: String,
    count: u64,
    /// Null if it was never sent.
    latency_avg_us: Option<f64>,
}

const STATEMENT_SHOWN: usize = 70;

const NONE: &str = "-";

fn beginning(statement: &str) -> String {
    if statement.chars().count() <= STATEMENT_SHOWN {
        return statement.to_owned();
    }
    let shown: String = statement.chars().take(STATEMENT_SHOWN - 3).collect();
    format!("{shown}...")
}

/// A rate per second; a small one with decimals, so that it is not shown as zero.
fn rate(per_s: f64) -> String {
    if per_s > 0.0 && per_s < 10.0 { format!("{per_s:.2}") } else { format!("{per_s:.0}") }
}

/// A percentile, if some events are beyond it.
fn percentile(us: f64, share: f64, events: u64) -> String {
    if events as f64 * (1.0 - share) >= 1.0 - 1e-9 { format!("{us:.0}") } else { NONE.to_owned() }
}

fn statements(test: Test, work: &ClientWork, times: &[StatementWork]) -> Vec<StatementTime> {
    let kinds = || test.roles.iter().flat_map(|role| &role.script.mix);
    let timed = work.places().into_iter().zip(times).filter_map(|((kind, step), time)| {
        let kind = kinds().nth(kind as usize)?;
        let UserStep::Send { sql, .. } = kind.steps.get(step as usize)? else { return None };
        let text = sql.for_dialect(work.dialect)?.with_marks(|_| "?".to_owned());
        Some(StatementTime {
            transaction: kind.name.clone(),
            statement: text.split_whitespace().collect::<Vec<_>>().join(" "),
            count: time.count,
            latency_avg_us: (time.count > 0).then(|| time.ns as f64 / 1e3 / time.count as f64),
        })
    });
    timed.collect()
}

/// These are no TPC results.
#[derive(Serialize)]
struct TpccRates {
    /// New orders that were committed per minute.
    nopm: f64,
    /// Transactions, committed or rolled back, per minute.
    tpm: f64,
    transactions: BTreeMap<&'static str, KindRow>,
}

#[derive(Serialize)]
struct KindRow {
    count: u64,
    avg_us: f64,
    p95_us: f64,
}

#[derive(Serialize)]
struct LatencyUs {
    min: f64,
    avg: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    p999: f64,
    max: f64,
    sum: f64,
}

#[derive(Serialize)]
struct HistogramStep {
    up_to_us: f64,
    events: u64,
}

const FIRST_STEP_NS: u64 = 1000;

/// Ratio of successive step ends, from sysbench, which has 1024 steps from 1 µs to 100 s.
const STEP_RATIO: f64 = 1.018_17;

/// Figures of a run. `last` is the work that its clients send in order to end.
pub(super) fn measured(
    args: &BenchArgs,
    work_of: &ClientWork,
    (finished, last): (&SessionRun, &WorkCounters),
    client_cpu_us: f64,
) -> Result<BenchResult> {
    let ClientWork { test, setup, .. } = *work_of;
    let queries_of_events = finished.work.queries();
    let mut work = finished.work.clone();
    work.add_statements(last);
    let seconds = Duration::from_nanos(work.elapsed_ns).as_secs_f64().max(1e-9);
    let latency = assay_load::latencies(&work.latency_hdr)?;
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    let quantile = |share: f64| us(latency.value_at_quantile(share));
    let steps = latency.iter_log(FIRST_STEP_NS, STEP_RATIO).map(|it| HistogramStep {
        up_to_us: us(it.value_iterated_to()),
        events: it.count_since_last_iteration(),
    });
    // Classes of the histogram would show a single time as several.
    let only = us(work.event_ns_sum);
    let facts = test.schema.facts();
    let [tables, rows_per_table] = facts.tables(setup);
    Ok(BenchResult {
        schema: SCHEMA,
        test: test.name.clone(),
        clients: setup.clients,
        tables,
        rows_per_table,
        data: facts.data_in_words(setup),
        seconds,
        events: work.events,
        queries: work.queries(),
        queries_of_events,
        read: work.read,
        write: work.write,
        other: work.other,
        errors: work.errors.iter().map(|(code, count)| (code_name(*code), *count)).collect(),
        ignored_errors: work.errors.iter().map(|(_, count)| count).sum(),
        reconnects: finished.reconnects,
        qps: queries_of_events as f64 / seconds,
        tps: work.events as f64 / seconds,
        rate: args.rate,
        backlog: finished.backlog,
        cut_off: finished.cut_off,
        interrupted: finished.is_stopped,
        latency_us: (work.events > 0).then(|| LatencyUs {
            min: if work.events == 1 { only } else { us(latency.min()) },
            avg: work.event_ns_sum as f64 / 1e3 / work.events as f64,
            p50: quantile(0.50),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: if work.events == 1 { only } else { us(latency.max()) },
            sum: us(work.event_ns_sum),
        }),
        latency_histogram: args.histogram.then(|| steps.filter(|it| it.events > 0).collect()),
        client_cpu_us_per_query: (queries_of_events > 0)
            .then(|| client_cpu_us / queries_of_events as f64),
        bytes_sent: work.bytes_sent,
        bytes_received: work.bytes_received,
        tls: None,
        rows: work.rows,
        statements: statements(test, work_of, &finished.statements),
        tpcc: test.tpcc().map(|_| tpcc_rates(&finished.kinds, seconds)),
    })
}

fn tpcc_rates(kinds: &[KindWork], seconds: f64) -> TpccRates {
    let per_minute = |count: u64| count as f64 * 60.0 / seconds;
    let done = |kind: TpccKind| kinds.iter().find(|it| it.name == kind.counter());
    let row = |it: &KindWork| KindRow {
        count: it.events,
        avg_us: it.ns_sum as f64 / 1e3 / (it.events as f64).max(1.0),
        p95_us: it.p95.as_secs_f64() * 1e6,
    };
    let name = |kind: TpccKind| kind.counter().trim_start_matches("tpcc_");
    let rows = TpccKind::ALL.into_iter().filter_map(|kind| Some((name(kind), row(done(kind)?))));
    TpccRates {
        nopm: per_minute(done(TpccKind::NewOrder).map_or(0, |it| it.events)),
        tpm: per_minute(kinds.iter().map(|it| it.events).sum()),
        transactions: rows.collect(),
    }
}

/// A headline, then sysbench's figures under sysbench's names.
pub(super) fn words(it: &BenchResult) -> String {
    let BenchResult { clients, data, seconds, .. } = it;
    let per_s = |count: u64| count as f64 / seconds;
    let headline = format!(
        "{}: {} queries/s, {} events/s, {}, {data}, {seconds:.1} s",
        it.test,
        rate(it.qps),
        rate(it.tps),
        counted(*clients, "client"),
    );
    let mut lines = vec![
        headline,
        format!("  queries          {} ({:.2} per sec.)", it.queries, it.qps),
        format!("    read           {}", it.read),
        format!("    write          {}", it.write),
        format!("    other          {}", it.other),
        format!("  transactions     {} ({:.2} per sec.)", it.events, it.tps),
        format!("  ignored errors   {}", ignored(it)),
        format!("  reconnects       {} ({:.2} per sec.)", it.reconnects, per_s(it.reconnects)),
        format!("  total time       {seconds:.4} s"),
        format!("  total events     {}", it.events),
    ];
    lines.extend(it.latency_us.iter().flat_map(|latency| latencies(latency, it.events)));
    lines.extend(it.latency_histogram.iter().flat_map(|steps| histogram(steps)));
    if let Some(TpccRates { nopm, tpm, transactions }) = &it.tpcc {
        lines.push(format!("  NOPM, TPM        {nopm:.0}, {tpm:.0} (not a TPC result)"));
        lines.extend(transactions.iter().map(|(name, KindRow { count, avg_us, p95_us })| {
            let (avg, p95) = (avg_us / 1e3, p95_us / 1e3);
            format!(
                "    {:<14} {count}, avg {avg:.2} ms, 95th percentile {p95:.2} ms",
                name.replace('_', " ")
            )
        }));
    }
    if let Some(backlog) = it.backlog {
        lines.push(format!(
            "  backlog          {} due but never started",
            counted(backlog, "event")
        ));
    }
    if it.cut_off > 0 {
        lines.push(format!(
            "  cut off          {} did not end in time",
            counted(it.cut_off, "event")
        ));
    }
    if let Some(cpu) = it.client_cpu_us_per_query {
        lines.push(format!("  client CPU       {cpu:.2} µs/query"));
    }
    lines.push(format!(
        "  received         {} rows, {} bytes; sent {} bytes",
        it.rows, it.bytes_received, it.bytes_sent
    ));
    for it in &it.statements {
        let average = it.latency_avg_us.map_or_else(|| NONE.to_owned(), |us| format!("{us:.1}"));
        lines.push(format!(
            "  {average:>9} µs × {:<9} {}: {}",
            it.count,
            it.transaction,
            beginning(&it.statement)
        ));
    }
    if it.interrupted {
        lines.push("  interrupted: results up to that point".to_owned());
    }
    lines.join("\n")
}

fn latencies(latency: &LatencyUs, events: u64) -> [String; 2] {
    let LatencyUs { min, avg, max, p50, p95, p99, p999, sum } = *latency;
    let ms = |us: f64| format!("{:.2}", us / 1e3);
    let (p99, p999) = (percentile(p99, 0.99, events), percentile(p999, 0.999, events));
    [
        format!(
            "  latency (ms)     min {}, avg {}, max {}, 95th percentile {}, sum {}",
            ms(min),
            ms(avg),
            ms(max),
            ms(p95),
            ms(sum)
        ),
        format!(
            "  latency (µs)     min {min:.0}, avg {avg:.0}, p50 {p50:.0}, p95 {p95:.0}, p99 {p99}, p99.9 {p999}, max \
             {max:.0}"
        ),
    ]
}

const BAR: u64 = 40;

fn histogram(steps: &[HistogramStep]) -> Vec<String> {
    let most = steps.iter().map(|it| it.events).max().unwrap_or_default().max(1);
    let step = |it: &HistogramStep| {
        let bar = "*".repeat((it.events * BAR).div_ceil(most) as usize);
        format!("  {:>14.3} |{bar:<40} {}", it.up_to_us / 1e3, it.events)
    };
    let title = "  latency up to (ms), number of events".to_owned();
    std::iter::once(title).chain(steps.iter().map(step)).collect()
}

/// Errors after which an event was started again, by code.
fn ignored(it: &BenchResult) -> String {
    let total = it.ignored_errors;
    let all = format!("{total} ({:.2} per sec.)", total as f64 / it.seconds);
    let codes = it.errors.iter().map(|(code, count)| format!("{count} of code {code}"));
    let codes: Vec<String> = codes.collect();
    if codes.is_empty() { all } else { format!("{all}: {}", codes.join(", ")) }
}

/// Share of the requested time below which a run has ended early.
const WHOLE_TIME: f64 = 0.95;

pub(super) fn warnings(args: &BenchArgs, it: &BenchResult, is_script: bool) -> Vec<String> {
    let mut found = Vec::new();
    if it.interrupted || it.cut_off > 0 {
        return found;
    }
    if it.sent_nothing() {
        let events = counted(it.events, "event");
        found.push(format!("{events} sent no statement, so nothing was measured"));
    }
    let is_bounded = args.events.is_some_and(|events| events > 0) || args.rate.is_some();
    if is_script && !is_bounded && it.seconds < WHOLE_TIME * args.time {
        found.push(format!(
            "the script ended its clients after {:.3} s of {} s, as it does where `event` returns a value",
            it.seconds, args.time
        ));
    }
    found
}

/// Warns if the requested rate was not reached, and returns the exit code.
pub(super) fn rate_met(args: &BenchArgs, measured: &BenchResult) -> Exit {
    let Some(rate) = args.rate else { return Exit::Done };
    let in_time = measured.seconds <= args.time / RATE_MET + LAST_S;
    let due = measured.events + measured.backlog.unwrap_or(0);
    if in_time && measured.events as f64 >= RATE_MET * due as f64 {
        return Exit::Done;
    }
    let left = match measured.backlog {
        Some(backlog @ 1..) => {
            format!(", and the {backlog} events that never started are not included")
        }
        _ => String::new(),
    };
    print(&format!(
        "warning: the rate was not met: {:.0} events/s instead of {rate:.0}; \
         latencies include the time that events waited{left}",
        measured.tps
    ));
    Exit::Incomplete
}

/// The script's report of an interval, which ended after `elapsed` and took `passed`; `None` if it makes none.
pub(super) fn script_interval(
    reporter: Option<&mut Reporter>,
    clients: u32,
    (elapsed, passed): (Duration, Duration),
    done: &RunProgress,
    latency: Duration,
) -> Option<String> {
    let numbers = [
        ("threads_running", f64::from(clients)),
        ("time_interval", passed.as_secs_f64()),
        ("time_total", elapsed.as_secs_f64()),
        ("latency_pct", latency.as_secs_f64()),
        ("events", done.events as f64),
        ("reads", done.read as f64),
        ("writes", done.write as f64),
        ("other", done.other as f64),
        ("errors", done.errors as f64),
        ("reconnects", done.reconnects as f64),
        ("queue_length", 0.0),
        ("concurrency", f64::from(clients)),
    ];
    report_text(reporter?.intermediate(&numbers))
}

pub(super) fn script_total(
    reporter: Option<&mut Reporter>,
    measured: &BenchResult,
) -> Option<String> {
    report_text(reporter?.cumulative(&measured.numbers()))
}

/// A failed report is only a warning: the measurement does not depend on it.
fn report_text(report: assay_load::Result<Option<String>>) -> Option<String> {
    report.unwrap_or_else(|error| Some(format!("the script's report failed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_say_nothing_are_not_shown() {
        assert_eq!([rate(0.4), rate(0.0), rate(1234.5)], ["0.40", "0", "1234"]);
        assert_eq!(percentile(7.2, 0.99, 100), "7");
        assert_eq!(percentile(7.2, 0.99, 99), NONE);
        assert_eq!(percentile(7.2, 0.999, 999), NONE);
        let long = format!("INSERT INTO t VALUES {}", "(?, ?), ".repeat(20));
        let shown = beginning(&long);
        assert!(shown.ends_with("...") && shown.chars().count() == STATEMENT_SHOWN, "{shown}");
        assert_eq!(beginning("SELECT 1"), "SELECT 1");
    }
}
