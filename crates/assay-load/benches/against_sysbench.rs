//! Prints how this client compares with sysbench on the same server, in alternation: rows loaded per
//! second, then queries per second and client CPU per query of `point-query` with 4 and 16 clients, and with
//! one client, client and server on one CPU.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::process::Command;
use std::time::{Duration, Instant};

use assay_load::{Bound, Session, Tables, Work, content, fill};
use assay_model::{DataSet, Engine, IdKey, Product, Setup, StatementMode};
use assay_wire::Address;
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::test_by_name;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const DATABASE: &str = "sbtest";
const DATA: DataSet = DataSet { tables: 1, rows: 500_000 };
/// The data loaded, and sysbench's threads. The last data set is queried.
const LOADS: [(DataSet, u32); 3] = [
    (DataSet { tables: 8, rows: 100_000 }, 1),
    (DataSet { tables: 8, rows: 100_000 }, 8),
    (DATA, 1),
];
const LOAD_ROUNDS: usize = 3;
const SECONDS: u64 = 3;
const ROUNDS: usize = 5;
const CPU: usize = 0;

/// One run of one client.
#[derive(Clone, Copy)]
struct Measured {
    queries_per_second: f64,
    client_cpu_us_per_query: f64,
}

fn main() {
    if std::env::args().any(|arg| arg == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    if Command::new("sysbench").arg("--version").output().is_err() {
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

/// Point queries by both clients in alternation.
fn compare_queries(options: &ConnectOptions, clients: u32, cpu: Option<usize>) {
    let test = test_by_name("point-query").unwrap();
    let work = Work {
        product: Product::MariaDb,
        test,
        setup: Setup { clients, tables: DATA.tables, rows: DATA.rows },
        statements: StatementMode::Prepared,
        seed: 1,
    };
    let mut session = Session::open(options, &work, cpu).unwrap();
    session.run(0, Bound::Events(10_000)).unwrap();
    println!(
        "{clients} clients: {:>12} {:>12} {:>8} {:>12} {:>12} {:>8}",
        "assay q/s", "sysbench q/s", "ratio", "assay us/q", "sysbench us/q", "ratio"
    );
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let (ours, theirs) = if round % 2 == 0 {
            let ours = run_session(&mut session, round);
            (ours, run_sysbench(options, clients, cpu.is_some()))
        } else {
            let theirs = run_sysbench(options, clients, cpu.is_some());
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
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = ratios.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[ROUNDS / 2]
    };
    let (qps, cpu) = (median(|r| r.0), median(|r| r.1));
    println!("{clients} clients: median ratio: QPS {qps:.3}, client CPU per query {cpu:.3}");
}

/// Compares rows per second of the whole preparation. sysbench comes first, so the tables that remain are assay's.
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
                product: Product::MariaDb,
                engine: Engine::InnoDb,
                id_key: IdKey::Primary,
                data,
                seed: 1,
            };
            let load = fill(options, &tables, &mut |_| ()).unwrap();
            assert_eq!(content(options, Product::MariaDb, data).unwrap(), load.content);
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

/// sysbench, with the options that all its commands share.
fn sysbench(options: &ConnectOptions, data: DataSet, threads: u32) -> Command {
    let Address::Unix(socket) = &options.address else { panic!("the server has a unix socket") };
    let mut command = Command::new("sysbench");
    command
        .arg(format!("--mysql-socket={}", socket.display()))
        .arg(format!("--mysql-user={}", options.user))
        .arg(format!("--mysql-password={}", options.password.as_deref().unwrap_or_default()))
        .arg(format!("--mysql-db={DATABASE}"))
        .arg(format!("--tables={}", data.tables))
        .arg(format!("--table-size={}", data.rows))
        .arg(format!("--threads={threads}"))
        .arg("--rand-type=uniform");
    command
}

fn run_session(session: &mut Session, round: usize) -> Measured {
    let cpu_ns =
        |session: &Session| session.client_tids().into_iter().map(thread_cpu_ns).sum::<u64>();
    let before = cpu_ns(session);
    let start = 10_000 + round as u64 * 1_000_000;
    let counters = session.run(start, Bound::Time(Duration::from_secs(SECONDS))).unwrap();
    let queries = counters.queries() as f64;
    Measured {
        queries_per_second: queries / (counters.elapsed_ns as f64 / 1e9),
        client_cpu_us_per_query: (cpu_ns(session) - before) as f64 / 1e3 / queries,
    }
}

fn run_sysbench(options: &ConnectOptions, clients: u32, confined: bool) -> Measured {
    let before = children_cpu_us();
    let all_cpus = sched_getaffinity(None).unwrap();
    if confined {
        // A child inherits the CPUs of the thread that starts it.
        confine(None);
    }
    let output = sysbench(options, DATA, clients)
        .arg(format!("--time={SECONDS}"))
        .args(["oltp_point_select", "run"])
        .output();
    sched_setaffinity(None, &all_cpus).unwrap();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line =
        text.lines().find(|line| line.trim_start().starts_with("queries:")).unwrap_or_else(|| {
            panic!("no result from sysbench: {text}{}", String::from_utf8_lossy(&output.stderr))
        });
    let numbers: Vec<f64> = line
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter_map(|word| word.parse().ok())
        .collect();
    Measured {
        queries_per_second: numbers[1],
        client_cpu_us_per_query: (children_cpu_us() - before) / numbers[0],
    }
}

/// CPU time of a thread of this process, nanoseconds.
fn thread_cpu_ns(tid: i32) -> u64 {
    let path = format!("/proc/self/task/{tid}/schedstat");
    fs_err::read_to_string(path).unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// CPU time of all children that ended, microseconds, in steps of 10 ms.
fn children_cpu_us() -> f64 {
    let stat = fs_err::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    // Fields 16 and 17 of the line, counted from the state, which is field 3.
    let ticks: f64 = fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap();
    ticks * 1e6 / rustix::param::clock_ticks_per_second() as f64
}

/// Puts every thread of the server on the client's CPU. On two CPUs, the benchmark would measure how fast an idle CPU
/// wakes up.
fn confine_server(pid: i32) {
    for task in fs_err::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let tid: i32 = task.unwrap().file_name().to_string_lossy().parse().unwrap();
        confine(Pid::from_raw(tid));
    }
}

fn confine(thread: Option<Pid>) {
    let mut cpus = CpuSet::new();
    cpus.set(CPU);
    sched_setaffinity(thread, &cpus).unwrap();
}
