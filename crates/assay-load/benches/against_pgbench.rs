//! Compares this client with pgbench on the same server, in alternation: transactions per second and client CPU time
//! per transaction, for pgbench's own scripts, prepared and as text.
//!
//! The client and server first run on any CPU, then both on one: otherwise much of the client's CPU time is the kernel
//! waking an idle CPU for the server, which is the same for both clients.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use assay_load::{ClientSession, ClientWork, RunBound, UserTables, fill_user_data};
use assay_model::{Dialect, Setup, StatementMode, Test};
use assay_plan::{
    PGBENCH_SCRIPTS, ScriptOptions, WorkloadFile, pgbench_script, read_workload_files,
};
use assay_wire::{Address, ConnectOptions};
use common::{CPU, children_cpu_us, confine_server, median, output_of, thread_cpu_ns};

const SCALE: u32 = 10;
const CLIENTS: u32 = 1;
const SECONDS: u64 = 2;
const ROUNDS: usize = 9;

/// Runs of pgbench that measure its startup cost. The kernel counts CPU time in steps of 10 ms.
const STARTS: u32 = 20;

struct PgbenchCost {
    per_second: f64,
    cpu_us: f64,
}

fn main() {
    if std::env::args().any(|arg| arg == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    if Command::new(program()).arg("--version").output().is_err() {
        println!(
            "pgbench is not installed: nothing to compare with (`apt-get install postgresql-contrib`)"
        );
        return;
    }
    let server = assay_testkit::postgres();
    let mut options = server.connect_options();
    options.database = Some("postgres".to_owned());
    let tests: Vec<Test> = PGBENCH_SCRIPTS.iter().map(|name| test(name)).collect();
    let data = tests[0].user_data().unwrap();
    let files = &|_: &assay_model::UserRowsFile| Err("no file".to_owned());
    let dumps: assay_load::OpenUserDump<'_> = &|_| Err("no dump".to_owned());
    let tables = UserTables { dialect: Dialect::Postgres, data, seed: 1, files, dumps };
    fill_user_data(&options, tables, true, &mut |_| ()).unwrap();
    for confined in [false, true] {
        if confined {
            // Later connection processes inherit the affinity.
            confine_server(server.pid());
        }
        for (statements, protocol) in
            [(StatementMode::Prepared, "prepared"), (StatementMode::Text, "simple")]
        {
            for test in &tests {
                compare(&options, *test, (statements, protocol), confined);
            }
        }
    }
}

fn test(name: &str) -> Test {
    let text = pgbench_script(name).unwrap();
    let file = WorkloadFile { path: name, weight: None, text: &text };
    let scale = ScriptOptions { scale: Some(SCALE), ..ScriptOptions::default() };
    let read = read_workload_files(&[file], &scale, &|_, _, _| Err("no file".to_owned()));
    read.unwrap().tests[0]
}

fn compare(
    options: &ConnectOptions,
    test: Test,
    (statements, protocol): (StatementMode, &str),
    confined: bool,
) {
    let start_us = start_us(options, confined);
    let place = if confined { "one CPU" } else { "any CPU" };
    let setup = Setup { clients: CLIENTS, tables: 1, rows: 1 };
    let work = ClientWork { dialect: Dialect::Postgres, test, setup, statements, seed: 1 };
    let cpus: &[usize] = if confined { &[CPU] } else { &[] };
    let mut session = ClientSession::open(options, &work, cpus).unwrap();
    session.run(0, RunBound::Events(2000)).unwrap();
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let (ours, theirs) = if round % 2 == 0 {
            let ours = run_assay(&mut session, round);
            (ours, run_pgbench(options, test.name(), (protocol, start_us), confined))
        } else {
            let theirs = run_pgbench(options, test.name(), (protocol, start_us), confined);
            (run_assay(&mut session, round), theirs)
        };
        let (rate, cpu) = (ours.per_second / theirs.per_second, ours.cpu_us / theirs.cpu_us);
        println!(
            "{test}, {protocol}, {place}: {:.0} and {:.0} transactions/s, ratio {rate:.3}; client CPU {:.2} and \
             {:.2} us, ratio {cpu:.3}",
            ours.per_second, theirs.per_second, ours.cpu_us, theirs.cpu_us
        );
        ratios.push((rate, cpu));
    }
    let rate = median(ratios.iter().map(|it| it.0));
    let cpu = median(ratios.iter().map(|it| it.1));
    println!(
        "{test}, {protocol}, {place}: median ratio to pgbench: transactions/s {rate:.3}, client CPU per \
         transaction {cpu:.3}"
    );
}

fn run_assay(session: &mut ClientSession, round: usize) -> PgbenchCost {
    let cpu_ns =
        |session: &ClientSession| session.client_tids().into_iter().map(thread_cpu_ns).sum::<u64>();
    let before = cpu_ns(session);
    let first = 100_000 + round as u64 * 10_000_000;
    let done = session.run(first, RunBound::Time(Duration::from_secs(SECONDS))).unwrap();
    let events = done.events as f64;
    PgbenchCost {
        per_second: events / (done.elapsed_ns as f64 / 1e9),
        cpu_us: (cpu_ns(session) - before) as f64 / 1e3 / events,
    }
}

/// CPU time of starting pgbench and connecting. assay's clients stay connected and do not pay it.
fn start_us(options: &ConnectOptions, confined: bool) -> f64 {
    let before = children_cpu_us();
    for _ in 0..STARTS {
        let output =
            output_of(pgbench(options, "select-only", "prepared").args(["-t", "1"]), confined);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    (children_cpu_us() - before) / f64::from(STARTS)
}

/// The real binary: Debian's `pgbench` is a Perl wrapper that costs 0.1 s of CPU time.
fn program() -> PathBuf {
    let versions = fs_err::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs = versions.map(|it| it.path().join("bin/pgbench")).filter(|it| it.exists());
    programs.max().unwrap_or_else(|| PathBuf::from("pgbench"))
}

fn pgbench(options: &ConnectOptions, script: &str, protocol: &str) -> Command {
    let Address::Unix(socket) = &options.address else { panic!("the server has a unix socket") };
    let port = socket.extension().unwrap().to_str().unwrap();
    let clients = CLIENTS.to_string();
    let mut command = Command::new(program());
    command
        .arg("-h")
        .arg(socket.parent().unwrap())
        .args(["-p", port, "-U", &options.user, "-n", "-M", protocol, "-b", script])
        .args(["-c", &clients, "-j", &clients])
        .env("PGPASSWORD", options.password.as_deref().unwrap_or_default())
        .env("PGDATABASE", "postgres");
    command
}

fn run_pgbench(
    options: &ConnectOptions,
    script: &str,
    (protocol, start_us): (&str, f64),
    confined: bool,
) -> PgbenchCost {
    let before = children_cpu_us();
    let mut command = pgbench(options, script, protocol);
    let output = output_of(command.args(["-T", &SECONDS.to_string()]), confined);
    let text = String::from_utf8_lossy(&output.stdout);
    let number = |begin: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(begin));
        let line = line.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        line.split(['/', ' ']).find_map(|word| word.parse().ok()).unwrap()
    };
    PgbenchCost {
        per_second: number("tps = "),
        cpu_us: (children_cpu_us() - before - start_us)
            / number("number of transactions actually processed: "),
    }
}
