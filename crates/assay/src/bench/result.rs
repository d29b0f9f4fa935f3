//! The result of a benchmark: for people, with sysbench's figures, and for scripts.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use assay_load::{Finished, KindWork, StatementWork, Work};
use assay_model::{Schema, Test, TpccKind, UserStep, counted};
use assay_wire::code_name;
use serde::Serialize;

use crate::cli::Bench;
use crate::exit::Exit;
use crate::progress::print;

/// The version of the shapes below. It is raised when one changes incompatibly.
const SCHEMA: u32 = 1;

/// The share of a requested rate that must be reached.
const RATE_MET: f64 = 0.99;

/// How long the last events may take before a short run counts as too slow, seconds.
const LAST_S: f64 = 0.1;

/// The result of a benchmark, for scripts.
#[derive(Serialize)]
pub(super) struct Measured {
    schema: u32,
    test: String,
    clients: u32,
    tables: u32,
    rows_per_table: u32,
    /// The tables in words.
    #[serde(skip)]
    data: String,
    seconds: f64,
    events: u64,
    queries: u64,
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
    client_cpu_us_per_query: Option<f64>,
    bytes_sent: u64,
    bytes_received: u64,
    rows: u64,
    /// The statements of a user's test, in order, unless there is one only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    statements: Vec<StatementTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tpcc: Option<TpccRates>,
}

impl Measured {
    /// The numbers by which scripts of sysbench report a run. The percentile is the 95th.
    pub(super) fn numbers(&self) -> Vec<(&'static str, f64)> {
        let of = |take: fn(&LatencyUs) -> f64| self.latency_us.as_ref().map_or(0.0, take) / 1e6;
        vec![
            ("threads_running", 0.0),
            ("time_interval", self.seconds),
            ("time_total", self.seconds),
            ("latency_pct", of(|it| it.p95)),
            ("latency_min", of(|it| it.min)),
            ("latency_avg", of(|it| it.avg)),
            ("latency_max", of(|it| it.max)),
            ("latency_sum", of(|it| it.sum)),
            ("events", self.events as f64),
            ("reads", self.read as f64),
            ("writes", self.write as f64),
            ("other", self.other as f64),
            ("errors", self.ignored_errors as f64),
            ("reconnects", self.reconnects as f64),
        ]
    }
}

/// How long a statement took, from sending it to the end of the reply.
#[derive(Serialize)]
struct StatementTime {
    /// The kind of events that it belongs to.
    transaction: String,
    statement: String,
    count: u64,
    latency_avg_us: f64,
}

/// Characters of a statement that are shown.
const STATEMENT_SHOWN: usize = 70;

/// The statements of a user's test with their times.
fn statements(test: Test, work: &Work, times: &[StatementWork]) -> Vec<StatementTime> {
    let kinds = || test.roles.iter().flat_map(|role| &role.script.mix);
    let timed = work.places().into_iter().zip(times).filter_map(|((kind, step), time)| {
        let kind = kinds().nth(kind as usize)?;
        let UserStep::Send { sql, .. } = kind.steps.get(step as usize)? else { return None };
        let text = sql.of(work.dialect)?.with_marks(|_| "?".to_owned());
        Some(StatementTime {
            transaction: kind.name.clone(),
            statement: text.split_whitespace().collect::<Vec<_>>().join(" "),
            count: time.count,
            latency_avg_us: time.ns as f64 / 1e3 / (time.count as f64).max(1.0),
        })
    });
    timed.collect()
}

/// The rates of the TPC-C-like workload, which are no TPC results.
#[derive(Serialize)]
struct TpccRates {
    /// New orders that were committed per minute.
    nopm: f64,
    /// Transactions, committed or rolled back, per minute.
    tpm: f64,
    transactions: BTreeMap<&'static str, KindRow>,
}

/// Transactions of a kind.
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

pub(super) fn measured(
    args: &Bench,
    work_of: &Work,
    finished: &Finished,
    client_cpu_us: f64,
) -> Result<Measured> {
    let Work { test, setup, .. } = *work_of;
    let work = &finished.work;
    let seconds = Duration::from_nanos(work.elapsed_ns).as_secs_f64().max(1e-9);
    let queries = work.queries();
    let latency = assay_load::latencies(&work.latency_hdr)?;
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    let quantile = |share: f64| us(latency.value_at_quantile(share));
    Ok(Measured {
        schema: SCHEMA,
        test: test.name.clone(),
        clients: setup.clients,
        tables: setup.tables,
        rows_per_table: setup.rows,
        data: match &test.definition().schema {
            Schema::User(own) => {
                let (rows, tables) = (own.rows(), own.tables.len() as u64);
                format!("{} in {}", counted(rows, "row"), counted(tables, "table"))
            }
            Schema::Lua(_) => "tables of the script".to_owned(),
            Schema::Tpcc(tpcc) => tpcc.in_words(),
            Schema::Sbtest | Schema::Ibench(_) => {
                format!("{} × {}", setup.tables, counted(setup.rows, "row"))
            }
        },
        seconds,
        events: work.events,
        queries,
        read: work.read,
        write: work.write,
        other: work.other,
        errors: work.errors.iter().map(|(code, count)| (code_name(*code), *count)).collect(),
        ignored_errors: work.errors.iter().map(|(_, count)| count).sum(),
        reconnects: finished.reconnects,
        qps: queries as f64 / seconds,
        tps: work.events as f64 / seconds,
        rate: args.rate,
        backlog: finished.backlog,
        cut_off: finished.cut_off,
        interrupted: finished.is_stopped,
        latency_us: (work.events > 0).then(|| LatencyUs {
            min: us(latency.min()),
            avg: work.event_ns_sum as f64 / 1e3 / work.events as f64,
            p50: quantile(0.50),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: us(latency.max()),
            sum: us(work.event_ns_sum),
        }),
        client_cpu_us_per_query: (queries > 0).then(|| client_cpu_us / queries as f64),
        bytes_sent: work.bytes_sent,
        bytes_received: work.bytes_received,
        rows: work.rows,
        statements: statements(test, work_of, &finished.statements),
        tpcc: test.tpcc().map(|_| tpcc_rates(&finished.kinds, seconds)),
    })
}

fn tpcc_rates(kinds: &[KindWork], seconds: f64) -> TpccRates {
    let per_minute = |count: u64| count as f64 * 60.0 / seconds;
    let of = |kind: TpccKind| kinds.iter().find(|it| it.name == kind.counter());
    let row = |it: &KindWork| KindRow {
        count: it.events,
        avg_us: it.ns_sum as f64 / 1e3 / (it.events as f64).max(1.0),
        p95_us: it.p95.as_secs_f64() * 1e6,
    };
    let name = |kind: TpccKind| kind.counter().trim_start_matches("tpcc_");
    let rows = TpccKind::ALL.into_iter().filter_map(|kind| Some((name(kind), row(of(kind)?))));
    TpccRates {
        nopm: per_minute(of(TpccKind::NewOrder).map_or(0, |it| it.events)),
        tpm: per_minute(kinds.iter().map(|it| it.events).sum()),
        transactions: rows.collect(),
    }
}

/// A headline, then sysbench's figures under sysbench's names.
pub(super) fn words(it: &Measured) -> String {
    let Measured { clients, data, seconds, .. } = it;
    let per_s = |count: u64| count as f64 / seconds;
    let plural = if *clients == 1 { "" } else { "s" };
    let headline = format!(
        "{}: {:.0} queries/s, {:.0} events/s, {clients} client{plural}, {data}, {seconds:.1} s",
        it.test, it.qps, it.tps,
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
    if let Some(latency) = &it.latency_us {
        let ms = |us: f64| format!("{:.2}", us / 1e3);
        let LatencyUs { min, avg, max, p50, p95, p99, p999, sum } = latency;
        lines.push(format!(
            "  latency (ms)     min {}, avg {}, max {}, 95th percentile {}, sum {}",
            ms(*min),
            ms(*avg),
            ms(*max),
            ms(*p95),
            ms(*sum)
        ));
        lines.push(format!(
            "  latency (µs)     min {min:.0}, avg {avg:.0}, p50 {p50:.0}, p95 {p95:.0}, p99 {p99:.0}, \
             p99.9 {p999:.0}, max {max:.0}"
        ));
    }
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
        lines.push(format!("  backlog          {backlog} events were due but never started"));
    }
    if it.cut_off > 0 {
        lines.push(format!("  cut off          {} events did not end in time", it.cut_off));
    }
    if let Some(cpu) = it.client_cpu_us_per_query {
        lines.push(format!("  client CPU       {cpu:.2} µs/query"));
    }
    lines.push(format!(
        "  received         {} rows, {} bytes; sent {} bytes",
        it.rows, it.bytes_received, it.bytes_sent
    ));
    for it in &it.statements {
        let shown: String = it.statement.chars().take(STATEMENT_SHOWN).collect();
        lines.push(format!(
            "  {:>9.1} µs × {:<9} {}: {shown}",
            it.latency_avg_us, it.count, it.transaction
        ));
    }
    if it.interrupted {
        lines.push("  interrupted: results up to that point".to_owned());
    }
    lines.join("\n")
}

/// Errors after which an event was started again, by code.
fn ignored(it: &Measured) -> String {
    let total = it.ignored_errors;
    let all = format!("{total} ({:.2} per sec.)", total as f64 / it.seconds);
    let codes = it.errors.iter().map(|(code, count)| format!("{count} of code {code}"));
    let codes: Vec<String> = codes.collect();
    if codes.is_empty() { all } else { format!("{all}: {}", codes.join(", ")) }
}

/// Warns if the requested rate was not reached, and returns the exit code.
pub(super) fn rate_met(args: &Bench, measured: &Measured) -> Exit {
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
