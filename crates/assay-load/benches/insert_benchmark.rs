//! Prints what the Insert Benchmark costs the client, per inserted row and per query, against a client in Python with
//! the same statements (mysqlclient and psycopg), in alternation on the same server. The seconds of l.i0 are compared
//! too. Client and server may use all CPUs: an insert takes the server much longer than the client.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::process::Command;
use std::time::Instant;

use assay_load::{QueueSession, QueueWork, create_queue_tables};
use assay_model::{Product, QueueTables, SystemSpec};
use assay_wire::{Address, ConnectOptions, Stop};
use assay_workloads::{QueueSizes, queue_steps};
use common::{children_cpu_us, median};
use rustix::time::{ClockId, clock_gettime};

const ROWS: u64 = 200_000;
const SECONDS: u32 = 5;
const ROUNDS: usize = 3;
const SERVERS: [(Product, &str); 2] = [(Product::Postgres, "16"), (Product::MariaDb, "10.11")];
/// Debian's Python, which has the modules of Debian's packages.
const PYTHON: &str = "/usr/bin/python3";

/// One run: CPU time of the client for a row or a query, microseconds, and how many there were in a second.
#[derive(Clone, Copy)]
struct Cost {
    cpu_us: f64,
    per_second: f64,
}

fn main() {
    if std::env::args().any(|arg| arg == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    println!(
        "{:<12}{:<12}{:>10}{:>12}{:>8}{:>14}",
        "server", "", "assay us", "Python us", "ratio", "rate ratio"
    );
    for (product, version) in SERVERS {
        let (name, module) = match product {
            Product::Postgres => ("postgres", "psycopg2"),
            _ => ("mysql", "MySQLdb"),
        };
        if !Command::new(PYTHON)
            .args(["-c", &format!("import {module}")])
            .status()
            .is_ok_and(|it| it.success())
        {
            println!(
                "{product}: Python has no `{module}` (`apt-get install python3-mysqldb python3-psycopg2`)"
            );
            continue;
        }
        let server = assay_testkit::start(product, version, &[]);
        let options = server.connect_options();
        for (what, kind) in [("insert", "fill"), ("query", "query")] {
            let costs: Vec<(Cost, Cost)> = (0..ROUNDS)
                .map(|_| (ours(&options, product, kind), theirs(&options, product, name, kind)))
                .collect();
            let ours = median(costs.iter().map(|(ours, _)| ours.cpu_us));
            let theirs = median(costs.iter().map(|(_, theirs)| theirs.cpu_us));
            let ratio = median(costs.iter().map(|(ours, theirs)| ours.cpu_us / theirs.cpu_us));
            let rate =
                median(costs.iter().map(|(ours, theirs)| ours.per_second / theirs.per_second));
            println!(
                "{:<12}{what:<12}{ours:>10.2}{theirs:>12.2}{ratio:>8.3}{rate:>14.2}",
                product.word()
            );
        }
    }
}

fn work(product: Product, name: &str) -> QueueWork {
    let tables =
        QueueTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };
    let sizes = QueueSizes {
        tables,
        rows: [ROWS, 1000, 1000],
        query_s: SECONDS,
        maintain_s: 0,
        indexed_at_start: false,
        is_prepared: false,
        transaction_s: None,
    };
    let test = queue_steps(&sizes).into_iter().find(|test| test.name() == name).unwrap();
    QueueWork {
        product,
        engine: SystemSpec::default_engine(product),
        name: test.name(),
        step: *test.queue().unwrap(),
        clients: 1,
        seed: 1,
    }
}

/// A step of this client. Rows are inserted into new tables, and queries are made once they have indexes.
fn ours(options: &ConnectOptions, product: Product, kind: &str) -> Cost {
    if kind == "query" {
        let mut control = assay_wire::Connection::connect(options).unwrap();
        control.query("DROP TABLE IF EXISTS pi1").unwrap();
        step(options, product, "l.i0");
        step(options, product, "l.x");
        return step(options, product, "qr100");
    }
    let mut control = assay_wire::Connection::connect(options).unwrap();
    control.query("DROP TABLE IF EXISTS pi1").unwrap();
    step(options, product, "l.i0")
}

fn step(options: &ConnectOptions, product: Product, name: &str) -> Cost {
    let work = work(product, name);
    create_queue_tables(options, (product, work.engine), &work.step, 1).unwrap();
    let mut session = QueueSession::open(options, &work).unwrap();
    let (before, start) = (process_cpu_us(), Instant::now());
    let run = session.run(&Stop::default(), &mut |_| ()).unwrap();
    let (cpu_us, seconds) = (process_cpu_us() - before, start.elapsed().as_secs_f64());
    let done = match run.step.query.statements {
        0 => run.step.insert.rows,
        queries => queries,
    };
    Cost { cpu_us: cpu_us / done as f64, per_second: done as f64 / seconds }
}

/// The same by Python, on the tables that this client has made: inserts into an empty one.
fn theirs(options: &ConnectOptions, product: Product, name: &str, kind: &str) -> Cost {
    if kind == "fill" {
        let mut control = assay_wire::Connection::connect(options).unwrap();
        control.query("DROP TABLE IF EXISTS pi1").unwrap();
        let work = work(product, "l.i0");
        create_queue_tables(options, (product, work.engine), &work.step, 1).unwrap();
    }
    let Address::Unix(socket) = &options.address else { panic!("the server has a socket") };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/insert_benchmark.py");
    let amount = if kind == "fill" { ROWS } else { SECONDS.into() };
    let before = children_cpu_us();
    let output = Command::new(PYTHON)
        .args([script, kind, name])
        .arg(socket)
        .arg(options.database.as_deref().unwrap_or_default())
        .arg(amount.to_string())
        .arg(&options.user)
        .args(options.password.as_deref())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (seconds, done) = text.trim().split_once(' ').unwrap();
    let (seconds, done): (f64, f64) = (seconds.parse().unwrap(), done.parse().unwrap());
    Cost { cpu_us: (children_cpu_us() - before) / done, per_second: done / seconds }
}

/// CPU time of this process, microseconds. The server is another process.
fn process_cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
