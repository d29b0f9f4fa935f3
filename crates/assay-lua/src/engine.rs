//! A script in a Lua of its own, on the thread of one client.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use assay_model::LuaFile;
use assay_workloads::Draws;
use mlua::{
    FromLuaMulti, Function, HookTriggers, IntoLuaMulti, Lua, LuaOptions, MultiValue, StdLib, Table,
    Value as LuaValue, VmState,
};

use crate::error::{Error, Result};
use crate::host::{Shared, host};
use crate::requests::{Client, Progress, Value, carry_out};
use crate::setting::Setting;
use crate::sources::Sources;

/// How long a call may go on without sending a statement.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How long the pauses of a call may be in all without a statement between them.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Instructions between two looks at the clock.
const LOOK_EVERY: u32 = 1 << 20;

/// Memory of one script, MB.
const MEMORY_MB: usize = 512;

/// Lua's words for the lack of memory.
const NO_MEMORY: &str = "not enough memory";

const PRELUDE: &str = include_str!("prelude.lua");
const LEGACY: &str = include_str!("legacy.lua");

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
    /// How long the script has waited since a server answered.
    waited: Cell<Duration>,
    place: RefCell<Option<String>>,
    is_over: Cell<bool>,
}

impl Watch {
    fn new() -> Self {
        let (since, waited, is_over) = (Cell::default(), Cell::default(), Cell::default());
        Self { limit: Cell::new(SILENCE_MAX), since, waited, place: RefCell::default(), is_over }
    }

    fn begin(&self) {
        self.since.set(Some(Instant::now()));
        self.waited.set(Duration::ZERO);
    }

    /// Pauses of a script are not held against it, unless it does nothing else.
    fn see(&self, done: Progress) {
        match done {
            Progress::None => {}
            Progress::Answered => self.begin(),
            Progress::Paused(time) => {
                let waited = self.waited.get() + time;
                self.waited.set(waited);
                if waited <= WAIT_MAX {
                    self.since.set(self.since.get().and_then(|since| since.checked_add(time)));
                }
            }
        }
    }

    fn end(&self) {
        self.since.set(None);
    }
}

impl Engine {
    /// Reads a script: carries out what stands outside of its functions, and takes the options. `known` has the files
    /// with which a study was planned; without them, they are learned.
    pub fn read(path: &Path, known: Option<Vec<LuaFile>>, setting: &Setting) -> Result<Self> {
        let sources = Rc::new(Sources::of(path, known, setting.may_use_all));
        let part = if setting.command == "run" { "run" } else { "prepare" };
        let draws =
            Draws::new(setting.seed, part, setting.thread, setting.threads, setting.draw.usual);
        let shared = Shared {
            draws: Rc::new(RefCell::new(draws)),
            sources,
            said: Rc::default(),
            may_use_all: setting.may_use_all,
            draw: setting.draw,
        };
        let watch = Rc::new(Watch::new());
        let lua = state(&watch).map_err(|error| failed(&watch, &error))?;
        let script = shared.sources.script(path)?;
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
                    let mut done = Progress::None;
                    let answer = carry_out(lua, client, &mut values, request, &mut done);
                    self.watch.see(done);
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
#[path = "engine_tests.rs"]
mod tests;
