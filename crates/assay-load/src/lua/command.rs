//! Commands of a script, such as `prepare`, and its reports.

use std::path::Path;
use std::thread::{Builder, scope};

use assay_lua::Engine;
use assay_model::{Dialect, LuaScript, StatementMode};
use assay_wire::{ConnectOptions, Connection};

use super::actor::ScriptPlace;
use super::client::{Kept, Wire};
use crate::error::{Error, Result};
use crate::share::for_whole_tables;

/// What came of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandDone {
    /// What the script has printed, one thread after the other.
    pub said: String,
    /// Bytes that were sent.
    pub bytes_sent: u64,
}

/// Carries out a command of a script: one of its own list, or the function of this name. One that the script calls
/// parallel runs in so many threads, each of which does its part; every other one in a single thread.
///
/// # Errors
/// [`assay_lua::Error::Lacks`] if the script does not have it.
pub fn run_command(
    script: &LuaScript,
    command: &str,
    (options, dialect): (&ConnectOptions, Dialect),
    seed: u64,
    threads: u32,
) -> Result<CommandDone> {
    let options = &for_whole_tables(options);
    let place = ScriptPlace { options, dialect, seed };
    let first = Part::begin(script, command, place, (0, threads))?;
    if threads < 2 || !first.engine.is_parallel(command)? {
        return first.carry_out(command);
    }
    let part = |thread| {
        move || {
            let begun = Part::begin(script, command, place, (thread, threads));
            begun.and_then(|part| part.carry_out(command))
        }
    };
    scope(|scope| {
        let others = (1..threads).map(|thread| {
            let named = Builder::new().name(format!("{command}-{thread}"));
            named.spawn_scoped(scope, part(thread)).map_err(Error::Thread)
        });
        let others = others.collect::<Result<Vec<_>>>()?;
        let mut all = vec![first.carry_out(command)];
        all.extend(others.into_iter().map(|it| it.join().unwrap_or(Err(Error::ClientLost))));
        let mut sum = CommandDone::default();
        for done in all {
            let done = done?;
            sum.said += &done.said;
            sum.bytes_sent += done.bytes_sent;
        }
        Ok(sum)
    })
}

/// One thread of a command.
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
    ) -> Result<Self> {
        let setting = place.setting(script, command, thread, threads)?;
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

    fn carry_out(mut self, command: &str) -> Result<CommandDone> {
        let done = self.engine.command(&mut self.kept.lend(Wire::Idle(&mut self.wire)), command);
        done.map_err(|error| self.kept.error_of(error))?;
        // Scripts that switch off autocommit may leave a transaction open, which sysbench loses.
        Ok(CommandDone { said: self.engine.take_said(), bytes_sent: self.wire.bytes_sent() })
    }
}

/// The hooks by which a script makes reports of its own.
const HOOKS: [&str; 2] = ["report_intermediate", "report_cumulative"];

/// Makes the reports of a script, in a Lua and on a connection of its own.
pub struct Reporter {
    part: Part,
    hooks: Vec<&'static str>,
}

impl Reporter {
    /// The reports of a script; `None` if it makes none.
    pub fn of(
        script: &LuaScript,
        (options, dialect): (&ConnectOptions, Dialect),
        seed: u64,
        threads: u32,
    ) -> Result<Option<Self>> {
        let place = ScriptPlace { options, dialect, seed };
        let part = Part::begin(script, "run", place, (0, threads))?;
        let mut hooks = Vec::new();
        for hook in HOOKS {
            if part.engine.has_hook(hook)? {
                hooks.push(hook);
            }
        }
        Ok((!hooks.is_empty()).then_some(Self { part, hooks }))
    }

    /// The script's report of what was done since the last one, in its own words; `None` if it makes no such report.
    pub fn intermediate(&mut self, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        self.report("report_intermediate", numbers)
    }

    /// The script's report of the whole run, in its own words; `None` if it makes no such report.
    pub fn cumulative(&mut self, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        // Even without a report of its own, the list of those before it may have to be closed.
        self.report("report_cumulative", numbers).map(|said| said.filter(|it| !it.is_empty()))
    }

    fn report(&mut self, hook: &str, numbers: &[(&str, f64)]) -> Result<Option<String>> {
        if hook != "report_cumulative" && !self.hooks.contains(&hook) {
            return Ok(None);
        }
        let Part { engine, kept, wire } = &mut self.part;
        let client = &mut kept.lend(Wire::Idle(wire));
        engine.report(client, hook, numbers).map_err(|error| kept.error_of(error))?;
        Ok(Some(engine.take_said()))
    }
}
