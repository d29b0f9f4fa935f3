//! sysbench's scripts on real servers: resulting tables, errors, lost connections, and checked answers.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use assay_load::{
    Check, ClientPolicy, ClientSession, ClientWork, IgnoredErrors, LoadError, RunBound,
    RunProgress, SessionRun, Tables, answers, check_loaded,
};
use assay_model::{Class, Dialect, Product, Setup, StatementMode, Test, TestSet};
use assay_testkit::eventually;
use assay_wire::{Address, ConnectOptions, Connection, Stop};
use assay_workloads::{EventProgram, LoadedData, OltpOptions, oltp_tests, tests_of};
use rustix::process::{Pid, Signal, kill_process};

use super::bed::{Bed, SEED, test};

const SETUP: Setup = Setup { clients: 4, tables: 2, rows: 1000 };
const SERVERS: [(Product, &str); 3] =
    [(Product::MariaDb, "10.11"), (Product::MySql, "8.0"), (Product::Postgres, "16")];

fn script(name: &str) -> Test {
    let tests = oltp_tests(&OltpOptions::default());
    tests.into_iter().find(|test| test.name() == name).unwrap()
}

fn open(bed: &Bed, product: Product, test: Test, policy: &ClientPolicy) -> ClientSession {
    let work = ClientWork {
        dialect: product.dialect(),
        test,
        setup: SETUP,
        statements: StatementMode::Prepared,
        seed: SEED,
    };
    ClientSession::open_with(&bed.options, &work, &[], policy).unwrap()
}

/// Statements of an event: reads, writes, others.
fn statements(script: &str) -> [u64; 3] {
    match script {
        "oltp_read_only" => [14, 0, 2],
        "oltp_read_write" => [14, 4, 2],
        "oltp_write_only" => [0, 4, 2],
        "oltp_point_select" | "select_random_points" | "select_random_ranges" => [1, 0, 0],
        _ => [0, 1, 0],
    }
}

#[test]
fn every_script_runs_on_every_product() {
    for (product, version) in SERVERS {
        let mut bed = Bed::shared(product, version);
        bed.load(SETUP.tables, SETUP.rows, SEED);
        for test in oltp_tests(&OltpOptions::default()) {
            let events = if test.name() == "bulk_insert" { 8 } else { 40 };
            let mut session = open(&bed, product, test, &ClientPolicy::default());
            let work = session.run(0, RunBound::Events(events)).unwrap();
            assert_eq!(work.events, events, "{product} {test}");
            let [read, write, other] = statements(test.name()).map(|it| it * events);
            if work.errors.is_empty() && test.name() != "oltp_delete" {
                let sent = (work.read, work.write + work.other);
                assert_eq!(sent, (read, write + other), "{product} {test}");
                // An update finds nothing while another client replaces its row, so it counts as no write.
                assert!(
                    (write * 9 / 10..=write).contains(&work.write),
                    "{product} {test}: {work:?}"
                );
            }
        }
        // Each of four clients sent two statements.
        for client in 1..=4 {
            let table = format!("bulk_sbtest{client}");
            assert_eq!(bed.number(&format!("SELECT COUNT(*) FROM {table}")), 50_000);
            assert_eq!(bed.number(&format!("SELECT MAX(k) FROM {table} WHERE id = k")), 50_000);
        }
    }
}

/// Number of indexes of `sbtest1`, including the primary key.
fn indexes(bed: &mut Bed, product: Product) -> i64 {
    bed.number(match product.dialect() {
        Dialect::Postgres => "SELECT COUNT(*) FROM pg_indexes WHERE tablename = 'sbtest1'",
        Dialect::MySql => {
            "SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sbtest1'"
        }
    })
}

/// sysbench's `auto_inc`, `create_secondary` and `create_table_options`.
#[test]
fn tables_are_created_in_the_form_that_was_asked_for() {
    for (product, version) in SERVERS {
        let mut bed = Bed::shared(product, version);
        let usual = bed.load(SETUP.tables, SETUP.rows, SEED);
        assert_eq!(indexes(&mut bed, product), 2, "{product}");
        let (text, found) = match product.dialect() {
            Dialect::Postgres => (
                "WITH (fillfactor=70)",
                "SELECT COUNT(*) FROM pg_class WHERE relname LIKE 'sbtest%' AND reloptions = '{fillfactor=70}'",
            ),
            Dialect::MySql => (
                "ROW_FORMAT=COMPACT",
                "SELECT COUNT(*) FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = DATABASE() AND ROW_FORMAT = 'Compact'",
            ),
        };
        let options = OltpOptions {
            auto_inc: false,
            create_secondary: false,
            create_table_options: text.to_owned(),
            ..OltpOptions::default()
        };
        let tables = Tables { form: options.table_form(), ..bed.tables(SETUP.data(), SEED) };
        // A load recognizes tables in this form as its own.
        for _ in 0..2 {
            assert_eq!(bed.load_in_form(&tables).content, usual.content, "{product}");
            assert_eq!(bed.content(SETUP.data()), usual.content, "{product}");
            assert_eq!((indexes(&mut bed, product), bed.number(found)), (1, 2), "{product}");
            assay_load::fill_cache(&bed.options, product.dialect(), &tables.form, tables.data)
                .unwrap();
        }
        let insert = oltp_tests(&options).into_iter().find(|it| it.name() == "oltp_insert");
        let rows = |bed: &mut Bed| {
            (1..=SETUP.tables)
                .map(|table| bed.number(&format!("SELECT COUNT(*) FROM sbtest{table}")))
                .sum::<i64>()
        };
        let loaded = rows(&mut bed);
        // A second run uses the ids of the first.
        for _ in 0..2 {
            let mut session = open(&bed, product, insert.unwrap(), &ClientPolicy::default());
            assert_eq!(rows(&mut bed), loaded, "{product}");
            let work = session.run(0, RunBound::Events(400)).unwrap();
            assert!(work.errors.is_empty(), "{product}: {work:?}");
            assert_eq!(rows(&mut bed), loaded + 400, "{product}");
        }
        let script = |it: &Test| it.name() != "bulk_insert" && it.name() != "oltp_delete";
        for test in oltp_tests(&options).into_iter().filter(script) {
            let mut session = open(&bed, product, test, &ClientPolicy::default());
            assert_eq!(
                session.run(0, RunBound::Events(40)).unwrap().events,
                40,
                "{product} {test}"
            );
        }
    }
}

#[test]
fn bulk_insert_replaces_only_its_own_tables() {
    let mut bed = Bed::new();
    bed.control.query("CREATE TABLE bulk_sbtest2 (precious INT)").unwrap();
    let work = ClientWork {
        dialect: Dialect::MySql,
        test: script("bulk_insert"),
        setup: SETUP,
        statements: StatementMode::Prepared,
        seed: SEED,
    };
    let error = ClientSession::open(&bed.options, &work, &[]).err().unwrap().to_string();
    assert!(error.contains("`bulk_sbtest2` exists with other columns"), "{error}");
    assert_eq!(bed.number("SELECT COUNT(*) FROM bulk_sbtest2"), 0);
}

/// A client that was cut off leaves an empty database; one with a table belongs to somebody. These servers are not
/// shared, because other tests drop such databases.
#[test]
fn a_database_left_by_a_client_is_dropped_and_one_in_use_is_not() {
    let in_use = ["CREATE TABLE assay_sbtest1.precious (id INT)", "SELECT 1"];
    for ((product, version), use_it) in [SERVERS[0], SERVERS[2]].into_iter().zip(in_use) {
        let mut bed = Bed::alone(product, version);
        bed.load(1, 10, SEED);
        let setup = Setup { clients: 1, tables: 1, rows: 10 };
        let test = test("create-drop-database");
        let (dialect, statements) = (product.dialect(), StatementMode::Prepared);
        let program = EventProgram::new(dialect, test, setup, statements);
        bed.control.query(&program.statements()[0].sql).unwrap();
        let counters = bed.open(test, setup).run(0, RunBound::Events(2)).unwrap();
        assert_eq!((counters.events, counters.errors), (2, Vec::new()), "{product}");
        bed.control.query("CREATE DATABASE assay_sbtest1").unwrap();
        bed.control.query(use_it).unwrap();
        let work = ClientWork { dialect, test, setup, statements, seed: SEED };
        let error = ClientSession::open(&bed.options, &work, &[]).err().unwrap().to_string();
        assert!(error.contains("`assay_sbtest1` exists and is in use"), "{error}");
        bed.control.query("DROP DATABASE assay_sbtest1").unwrap();
    }
}

#[test]
fn clients_connect_again_if_they_were_asked_to() {
    for (product, version) in SERVERS {
        let bed = Bed::shared(product, version);
        bed.load(SETUP.tables, SETUP.rows, SEED);
        let policy =
            ClientPolicy { reconnect_every: NonZeroU64::new(5), ..ClientPolicy::default() };
        let mut session = open(&bed, product, script("oltp_read_write"), &policy);
        let mut monitor_report = |_: Duration, _| {};
        let mut monitor = assay_load::RunMonitor {
            grace: Duration::from_secs(30),
            stop: Default::default(),
            every: Duration::from_secs(60),
            report: &mut monitor_report,
        };
        let done = session.run_monitored(0, RunBound::Events(80), &mut monitor).unwrap();
        // 20 events of each client, with a new connection before the 6th, the 11th and the 16th.
        assert_eq!((done.work.events, done.reconnects), (80, 12), "{product}");
        assert!(done.work.bytes_received > done.work.bytes_sent, "{product}");
    }
}

#[test]
fn killed_connections_are_replaced_or_end_the_run() {
    for (product, version) in SERVERS {
        let mut bed = Bed::shared(product, version);
        bed.load(SETUP.tables, SETUP.rows, SEED);
        for ignored in [IgnoredErrors::Usual, IgnoredErrors::These(vec![2013, 1213])] {
            let is_lost = ignored == IgnoredErrors::Usual;
            let policy = ClientPolicy { ignored, ..ClientPolicy::default() };
            let mut session = open(&bed, product, script("oltp_read_only"), &policy);
            let mut ids = session.connection_ids();
            let (progress, message) = channel();
            let stop = Stop::default();
            let asked = stop.clone();
            let run = std::thread::spawn(move || monitored(&mut session, asked, &progress));
            message.iter().find(|now| now.events > 0).unwrap();
            ids.truncate(3);
            for id in ids {
                let kill = match product.dialect() {
                    Dialect::Postgres => format!("SELECT pg_terminate_backend({id})"),
                    Dialect::MySql => format!("KILL {id}"),
                };
                // The first loss may end the run, and with it the other connections.
                let killed = bed.control.query(&kill);
                assert!(is_lost || killed.is_ok(), "{product}: {killed:?}");
            }
            if !is_lost {
                let events = message.iter().find(|now| now.reconnects >= 3).unwrap().events;
                message.iter().find(|now| now.events > events + 100).unwrap();
                stop.ask();
            }
            let done = run.join().unwrap();
            if is_lost {
                let error = done.unwrap_err();
                assert!(matches!(error, LoadError::Query { .. }), "{product}: {error}");
                continue;
            }
            let done = done.unwrap();
            assert_eq!(done.reconnects, 3, "{product}");
            assert!(done.work.events > 100 && done.cut_off == 0, "{product}");
        }
    }
}

fn monitored(
    session: &mut ClientSession,
    stop: Stop,
    progress: &Sender<RunProgress>,
) -> Result<SessionRun, LoadError> {
    let mut report = |_: Duration, so_far: RunProgress| {
        let _ = progress.send(so_far);
    };
    let mut monitor = assay_load::RunMonitor {
        grace: Duration::from_secs(30),
        stop,
        every: Duration::from_millis(50),
        report: &mut report,
    };
    session.run_monitored(0, RunBound::Time(Duration::from_secs(3600)), &mut monitor)
}

/// A MariaDB server without a supervisor, so that it can be stopped and restarted.
struct Restartable {
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    child: Child,
}

impl Restartable {
    /// Uses the command line of the running server, with another directory and socket.
    fn like(bed_pid: i32, data: &Path, socket: &Path) -> Self {
        let read = |name: &str| fs_err::read(format!("/proc/{bed_pid}/{name}")).unwrap();
        let words = |bytes: Vec<u8>| -> Vec<String> {
            let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
            words.map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
        };
        let mut arguments = words(read("cmdline"));
        arguments.retain(|it| !it.starts_with("--socket") && !it.starts_with("--pid-file"));
        for argument in &mut arguments {
            if argument.starts_with("--datadir=") {
                *argument = format!("--datadir={}", data.display());
            }
        }
        arguments.push(format!("--socket={}", socket.display()));
        let environment = words(read("environ")).into_iter();
        let pairs = environment.filter_map(|it| {
            it.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        });
        let environment = pairs.collect();
        let child = start(&arguments, &environment, data);
        Self { arguments, environment, child }
    }

    fn end(&mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self, data: &Path) {
        self.child = start(&self.arguments, &self.environment, data);
    }
}

impl Drop for Restartable {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(arguments: &[String], environment: &BTreeMap<String, String>, data: &Path) -> Child {
    let log = fs_err::File::create(data.join("restarted.log")).unwrap().into_parts().0;
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]).env_clear().envs(environment);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn wait_until_ready(options: &ConnectOptions) -> Connection {
    let mut found = None;
    eventually("the server answers", || {
        found = Connection::connect(options).ok();
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_run_survives_a_server_that_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let (data, socket) = (folder.path().join("data"), folder.path().join("s"));
    let template = assay_testkit::template(&assay_testkit::prefix("10.11"));
    copy(&template, &data);
    let like = assay_testkit::database(Product::MariaDb, "10.11");
    let mut server = Restartable::like(like.pid(), &data, &socket);
    let mut options =
        ConnectOptions { address: Address::Unix(socket), database: None, ..like.connect_options() };
    wait_until_ready(&options).query("CREATE DATABASE test").unwrap();
    options.database = Some("test".to_owned());
    let tables = assay_load::Tables {
        dialect: Dialect::MySql,
        engine: assay_model::Engine::InnoDb,
        form: assay_model::TableForm::default(),
        data: SETUP.data(),
        seed: SEED,
    };
    assay_load::fill(&options, &tables, &mut |_| ()).unwrap();
    let work = ClientWork {
        dialect: Dialect::MySql,
        test: script("oltp_read_write"),
        setup: SETUP,
        statements: StatementMode::Prepared,
        seed: SEED,
    };
    let policy = ClientPolicy { ignored: IgnoredErrors::All, ..ClientPolicy::default() };
    let mut session = ClientSession::open_with(&options, &work, &[], &policy).unwrap();
    let (progress, message) = channel();
    let stop = Stop::default();
    let asked = stop.clone();
    let run = std::thread::spawn(move || monitored(&mut session, asked, &progress).unwrap());
    message.iter().find(|now| now.events > 0).unwrap();
    server.end();
    server.start_again(&data);
    drop(wait_until_ready(&options));
    let events = message.iter().find(|now| now.reconnects >= 4).unwrap().events;
    message.iter().find(|now| now.events > events).unwrap();
    stop.ask();
    let done = run.join().unwrap();
    assert!(done.reconnects >= 4 && done.cut_off == 0, "{done:?}");
}

fn copy(from: &Path, to: &Path) {
    fs_err::create_dir(to).unwrap();
    for entry in fs_err::read_dir(from).unwrap().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs_err::copy(&path, &target).unwrap()),
        }
    }
}

#[test]
fn answers_are_checked_and_one_wrong_row_is_found() {
    let oltp = oltp_tests(&OltpOptions::default());
    let tests: Vec<Test> = tests_of(TestSet::All).into_iter().chain(oltp).collect();
    let check = |product: Product| Check {
        dialect: product.dialect(),
        tests: &tests,
        data: SETUP.data(),
        seed: SEED,
    };
    let mut all = Vec::new();
    let mut loaded = LoadedData::new(SEED, SETUP.data());
    for (product, version) in SERVERS {
        let mut bed = Bed::shared(product, version);
        bed.load(SETUP.tables, SETUP.rows, SEED);
        check_loaded(&bed.options, &check(product), &mut loaded).unwrap();
        all.push(answers(&bed.options, &check(product)).unwrap());
        bed.control.query("UPDATE sbtest2 SET k = k + 1 WHERE id = 777").unwrap();
        let error = check_loaded(&bed.options, &check(product), &mut loaded).unwrap_err();
        assert!(matches!(error, LoadError::WrongContent { .. }), "{product}: {error}");
        let text = error.to_string();
        assert!(text.contains("2,000 rows with checksum"), "{text}");
    }
    // Answers differ between tests but not between servers.
    assert!(all.windows(2).all(|two| two[0] == two[1]));
    let reads = tests.iter().filter(|test| test.class == Class::Read).count();
    assert_eq!(all[0].len(), reads);
    assert!(all[0].iter().any(|it| it.test == test("scan") && it.answer.rows == 0));
}

/// Simulates a server that reads a row wrongly on one access path: a view that hides rows unless all are summed.
#[test]
fn a_wrong_answer_names_the_statement() {
    let mut bed = Bed::new();
    bed.load(1, 100, SEED);
    bed.control.query("RENAME TABLE sbtest1 TO hidden").unwrap();
    let view = "CREATE VIEW sbtest1 AS SELECT * FROM hidden WHERE id > 100 OR EXISTS \
                (SELECT 1 FROM information_schema.PROCESSLIST \
                 WHERE DB = DATABASE() AND INFO LIKE '%CRC32%')";
    bed.control.query(view).unwrap();
    let tests = [script("oltp_point_select")];
    let data = assay_model::DataSet { tables: 1, rows: 100 };
    let check = Check { dialect: Dialect::MySql, tests: &tests, data, seed: SEED };
    let error = check_loaded(&bed.options, &check, &mut LoadedData::new(SEED, data)).unwrap_err();
    let LoadError::WrongAnswer { test, ref sql, .. } = error else { panic!("{error}") };
    assert_eq!(test, "oltp_point_select");
    assert!(sql.starts_with("SELECT c FROM sbtest1 WHERE id="), "{sql}");
}
