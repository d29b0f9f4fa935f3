//! Commands of a script, such as `prepare`, and its reports.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use assay_lua::{Engine, Leash, Setting};
use assay_model::{Dialect, LuaScript, StatementMode};
use assay_wire::{ConnectOptions, Connection, Stop};

use super::actor::ScriptPlace;
use super::client::{Kept, Wire};
use crate::error::{Error, Result};
use crate::patience::{answer_of, start_apart};
use crate::share::for_whole_tables;

#[derive(Debug)]
pub struct CommandDone {
    /// Output of the script, one thread after the other.
    pub said: String,
    pub bytes_sent: Result<u64>,
}

struct Carried<'a> {
    script: &'a LuaScript,
    command: &'a str,
    options: ConnectOptions,
    dialect: Dialect,
    seed: u64,
}

/// Runs a script's command: an entry of its command list, or the function of this name. A command marked parallel runs
/// in `threads` threads, each of which does its part; any other in one thread.
///
/// Fails with [`assay_lua::Error::Lacks`] if the script lacks the command.
pub fn run_command(
    script: &LuaScript,
    command: &str,
    (options, dialect): (&ConnectOptions, Dialect),
    seed: u64,
    threads: u32,
) -> CommandDone {
    let options = for_whole_tables(options);
    let carried = Carried { script, command, options, dialect, seed };
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
    let carried = Carried { script, command: "run", options, dialect, seed };
    let (leash, answers) = carried.start((0, clients), |mut part| part.once("init"))?;
    answer_of(&answers, &leash, &carried.options.stop)?
}

impl Carried<'_> {
    fn in_threads(&self, threads: u32, leashes: &mut Vec<Arc<Leash>>) -> Result<u64> {
        let is_parallel = threads > 1 && self.is_parallel(threads)?;
        let started: Vec<_> = (0..if is_parallel { threads } else { 1 })
            .map(|thread| {
                let command = self.command.to_owned();
                let (leash, answers) =
                    self.start((thread, threads), move |part| part.carry_out(&command))?;
                leashes.push(Arc::clone(&leash));
                Ok((leash, answers))
            })
            .collect::<Result<_>>()?;
        // Wait for all of them.
        let stop = &self.options.stop;
        let all: Vec<Result<u64>> =
            started.iter().map(|(leash, answers)| answer_of(answers, leash, stop)?).collect();
        all.into_iter().sum()
    }

    fn is_parallel(&self, threads: u32) -> Result<bool> {
        let command = self.command.to_owned();
        let asked = self.start((0, threads), move |part| Ok(part.engine.is_parallel(&command)?));
        let (leash, answers) = asked?;
        answer_of(&answers, &leash, &self.options.stop)?
    }

    fn start<T: Send + 'static>(
        &self,
        thread: (u32, u32),
        work: impl FnOnce(Part) -> Result<T> + Send + 'static,
    ) -> Result<(Arc<Leash>, Receiver<Result<T>>)> {
        let leash = Arc::<Leash>::default();
        let answers = self.start_on(&leash, thread, work)?;
        Ok((leash, answers))
    }

    fn start_on<T: Send + 'static>(
        &self,
        leash: &Arc<Leash>,
        thread: (u32, u32),
        work: impl FnOnce(Part) -> Result<T> + Send + 'static,
    ) -> Result<Receiver<Result<T>>> {
        let (script, command) = (self.script.clone(), self.command.to_owned());
        let (options, dialect, seed) = (self.options.clone(), self.dialect, self.seed);
        let of_thread = Arc::clone(leash);
        start_apart(leash, move || {
            let place = ScriptPlace { options: &options, dialect, seed };
            work(Part::begin(&script, &command, place, thread, of_thread)?)
        })
    }
}

struct Part {
    engine: Engine,
    kept: Kept,
    wire: Connection,
}

impl Part {
    fn begin(
        script: &LuaScript,
        command: &str,
        place: ScriptPlace<'_>,
        (thread, threads): (u32, u32),
        leash: Arc<Leash>,
    ) -> Result<Self> {
        let setting = Setting { leash, ..place.setting(script, command, thread, threads)? };
        let connected = Connection::connect(place.options);
        let mut wire = connected.map_err(|source| Error::Connect { client: thread, source })?;
        let ignored = assay_lua::ignored_errors(&script.options)?;
        let mode = StatementMode::Prepared;
        let mut kept = Kept::new(place.options.clone(), place.dialect, mode, ignored);
        let (path, files) = (Path::new(script.path()), Some(script.files.clone()));
        let client = &mut kept.lend(Wire::Idle(&mut wire));
        let engine = Engine::read(client, path, files, &setting);
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

/// Hooks by which a script prints its own reports.
const HOOKS: [&str; 2] = ["report_intermediate", "report_cumulative"];

/// The calls that a script makes once for all its clients: `init`, reports and `done`, with a separate Lua state,
/// thread and connection.
pub struct Reporter {
    calls: Vec<&'static str>,
    orders: Sender<Order>,
    reports: Receiver<Result<String>>,
    leash: Arc<Leash>,
    stop: Stop,
    is_lost: bool,
}

pub struct Begun {
    pub said: String,
    /// For later calls; `None` if the script has none.
    pub reporter: Result<Option<Reporter>>,
}

/// Called at the end of a run.
const DONE: &str = "done";

type Order = (&'static str, Vec<(String, f64)>);

impl Reporter {
    pub fn begin(
        script: &LuaScript,
        (options, dialect): (&ConnectOptions, Dialect),
        seed: u64,
        threads: u32,
    ) -> Begun {
        let carried = Carried { script, command: "run", options: options.clone(), dialect, seed };
        let leash = Arc::default();
        let reporter = Self::of(&carried, threads, &leash);
        Begun { said: leash.take_said(), reporter }
    }

    fn of(carried: &Carried<'_>, threads: u32, leash: &Arc<Leash>) -> Result<Option<Self>> {
        let (orders, inbox) = channel::<Order>();
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

    /// The script's own report of the whole run; `None` if it has none.
    pub fn cumulative(&mut self, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        // Even without such a report, the list of intermediate reports may have to be closed.
        self.report(HOOKS[1], numbers).map(|said| said.filter(|it| !it.is_empty()))
    }

    /// Runs the script's `done` and returns its output; `None` if it has none.
    pub fn done(&mut self) -> Result<Option<String>> {
        self.report(DONE, &[])
    }

    fn report(&mut self, hook: &'static str, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        if self.is_lost || hook != HOOKS[1] && !self.calls.contains(&hook) {
            return Ok(None);
        }
        let numbers = numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
        self.orders.send((hook, numbers)).map_err(|_| Error::ClientLost)?;
        let report = answer_of(&self.reports, &self.leash, &self.stop);
        if report.is_err() {
            // The thread was abandoned, and makes no more reports.
            self.is_lost = true;
        }
        Ok(Some(report??))
    }
}

impl Part {
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
