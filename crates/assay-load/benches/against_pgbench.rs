//! Prints how this client compares with pgbench on the same server, in alternation: transactions per second, and CPU
//! time of the client per transaction, of the scripts that come with pgbench, with prepared statements and as text.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::process::Command;
use std::time::Duration;

use assay_load::{Bound, Session, UserTables, Work, fill_user_data};
use assay_model::{Dialect, Setup, StatementMode, Test};
use assay_plan::{
    PGBENCH_SCRIPTS, ScriptOptions, WorkloadFile, pgbench_script, read_workload_files,
};
use assay_wire::{Address, ConnectOptions};
use common::{children_cpu_us, median, thread_cpu_ns};

const SCALE: u32 = 10;
const CLIENTS: u32 = 1;
const SECONDS: u64 = 2;
const ROUNDS: usize = 9;

/// One run of one client.
struct Measured {
    per_second: f64,
    cpu_us: f64,
}

fn main() {
    if std::env::args().any(|arg| arg == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    if Command::new("pgbench").arg("--version").output().is_err() {
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
    for (statements, protocol) in
        [(StatementMode::Prepared, "prepared"), (StatementMode::Text, "simple")]
    {
        for test in &tests {
            compare(&options, *test, statements, protocol);
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

/// The same transactions by both clients in alternation.
fn compare(options: &ConnectOptions, test: Test, statements: StatementMode, protocol: &str) {
    let setup = Setup { clients: CLIENTS, tables: 1, rows: 1 };
    let work = Work { dialect: Dialect::Postgres, test, setup, statements, seed: 1 };
    let mut session = Session::open(options, &work, &[]).unwrap();
    session.run(0, Bound::Events(2000)).unwrap();
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let (ours, theirs) = if round % 2 == 0 {
            let ours = run_assay(&mut session, round);
            (ours, run_pgbench(options, test.name(), protocol))
        } else {
            let theirs = run_pgbench(options, test.name(), protocol);
            (run_assay(&mut session, round), theirs)
        };
        let (rate, cpu) = (ours.per_second / theirs.per_second, ours.cpu_us / theirs.cpu_us);
        println!(
            "{test}, {protocol}: {:.0} and {:.0} transactions/s, ratio {rate:.3}; client CPU {:.2} and {:.2} us, \
             ratio {cpu:.3}",
            ours.per_second, theirs.per_second, ours.cpu_us, theirs.cpu_us
        );
        ratios.push((rate, cpu));
    }
    let rate = median(ratios.iter().map(|it| it.0));
    let cpu = median(ratios.iter().map(|it| it.1));
    println!(
        "{test}, {protocol}: median ratio to pgbench: transactions/s {rate:.3}, client CPU per transaction {cpu:.3}"
    );
}

fn run_assay(session: &mut Session, round: usize) -> Measured {
    let cpu_ns =
        |session: &Session| session.client_tids().into_iter().map(thread_cpu_ns).sum::<u64>();
    let before = cpu_ns(session);
    let first = 100_000 + round as u64 * 10_000_000;
    let done = session.run(first, Bound::Time(Duration::from_secs(SECONDS))).unwrap();
    let events = done.events as f64;
    Measured {
        per_second: events / (done.elapsed_ns as f64 / 1e9),
        cpu_us: (cpu_ns(session) - before) as f64 / 1e3 / events,
    }
}

fn run_pgbench(options: &ConnectOptions, script: &str, protocol: &str) -> Measured {
    let Address::Unix(socket) = &options.address else { panic!("the server has a unix socket") };
    let port = socket.extension().unwrap().to_str().unwrap();
    let (clients, seconds) = (CLIENTS.to_string(), SECONDS.to_string());
    let before = children_cpu_us();
    let output = Command::new("pgbench")
        .arg("-h")
        .arg(socket.parent().unwrap())
        .args(["-p", port, "-U", &options.user, "-n", "-M", protocol, "-b", script])
        .args(["-c", &clients, "-j", &clients, "-T", &seconds, "postgres"])
        .env("PGPASSWORD", options.password.as_deref().unwrap_or_default())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let number = |begin: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(begin));
        let line = line.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        line.split(['/', ' ']).find_map(|word| word.parse().ok()).unwrap()
    };
    Measured {
        per_second: number("tps = "),
        cpu_us: (children_cpu_us() - before)
            / number("number of transactions actually processed: "),
    }
}
