//! A script in a Lua of its own, on the thread of one client.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use assay_model::{Distribution, LuaFile};
use assay_workloads::Draws;
use mlua::{
    FromLuaMulti, Function, HookTriggers, IntoLuaMulti, Lua, LuaOptions, MultiValue, StdLib, Table,
    Value as LuaValue, VmState,
};

use crate::error::{Error, Result};
use crate::host::{Shared, host};
use crate::requests::{Client, Value, carry_out};
use crate::sources::Sources;

/// How long a call may go on without sending a statement.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Instructions between two looks at the clock.
const LOOK_EVERY: u32 = 1 << 20;

/// Memory of one script, MB.
const MEMORY_MB: usize = 512;

/// Lua's words for the lack of memory.
const NO_MEMORY: &str = "not enough memory";

const PRELUDE: &str = include_str!("prelude.lua");
const LEGACY: &str = include_str!("legacy.lua");

/// What a thread of a script is told.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// Number of threads.
    pub threads: u32,
    /// The driver that sysbench would use: `mysql` or `pgsql`.
    pub driver: &'static str,
    /// The command, such as `run`.
    pub command: String,
    /// The options of the script: name and value.
    pub options: Vec<(String, String)>,
    /// The database, the user and so on, as options of sysbench: name and value.
    pub connection: Vec<(String, String)>,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// The usual random distribution.
    pub draw: Distribution,
    /// Whether the script may use files outside of its directory, and run programs.
    pub may_use_all: bool,
}

/// How a call of `event` ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was carried out.
    Done,
    /// The script has no more events.
    NoMore,
    /// It is to be started again, after an error with this code.
    Again(u32),
}

/// A script that was read, with its options.
pub struct Engine {
    calls: Table,
    event: Function,
    shared: Shared,
    watch: Rc<Watch>,
    values: RefCell<Vec<Value>>,
    lua: Lua,
}

/// Ends calls that neither end nor send anything.
struct Watch {
    limit: Cell<Duration>,
    since: Cell<Option<Instant>>,
    place: RefCell<Option<String>>,
    is_over: Cell<bool>,
}

impl Watch {
    fn new() -> Self {
        let (since, is_over) = (Cell::default(), Cell::default());
        Self { limit: Cell::new(SILENCE_MAX), since, place: RefCell::default(), is_over }
    }

    fn begin(&self) {
        self.since.set(Some(Instant::now()));
    }

    fn end(&self) {
        self.since.set(None);
    }
}

impl Engine {
    /// Reads a script: carries out what stands outside of its functions, and takes the options. `known` has the files
    /// with which a study was planned; without them, they are learned.
    pub fn read(path: &Path, known: Option<Vec<LuaFile>>, setting: &Setting) -> Result<Self> {
        let sources = Rc::new(Sources::of(path, known));
        let part = if setting.command == "run" { "run" } else { "prepare" };
        let draws = Draws::new(setting.seed, part, setting.thread, setting.threads, setting.draw);
        let shared = Shared {
            draws: Rc::new(RefCell::new(draws)),
            sources,
            said: Rc::default(),
            may_use_all: setting.may_use_all,
        };
        let watch = Rc::new(Watch::new());
        let lua = state(&watch).map_err(|error| failed(&watch, &error))?;
        let script = shared.sources.file(path)?;
        let fail = |error: mlua::Error| failed(&watch, &error);
        let facts = facts(&lua, path, setting).map_err(fail)?;
        let of_host = host(&lua, &shared).map_err(fail)?;
        let of_watch = Rc::clone(&watch);
        let is_over = lua.create_function(move |_, ()| Ok(of_watch.is_over.get()));
        of_host.set("is_over", is_over.map_err(fail)?).map_err(fail)?;
        let calls: Table =
            lua.load(PRELUDE).set_name("=assay").call((of_host, facts.clone())).map_err(fail)?;
        lua.load(LEGACY).set_name("=assay").call::<()>(facts).map_err(fail)?;
        let event = calls.get("event").map_err(fail)?;
        let engine = Self { calls, event, shared, watch, values: RefCell::default(), lua };
        engine.watched(|| {
            let name = format!("@{}", path.display());
            let text = without_first_line_of_shells(&script.text);
            engine.lua.load(text).set_name(name).set_mode(mlua::chunk::ChunkMode::Text).exec()
        })?;
        engine.take_options(&setting.options)?;
        Ok(engine)
    }

    /// The files that were read so far: the script first.
    #[must_use]
    pub fn files(&self) -> Vec<LuaFile> {
        self.shared.sources.files()
    }

    /// Whether it has a function or a command with this name.
    pub fn has(&self, name: &str) -> Result<bool> {
        self.ask("has", name)
    }

    /// Whether the script may run this command in several threads, each of which does a part.
    pub fn is_parallel(&self, command: &str) -> Result<bool> {
        self.ask("is_parallel", command)
    }

    /// What the script has printed since this was asked last.
    #[must_use]
    pub fn take_said(&self) -> String {
        self.shared.said.take()
    }

    /// Carries out a command, such as `prepare`.
    ///
    /// # Errors
    /// [`Error::Lacks`] if the script does not have it.
    pub fn command(&self, client: &mut dyn Client, name: &str) -> Result<()> {
        if !self.has(name)? {
            return Err(Error::Lacks(name.to_owned()));
        }
        let is_done: bool = self.lend(client, "command", name)?;
        match is_done {
            true => Ok(()),
            false => Err(Error::Failed(format!("`{name}` returned false"))),
        }
    }

    /// Calls a function of sysbench's life cycle, such as `thread_init`, if the script has it.
    pub fn call(&self, client: &mut dyn Client, name: &str) -> Result<()> {
        self.lend(client, "optional", name)
    }

    /// Carries out an event. The same numbers draw the same values.
    pub fn event(&self, client: &mut dyn Client, sequence: u64, attempt: u32) -> Result<Ended> {
        self.shared.draws.borrow_mut().begin_event(sequence, attempt);
        let (ended, code): (u32, Option<u32>) = self.lend_to(client, &self.event, ())?;
        Ok(match ended {
            0 => Ended::Done,
            1 => Ended::NoMore,
            _ => Ended::Again(code.unwrap_or_default()),
        })
    }

    fn ask(&self, call: &str, name: &str) -> Result<bool> {
        let fail = |error| failed(&self.watch, &error);
        let call: Function = self.calls.get(call).map_err(fail)?;
        call.call(name).map_err(fail)
    }

    fn take_options(&self, given: &[(String, String)]) -> Result<()> {
        let given = given.iter().map(|(name, value)| vec![name.as_str(), value.as_str()]);
        let given: Vec<_> = given.collect();
        let (fault, name, told): (Option<String>, Option<String>, LuaValue) =
            self.watched(|| self.calls.get::<Function>("take_options")?.call(given))?;
        let name = name.unwrap_or_default();
        match (fault.as_deref(), told) {
            (None, _) => Ok(()),
            (Some("unknown"), LuaValue::Table(known)) => {
                if let Some(instead) = crate::options::of_sysbench(&name) {
                    return Err(Error::OptionOfSysbench { name, instead });
                }
                let known = known.sequence_values().filter_map(Result::ok).collect();
                Err(Error::UnknownOption { name, known })
            }
            (Some(_), told) => {
                let value = told.to_string().unwrap_or_default();
                Err(Error::Value { name, value })
            }
        }
    }

    fn lend<R: FromLuaMulti>(
        &self,
        client: &mut dyn Client,
        call: &str,
        argument: impl IntoLuaMulti,
    ) -> Result<R> {
        let call = self.calls.get(call).map_err(|error| failed(&self.watch, &error))?;
        self.lend_to(client, &call, argument)
    }

    /// Calls a function of the interface, which may use the client until it returns.
    fn lend_to<R: FromLuaMulti>(
        &self,
        client: &mut dyn Client,
        call: &Function,
        argument: impl IntoLuaMulti,
    ) -> Result<R> {
        self.watched(|| {
            self.lua.scope(|scope| {
                let mut values = self.values.borrow_mut();
                let request = scope.create_function_mut(move |lua, request: MultiValue| {
                    let answer = carry_out(lua, client, &mut values, request);
                    self.watch.begin();
                    answer
                })?;
                let mut arguments = argument.into_lua_multi(&self.lua)?;
                arguments.push_front(LuaValue::Function(request));
                call.call(arguments)
            })
        })
    }

    fn watched<R>(&self, call: impl FnOnce() -> mlua::Result<R>) -> Result<R> {
        self.watch.begin();
        let done = call();
        self.watch.end();
        done.map_err(|error| failed(&self.watch, &error))
    }
}

/// An empty state with limits on memory and on calls that send nothing.
fn state(watch: &Rc<Watch>) -> mlua::Result<Lua> {
    let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::default())?;
    // Compiled loops would not look at the clock.
    let jit: Table = lua.globals().get("jit")?;
    jit.get::<Function>("off")?.call::<()>(())?;
    match lua.set_memory_limit(MEMORY_MB << 20) {
        Ok(_) | Err(mlua::Error::MemoryControlNotAvailable) => {}
        Err(error) => return Err(error),
    }
    let watch = Rc::clone(watch);
    let triggers = HookTriggers::new().every_nth_instruction(LOOK_EVERY);
    lua.set_global_hook(triggers, move |_, debug| {
        let Some(since) = watch.since.get() else { return Ok(VmState::Continue) };
        if !watch.is_over.get() && since.elapsed() < watch.limit.get() {
            return Ok(VmState::Continue);
        }
        if !watch.is_over.replace(true) {
            let source = debug.source().short_src.map(|it| it.into_owned()).unwrap_or_default();
            let line = debug.current_line().unwrap_or_default();
            *watch.place.borrow_mut() = Some(format!("{source}:{line}"));
        }
        Err(mlua::Error::runtime("the script does not end"))
    })?;
    Ok(lua)
}

fn facts(lua: &Lua, path: &Path, setting: &Setting) -> mlua::Result<Table> {
    let facts = lua.create_table()?;
    facts.set("tid", setting.thread)?;
    facts.set("threads", setting.threads)?;
    facts.set("driver", setting.driver)?;
    facts.set("command", setting.command.as_str())?;
    facts.set("script_path", path.display().to_string())?;
    facts.set("may_run", setting.may_use_all)?;
    let options = lua.create_table()?;
    crate::options::add_general(&options, setting)?;
    facts.set("options", options)?;
    Ok(facts)
}

/// The text of a script, whose first line may name the program that runs it.
fn without_first_line_of_shells(text: &[u8]) -> &[u8] {
    match text.strip_prefix(b"#") {
        // The line stays, empty, so that errors name the right ones.
        Some(_) => {
            let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
            text.get(end..).unwrap_or_default()
        }
        None => text,
    }
}

/// An error of Lua, without the stack of calls.
fn failed(watch: &Watch, error: &mlua::Error) -> Error {
    if watch.is_over.get() {
        let place = watch.place.borrow().clone();
        return Error::Endless { seconds: SILENCE_MAX.as_secs(), place };
    }
    match error {
        mlua::Error::MemoryError(_) => Error::Memory { mb: MEMORY_MB },
        mlua::Error::CallbackError { cause, .. } => failed(watch, cause),
        mlua::Error::WithContext { cause, .. } => failed(watch, cause),
        mlua::Error::ExternalError(cause) => match cause.downcast_ref::<Error>() {
            Some(own) => own.clone(),
            None => Error::Failed(cause.to_string()),
        },
        // What a call within the script has caught has lost its kind.
        mlua::Error::RuntimeError(message) if message.starts_with(NO_MEMORY) => {
            Error::Memory { mb: MEMORY_MB }
        }
        mlua::Error::RuntimeError(message) | mlua::Error::SyntaxError { message, .. } => {
            Error::Failed(message_of(message))
        }
        other => Error::Failed(message_of(&other.to_string())),
    }
}

/// The message itself.
fn message_of(text: &str) -> String {
    let text = text.split("\nstack traceback:").next().unwrap_or(text);
    text.trim_start_matches("runtime error: ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::requests::{Answer, SqlError};

    /// Answers every query with two rows, and remembers what was sent.
    #[derive(Default)]
    struct Recorded {
        sent: Vec<String>,
        fails: Option<SqlError>,
    }

    impl Client for Recorded {
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

        fn query(&mut self, _: usize, sql: &[u8]) -> Result<Answer, SqlError> {
            self.sent.push(String::from_utf8_lossy(sql).into_owned());
            if let Some(error) = self.fails.take() {
                return Err(error);
            }
            let has_rows = sql.starts_with(b"SELECT");
            let row = |it: &str| vec![Some(it.as_bytes().to_vec()), None];
            let rows = has_rows.then(|| vec![row("1"), row("two")]);
            Ok(Answer { has_rows, row_count: 2, columns: 2, rows })
        }

        fn prepare(&mut self, _: usize, sql: &[u8]) -> Result<usize, SqlError> {
            self.sent.push(format!("prepare {}", String::from_utf8_lossy(sql)));
            Ok(7)
        }

        fn execute(
            &mut self,
            _: usize,
            statement: usize,
            values: &[Value],
        ) -> Result<Answer, SqlError> {
            self.sent.push(format!("execute {statement} {values:?}"));
            Ok(Answer { has_rows: true, row_count: 3, columns: 0, rows: None })
        }

        fn close(&mut self, _: usize, statement: usize) {
            self.sent.push(format!("close {statement}"));
        }

        fn pause(&mut self, time: Duration) {
            self.sent.push(format!("pause {} ms", time.as_millis()));
        }
    }

    fn setting(options: &[(&str, &str)]) -> Setting {
        let own = |it: &&str| (*it).to_owned();
        Setting {
            thread: 0,
            threads: 2,
            driver: "mysql",
            command: "run".to_owned(),
            options: options.iter().map(|(name, value)| (own(name), own(value))).collect(),
            connection: vec![("mysql_db".to_owned(), "sbtest".to_owned())],
            seed: 1,
            draw: Distribution::Special,
            may_use_all: false,
        }
    }

    struct Place {
        directory: tempfile::TempDir,
        script: PathBuf,
    }

    fn place(text: &str) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script.lua");
        fs_err::write(&script, text).unwrap();
        Place { directory, script }
    }

    fn read(text: &str, options: &[(&str, &str)]) -> Result<Engine> {
        Engine::read(&place(text).script, None, &setting(options))
    }

    /// Reads a script, runs one event, and returns what was printed.
    fn printed(text: &str) -> String {
        let engine = read(text, &[]).unwrap();
        let mut client = Recorded::default();
        engine.call(&mut client, "thread_init").unwrap();
        engine.event(&mut client, 0, 0).unwrap();
        engine.take_said()
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
        let mut client = Recorded::default();
        engine.call(&mut client, "thread_init").unwrap();
        assert_eq!(engine.event(&mut client, 0, 0), Ok(Ended::Done));
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
        let given = [("tables", "4"), ("secondary", "on"), ("names", "x,y,z"), ("big", "2K")];
        let engine = read(text, &given).unwrap();
        engine.event(&mut Recorded::default(), 0, 0).unwrap();
        assert!(engine.take_said().starts_with("4\t10000\ttrue\tinnodb\t3\ttrue\t2048\t"));
        let unknown = read(text, &[("table", "4")]).err().unwrap();
        assert_eq!(
            unknown.to_string(),
            "the script has no option `--table`; it has `--big`, `--engine`, `--names`, `--secondary`, \
             `--table-size`, `--tables`, `--unset`"
        );
        assert_eq!(
            read(text, &[("tables", "many")]).err(),
            Some(Error::Value { name: "tables".to_owned(), value: "many".to_owned() })
        );
        assert!(matches!(read(text, &[("mysql-host", "x")]), Err(Error::OptionOfSysbench { .. })));
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
        let place = place(
            "pathtest = string.match(test, '(.*/)') or ''
             dofile(pathtest .. 'common.lua')
             function event(thread_id) db_query('SELECT ' .. (oltp_table_size + sb_rand_uniform(3, 3))) end",
        );
        let common = "function set_vars() end";
        fs_err::write(place.directory.path().join("common.lua"), common).unwrap();
        let set = setting(&[("oltp-table-size", "100")]);
        let engine = Engine::read(&place.script, None, &set).unwrap();
        assert_eq!(engine.files().len(), 2);
        let mut client = Recorded::default();
        engine.call(&mut client, "thread_init").unwrap();
        engine.event(&mut client, 0, 0).unwrap();
        assert_eq!(client.sent, ["connect", "SELECT 103"]);
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
        let mut client = Recorded { fails: error(1213, true), ..Recorded::default() };
        assert_eq!(engine.event(&mut client, 0, 0), Ok(Ended::Again(1213)));
        assert_eq!(engine.take_said(), "1213\t1\n");
        assert_eq!(engine.event(&mut client, 0, 1), Ok(Ended::Done));
        client.fails = error(1146, false);
        let failed = engine.event(&mut client, 1, 0).unwrap_err().to_string();
        assert!(
            failed.contains("script.lua:3: SQL error, errno = 1146, state = '40001'"),
            "{failed}"
        );
    }

    #[test]
    fn a_script_may_end_early_or_have_a_loop_of_its_own() {
        let engine = read("n = 0 function event() n = n + 1 return n > 2 end", &[]).unwrap();
        let mut client = Recorded::default();
        let ended: Vec<_> = (0..3).map(|at| engine.event(&mut client, at, 0).unwrap()).collect();
        assert_eq!(ended, [Ended::Done, Ended::Done, Ended::NoMore]);
        let own = "function event() end
            function thread_run(tid)
              local con = sysbench.sql.driver():connect()
              while ffi.C.sb_more_events(tid) do
                ffi.C.sb_event_start(tid) con:query('SELECT 1') ffi.C.sb_event_stop(tid)
              end
            end";
        let engine = read(own, &[]).unwrap();
        for at in 0..3 {
            assert_eq!(engine.event(&mut client, at, 0), Ok(Ended::Done));
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
            engine.event(&mut Recorded::default(), sequence, 0).unwrap();
            engine.take_said()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn faults_have_their_place_and_nothing_reaches_outside() {
        let error = |text: &str| match read(text, &[]) {
            Err(error) => error.to_string(),
            Ok(engine) => engine.event(&mut Recorded::default(), 0, 0).unwrap_err().to_string(),
        };
        for (text, expected) in [
            ("function event()\n  x = \nend", "script.lua:3: unexpected symbol"),
            ("function event()\n  error('no')\nend", "script.lua:2: no"),
            ("function event() error({}) end", "table"),
            (
                "function event()\n  nothing.x = 1 end",
                "script.lua:2: attempt to index global 'nothing'",
            ),
            ("io.open('/etc/passwd')", "outside of the script's directory"),
            ("function event() os.execute('true') end", "wants to run `true`"),
            ("function event() io.popen('true') end", "wants to run a program"),
            ("function event() os.exit(3) end", "os.exit(3)"),
            ("function event() ffi.new('char[9]') end", "ffi.new() is not supported"),
            ("function event() ffi.C.system('true') end", "`system` is not supported"),
            ("require 'socket'", "no such module"),
            ("sysbench.sql.driver():connect()", "only in functions that sysbench calls"),
            ("assert(loadstring('\\27LJ\\2'))", "attempt to load"),
            ("function event() sysbench.sql.driver('pgsql') end", "not 'pgsql'"),
        ] {
            let told = error(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
        let open = "local f = io.open('out.txt', 'w') f:write('x') f:close() function event() end";
        let place = place(open);
        Engine::read(&place.script, None, &setting(&[])).unwrap();
        assert!(place.directory.path().join("out.txt").exists());
    }

    #[test]
    fn a_script_cannot_take_all_memory() {
        let text =
            "function event() local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end end";
        let engine = read(text, &[]).unwrap();
        let error = engine.event(&mut Recorded::default(), 0, 0).unwrap_err();
        assert_eq!(error, Error::Memory { mb: MEMORY_MB });
    }

    #[test]
    fn a_script_that_does_not_end_is_ended_wherever_it_is() {
        for text in [
            "function event()\n  while true do end\nend",
            "function event()\n  while true do pcall(function() while true do end end) end\nend",
            "function event()
               while true do coroutine.resume(coroutine.create(function() while true do end end)) end
             end",
            "function event() while true do local ok = xpcall(function() for i = 1, 1e9 do end end, print) end end",
        ] {
            let engine = read(text, &[]).unwrap();
            engine.watch.limit.set(Duration::from_millis(50));
            let error = engine.event(&mut Recorded::default(), 0, 0).unwrap_err();
            let Error::Endless { place: Some(place), .. } = &error else { panic!("{text}: {error}") };
            assert!(place.contains("script.lua:"), "{place}");
        }
    }
}
