//! Compares client CPU per query with sysbench running the same stock script, in alternation, with one client.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "common/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::path::Path;
use std::sync::Arc;

use assay_load::{ClientSession, ClientWork, Tables, fill};
use assay_lua::{NoServer, ScriptEngine as Lua, ScriptSetting};
use assay_model::{
    Class, DataSet, Definition, Dialect, Distribution, Engine, Group, LuaScript, Pacing,
    PlanningFacts, Role, Schema, Script, Setup, StartFrom, StatementMode, TableForm, Unit,
};
use assay_wire::Connection;
use assay_workloads::define;
use common::{DATABASE, has_sysbench, median, run_script, run_session};

const DATA: DataSet = DataSet { tables: 1, rows: 100_000 };
const SCRIPTS: [&str; 3] = ["oltp_point_select", "oltp_read_only", "oltp_update_non_index"];
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
    let tables = Tables {
        dialect: Dialect::MySql,
        engine: Engine::InnoDb,
        form: TableForm::default(),
        data: DATA,
        seed: 1,
    };
    fill(&options, &tables, &mut |_| ()).unwrap();
    for name in SCRIPTS {
        let work = ClientWork {
            dialect: Dialect::MySql,
            test: define(definition(name)),
            setup: Setup { clients: 1, tables: DATA.tables, rows: DATA.rows },
            statements: StatementMode::Prepared,
            seed: 1,
        };
        let mut session = ClientSession::open(&options, &work, &[]).unwrap();
        let mut ratios = Vec::new();
        for round in 0..ROUNDS {
            let ours = run_session(&mut session, round);
            let theirs = run_script(&options, DATA, 1, name, false);
            let ratio = ours.client_cpu_us_per_query / theirs.client_cpu_us_per_query;
            println!(
                "{name}: {:.2} us of client CPU per query, sysbench {:.2}, ratio {ratio:.3}",
                ours.client_cpu_us_per_query, theirs.client_cpu_us_per_query
            );
            ratios.push(ratio);
        }
        println!("{name}: median ratio of client CPU {:.3}", median(ratios.into_iter()));
    }
}

fn definition(name: &str) -> Definition {
    let own = |text: &str| text.to_owned();
    let options = vec![
        (own("tables"), DATA.tables.to_string()),
        (own("table-size"), DATA.rows.to_string()),
        (own("rand-type"), own("uniform")),
    ];
    let (draw, left) = assay_lua::take_distribution(options.clone()).unwrap();
    let setting = ScriptSetting {
        thread: 0,
        threads: 1,
        driver: "mysql",
        command: own("run"),
        options: left,
        connection: Vec::new(),
        seed: 0,
        draw,
        may_use_all: false,
        leash: Arc::default(),
    };
    let path = format!("/usr/share/sysbench/{name}.lua");
    let files =
        Lua::read(&mut NoServer::default(), Path::new(&path), None, &setting).unwrap().files();
    let script = Script {
        steps: Vec::new(),
        draw: Distribution::Uniform,
        rows: None,
        mix: Vec::new(),
        scratch: Vec::new(),
    };
    Definition {
        name: own(name),
        group: Group { rank: 0, word: own(name), title: own(name) },
        groups: Vec::new(),
        does: own("what the script says"),
        class: Class::Write,
        start_from: StartFrom::Fresh,
        unit: Unit::Query,
        schema: Schema::Lua(LuaScript { name: own(name), files, options, may_use_all: false }),
        roles: vec![Role { script, clients: None, pacing: Pacing::Closed }],
        planning: PlanningFacts::default(),
        digest: String::new(),
    }
}
