//! sysbench scripts as work: a study's clients that run a script, and a script's commands and reports.

mod client;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use assay_lua::{EventEnd, Leash, ScriptEngine, ScriptSetting};
use assay_model::{Dialect, LuaScript, StatementMode, WorkCounters};
use assay_wire::{Address, ConnectOptions, Connection, Stop, WireError};

pub(crate) use self::client::CONNECTIONS;
use self::client::{ScriptConnections, Wire};
use crate::actor::{Actor, ActorMaker, ClientWork, EventError, EventNumber, EventWire};
use crate::control::connect;
use crate::error::{LoadError, Result};
use crate::patience::{answer_of, start_apart};
use crate::policy::USUAL;
use crate::share::for_whole_tables;

pub(crate) fn lua_actors(
    script: &'static LuaScript,
    options: &ConnectOptions,
    work: &ClientWork,
) -> Result<Vec<ActorMaker>> {
    let threads = work.setup.clients.max(1);
    let maker = |thread| -> Result<ActorMaker> {
        let place = ScriptPlace { options, dialect: work.dialect, seed: work.seed };
        let setting = place.setting(script, "run", thread, threads)?;
        let (options, dialect, mode) = (options.clone(), work.dialect, work.statements);
        let ignored = assay_lua::ignored_errors(&script.options)?;
        Ok(Box::new(move |leash| {
            let setting = ScriptSetting { leash: Arc::clone(leash), ..setting };
            let kept = ScriptConnections::new(options, dialect, mode, ignored);
            Box::new(LuaActor { script, setting, engine: None, kept })
        }))
    };
    (0..threads).map(maker).collect()
}

#[derive(Clone, Copy)]
struct ScriptPlace<'a> {
    options: &'a ConnectOptions,
    dialect: Dialect,
    seed: u64,
}

impl ScriptPlace<'_> {
    fn setting(
        &self,
        script: &LuaScript,
        command: &str,
        thread: u32,
        threads: u32,
    ) -> Result<ScriptSetting> {
        let (draw, options) = assay_lua::take_distribution(script.options.clone())?;
        let driver = driver(self.dialect);
        let address: Vec<(&str, String)> = match (&self.options.address, self.dialect) {
            (Address::Unix(path), Dialect::MySql) => {
                vec![("host", "localhost".to_owned()), ("socket", path.display().to_string())]
            }
            // A host that begins with a slash is a directory with sockets.
            (Address::Unix(path), Dialect::Postgres) => {
                vec![("host", path.parent().unwrap_or(path).display().to_string())]
            }
            (Address::Tcp { host, port }, _) => {
                vec![("host", host.clone()), ("port", port.to_string())]
            }
        };
        let connection = [
            ("db", self.options.database.clone().unwrap_or_default()),
            ("user", self.options.user.clone()),
        ];
        let connection = connection.into_iter().chain(address);
        let connection = connection.map(|(name, value)| (format!("{driver}_{name}"), value));
        Ok(ScriptSetting {
            thread,
            threads,
            driver,
            command: command.to_owned(),
            options,
            connection: connection.collect(),
            seed: self.seed,
            draw,
            may_use_all: script.may_use_all,
            leash: Arc::default(),
        })
    }
}

pub fn driver(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "mysql",
        Dialect::Postgres => "pgsql",
    }
}

struct LuaActor {
    script: &'static LuaScript,
    setting: ScriptSetting,
    engine: Option<ScriptEngine>,
    kept: ScriptConnections,
}

impl Actor for LuaActor {
    /// Rereads the script: statements prepared on an earlier connection are gone.
    fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        self.kept.forget();
        let path = Path::new(self.script.path());
        let files = Some(self.script.files.clone());
        let client = &mut self.kept.lend(Wire::Idle(wire));
        let engine = ScriptEngine::read(client, path, files, &self.setting).and_then(|engine| {
            engine.call(client, "thread_init")?;
            Ok(engine)
        });
        self.engine = Some(engine.map_err(|error| self.kept.error_of(error))?);
        Ok(())
    }

    fn event(
        &mut self,
        number: EventNumber,
        line: &mut EventWire<'_>,
    ) -> Result<ControlFlow<()>, EventError> {
        let Some(engine) = &self.engine else { return Ok(ControlFlow::Break(())) };
        let EventNumber { sequence, attempt } = number;
        match engine.event(&mut self.kept.lend(Wire::Event(line)), sequence, attempt) {
            Ok(EventEnd::Done) => Ok(ControlFlow::Continue(())),
            Ok(EventEnd::NoMore) => Ok(ControlFlow::Break(())),
            Ok(EventEnd::Again(code)) => Err(EventError::Again(code)),
            Err(error) => Err(match self.kept.cause_of(&error) {
                Some((sql, source)) => EventError::Statement { sql, source },
                None => EventError::Failed(Box::new(error.into())),
            }),
        }
    }

    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError> {
        // The script may have ended the transaction itself; a second `ROLLBACK` does no harm.
        self.kept.roll_back_own();
        wire.execute_text(b"ROLLBACK").map(drop)
    }

    fn end(&mut self, wire: &mut Connection, counters: &mut WorkCounters) -> Result<()> {
        let Some(engine) = self.engine.take() else { return Ok(()) };
        let done = engine.call(&mut self.kept.lend(Wire::Last(wire, counters)), "thread_done");
        done.map_err(|error| self.kept.error_of(error).at(engine.failed_at()))
    }

    fn place(&self) -> Option<String> {
        self.engine.as_ref().and_then(ScriptEngine::failed_at)
    }

    fn retried(&self) -> &'static [u32] {
        &USUAL
    }
}

/// Prefix of sysbench's messages about failed statements.
const OF_STATEMENT: &str = "SQL error, errno = ";

impl ScriptConnections {
    /// The statement that made the script fail, with its error, unless the script caught that error.
    fn cause_of(&mut self, error: &assay_lua::LuaError) -> Option<(Vec<u8>, WireError)> {
        self.take_failed().filter(|_| error.to_string().contains(OF_STATEMENT))
    }

    /// Prefers the error of the statement that made the script fail.
    fn error_of(&mut self, error: assay_lua::LuaError) -> LoadError {
        match self.cause_of(&error) {
            Some((sql, cause)) => LoadError::query(&sql, cause),
            None => error.into(),
        }
    }
}

#[derive(Debug)]
pub struct CommandDone {
    /// Output of the script, one thread after the other.
    pub said: String,
    pub bytes_sent: Result<u64>,
}

struct ScriptCommand<'a> {
    script: &'a LuaScript,
    command: &'a str,
    options: ConnectOptions,
    dialect: Dialect,
    seed: u64,
}

/// Runs a script's command: an entry of its command list, or the function of this name. A command marked parallel runs
/// in `threads` threads, each of which does its part; any other in one thread.
///
/// Fails with [`assay_lua::LuaError::Lacks`] if the script lacks the command.
pub fn run_command(
    script: &LuaScript,
    command: &str,
    (options, dialect): (&ConnectOptions, Dialect),
    seed: u64,
    threads: u32,
) -> CommandDone {
    let options = for_whole_tables(options);
    let carried = ScriptCommand { script, command, options, dialect, seed };
    let mut leashes = Vec::new();
    let bytes_sent = carried.in_threads(threads, &mut leashes);
    CommandDone { said: leashes.iter().map(|leash| leash.take_said()).collect(), bytes_sent }
}

/// Runs the script's `init`, if any; `clients` becomes `sysbench.opt.threads`.
pub(crate) fn run_init(
    script: &LuaScript,
    (options, dialect): (&ConnectOptions, Dialect),
    seed: u64,
    clients: u32,
) -> Result<()> {
    let options = for_whole_tables(options);
    let carried = ScriptCommand { script, command: "run", options, dialect, seed };
    let (leash, answers) = carried.start((0, clients), |mut part| part.once("init"))?;
    answer_of(&answers, &leash, &carried.options.stop)?
}

impl ScriptCommand<'_> {
    fn in_threads(&self, threads: u32, leashes: &mut Vec<Arc<Leash>>) -> Result<u64> {
        let is_parallel = threads > 1 && self.is_parallel(threads)?;
        let mut started = Vec::new();
        for thread in 0..if is_parallel { threads } else { 1 } {
            let command = self.command.to_owned();
            let (leash, answers) =
                self.start((thread, threads), move |part| part.carry_out(&command))?;
            leashes.push(Arc::clone(&leash));
            started.push((leash, answers));
        }
        // Wait for all of them.
        let stop = &self.options.stop;
        let all: Vec<Result<u64>> =
            started.iter().map(|(leash, answers)| answer_of(answers, leash, stop)?).collect();
        all.into_iter().sum()
    }

    fn is_parallel(&self, threads: u32) -> Result<bool> {
        let command = self.command.to_owned();
        let (leash, answers) =
            self.start((0, threads), move |part| Ok(part.engine.is_parallel(&command)?))?;
        answer_of(&answers, &leash, &self.options.stop)?
    }

    fn start<T: Send + 'static>(
        &self,
        thread: (u32, u32),
        work: impl FnOnce(ScriptThread) -> Result<T> + Send + 'static,
    ) -> Result<(Arc<Leash>, Receiver<Result<T>>)> {
        let leash = Arc::<Leash>::default();
        let answers = self.start_on(&leash, thread, work)?;
        Ok((leash, answers))
    }

    fn start_on<T: Send + 'static>(
        &self,
        leash: &Arc<Leash>,
        thread: (u32, u32),
        work: impl FnOnce(ScriptThread) -> Result<T> + Send + 'static,
    ) -> Result<Receiver<Result<T>>> {
        let (script, command) = (self.script.clone(), self.command.to_owned());
        let (options, dialect, seed) = (self.options.clone(), self.dialect, self.seed);
        let thread_leash = Arc::clone(leash);
        start_apart(leash, move || {
            let place = ScriptPlace { options: &options, dialect, seed };
            work(ScriptThread::begin(&script, &command, place, thread, thread_leash)?)
        })
    }
}

struct ScriptThread {
    engine: ScriptEngine,
    kept: ScriptConnections,
    wire: Connection,
}

impl ScriptThread {
    fn begin(
        script: &LuaScript,
        command: &str,
        place: ScriptPlace<'_>,
        (thread, threads): (u32, u32),
        leash: Arc<Leash>,
    ) -> Result<Self> {
        let setting = ScriptSetting { leash, ..place.setting(script, command, thread, threads)? };
        let mut wire = connect(place.options, thread)?;
        let ignored = assay_lua::ignored_errors(&script.options)?;
        let mode = StatementMode::Prepared;
        let mut kept = ScriptConnections::new(place.options.clone(), place.dialect, mode, ignored);
        let (path, files) = (Path::new(script.path()), Some(script.files.clone()));
        let client = &mut kept.lend(Wire::Idle(&mut wire));
        let engine = ScriptEngine::read(client, path, files, &setting);
        let engine = engine.map_err(|error| kept.error_of(error))?;
        Ok(Self { engine, kept, wire })
    }

    fn carry_out(mut self, command: &str) -> Result<u64> {
        let done = self.engine.command(&mut self.kept.lend(Wire::Idle(&mut self.wire)), command);
        done.map_err(|error| self.kept.error_of(error).at(self.engine.failed_at()))?;
        // Scripts that disable autocommit may leave a transaction open, which sysbench loses.
        Ok(self.wire.bytes_sent())
    }
}

const HOOKS: [&str; 2] = ["report_intermediate", "report_cumulative"];

/// The calls that a script makes once for all its clients: `init`, reports and `done`, with a separate Lua state,
/// thread and connection.
pub struct Reporter {
    calls: Vec<&'static str>,
    orders: Sender<ReportOrder>,
    reports: Receiver<Result<String>>,
    leash: Arc<Leash>,
    stop: Stop,
    is_lost: bool,
}

pub struct ReporterStart {
    pub said: String,
    /// For later calls; `None` if the script has none.
    pub reporter: Result<Option<Reporter>>,
}

const DONE: &str = "done";

type ReportOrder = (&'static str, Vec<(String, f64)>);

impl Reporter {
    pub fn begin(
        script: &LuaScript,
        (options, dialect): (&ConnectOptions, Dialect),
        seed: u64,
        threads: u32,
    ) -> ReporterStart {
        let carried =
            ScriptCommand { script, command: "run", options: options.clone(), dialect, seed };
        let leash = Arc::default();
        let reporter = Self::start(&carried, threads, &leash);
        ReporterStart { said: leash.take_said(), reporter }
    }

    fn start(
        carried: &ScriptCommand<'_>,
        threads: u32,
        leash: &Arc<Leash>,
    ) -> Result<Option<Self>> {
        let (orders, inbox) = channel::<ReportOrder>();
        let (report, reports) = channel();
        let (greet, greeting) = channel();
        let stop = carried.options.stop.clone();
        let answers = carried.start_on(leash, (0, threads), move |mut part| {
            let calls = part.begin_run()?;
            if calls.is_empty() || greet.send(calls).is_err() {
                return Ok(());
            }
            for (call, numbers) in inbox {
                if report.send(part.report(call, &numbers)).is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        let Ok(calls) = answer_of(&greeting, leash, &stop) else {
            // The thread has ended: it has nothing to do later, or has failed.
            answer_of(&answers, leash, &stop)??;
            return Ok(None);
        };
        let (leash, is_lost) = (Arc::clone(leash), false);
        Ok(Some(Self { calls, orders, reports, leash, stop, is_lost }))
    }

    /// The script's own report of the work since the last one; `None` if it has none.
    pub fn intermediate(&mut self, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        self.report(HOOKS[0], numbers)
    }

    pub fn cumulative(&mut self, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        // Even without such a report, the list of intermediate reports may have to be closed.
        self.report(HOOKS[1], numbers).map(|said| said.filter(|said| !said.is_empty()))
    }

    pub fn done(&mut self) -> Result<Option<String>> {
        self.report(DONE, &[])
    }

    fn report(&mut self, hook: &'static str, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        if self.is_lost || hook != HOOKS[1] && !self.calls.contains(&hook) {
            return Ok(None);
        }
        let numbers = numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
        self.orders.send((hook, numbers)).map_err(|_| LoadError::ClientLost)?;
        let report = answer_of(&self.reports, &self.leash, &self.stop);
        if report.is_err() {
            // The thread was abandoned, and makes no more reports.
            self.is_lost = true;
        }
        Ok(Some(report??))
    }
}

impl ScriptThread {
    fn begin_run(&mut self) -> Result<Vec<&'static str>> {
        self.once("init")?;
        let mut calls = Vec::new();
        for hook in HOOKS {
            if self.engine.has_hook(hook)? {
                calls.push(hook);
            }
        }
        if self.engine.has(DONE)? {
            calls.push(DONE);
        }
        Ok(calls)
    }

    fn once(&mut self, function: &str) -> Result<()> {
        let Self { engine, kept, wire } = self;
        let done = engine.call_once(&mut kept.lend(Wire::Idle(wire)), function);
        done.map_err(|error| kept.error_of(error).at(engine.failed_at()))
    }

    fn report(&mut self, call: &str, numbers: &[(String, f64)]) -> Result<String> {
        if call == DONE {
            self.once(DONE)?;
            return Ok(self.engine.take_said());
        }
        let Self { engine, kept, wire } = self;
        let numbers: Vec<(&str, f64)> =
            numbers.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        let client = &mut kept.lend(Wire::Idle(wire));
        engine.report(client, call, &numbers).map_err(|error| kept.error_of(error))?;
        Ok(engine.take_said())
    }
}
