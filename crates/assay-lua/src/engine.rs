//! A script in its own Lua state, on the thread of one client.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use assay_model::LuaFile;
use assay_workloads::RandomDraws;
use mlua::{
    FromLuaMulti, Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, Value as LuaValue,
};

use crate::error::{LuaError, Result, place_in};
use crate::host::{HostState, host};
use crate::interface::INTERFACE;
use crate::options::ScriptSetting;
use crate::programs::add_programs;
use crate::requests::{Requests, ScriptClient, add_requests, lend};
use crate::sources::ScriptSources;
use crate::watch::{self, ScriptWatch, add_places};

const MEMORY_MB: usize = 512;

const NO_MEMORY: &str = "not enough memory";

/// The parts of the interface, in the order of their creation.
const PARTS: [&str; 5] = [
    include_str!("interface/sql.lua"),
    include_str!("interface/options.lua"),
    include_str!("interface/reports.lua"),
    include_str!("interface/limits.lua"),
    include_str!("interface/legacy.lua"),
];

const CALLS: &str = include_str!("interface/calls.lua");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventEnd {
    Done,
    NoMore,
    /// Retry the event, after an error with this code.
    Again(u32),
}

pub struct ScriptEngine {
    calls: Table,
    event: Function,
    shared: HostState,
    watch: Rc<ScriptWatch>,
    lua: Lua,
}

impl ScriptEngine {
    /// Runs the script's top level and applies the options. `known` has the files with which a study was planned;
    /// without it, they are recorded.
    pub fn read(
        client: &mut dyn ScriptClient,
        path: &Path,
        known: Option<Vec<LuaFile>>,
        setting: &ScriptSetting,
    ) -> Result<Self> {
        let sources = Rc::new(ScriptSources::new(path, known, setting.may_use_all));
        let part = if setting.command == "run" { "run" } else { "prepare" };
        let draws = RandomDraws::new(
            setting.seed,
            part,
            setting.thread,
            setting.threads,
            setting.draw.usual,
        );
        let shared = HostState {
            draws: Rc::new(RefCell::new(draws)),
            sources,
            leash: Arc::clone(&setting.leash),
            may_use_all: setting.may_use_all,
            draw: setting.draw,
            threads: setting.threads,
        };
        let watch = Rc::new(ScriptWatch::new(Arc::clone(&setting.leash)));
        let lua = state(&watch).map_err(|error| failed(&watch, &error))?;
        let script = shared.sources.script(path)?;
        let fail = |error: mlua::Error| failed(&watch, &error);
        let facts = facts(&lua, path, setting).map_err(fail)?;
        let functions = host(&lua, &shared).map_err(fail)?;
        add_places(&lua, &functions, &watch).map_err(fail)?;
        if setting.may_use_all {
            add_programs(&lua, &functions, &watch, setting.threads).map_err(fail)?;
        }
        let requests = Requests::new(Rc::clone(&watch), Rc::clone(&shared.sources));
        add_requests(&lua, &functions, &Rc::new(requests)).map_err(fail)?;
        let load = |part| lua.load(part).set_name(format!("={INTERFACE}"));
        for part in PARTS {
            load(part).call::<()>((&functions, &facts)).map_err(fail)?;
        }
        let calls: Table = load(CALLS).call((&functions, &facts)).map_err(fail)?;
        let event = calls.get("event").map_err(fail)?;
        let engine = Self { calls, event, shared, watch, lua };
        engine.watched(client, || {
            let name = format!("@{}", path.display());
            let text = without_first_line_of_shells(&script.text);
            let chunk = engine.lua.load(text).set_name(name);
            let chunk = chunk.set_mode(mlua::chunk::ChunkMode::Text).into_function()?;
            engine.calls.get::<Function>("carry_out")?.call::<()>(chunk)
        })?;
        engine.take_options(&setting.options)?;
        Ok(engine)
    }

    /// The files read so far, the script first, and those that they name.
    pub fn files(&self) -> Vec<LuaFile> {
        self.shared.sources.read_named();
        self.shared.sources.files()
    }

    pub fn has(&self, name: &str) -> Result<bool> {
        self.ask("has", name)
    }

    /// Whether the script may run this command in several threads, each doing a part.
    pub fn is_parallel(&self, command: &str) -> Result<bool> {
        self.ask("is_parallel", command)
    }

    pub fn take_said(&self) -> String {
        self.shared.leash.take_said()
    }

    /// Runs a command, such as `prepare`. Fails with [`LuaError::Lacks`] if the script lacks it.
    pub fn command(&self, client: &mut dyn ScriptClient, name: &str) -> Result<()> {
        if !self.has(name)? {
            return Err(LuaError::Lacks(name.to_owned()));
        }
        match self.lend(client, "command", name)? {
            true => Ok(()),
            false => Err(LuaError::Failed(format!("`{name}` returned false"))),
        }
    }

    /// Calls a function that sysbench calls once for all threads, such as `init`, if the script has it.
    pub fn call_once(&self, client: &mut dyn ScriptClient, name: &str) -> Result<()> {
        self.lend(client, "once", name)
    }

    /// Calls a function of sysbench's life cycle, such as `thread_init`, if the script has it.
    pub fn call(&self, client: &mut dyn ScriptClient, name: &str) -> Result<()> {
        self.lend(client, "optional", name)
    }

    pub fn has_hook(&self, name: &str) -> Result<bool> {
        self.ask("has_hook", name)
    }

    pub fn report(
        &self,
        client: &mut dyn ScriptClient,
        name: &str,
        numbers: &[(&str, f64)],
    ) -> Result<()> {
        let fail = |error| failed(&self.watch, &error);
        let stat = self.lua.create_table_from(numbers.iter().copied()).map_err(fail)?;
        self.lend(client, "report", (name, stat))
    }

    /// Runs an event. The same numbers draw the same values.
    pub fn event(
        &self,
        client: &mut dyn ScriptClient,
        sequence: u64,
        attempt: u32,
    ) -> Result<EventEnd> {
        self.shared.draws.borrow_mut().begin_event(sequence, attempt);
        let (ended, code): (u32, Option<u32>) = self.lend_to(client, &self.event, ())?;
        Ok(match ended {
            0 => EventEnd::Done,
            1 => EventEnd::NoMore,
            _ => EventEnd::Again(code.unwrap_or_default()),
        })
    }

    /// File and line of the script where the last error was raised.
    pub fn failed_at(&self) -> Option<String> {
        self.watch.failed_at()
    }

    fn ask(&self, call: &str, name: &str) -> Result<bool> {
        let fail = |error| failed(&self.watch, &error);
        let call: Function = self.calls.get(call).map_err(fail)?;
        call.call(name).map_err(fail)
    }

    fn take_options(&self, given: &[(String, String)]) -> Result<()> {
        let given = given.iter().map(|(name, value)| vec![name.as_str(), value.as_str()]);
        let given: Vec<_> = given.collect();
        let fail = |error| failed(&self.watch, &error);
        let take: Function = self.calls.get("take_options").map_err(fail)?;
        let (fault, name, note): (Option<String>, Option<String>, LuaValue) =
            take.call(given).map_err(fail)?;
        let name = name.unwrap_or_default();
        match (fault.as_deref(), note) {
            (None, _) => Ok(()),
            (Some("unknown"), LuaValue::Table(known)) => {
                if let Some(instead) = crate::options::equivalent_of(&name) {
                    return Err(LuaError::OptionOfSysbench { name, instead });
                }
                let known = known.sequence_values().filter_map(Result::ok).collect();
                Err(LuaError::UnknownOption { name, known })
            }
            (Some("help"), note) => Err(LuaError::Help(note.to_string().unwrap_or_default())),
            (Some(_), note) => {
                let value = note.to_string().unwrap_or_default();
                Err(LuaError::Value { name, value })
            }
        }
    }

    fn lend<R: FromLuaMulti>(
        &self,
        client: &mut dyn ScriptClient,
        call: &str,
        argument: impl IntoLuaMulti,
    ) -> Result<R> {
        let call = self.calls.get(call).map_err(|error| failed(&self.watch, &error))?;
        self.lend_to(client, &call, argument)
    }

    /// Calls a function of the interface, which may use the client until it returns.
    fn lend_to<R: FromLuaMulti>(
        &self,
        client: &mut dyn ScriptClient,
        call: &Function,
        argument: impl IntoLuaMulti,
    ) -> Result<R> {
        self.watched(client, || call.call(argument))
    }

    fn watched<R>(
        &self,
        client: &mut dyn ScriptClient,
        call: impl FnOnce() -> mlua::Result<R>,
    ) -> Result<R> {
        self.watch.begin();
        let done = lend(client, call);
        self.watch.end();
        done.map_err(|error| failed(&self.watch, &error))
    }
}

/// An empty state with limits on memory and on calls that send nothing.
fn state(watch: &Rc<ScriptWatch>) -> mlua::Result<Lua> {
    let lua = Lua::new_with(StdLib::ALL_SAFE, LuaOptions::default())?;
    // Compiled loops would not check the clock.
    let jit: Table = lua.globals().get("jit")?;
    jit.get::<Function>("off")?.call::<()>(())?;
    match lua.set_memory_limit(MEMORY_MB << 20) {
        Ok(_) | Err(mlua::Error::MemoryControlNotAvailable) => {}
        Err(error) => return Err(error),
    }
    watch::set(&lua, watch)?;
    Ok(lua)
}

fn facts(lua: &Lua, path: &Path, setting: &ScriptSetting) -> mlua::Result<Table> {
    let facts = lua.create_table()?;
    facts.set("tid", setting.thread)?;
    facts.set("threads", setting.threads)?;
    facts.set("driver", setting.driver)?;
    facts.set("command", setting.command.as_str())?;
    facts.set("script_path", path.display().to_string())?;
    facts.set("may_use_all", setting.may_use_all)?;
    let options = lua.create_table()?;
    crate::options::add_general(&options, setting)?;
    facts.set("options", options)?;
    Ok(facts)
}

fn without_first_line_of_shells(text: &[u8]) -> &[u8] {
    match text.strip_prefix(b"#") {
        // Keep the line, empty, so that errors have the right line numbers.
        Some(_) => {
            let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
            text.get(end..).unwrap_or_default()
        }
        None => text,
    }
}

fn failed(watch: &ScriptWatch, error: &mlua::Error) -> LuaError {
    if watch.is_over() {
        return watch.error();
    }
    let no_memory = || LuaError::Memory { mb: MEMORY_MB, place: watch.last_place() };
    match error {
        mlua::Error::MemoryError(_) => no_memory(),
        mlua::Error::CallbackError { cause, .. } => failed(watch, cause),
        mlua::Error::WithContext { cause, .. } => failed(watch, cause),
        mlua::Error::ExternalError(cause) => match cause.downcast_ref::<LuaError>() {
            Some(own) => own.clone(),
            None => LuaError::Failed(cause.to_string()),
        },
        // An error caught and rethrown within the script has lost its kind.
        mlua::Error::RuntimeError(message) if message.starts_with(NO_MEMORY) => no_memory(),
        mlua::Error::RuntimeError(message) | mlua::Error::SyntaxError { message, .. } => {
            LuaError::Failed(placed(watch, message_of(message)))
        }
        other => LuaError::Failed(placed(watch, message_of(&other.to_string()))),
    }
}

/// Adds the place in the script where the error was raised, which errors without a text, and those of the interface,
/// lack.
fn placed(watch: &ScriptWatch, message: String) -> String {
    let own = message.strip_prefix(INTERFACE).and_then(|rest| rest.strip_prefix(':'));
    let own = own.and_then(|rest| rest.split_once(": "));
    let (message, has_place) = match own {
        Some((line, rest)) if line.parse::<u32>().is_ok() => (rest.to_owned(), false),
        _ => match place_in(&message) {
            Some(place) => (without_repeats(&message, place), true),
            None => (message, false),
        },
    };
    match watch.failed_at().filter(|_| !has_place) {
        Some(place) => format!("{place}: {message}"),
        None => message,
    }
}

fn without_repeats(message: &str, place: &str) -> String {
    let place = format!("{place}: ");
    let mut rest = message;
    while let Some(after) = rest.strip_prefix(&place).filter(|it| it.starts_with(&place)) {
        rest = after;
    }
    rest.to_owned()
}

fn message_of(text: &str) -> String {
    let text = text.split("\nstack traceback:").next().unwrap_or(text);
    text.trim_start_matches("runtime error: ").trim().to_owned()
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
