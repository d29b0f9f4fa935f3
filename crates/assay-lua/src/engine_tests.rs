//! Tests of scripts without a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::options::ScriptDraws;
use crate::requests::{NoServer, RowUse, ScriptAnswer, ScriptValue, SqlError};

/// Answers every query with two rows, and records the statements.
#[derive(Default)]
struct RecordingClient {
    sent: Vec<String>,
    fails: Option<SqlError>,
}

impl ScriptClient for RecordingClient {
    fn connect(&mut self) -> Result<usize, SqlError> {
        self.sent.push("connect".to_owned());
        Ok(self.sent.iter().filter(|it| *it == "connect").count())
    }

    fn disconnect(&mut self, connection: usize) {
        self.sent.push(format!("disconnect {connection}"));
    }

    fn reconnect(&mut self, connection: usize) -> Result<(), SqlError> {
        self.sent.push(format!("reconnect {connection}"));
        Ok(())
    }

    fn query(&mut self, _: usize, sql: &[u8], keeps: RowUse) -> Result<ScriptAnswer, SqlError> {
        self.sent.push(String::from_utf8_lossy(sql).into_owned());
        if let Some(error) = self.fails.take() {
            return Err(error);
        }
        let has_rows = sql.starts_with(b"SELECT");
        let row = |it: &str| vec![Some(it.as_bytes().to_vec()), None];
        let is_call = sql.starts_with(b"CALL");
        let rows = has_rows && keeps == RowUse::Keep;
        let rows = rows.then(|| vec![row("1"), row("two")]);
        let answer = ScriptAnswer { has_rows, row_count: 2, columns: 2, rows, rest: Vec::new() };
        let second = vec![vec![Some(b"3".to_vec())]];
        let second = ScriptAnswer {
            has_rows: true,
            row_count: 1,
            columns: 1,
            rows: Some(second),
            ..ScriptAnswer::default()
        };
        let rest = if is_call { vec![second, ScriptAnswer::default()] } else { Vec::new() };
        Ok(ScriptAnswer { rest, ..answer })
    }

    fn prepare(&mut self, _: usize, sql: &[u8]) -> Result<usize, SqlError> {
        self.sent.push(format!("prepare {}", String::from_utf8_lossy(sql)));
        Ok(7)
    }

    fn execute(
        &mut self,
        _: usize,
        statement: usize,
        values: &[ScriptValue],
        keeps: RowUse,
    ) -> Result<ScriptAnswer, SqlError> {
        self.sent.push(format!("execute {statement} {values:?}"));
        let row = || vec![Some(b"four".to_vec())];
        let rows = (keeps == RowUse::Keep).then(|| vec![row(), row(), row()]);
        Ok(ScriptAnswer { has_rows: true, row_count: 3, columns: 1, rows, rest: Vec::new() })
    }

    fn close(&mut self, _: usize, statement: usize) {
        self.sent.push(format!("close {statement}"));
    }

    fn pause(&mut self, time: Duration) -> bool {
        self.sent.push(format!("pause {} ms", time.as_millis()));
        true
    }
}

fn setting(options: &[(&str, &str)]) -> ScriptSetting {
    let own = |it: &&str| (*it).to_owned();
    ScriptSetting {
        thread: 0,
        threads: 2,
        driver: "mysql",
        command: "run".to_owned(),
        options: options.iter().map(|(name, value)| (own(name), own(value))).collect(),
        connection: vec![("mysql_db".to_owned(), "sbtest".to_owned())],
        seed: 1,
        draw: ScriptDraws::default(),
        may_use_all: false,
        leash: Arc::default(),
    }
}

struct EngineTestPlace {
    directory: tempfile::TempDir,
    script: PathBuf,
}

fn place(text: &str) -> EngineTestPlace {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script.lua");
    fs_err::write(&script, text).unwrap();
    EngineTestPlace { directory, script }
}

fn read(text: &str, options: &[(&str, &str)]) -> Result<ScriptEngine> {
    ScriptEngine::read(&mut NoServer::default(), &place(text).script, None, &setting(options))
}

/// Reads a script, runs one event, and returns its output.
fn printed(text: &str) -> String {
    let engine = read(text, &[]).unwrap();
    let mut client = RecordingClient::default();
    engine.call(&mut client, "thread_init").unwrap();
    engine.event(&mut client, 0, 0).unwrap();
    engine.take_said()
}

/// Each takes some of the stack of the thread.
#[test]
fn coroutines_within_coroutines_are_limited() {
    let walk = "function walk(n)
           return coroutine.wrap(function()
             if n < LAST then for x in walk(n + 1) do coroutine.yield(x) end end
             coroutine.yield(n)
           end)
         end
         function event() for x in walk(1) do count = (count or 0) + x end print(count) end
         function thread_init() end";
    assert_eq!(printed(&walk.replace("LAST", "50")), "1275\n");
    let engine = read(&walk.replace("LAST", "1e9"), &[]).unwrap();
    let error = engine.event(&mut RecordingClient::default(), 0, 0).unwrap_err();
    assert!(error.to_string().contains("coroutines run within each other"), "{error}");
}

#[test]
fn a_script_sends_statements_and_reads_rows() {
    let engine = read(
        "function thread_init(tid)
           con = sysbench.sql.driver():connect()
           stmt = con:prepare('SELECT c FROM t WHERE id = ?')
           id = stmt:bind_create(sysbench.sql.type.INT)
           name = stmt:bind_create(sysbench.sql.type.CHAR, 3)
           stmt:bind_param(id, name)
         end
         function event(tid)
           id:set(5.7) name:set('abcd')
           local rs = stmt:execute()
           print(rs.nrows, con, stmt, id, rs, rs == nil)
           local a, b = con:query_row('SELECT a, b')
           print(a, b, a + 1)
           rs = con:query('SELECT x')
           for i = 1, rs.nrows do print(unpack(rs:fetch_row(), 1, rs.nfields)) end
           print(con:query('UPDATE t SET a = 1'))
           con:bulk_insert_init('INSERT INTO t VALUES')
           con:bulk_insert_next('(1)') con:bulk_insert_next('(2)')
           con:bulk_insert_done()
           ffi.C.sb_counter_inc(tid, ffi.C.SB_CNT_ERROR)
           os.execute('sleep 0.25')
         end
         function thread_done() con:disconnect() end",
        &[],
    )
    .unwrap();
    let mut client = RecordingClient::default();
    engine.call(&mut client, "thread_init").unwrap();
    assert_eq!(engine.event(&mut client, 0, 0), Ok(EventEnd::Done));
    engine.call(&mut client, "thread_done").unwrap();
    assert_eq!(
        engine.take_said(),
        "3\t<sql_connection>\t<sql_statement>\t<sql_param>\t<sql_result>\tfalse\n\
         1\tnil\t2\n1\tnil\ntwo\tnil\nnil\n"
    );
    assert_eq!(
        client.sent,
        [
            "connect",
            "prepare SELECT c FROM t WHERE id = ?",
            "execute 7 [Int(5), Text([97, 98, 99])]",
            "SELECT a, b",
            "SELECT x",
            "UPDATE t SET a = 1",
            "INSERT INTO t VALUES (1),(2)",
            "pause 250 ms",
            "disconnect 1",
        ]
    );
}

#[test]
fn rows_of_all_kinds_of_results_can_be_read() {
    let note = printed(
        "function event()
           local con = sysbench.sql.driver():connect()
           local st = con:prepare('SELECT c')
           local rs = st:execute()
           print(rs.nrows, rs.nfields, rs:fetch_row()[1])
           rs:free()
           rs = con:query('CALL p()')
           print(rs, con:more_results())
           rs = con:next_result()
           print(rs.nrows, rs:fetch_row()[1], con:more_results())
           print(con:next_result(), con:more_results(), con:next_result())
           con:query('SELECT 1')
           print(con:more_results())
         end",
    );
    assert_eq!(note, "3\t1\tfour\nnil\ttrue\n1\t3\ttrue\nnil\tfalse\tnil\nfalse\n");
}

#[test]
fn rows_are_only_counted_for_scripts_that_do_not_read_them() {
    let note = printed(
        "function event()
           local con = sysbench.sql.driver():connect()
           local rs = con:query('SELECT 1')
           print(rs.nrows, rs.rows, (con:query_row('SELECT 1')))
         end",
    );
    assert_eq!(note, "2\tnil\t1\n");
}

#[test]
fn connections_that_a_script_loses_are_closed() {
    let text = "con = sysbench.sql.driver():connect()
        function event()
          sysbench.sql.driver():connect()
          collectgarbage() collectgarbage()
          con:disconnect()
          collectgarbage() collectgarbage()
        end";
    let engine = read(text, &[]).unwrap();
    let mut client =
        RecordingClient { sent: vec!["connect".to_owned()], ..RecordingClient::default() };
    engine.event(&mut client, 0, 0).unwrap();
    assert_eq!(client.sent[1..], ["connect", "disconnect 2", "disconnect 0"]);
}

#[test]
fn what_is_called_once_knows_no_thread() {
    let text = "function init(thread) print('init', thread, sysbench.tid) end
      function event() end";
    let engine = read(text, &[]).unwrap();
    let mut client = RecordingClient::default();
    engine.call_once(&mut client, "init").unwrap();
    engine.call_once(&mut client, "done").unwrap();
    assert_eq!(engine.take_said(), "init\tnil\t0\n");
}

#[test]
fn options_have_types_defaults_and_names() {
    let text = "sysbench.cmdline.options = {
          tables = {'Number of tables', 1}, ['table-size'] = {'Rows', 10000},
          secondary = {'Use a secondary index', false}, engine = {'Engine', 'innodb'},
          names = {'Names', {'a', 'b'}}, unset = {'Nothing'}, big = {'Size', nil, sysbench.cmdline.ARG_SIZE}}
        function event()
          local o = sysbench.opt
          print(o.tables, o.table_size, o.secondary, o.engine, #o.names, o.unset == '', o.big, o.threads,
            o.mysql_db, o.db_driver)
        end";
    assert_eq!(printed(text), "1\t10000\tfalse\tinnodb\t2\ttrue\t0\t2\tsbtest\tmysql\n");
    let switches = "local bool = sysbench.cmdline.ARG_BOOL
        sysbench.cmdline.options = { a = {'A', nil, bool}, b = {'B', false, bool}, c = {'C', true} }
        function event() print(sysbench.opt.a, sysbench.opt.b, sysbench.opt.c) end";
    assert_eq!(printed(switches), "true\tfalse\ttrue\n");
    let given = [("tables", "4"), ("secondary", "on"), ("names", "x,y,z"), ("big", "2K")];
    let engine = read(text, &given).unwrap();
    engine.event(&mut RecordingClient::default(), 0, 0).unwrap();
    assert!(engine.take_said().starts_with("4\t10000\ttrue\tinnodb\t3\ttrue\t2048\t"));
    let unknown = read(text, &[("table", "4")]).err().unwrap();
    assert_eq!(
        unknown.to_string(),
        "the script has no option `--table`; it has `--big`, `--engine`, `--names`, `--secondary`, \
         `--table-size`, `--tables`, `--unset`"
    );
    assert_eq!(
        read(text, &[("tables", "many")]).err(),
        Some(LuaError::Value { name: "tables".to_owned(), value: "many".to_owned() })
    );
    assert!(matches!(read(text, &[("mysql-host", "x")]), Err(LuaError::OptionOfSysbench { .. })));
}

#[test]
fn older_scripts_have_plain_functions_and_options_as_globals() {
    let engine = read(
        "pathtest = string.match(test, '(.*/)') or ''
         dofile(pathtest .. 'script_common.lua')
         function thread_init(thread_id) set_vars() db_connect() end
         function event(thread_id)
           db_query('SELECT ' .. (oltp_table_size + sb_rand_uniform(3, 3)))
           db_bulk_insert_init('INSERT INTO t VALUES') db_bulk_insert_next('(1)') db_bulk_insert_done()
         end",
        &[("oltp-table-size", "100")],
    );
    // Its second file does not exist.
    let missing = engine.err().unwrap().to_string();
    assert!(missing.contains("script_common.lua` cannot be used"), "{missing}");
    // A password would be kept in the ledger.
    let password = [("mysql-password", "secret")];
    let refused = read("function event() end", &password).err().unwrap();
    assert!(matches!(refused, LuaError::OptionOfSysbench { .. }), "{refused}");
    let place = place(
        "pathtest = string.match(test, '(.*/)') or ''
         dofile(pathtest .. 'common.lua')
         function event(thread_id)
           db_query('SELECT ' .. (oltp_table_size + sb_rand_uniform(3, 3)) .. mysql_table_engine)
         end",
    );
    let common = "function set_vars() end";
    fs_err::write(place.directory.path().join("common.lua"), common).unwrap();
    let set = setting(&[("oltp-table-size", "100"), ("mysql-table-engine", "myisam")]);
    let engine = ScriptEngine::read(&mut NoServer::default(), &place.script, None, &set).unwrap();
    assert_eq!(engine.files().len(), 2);
    let mut client = RecordingClient::default();
    engine.call(&mut client, "thread_init").unwrap();
    engine.event(&mut client, 0, 0).unwrap();
    assert_eq!(client.sent, ["connect", "SELECT 103myisam"]);
}

#[test]
fn an_event_is_started_again_after_an_error_that_sysbench_ignores() {
    let text = "function event()
          con = con or sysbench.sql.driver():connect()
          con:query('UPDATE t SET a = 1')
        end
        sysbench.hooks.before_restart_event = function(err) print(err.sql_errno, err.errcode) end";
    let engine = read(text, &[]).unwrap();
    let error = |code, is_ignorable| {
        let (state, message) = ("40001".to_owned(), "Deadlock".to_owned());
        Some(SqlError { code, state, message, is_ignorable })
    };
    let mut client = RecordingClient { fails: error(1213, true), ..RecordingClient::default() };
    assert_eq!(engine.event(&mut client, 0, 0), Ok(EventEnd::Again(1213)));
    assert_eq!(engine.take_said(), "1213\t1\n");
    assert_eq!(engine.event(&mut client, 0, 1), Ok(EventEnd::Done));
    client.fails = error(1146, false);
    let failed = engine.event(&mut client, 1, 0).unwrap_err().to_string();
    assert!(failed.contains("script.lua:3: SQL error, errno = 1146, state = '40001'"), "{failed}");
}

#[test]
fn a_script_may_end_early_or_have_a_loop_of_its_own() {
    let engine = read("n = 0 function event() n = n + 1 return n > 2 end", &[]).unwrap();
    let mut client = RecordingClient::default();
    let ended: Vec<_> = (0..3).map(|at| engine.event(&mut client, at, 0).unwrap()).collect();
    assert_eq!(ended, [EventEnd::Done, EventEnd::Done, EventEnd::NoMore]);
    let own = "function event() end
        function thread_run(tid)
          local con = sysbench.sql.driver():connect()
          while ffi.C.sb_more_events(tid) do
            ffi.C.sb_event_start(tid) con:query('SELECT 1') ffi.C.sb_event_stop(tid)
          end
        end";
    let engine = read(own, &[]).unwrap();
    for at in 0..3 {
        assert_eq!(engine.event(&mut client, at, 0), Ok(EventEnd::Done));
    }
    assert_eq!(client.sent, ["connect", "SELECT 1", "SELECT 1", "SELECT 1"]);
}

#[test]
fn what_is_drawn_depends_on_the_event() {
    let text = "function event()
        print(sysbench.rand.default(1, 1000000), math.random(1000000), sysbench.rand.string('###@@@'))
      end";
    let drawn = |sequence| {
        let engine = read(text, &[]).unwrap();
        engine.event(&mut RecordingClient::default(), sequence, 0).unwrap();
        engine.take_said()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

/// The error of a script, on reading or in its first event.
fn error_of(text: &str) -> String {
    match read(text, &[]) {
        Err(error) => error.to_string(),
        Ok(engine) => engine.event(&mut RecordingClient::default(), 0, 0).unwrap_err().to_string(),
    }
}

fn check_errors(scripts: &[(&str, &str)]) {
    for (text, expected) in scripts {
        let error = error_of(text);
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.matches("script.lua:").count() <= 1, "{text}: {error}");
    }
}

#[test]
fn faults_have_their_place() {
    check_errors(&[
        ("function event()\n  x = \nend", "script.lua:3: unexpected symbol"),
        ("function event()\n  error('no')\nend", "script.lua:2: no"),
        (
            "function event()\n local _, e = pcall(function() error('no') end) error(e) end",
            "script.lua:2: no",
        ),
        (
            "function event()\n error({ code = 3 }) end",
            "script.lua:2: the script raised a table as its error: { code = 3 }",
        ),
        (
            "function event()\n\n error() end",
            "script.lua:3: the script called `error` without a message",
        ),
        ("function event()\n return 1 + event() end", "script.lua:2: stack overflow"),
        ("\nerror()", "script.lua:2: the script called"),
        (
            "sysbench.cmdline.options = 7",
            "sysbench.cmdline.options is a number, and must be a table",
        ),
        ("function event()\n ffi.C.usleep('x') end", "script.lua:2: "),
        ("function event() newproxy(true) end", "newproxy() is not supported"),
        (
            "function event()\n  nothing.x = 1 end",
            "script.lua:2: attempt to index global 'nothing'",
        ),
    ]);
}

#[test]
fn nothing_reaches_outside() {
    check_errors(&[
        ("io.open('/etc/passwd')", "outside of the script's directory"),
        ("function event() os.execute('true') end", "wants to run `true`"),
        ("os.execute('touch made')", "script.lua:1: the script wants to run `touch made`"),
        ("os.execute('sleep 1; touch made')", "wants to run"),
        ("os.execute('sleep $(touch made)')", "wants to run"),
        ("os.execute('sleep 1\\ntouch made')", "wants to run"),
        ("os.execute('sleep\\0 1')", "wants to run"),
        ("string.match = function() return '1', 's' end os.execute('touch made')", "wants to run"),
        ("setfenv(os.execute, {}) os.execute('touch made')", "wants to run"),
        ("require('os').execute('touch made')", "wants to run"),
        ("package.loaded.os.execute('touch made')", "wants to run"),
        ("function event() io.popen('true') end", "wants to run a program"),
        ("io.lines('../secret')", "outside of the script's directory"),
        ("os.remove('../secret')", "outside of the script's directory"),
        ("os.rename('script.lua', '../stolen')", "outside of the script's directory"),
        ("io.open('.profile', 'w')", "no hidden file"),
        ("io.open('x', 'wx')", "no mode"),
        ("os.tmpname()", "attempt to call field 'tmpname'"),
        ("io.input('/etc/passwd')", "attempt to call field 'input'"),
        ("dofile('/etc/passwd')", "outside of the script's directory"),
        ("assert(loadfile('/etc/passwd'))", "outside of the script's directory"),
        ("require('package').loadlib('x', 'y')", "attempt to call field 'loadlib'"),
        ("require('package').loaders[2]('x')", "attempt to call"),
        ("package.loaded.package.loaders[2]('x')", "attempt to call"),
        ("require('jit.util')", "no such module"),
        ("require('string.buffer')", "no such module"),
        ("require('ffi').load('c')", "ffi.load() is not supported"),
        ("assert(load(string.dump(function() end), 'x'))", "attempt to load"),
        ("debug.getregistry()", "attempt to call field 'getregistry'"),
        ("jit.attach(print)", "attempt to call field 'attach'"),
        ("function event() os.exit(3) end", "os.exit(3)"),
        ("function event() ffi.new('char[9]') end", "ffi.new() is not supported"),
        ("function event() ffi.C.system('true') end", "`system` is not supported"),
        ("require 'socket'", "no such module"),
        (
            "sysbench.sql.driver():connect():query('SELECT 1')",
            "script.lua:1: SQL error, errno = 0, state = 'HY000': statements can be sent only in functions",
        ),
        ("assert(loadstring('\\27LJ\\2'))", "attempt to load"),
        ("function event() sysbench.sql.driver('pgsql') end", "not 'pgsql'"),
    ]);
    let open = "local f = io.open('out.txt', 'w') f:write('x\\ny') f:close()
        local n = 0
        for line in io.lines('out.txt') do n = n + 1 end
        assert(n == 2 and os.execute() == 0)
        f = io.open('out.txt', 'a') f:write('z') f:close()
        assert(io.open('out.txt'):read('*a') == 'x\\nyz')
        local none, why, code = io.open('none.txt')
        assert(none == nil and why == 'none.txt: No such file or directory' and code == 2, why)
        assert(os.rename('out.txt', 'other.txt') and os.remove('other.txt'))
        assert(io.open('out.txt', 'w')):close()
        function event() end";
    let place = place(open);
    ScriptEngine::read(&mut NoServer::default(), &place.script, None, &setting(&[])).unwrap();
    assert!(place.directory.path().join("out.txt").exists());
}

#[test]
fn a_script_cannot_take_all_memory() {
    let text = "function event() local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end end";
    let engine = read(text, &[]).unwrap();
    let error = engine.event(&mut RecordingClient::default(), 0, 0).unwrap_err();
    let LuaError::Memory { mb: MEMORY_MB, place: Some(place) } = &error else { panic!("{error}") };
    assert!(place.ends_with("script.lua:1"), "{place}");
}

#[test]
fn a_script_that_does_not_end_is_ended_wherever_it_is() {
    for text in [
        "function event()\n  while true do end\nend",
        "function event()\n  while true do pcall(function() while true do end end) end\nend",
        "function event() while true do pcall(pcall, pcall, tostring, 1) end end",
        "function event()
           while true do coroutine.resume(coroutine.create(function() while true do end end)) end
         end",
        "function event() while true do local ok = xpcall(function() for i = 1, 1e9 do end end, print) end end",
        "function event() local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do table.concat(t) end end",
        "function event() local s = ('a'):rep(1e5) while true do s:find('b') end end",
        "function event() local s = ('a'):rep(1e6) while true do local t = s .. 'b' end end",
    ] {
        let engine = read(text, &[]).unwrap();
        engine.watch.limit.set(Duration::from_millis(50));
        let error = engine.event(&mut RecordingClient::default(), 0, 0).unwrap_err();
        let LuaError::Endless { place: Some(place), .. } = &error else {
            panic!("{text}: {error}")
        };
        assert!(place.contains("script.lua:"), "{place}");
    }
}

#[test]
fn others_may_end_a_script_and_learn_where_it_is() {
    let leash = Arc::new(crate::leash::Leash::default());
    let text = "function event()\n  while true do end\nend";
    let setting = ScriptSetting { leash: Arc::clone(&leash), ..setting(&[]) };
    let engine =
        ScriptEngine::read(&mut NoServer::default(), &place(text).script, None, &setting).unwrap();
    let other = std::thread::spawn({
        let leash = Arc::clone(&leash);
        move || {
            while leash.place().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            leash.end();
        }
    });
    let error = engine.event(&mut RecordingClient::default(), 0, 0).unwrap_err();
    other.join().unwrap();
    let LuaError::Ended { place: Some(place) } = &error else { panic!("{error}") };
    assert!(place.ends_with("script.lua:2"), "{place}");
    assert_eq!(leash.place().as_ref(), Some(place));
}

#[test]
fn an_error_of_a_statement_has_its_place() {
    let text = "function event()\n  db_query('SELECT 1')\n\n  db_query('SELEC 2')\nend";
    let engine = read(text, &[]).unwrap();
    let mut client = RecordingClient::default();
    engine.event(&mut client, 0, 0).unwrap();
    assert_eq!(engine.failed_at(), None);
    let (state, message) = ("42000".to_owned(), "syntax".to_owned());
    client.fails = Some(SqlError { code: 1064, state, message, is_ignorable: false });
    engine.event(&mut client, 0, 0).unwrap_err();
    assert!(engine.failed_at().unwrap().ends_with("script.lua:2"));
}

#[test]
fn scripts_see_the_options_of_sysbench_itself() {
    let text = "function event()
        local o = sysbench.opt
        print(o.rand_type, o.num_threads, o.time, o.mysql_port, o.pgsql_host, o.mysql_db, o.mysql_socket)
      end";
    assert_eq!(printed(text), "special\t2\t10\t3306\tlocalhost\tsbtest\t\n");
}

#[test]
fn help_tells_the_options_of_a_script() {
    let text = "sysbench.cmdline.options = { tables = { 'Number of tables', 4 },
        ['skip-trx'] = { 'No transactions', false } }
      function event() end";
    let Err(LuaError::Help(note)) = read(text, &[("help", "on")]) else { panic!("no help") };
    assert_eq!(
        note,
        "  --skip-trx[=on|off] No transactions [off]\n  --tables=N          Number of tables [4]"
    );
}

#[test]
fn only_times_are_slept() {
    let text = "function event() print(os.execute('sleep -1'), os.execute('sleep x'), os.execute('sleep 0.5m')) end";
    let place = place(text);
    let setting = ScriptSetting { may_use_all: true, ..setting(&[]) };
    let engine =
        ScriptEngine::read(&mut NoServer::default(), &place.script, None, &setting).unwrap();
    let mut client = RecordingClient::default();
    engine.event(&mut client, 0, 0).unwrap();
    assert_eq!(
        (engine.take_said().as_str(), client.sent),
        ("256\t256\t0\n", vec!["pause 30000 ms".to_owned()])
    );
}

#[test]
fn an_event_whose_pause_was_cut_short_is_not_carried_out() {
    struct HurriedClient;
    impl ScriptClient for HurriedClient {
        fn connect(&mut self) -> Result<usize, SqlError> {
            Ok(0)
        }
        fn disconnect(&mut self, _: usize) {}
        fn reconnect(&mut self, _: usize) -> Result<(), SqlError> {
            Ok(())
        }
        fn query(&mut self, _: usize, _: &[u8], _: RowUse) -> Result<ScriptAnswer, SqlError> {
            Ok(ScriptAnswer::default())
        }
        fn prepare(&mut self, _: usize, _: &[u8]) -> Result<usize, SqlError> {
            Ok(0)
        }
        fn execute(
            &mut self,
            _: usize,
            _: usize,
            _: &[ScriptValue],
            _: RowUse,
        ) -> Result<ScriptAnswer, SqlError> {
            Ok(ScriptAnswer::default())
        }
        fn close(&mut self, _: usize, _: usize) {}
        fn pause(&mut self, _: Duration) -> bool {
            false
        }
    }
    let engine = read("function event()\n  pcall(os.execute, 'sleep 9')\nend", &[]).unwrap();
    let error = engine.event(&mut HurriedClient, 0, 0).unwrap_err();
    assert!(matches!(error, LuaError::Ended { .. }), "{error}");
}

#[path = "report_tests.rs"]
mod reports;
