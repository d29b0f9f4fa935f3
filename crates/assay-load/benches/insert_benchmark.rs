//! Measures the Insert Benchmark's client CPU per inserted row and per query, in alternation with a Python client that
//! sends the same statements (mysqlclient, psycopg) and, for queries, with a replay of the packets by bare system
//! calls. Client and server share one CPU: on two, the bench would measure how fast an idle CPU wakes up. Inserts are
//! also measured on all CPUs.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use assay_load::{IbenchSession, IbenchWork, create_ibench_tables};
use assay_model::{IbenchTables, Product};
use assay_wire::{Address, ConnectOptions, Connection, Stop};
use assay_workloads::{IbenchKeys, IbenchQueryText, IbenchSizes, IbenchTable, ibench_steps};
use common::replay::Replay;
use common::{children_cpu_us, confine, confine_server, median, output_of};
use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

const ROWS: u64 = 200_000;
const SECONDS: u32 = 5;
const ROUNDS: usize = 3;
const REPLAYED: usize = 300;
const SERVERS: [(Product, &str); 2] = [(Product::Postgres, "16"), (Product::MariaDb, "10.11")];
/// Debian's Python, which finds the modules of Debian packages.
const PYTHON: &str = "/usr/bin/python3";

/// Client CPU time per row or query, microseconds, and rows or queries per second.
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
        "{:<12}{:<18}{:>10}{:>12}{:>8}{:>14}",
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
        let compared = BenchedServer { options: server.connect_options(), product, name };
        compared.inserts(false);
        confine_server(server.pid());
        compared.inserts(true);
        compared.queries();
    }
}

struct BenchedServer {
    options: ConnectOptions,
    product: Product,
    name: &'static str,
}

impl BenchedServer {
    fn inserts(&self, confined: bool) {
        let round = |_| {
            self.drop_table();
            let ours = self.step("l.i0", confined);
            self.drop_table();
            let work = work(self.product, "l.i0");
            create_ibench_tables(
                &self.options,
                (self.product.dialect(), work.engine),
                &work.step,
                1,
            )
            .unwrap();
            (ours, self.python("fill", ROWS, confined))
        };
        let what = if confined { "insert" } else { "insert, all CPUs" };
        self.tell(what, &(0..ROUNDS).map(round).collect::<Vec<_>>());
    }

    fn queries(&self) {
        let mut over_floor = Vec::new();
        let round = |_| {
            self.drop_table();
            self.step("l.i0", true);
            self.step("l.x", true);
            let ours = self.step("qr100", true);
            let theirs = self.python("query", SECONDS.into(), true);
            over_floor.push(ours.cpu_us / self.floor_us());
            (ours, theirs)
        };
        let costs: Vec<_> = (0..ROUNDS).map(round).collect();
        self.tell("query", &costs);
        let (product, ratio) = (self.product.word(), median(over_floor.into_iter()));
        println!(
            "{product}: a query costs {ratio:.2} times as much as a bare replay of its packets"
        );
    }

    fn tell(&self, what: &str, costs: &[(Cost, Cost)]) {
        let ours = median(costs.iter().map(|(ours, _)| ours.cpu_us));
        let theirs = median(costs.iter().map(|(_, theirs)| theirs.cpu_us));
        let ratio = median(costs.iter().map(|(ours, theirs)| ours.cpu_us / theirs.cpu_us));
        let rate = median(costs.iter().map(|(ours, theirs)| ours.per_second / theirs.per_second));
        let product = self.product.word();
        println!("{product:<12}{what:<18}{ours:>10.2}{theirs:>12.2}{ratio:>8.3}{rate:>14.2}");
    }

    fn drop_table(&self) {
        let mut control = Connection::connect(&self.options).unwrap();
        control.query("DROP TABLE IF EXISTS pi1").unwrap();
    }

    fn step(&self, name: &str, confined: bool) -> Cost {
        let work = work(self.product, name);
        create_ibench_tables(&self.options, (self.product.dialect(), work.engine), &work.step, 1)
            .unwrap();
        let mut session = IbenchSession::open(&self.options, &work).unwrap();
        if confined {
            session.client_tids().into_iter().for_each(|tid| confine(Pid::from_raw(tid)));
        }
        let (before, start) = (process_cpu_us(), Instant::now());
        let run = session.run(&Stop::default(), &mut |_| ()).unwrap();
        let (cpu_us, seconds) = (process_cpu_us() - before, start.elapsed().as_secs_f64());
        let done = match run.step.query.statements {
            0 => run.step.insert.rows,
            queries => queries,
        };
        Cost { cpu_us: cpu_us / done as f64, per_second: done as f64 / seconds }
    }

    /// Runs the Python client on the tables that this client made; inserts go into an empty table.
    fn python(&self, kind: &str, amount: u64, confined: bool) -> Cost {
        let options = &self.options;
        let Address::Unix(socket) = &options.address else { panic!("the server has a socket") };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/insert_benchmark.py");
        let before = children_cpu_us();
        let mut command = Command::new(PYTHON);
        command
            .args([script, kind, self.name])
            .arg(socket)
            .arg(options.database.as_deref().unwrap_or_default())
            .arg(amount.to_string())
            .arg(&options.user)
            .args(options.password.as_deref());
        let output = output_of(&mut command, confined);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (seconds, done) = text.trim().split_once(' ').unwrap();
        let (seconds, done): (f64, f64) = (seconds.parse().unwrap(), done.parse().unwrap());
        Cost { cpu_us: (children_cpu_us() - before) / done, per_second: done / seconds }
    }

    /// CPU time of sending and receiving a query's packets, microseconds.
    fn floor_us(&self) -> f64 {
        let work = work(self.product, "qr100");
        let table = IbenchTable::new(self.product.dialect(), 1);
        let queries = work.step.queries.unwrap();
        let texts = IbenchQueryText::new(&table, work.step.tables.indexes, queries, (1, "", 0));
        let begin = |through: &ConnectOptions| Connection::connect(through).unwrap();
        let mut replay = Replay::record(&self.options, begin, REPLAYED, |connection, number| {
            let mut text = Vec::new();
            texts.write(number as u64, IbenchKeys::default(), &mut text);
            connection.execute_text(&text).unwrap();
        });
        // Confine a separate thread: threads started later inherit the CPUs of this one.
        let time = Duration::from_secs(SECONDS.into());
        let replaying = std::thread::spawn(move || {
            confine(None);
            replay.run(time)
        });
        replaying.join().unwrap()
    }
}

fn work(product: Product, name: &str) -> IbenchWork {
    let tables =
        IbenchTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };
    let sizes = IbenchSizes {
        tables,
        rows: [ROWS, 1000, 1000],
        query_s: SECONDS,
        maintain_s: 0,
        indexed_at_start: false,
        is_prepared: false,
        transaction_s: None,
    };
    let test = ibench_steps(&sizes).into_iter().find(|test| test.name() == name).unwrap();
    IbenchWork {
        dialect: product.dialect(),
        engine: product.default_engine(),
        name: test.name(),
        step: *test.ibench().unwrap(),
        clients: 1,
        seed: 1,
    }
}

fn process_cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
