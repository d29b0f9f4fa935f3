//! Measures client CPU per point query on MariaDB with 1 to 4,096 clients, in alternation with sysbench where it is
//! installed, and with one client against a replay of the same packets.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::time::Duration;

use assay_load::{ClientSession, ClientWork, RunBound, Tables, fill};
use assay_model::{DataSet, Dialect, Engine, Setup, StatementMode, TableForm};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::test_by_name;
use common::replay::Replay;
use common::{
    CPU, ClientCost, DATABASE, confine, confine_server, has_sysbench, median, run_session,
    run_sysbench,
};

const DATA: DataSet = DataSet { tables: 1, rows: 100_000 };
const CLIENTS: [u32; 6] = [1, 16, 64, 256, 1024, 4096];
const ROUNDS: usize = 5;
const REPLAYED: Duration = Duration::from_secs(3);

fn main() {
    if std::env::args().any(|arg| arg == assay_testkit::AS_SUPERVISOR) {
        return assay_testkit::supervise_if_asked();
    }
    let more = ["--max-connections=8400", "--back-log=4200"];
    let server = assay_testkit::mariadb_version("10.11", &more);
    let mut options = server.connect_options();
    let mut control = Connection::connect(&options).unwrap();
    control.query(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).unwrap();
    options.database = Some(DATABASE.to_owned());
    let tables = Tables {
        dialect: Dialect::MySql,
        engine: Engine::InnoDb,
        form: TableForm::default(),
        data: DATA,
        seed: 1,
    };
    fill(&options, &tables, &mut |_| ()).unwrap();
    let has_sysbench = has_sysbench();
    if !has_sysbench {
        println!("sysbench is not installed: assay alone (`apt-get install sysbench`)");
    }
    println!("clients     q/s   us/query   QPS against sysbench   client CPU against sysbench");
    let costs: Vec<(u32, f64)> =
        CLIENTS.iter().map(|&it| (it, compare(&options, it, has_sysbench))).collect();
    let cost = |clients: u32| costs.iter().find(|(it, _)| *it == clients).unwrap().1;
    println!("client CPU per query, 1,024 clients against 16: {:.2}", cost(1024) / cost(16));
    println!("client CPU per query, 4,096 clients against 16: {:.2}", cost(4096) / cost(16));
    // On one CPU: on two, the bench would measure how fast an idle CPU wakes up.
    confine_server(server.pid());
    compare_with_replay(&options);
}

fn open(options: &ConnectOptions, clients: u32, cpu: Option<usize>) -> ClientSession {
    let mut session = connect(options, clients, cpu);
    session.run(0, RunBound::Events(10_000)).unwrap();
    session
}

fn connect(options: &ConnectOptions, clients: u32, cpu: Option<usize>) -> ClientSession {
    let work = ClientWork {
        dialect: Dialect::MySql,
        test: test_by_name("point-query").unwrap(),
        setup: Setup { clients, tables: DATA.tables, rows: DATA.rows },
        statements: StatementMode::Prepared,
        seed: 1,
    };
    ClientSession::open(options, &work, cpu.as_slice()).unwrap()
}

/// Prints a line of medians and returns the client CPU per query, microseconds.
fn compare(options: &ConnectOptions, clients: u32, has_sysbench: bool) -> f64 {
    let mut session = open(options, clients, None);
    let mut measured: Vec<(ClientCost, Option<ClientCost>)> = Vec::new();
    for round in 0..ROUNDS {
        let theirs = || has_sysbench.then(|| run_sysbench(options, DATA, clients, false));
        measured.push(if round % 2 == 0 {
            let ours = run_session(&mut session, round);
            (ours, theirs())
        } else {
            let theirs = theirs();
            (run_session(&mut session, round), theirs)
        });
    }
    let of_ours =
        |value: fn(&ClientCost) -> f64| median(measured.iter().map(|(ours, _)| value(ours)));
    let ratio = |value: fn(&ClientCost) -> f64| {
        let ratios = measured
            .iter()
            .filter_map(|(ours, theirs)| Some(value(ours) / value(theirs.as_ref()?)));
        has_sysbench.then(|| median(ratios)).map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
    };
    let cost = of_ours(|it| it.client_cpu_us_per_query);
    let (qps, cpu) = (ratio(|it| it.queries_per_second), ratio(|it| it.client_cpu_us_per_query));
    println!(
        "{clients:>7} {:>7.0} {cost:>10.2} {qps:>22} {cpu:>29}",
        of_ours(|it| it.queries_per_second)
    );
    cost
}

fn compare_with_replay(options: &ConnectOptions) {
    let mut session = open(options, 1, Some(CPU));
    // Later executions are shorter: they omit the parameter types.
    let begin = |through: &ConnectOptions| {
        let mut session = connect(through, 1, None);
        session.run(0, RunBound::Events(1)).unwrap();
        session
    };
    let mut replay = Replay::record(options, begin, 1, |session, _| {
        session.run(1, RunBound::Events(1)).unwrap();
    });
    confine(None);
    let mut ratios = Vec::new();
    for round in 0..2 * ROUNDS {
        let ours = run_session(&mut session, round);
        let bare = replay.run(REPLAYED);
        ratios.push(ours.client_cpu_us_per_query / bare);
    }
    println!(
        "client CPU per query, 1 client against a bare replay: {:.2}",
        median(ratios.into_iter())
    );
}
