//! `assay load` and `assay bench`: on any running server, by URL.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_load::{Bound, Session, Tables, Work};
use assay_model::{
    DataSet, Engine, IdKey, Microbenchmark, Product, Setup, StatementMode, SystemSpec, WorkCounters,
};
use assay_plan::{Place, ServerUrl};
use assay_wire::{Address, ConnectOptions, Control, Protocol, Stop, code_name};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::cli::{Bench, Load};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, print, seconds};
use crate::report;

/// Raised when a shape below breaks.
const SCHEMA: u32 = 1;

/// Part of a rate that must be met.
const RATE_MET: f64 = 0.99;

/// Environment variable with the password, which need then not stand in the URL for all to see.
const PASSWORD: &str = "ASSAY_PASSWORD";

/// How to connect to what a URL names, until somebody asks to stop.
pub(crate) fn connect_options(url: &ServerUrl, stop: Stop) -> ConnectOptions {
    let address = match &url.place {
        Place::Socket(path) => Address::Unix(path.clone()),
        Place::Tcp { host, port } => Address::Tcp { host: host.clone(), port: *port },
    };
    let protocol = match url.product {
        Product::MariaDb | Product::MySql => Protocol::MySql,
        Product::Postgres => Protocol::Postgres,
    };
    let given = url.password.as_ref().map(|password| password.0.clone());
    ConnectOptions {
        protocol,
        password: given.or_else(|| std::env::var(PASSWORD).ok()),
        database: Some(url.database.clone()),
        stop,
        ..ConnectOptions::new(address, &url.user)
    }
}

/// What a load did, for scripts.
#[derive(Serialize)]
struct Loaded {
    schema: u32,
    tables: u32,
    rows: u32,
    elapsed_s: f64,
    rows_per_s: f64,
    checksum: String,
}

/// Creates and fills the tables. Ctrl-C ends assay wherever it is, as there is only a connection to end.
pub(crate) fn load(args: &Load) -> Result<Exit> {
    Interrupt::listen()?.may_end_in(|| load_tables(args))
}

fn load_tables(args: &Load) -> Result<Exit> {
    let url = assay_plan::parse_url(&args.url)?;
    let options = connect_options(&url, Stop::default());
    let data = DataSet { tables: args.tables, rows: args.rows };
    let engine = match args
        .engine
        .as_deref()
        .unwrap_or(SystemSpec::default_engine(url.product).word())
    {
        "innodb" if url.product != Product::Postgres => Engine::InnoDb,
        "rocksdb" if url.product != Product::Postgres => Engine::RocksDb,
        "heap" if url.product == Product::Postgres => Engine::Heap,
        other => anyhow::bail!(
            "`{other}` is no storage engine of `{}`: `innodb` and `rocksdb` are MySQL's and MariaDB's, `heap` is \
             Postgres'",
            url.product
        ),
    };
    let id_key = if args.secondary { IdKey::Secondary } else { IdKey::Primary };
    let tables = Tables { product: url.product, engine, id_key, data, seed: args.seed };
    let progress = Progress::new(args.quiet);
    let report = assay_load::fill(&options, &tables, &mut |done| {
        progress.update(&format!("loading, {} of {} rows", done.rows, done.rows_total));
    })?;
    progress.update("reading what was loaded");
    let found = assay_load::content(&options, url.product, data)?;
    progress.finish();
    anyhow::ensure!(
        found == report.content,
        "the server does not hold what was sent: {} rows with checksum {}, not {} with {}",
        found.rows,
        found.checksum,
        report.content.rows,
        report.content.checksum
    );
    let loaded = Loaded {
        schema: SCHEMA,
        tables: data.tables,
        rows: data.rows,
        elapsed_s: report.elapsed.as_secs_f64(),
        rows_per_s: report.rows_per_second(),
        checksum: found.checksum,
    };
    let words = |it: &Loaded| {
        let took = format!("{} ({:.0} rows/s)", seconds(report.elapsed), it.rows_per_s);
        format!("loaded {} × {} rows in {took}, checksum {}", it.tables, it.rows, it.checksum)
    };
    report::put_one(&args.shape, &loaded, words)?;
    Ok(Exit::Done)
}

/// What a benchmark found, for scripts.
#[derive(Serialize)]
struct Measured {
    schema: u32,
    test: String,
    clients: u32,
    tables: u32,
    rows_per_table: u32,
    seconds: f64,
    events: u64,
    queries: u64,
    read: u64,
    write: u64,
    other: u64,
    errors: BTreeMap<String, u64>,
    qps: f64,
    tps: f64,
    rate: Option<f64>,
    latency_us: Option<LatencyUs>,
    client_cpu_us_per_query: Option<f64>,
    bytes_sent: u64,
    bytes_received: u64,
    rows: u64,
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
}

/// Drives one microbenchmark. Ctrl-C ends assay wherever it is, as with [`load`].
pub(crate) fn bench(args: &Bench) -> Result<Exit> {
    Interrupt::listen()?.may_end_in(|| measure(args))
}

fn measure(args: &Bench) -> Result<Exit> {
    let url = assay_plan::parse_url(&args.url)?;
    let options = connect_options(&url, Stop::default());
    let test = test(&args.test)?;
    let data = data_set(args, url.product, &options)?;
    let setup = Setup { clients: args.clients, tables: data.tables, rows: data.rows };
    let statements = if args.is_text() { StatementMode::Text } else { StatementMode::Prepared };
    let work = Work { product: url.product, test, setup, statements, seed: args.seed };
    let progress = Progress::new(args.quiet);
    progress.update(&format!("connecting {} clients", setup.clients));
    let mut session = Session::open(&options, &work, None)?;
    let mut sequence = 0;
    if let Some(seconds) = args.warmup_time {
        progress.update(&format!("{test}: warming for {seconds} s"));
        sequence = session.run(0, Bound::Time(Duration::from_secs_f64(seconds)))?.events;
    }
    progress.update(&format!("{test}: {} s", args.time));
    let time = Duration::from_secs_f64(args.time);
    let bound = match args.rate {
        Some(per_second) => Bound::Rate { time, per_second },
        None => Bound::Time(time),
    };
    let before = process_cpu_us();
    let counters = session.run(sequence, bound)?;
    let client_cpu_us = process_cpu_us() - before;
    progress.finish();
    let measured = measured(args, test, setup, &counters, client_cpu_us)?;
    report::put_one(&args.shape, &measured, words)?;
    Ok(rate_met(args, &measured))
}

fn test(name: &str) -> Result<Microbenchmark> {
    let found = assay_plan::select_tests(assay_model::TestSet::Set47, &[name.to_owned()])?;
    match found.as_slice() {
        [test] => Ok(*test),
        several => {
            let names: Vec<String> = several.iter().map(|test| format!("`{test}`")).collect();
            anyhow::bail!("`{name}` are several tests; one is wanted: {}", names.join(", "))
        }
    }
}

/// The query for the number of tables.
fn count_tables(product: Product) -> &'static str {
    match product {
        Product::MariaDb | Product::MySql => {
            "SELECT COUNT(*) FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name REGEXP '^sbtest[0-9]+$'"
        }
        Product::Postgres => {
            "SELECT COUNT(*) FROM information_schema.tables \
             WHERE table_schema = current_schema() AND table_name ~ '^sbtest[0-9]+$'"
        }
    }
}

/// The tables to work on: as told, or as the server has them.
fn data_set(args: &Bench, product: Product, options: &ConnectOptions) -> Result<DataSet> {
    let mut control = Control::connect(options).context("cannot connect to the server")?;
    let mut number = |sql: &str| -> Result<Option<u32>> {
        let found = control.query(sql)?;
        Ok(found.text(0, 0).and_then(|text| text.parse().ok()))
    };
    let tables = match args.tables {
        Some(tables) => tables,
        None => number(count_tables(product))?.unwrap_or(0),
    };
    anyhow::ensure!(
        tables > 0,
        "the database has no tables sbtest1, sbtest2, ...: `assay load` makes them"
    );
    let rows = match args.rows {
        Some(rows) => rows,
        None => number("SELECT MAX(id) FROM sbtest1")?.unwrap_or(0),
    };
    anyhow::ensure!(rows > 0, "table sbtest1 is empty: `assay load` fills it");
    Ok(DataSet { tables, rows })
}

fn measured(
    args: &Bench,
    test: Microbenchmark,
    setup: Setup,
    work: &WorkCounters,
    client_cpu_us: f64,
) -> Result<Measured> {
    let seconds = Duration::from_nanos(work.elapsed_ns).as_secs_f64().max(1e-9);
    let queries = work.queries();
    let latency = assay_load::latencies(&work.latency_hdr)?;
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    let quantile = |share: f64| us(latency.value_at_quantile(share));
    Ok(Measured {
        schema: SCHEMA,
        test: test.name(),
        clients: setup.clients,
        tables: setup.tables,
        rows_per_table: setup.rows,
        seconds,
        events: work.events,
        queries,
        read: work.read,
        write: work.write,
        other: work.other,
        errors: work.errors.iter().map(|(code, count)| (code_name(*code), *count)).collect(),
        qps: queries as f64 / seconds,
        tps: work.events as f64 / seconds,
        rate: args.rate,
        latency_us: (work.events > 0).then(|| LatencyUs {
            min: us(latency.min()),
            avg: work.event_ns_sum as f64 / 1e3 / work.events as f64,
            p50: quantile(0.50),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: us(latency.max()),
        }),
        client_cpu_us_per_query: (queries > 0).then(|| client_cpu_us / queries as f64),
        bytes_sent: work.bytes_sent,
        bytes_received: work.bytes_received,
        rows: work.rows,
    })
}

fn words(it: &Measured) -> String {
    let mut lines = vec![
        format!(
            "{}: {:.0} queries/s, {:.0} events/s, {} clients, {} × {} rows, {:.1} s",
            it.test, it.qps, it.tps, it.clients, it.tables, it.rows_per_table, it.seconds
        ),
        format!(
            "  queries          {} (read {}, write {}, other {})",
            it.queries, it.read, it.write, it.other
        ),
    ];
    if let Some(latency) = &it.latency_us {
        lines.push(format!(
            "  latency µs       min {:.0}, avg {:.0}, p50 {:.0}, p95 {:.0}, p99 {:.0}, p99.9 {:.0}, max {:.0}",
            latency.min, latency.avg, latency.p50, latency.p95, latency.p99, latency.p999, latency.max
        ));
    }
    if let Some(cpu) = it.client_cpu_us_per_query {
        lines.push(format!("  client CPU       {cpu:.2} µs/query"));
    }
    lines.push(format!(
        "  received         {} rows, {} bytes; sent {} bytes",
        it.rows, it.bytes_received, it.bytes_sent
    ));
    let errors: Vec<String> =
        it.errors.iter().map(|(code, count)| format!("{count} of code {code}")).collect();
    lines.push(format!(
        "  retried errors   {}",
        if errors.is_empty() { "none".to_owned() } else { errors.join(", ") }
    ));
    lines.join("\n")
}

/// A rate that cannot be kept is told, not silently lower.
fn rate_met(args: &Bench, measured: &Measured) -> Exit {
    let Some(rate) = args.rate else { return Exit::Done };
    if measured.tps >= RATE_MET * rate {
        return Exit::Done;
    }
    print(&format!(
        "warning: the rate was not met: {:.0} events/s instead of {rate:.0}; \
         latencies count the time that events waited",
        measured.tps
    ));
    Exit::CellFailed
}

/// CPU time of this process, microseconds.
fn process_cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
