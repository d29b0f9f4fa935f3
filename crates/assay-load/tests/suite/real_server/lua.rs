//! sysbench scripts on real servers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_load::{
    ClientPolicy, ClientSession, ClientWork, LoadError, LoadTarget, Reporter, RunBound, fill,
    run_command, workload_of,
};
use assay_lua::{NoServer, ScriptDraws, ScriptEngine, ScriptSetting};
use assay_model::{
    Class, DataSet, Definition, Dialect, Distribution, Engine as TableEngine, Group, LuaScript,
    Pacing, PlanningFacts, Product, Role, Schema, Script, Setup, StartFrom, StatementMode,
    TableForm, Test, Unit,
};
use assay_wire::ConnectOptions;
use assay_workloads::{OltpOptions, define, oltp_tests};

use super::bed::{Bed, SEED};

const SCRIPT: &str = r###"
sysbench.cmdline.options = { ["table-size"] = { "Rows", 100 } }

function prepare()
  local con = sysbench.sql.driver():connect()
  for t = 1, 2 do
    con:query("CREATE TABLE t" .. t .. " (id INT PRIMARY KEY, v INT NOT NULL, s VARCHAR(20))")
    con:bulk_insert_init("INSERT INTO t" .. t .. " VALUES")
    for i = 1, sysbench.opt.table_size do
      con:bulk_insert_next(("(%d, %d, '%s')"):format(i, sysbench.rand.default(1, 1000), sysbench.rand.string("##-@@")))
    end
    con:bulk_insert_done()
  end
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE t1")
  con:query("DROP TABLE t2")
end

function thread_init()
  con = sysbench.sql.driver():connect()
  read = con:prepare("SELECT v, s FROM t1 WHERE id = ?")
  id = read:bind_create(sysbench.sql.type.INT)
  read:bind_param(id)
  write = con:prepare("UPDATE t2 SET v = ?, s = ? WHERE id = ?")
  v, s, k = write:bind_create(sysbench.sql.type.INT), write:bind_create(sysbench.sql.type.CHAR, 20),
    write:bind_create(sysbench.sql.type.INT)
  write:bind_param(v, s, k)
end

function event()
  id:set(sysbench.rand.uniform(1, sysbench.opt.table_size))
  assert(read:execute().nrows == 1)
  v:set(sysbench.rand.uniform(1, 9)) s:set_rand_str("@@@") k:set(sysbench.tid + 1)
  write:execute()
  local rows = con:query("SELECT COUNT(*), NULL FROM t1")
  local row = rows:fetch_row()
  assert(rows.nrows == 1 and rows.nfields == 2 and tonumber(row[1]) == sysbench.opt.table_size and row[2] == nil)
end
"###;

fn script(path: &Path, options: &[(&str, &str)]) -> Test {
    let own = |text: &str| text.to_owned();
    let options: Vec<(String, String)> =
        options.iter().map(|(name, value)| (own(name), own(value))).collect();
    let setting = ScriptSetting {
        thread: 0,
        threads: 1,
        driver: "mysql",
        command: own("run"),
        options: assay_lua::take_distribution(options.clone()).unwrap().1,
        connection: Vec::new(),
        seed: 0,
        draw: ScriptDraws::default(),
        may_use_all: false,
        leash: Arc::default(),
    };
    let engine = ScriptEngine::read(&mut NoServer::default(), path, None, &setting).unwrap();
    let name = own("script");
    let script = LuaScript { name, files: engine.files(), options, may_use_all: false };
    let nothing = Script {
        steps: Vec::new(),
        draw: Distribution::Uniform,
        rows: None,
        mix: Vec::new(),
        scratch: Vec::new(),
    };
    define(Definition {
        name: own("script"),
        group: Group { rank: 0, word: own("script"), title: own("script") },
        groups: Vec::new(),
        does: own("what the script says"),
        class: Class::Write,
        start_from: StartFrom::Fresh,
        unit: Unit::Query,
        schema: Schema::Lua(script),
        roles: vec![Role { script: nothing, clients: None, pacing: Pacing::Closed }],
        planning: PlanningFacts::default(),
        digest: String::new(),
    })
}

struct ScriptFile {
    _directory: tempfile::TempDir,
    test: Test,
}

fn written(text: &str, options: &[(&str, &str)]) -> ScriptFile {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("script.lua");
    fs_err::write(&path, text).unwrap();
    ScriptFile { test: script(&path, options), _directory: directory }
}

fn work(test: Test, dialect: Dialect, clients: u32) -> ClientWork {
    let setup = Setup { clients, tables: 1, rows: 100 };
    ClientWork { dialect, test, setup, statements: StatementMode::Prepared, seed: SEED }
}

fn place<'a>(options: &'a ConnectOptions, dialect: Dialect, form: &'a TableForm) -> LoadTarget<'a> {
    LoadTarget {
        options,
        dialect,
        engine: TableEngine::InnoDb,
        form,
        data: DataSet { tables: 1, rows: 100 },
        seed: SEED,
        files: &|_| Err("a script has no such files".to_owned()),
        dumps: &|_| Err("a script has no dump".to_owned()),
    }
}

#[test]
fn a_script_makes_its_tables_and_sends_the_same_work_to_every_server() {
    let written = written(SCRIPT, &[]);
    let form = TableForm::default();
    let mut contents: BTreeMap<Dialect, Vec<(String, String)>> = BTreeMap::new();
    for (product, version) in
        [(Product::MariaDb, "10.11"), (Product::MySql, "8.0"), (Product::Postgres, "16")]
    {
        let mut bed = Bed::shared(product, version);
        let (dialect, options) = (product.dialect(), bed.options.clone());
        let place = place(&options, dialect, &form);
        let workload = workload_of(&written.test.schema);
        let loaded = workload.fill(&place, true, &mut |_| ()).unwrap();
        assert_eq!((loaded.rows, workload.tables(&place).unwrap().len()), (200, 2), "{product}");
        workload.fill_cache(&place).unwrap();
        run_command(written.test.lua().unwrap(), "cleanup", (&options, dialect), SEED, 1)
            .bytes_sent
            .unwrap();
        let again = workload.fill(&place, false, &mut |_| ()).unwrap();
        assert_eq!(again.content, loaded.content, "{product}");
        for statements in [StatementMode::Prepared, StatementMode::Text] {
            let work = ClientWork { statements, ..work(written.test, dialect, 4) };
            let mut session = ClientSession::open(&options, &work, &[]).unwrap();
            let done = session.run(0, RunBound::Events(80)).unwrap();
            assert_eq!((done.events, done.read), (80, 160), "{product}");
            assert!(done.write <= 80 && done.write > 0 && done.errors.is_empty(), "{product}");
        }
        let changed = workload.content(&place).unwrap();
        contents.entry(dialect).or_default().push((loaded.content.checksum, changed.checksum));
        // The script removes the tables it created.
        let script = written.test.lua().unwrap();
        run_command(script, "cleanup", (&options, dialect), SEED, 1).bytes_sent.unwrap();
        assert!(workload.tables(&place).unwrap().is_empty(), "{product}");
        let done = run_command(script, "nothing", (&options, dialect), SEED, 1);
        let Err(LoadError::Lua(missing)) = done.bytes_sent else {
            panic!("the script has no such command")
        };
        assert_eq!(missing.to_string(), "the script has no `nothing`");
        bed.control.query("SELECT 1").unwrap();
    }
    let both = &contents[&Dialect::MySql];
    assert_eq!(both[0], both[1], "MariaDB and MySQL got different work");
    assert_ne!(both[0].0, both[0].1);
}

#[test]
fn an_event_ends_the_script_is_started_again_or_fails_with_its_place() {
    let bed = Bed::new();
    let options = bed.options.clone();
    let session = |text: &str, clients| {
        let written = written(text, &[]);
        let opened =
            ClientSession::open(&options, &work(written.test, Dialect::MySql, clients), &[]);
        opened.map(|session| (session, written))
    };
    let run = |text: &str, clients| -> Result<_, LoadError> {
        let (mut session, _written) = session(text, clients)?;
        session.run(0, RunBound::Events(10))
    };
    let con = "con = sysbench.sql.driver():connect()";
    let early = format!(
        "n = 0 function thread_init() {con} end
         function event() n = n + 1 if n > 3 then return true end con:query('SELECT 1') end"
    );
    assert!(matches!(run(&early, 2), Err(LoadError::EndedEarly)));
    let again = format!(
        "tries = 0 function thread_init() {con} end
         function event()
           tries = tries + 1
           if tries % 2 == 1 then con:query(\"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213\") end
           con:query('SELECT 1')
         end"
    );
    let done = run(&again, 1).unwrap();
    assert_eq!((done.events, done.errors.as_slice()), (10, &[(1213, 10)][..]));
    let several = format!(
        "function event() {con} local other = sysbench.sql.driver():connect()
           assert(con:query_row('SELECT CONNECTION_ID()') ~= other:query_row('SELECT CONNECTION_ID()'))
           con:disconnect() other:disconnect()
         end"
    );
    assert_eq!(run(&several, 1).unwrap().read, 20);
    let wrong = [
        ("function event() error('no') end", "script.lua:1: no"),
        (&*format!("function event() {con} con:query('SELECT * FROM missing') end"), "missing"),
        (
            "all = {} function event() for i = 1, 9 do all[i] = sysbench.sql.driver():connect() end end",
            "may keep 4 connections",
        ),
        (&format!("function event() {con} con:prepare('SELECT ?'):execute() end"), "1 parameters"),
        (
            &format!(
                "function thread_init() {con} con:disconnect() con:query('SELECT 1') end function event() end"
            ),
            "already closed",
        ),
    ];
    for (text, expected) in wrong {
        let error = run(text, 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    // All these clients have closed their connections.
    let mut bed = bed;
    let processes = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()";
    for _ in 0..600 {
        if bed.number(processes) == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("connections are left");
}

/// Statement digests, and how often the server ran each.
///
/// A server answers a statement before it counts it, so a client's last statement may be missing until its connection
/// has ended on the server.
fn digests(bed: &mut Bed) -> BTreeMap<String, i64> {
    let others = "SELECT COUNT(*) FROM performance_schema.threads \
                  WHERE NAME = 'thread/sql/one_connection' AND PROCESSLIST_ID <> CONNECTION_ID()";
    let began = Instant::now();
    while bed.rows(others)[0][0] != "0" {
        assert!(began.elapsed() < assay_testkit::PATIENCE, "a client's connection does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sql = "SELECT DIGEST_TEXT, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest \
               WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT NOT LIKE '%events_statements%' \
               AND DIGEST_TEXT NOT LIKE 'SET %'";
    bed.rows(sql).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
}

#[test]
fn stock_scripts_send_what_the_native_ones_send() {
    const EVENTS: i64 = 300;
    let folder = PathBuf::from("/usr/share/sysbench");
    assert!(
        folder.join("oltp_common.lua").exists(),
        "sysbench is not installed: `apt-get install sysbench`"
    );
    let mut bed = Bed::alone_with(Product::MySql, "8.0", &["--performance-schema=ON"]);
    let options = bed.options.clone();
    let (tables, rows) = (2, 1000);
    let form = TableForm::default();
    let of_data = [("tables", "2"), ("table-size", "1000")];
    for native in oltp_tests(&OltpOptions::default()) {
        let path = folder.join(format!("{}.lua", native.name));
        let is_one_table = native.name.starts_with("select_random");
        if !path.exists() || native.name == "bulk_insert" {
            continue;
        }
        let tables = if is_one_table { 1 } else { tables };
        let own = if is_one_table { [("tables", "1"), of_data[1]] } else { of_data };
        let stock = script(&path, &own);
        let carried_out = |test: Test, bed: &mut Bed| {
            let data = DataSet { tables, rows };
            let load = assay_load::Tables { form: form.clone(), ..bed.tables(data, SEED) };
            fill(&options, &load, &mut |_| ()).unwrap();
            bed.control
                .query("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
                .unwrap();
            let setup = Setup { clients: 1, tables, rows };
            let work = ClientWork {
                dialect: Dialect::MySql,
                test,
                setup,
                // The server has digests of text statements only.
                statements: StatementMode::Text,
                seed: SEED,
            };
            let policy = ClientPolicy::default();
            let mut session = ClientSession::open_with(&options, &work, &[], &policy).unwrap();
            session.run(0, RunBound::Events(EVENTS as u64)).unwrap();
            drop(session);
            digests(bed)
        };
        let ours = carried_out(native, &mut bed);
        let theirs = carried_out(stock, &mut bed);
        let only_events = |all: BTreeMap<String, i64>| -> BTreeMap<String, i64> {
            all.into_iter().filter(|(_, count)| *count >= EVENTS / 10).collect()
        };
        let (ours, theirs) = (only_events(ours), only_events(theirs));
        assert!(!ours.is_empty(), "{native}");
        let texts = |all: &BTreeMap<String, i64>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(texts(&ours), texts(&theirs), "{native}");
        let sums = |all: &BTreeMap<String, i64>| all.values().sum::<i64>();
        assert_eq!(sums(&ours), sums(&theirs), "{native}: {ours:#?} and {theirs:#?}");
    }
}

#[test]
fn a_script_reads_rows_of_all_kinds_and_names_errors() {
    let bed = Bed::shared(Product::MySql, "8.0");
    let options = bed.options.clone();
    let text = "
        function thread_init()
          con = sysbench.sql.driver():connect()
          if sysbench.tid == 0 then
            con:query('DROP PROCEDURE IF EXISTS two')
            con:query('CREATE PROCEDURE two() BEGIN SELECT 1, 2; SELECT 3; END')
            con:query('CREATE TABLE IF NOT EXISTS once (id INT PRIMARY KEY)')
          end
          st = con:prepare('SELECT ?, NULL, 0.5')
          id = st:bind_create(sysbench.sql.type.BIGINT)
          more = st:bind_create(sysbench.sql.type.INT)
          st:bind_param(id, more)
          tries = 0
        end
        function event()
          id:set(12345678901)
          local rs = st:execute()
          local row = rs:fetch_row()
          assert(rs.nfields == 3 and row[1] == '12345678901' and row[2] == nil and row[3] == '0.5')
          rs = con:query('CALL two()')
          assert(rs.nfields == 2 and rs:fetch_row()[2] == '2' and con:more_results())
          assert(con:next_result():fetch_row()[1] == '3')
          assert(con:next_result() == nil and not con:more_results())
          tries = tries + 1
          con:query('INSERT INTO once VALUES (' .. math.floor(tries / 2) .. ')')
        end";
    let run = |options_of: &[(&str, &str)]| {
        let written = written(text, options_of);
        let mut session =
            ClientSession::open(&options, &work(written.test, Dialect::MySql, 1), &[]).unwrap();
        session.run(0, RunBound::Events(4))
    };
    let done = run(&[("mysql-ignore-errors", "1062")]).unwrap();
    assert_eq!((done.events, done.errors.as_slice()), (4, &[(1062, 2)][..]));
    let usual = run(&[]).unwrap_err().to_string();
    assert!(usual.contains("1062"), "{usual}");
}

#[test]
fn a_script_begins_and_ends_once_for_all_clients() {
    let mut bed = Bed::new();
    let options = bed.options.clone();
    let begin = |text: &str| {
        let written = written(text, &[]);
        let script = written.test.lua().unwrap();
        Reporter::begin(script, (&options, Dialect::MySql), SEED, 4)
    };
    let text = "print('read')
        function init()
          con = sysbench.sql.driver():connect()
          con:query('CREATE TABLE made_by_init (threads INT)')
          con:query('INSERT INTO made_by_init VALUES (' .. sysbench.opt.threads .. ')')
          print('init')
        end
        function event() end
        function sysbench.hooks.report_cumulative(stat) print('events', stat.events) end
        function done() con:query('UPDATE made_by_init SET threads = -threads') print('done') end";
    let begun = begin(text);
    assert_eq!(begun.said, "read\ninit\n");
    let mut reporter = begun.reporter.unwrap().unwrap();
    assert_eq!(bed.number("SELECT threads FROM made_by_init"), 4);
    assert_eq!(reporter.intermediate(&[("events", 1.0)]).unwrap(), None);
    let report = reporter.cumulative(&[("events", 2.0)]).unwrap();
    assert_eq!(report.as_deref(), Some("events\t2\n"));
    assert_eq!(reporter.done().unwrap().as_deref(), Some("done\n"));
    assert_eq!(bed.number("SELECT threads FROM made_by_init"), -4);
    let nothing = begin("print('read') function event() end");
    assert!(nothing.said == "read\n" && nothing.reporter.unwrap().is_none());
    let failed = begin("function event() end function init() print('1')\nerror('no') end");
    assert_eq!(failed.said, "1\n");
    let error = failed.reporter.err().unwrap().to_string();
    assert!(error.contains("script.lua:2: no"), "{error}");
    let refused = begin("function event() end function init() db_query('SELEC 1') end");
    let error = refused.reporter.err().unwrap().to_string();
    assert!(error.contains("script.lua:1: query `SELEC 1` failed"), "{error}");
}
