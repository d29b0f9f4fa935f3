//! Compares this client with sysbench on the same server, in alternation: rows loaded per second, then queries per
//! second and client CPU per query of `point-query` with 4 and 16 clients, and with one client sharing a CPU with the
//! server.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::time::Instant;

use assay_load::{ClientSession, ClientWork, RunBound, Tables, content, fill};
use assay_model::{DataSet, Dialect, Engine, Setup, StatementMode, TableForm};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::test_by_name;
use common::{
    CPU, DATABASE, confine_server, has_sysbench, median, run_session, run_sysbench, sysbench,
};

const DATA: DataSet = DataSet { tables: 1, rows: 500_000 };
/// Data sets to load, with sysbench's thread count. The last one is queried.
const LOADS: [(DataSet, u32); 3] = [
    (DataSet { tables: 8, rows: 100_000 }, 1),
    (DataSet { tables: 8, rows: 100_000 }, 8),
    (DATA, 1),
];
const LOAD_ROUNDS: usize = 3;
const ROUNDS: usize = 5;

fn main() {
    if std::env::args().any(|arg| arg == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    if !has_sysbench() {
        println!("sysbench is not installed: nothing to compare with (`apt-get install sysbench`)");
        return;
    }
    let server = assay_testkit::mariadb();
    let mut options = server.connect_options();
    let mut control = Connection::connect(&options).unwrap();
    control.query(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).unwrap();
    options.database = Some(DATABASE.to_owned());
    compare_loads(&options);
    compare_queries(&options, 4, None);
    compare_queries(&options, 16, None);
    confine_server(server.pid());
    compare_queries(&options, 1, Some(CPU));
}

fn compare_queries(options: &ConnectOptions, clients: u32, cpu: Option<usize>) {
    let test = test_by_name("point-query").unwrap();
    let work = ClientWork {
        dialect: Dialect::MySql,
        test,
        setup: Setup { clients, tables: DATA.tables, rows: DATA.rows },
        statements: StatementMode::Prepared,
        seed: 1,
    };
    let mut session = ClientSession::open(options, &work, cpu.as_slice()).unwrap();
    session.run(0, RunBound::Events(10_000)).unwrap();
    println!(
        "{clients} clients: {:>12} {:>12} {:>8} {:>12} {:>12} {:>8}",
        "assay q/s", "sysbench q/s", "ratio", "assay us/q", "sysbench us/q", "ratio"
    );
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let (ours, theirs) = if round % 2 == 0 {
            let ours = run_session(&mut session, round);
            (ours, run_sysbench(options, DATA, clients, cpu.is_some()))
        } else {
            let theirs = run_sysbench(options, DATA, clients, cpu.is_some());
            (run_session(&mut session, round), theirs)
        };
        let qps = ours.queries_per_second / theirs.queries_per_second;
        let cpu = ours.client_cpu_us_per_query / theirs.client_cpu_us_per_query;
        println!(
            "{clients} clients: {:12.0} {:12.0} {qps:8.3} {:12.2} {:12.2} {cpu:8.3}",
            ours.queries_per_second,
            theirs.queries_per_second,
            ours.client_cpu_us_per_query,
            theirs.client_cpu_us_per_query,
        );
        ratios.push((qps, cpu));
    }
    let qps = median(ratios.iter().map(|(qps, _)| *qps));
    let cpu = median(ratios.iter().map(|(_, cpu)| *cpu));
    println!("{clients} clients: median ratio: QPS {qps:.3}, client CPU per query {cpu:.3}");
}

/// sysbench goes first, so the tables that remain are assay's.
fn compare_loads(options: &ConnectOptions) {
    for (data, threads) in LOADS {
        let mut ratios = Vec::new();
        for _ in 0..LOAD_ROUNDS {
            let run = |command: &str| {
                let start = Instant::now();
                let arguments = ["oltp_read_only", command];
                let done = sysbench(options, data, threads).args(arguments).output().unwrap();
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
                f64::from(data.tables * data.rows) / start.elapsed().as_secs_f64()
            };
            run("cleanup");
            let theirs = run("prepare");
            run("cleanup");
            let tables = Tables {
                dialect: Dialect::MySql,
                engine: Engine::InnoDb,
                form: TableForm::default(),
                data,
                seed: 1,
            };
            let load = fill(options, &tables, &mut |_| ()).unwrap();
            assert_eq!(content(options, Dialect::MySql, data).unwrap(), load.content);
            let ours = load.rows_per_second();
            ratios.push(ours / theirs);
            println!(
                "load {data}: {ours:.0} rows/s, sysbench with {threads} threads {theirs:.0}, \
                 ratio {:.2}",
                ours / theirs
            );
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        println!("load {data} against {threads} threads: mean ratio {mean:.2}");
    }
}
