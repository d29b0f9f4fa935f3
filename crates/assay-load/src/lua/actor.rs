//! A study's client that runs a script.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use assay_lua::{Ended, Engine, Setting};
use assay_model::{Dialect, LuaScript, WorkCounters};
use assay_wire::{Address, ConnectOptions, Connection, Error as WireError};

use super::client::{Kept, Wire};
use crate::actor::{Actor, ActorMaker, EventNumber, Line, Refused};
use crate::error::{Error, Result};
use crate::policy::USUAL;
use crate::work::Work;

pub(crate) fn lua_actors(
    script: &'static LuaScript,
    options: &ConnectOptions,
    work: &Work,
) -> Result<Vec<ActorMaker>> {
    let threads = work.setup.clients.max(1);
    let maker = |thread| -> Result<ActorMaker> {
        let place = ScriptPlace { options, dialect: work.dialect, seed: work.seed };
        let setting = place.setting(script, "run", thread, threads)?;
        let (options, dialect, mode) = (options.clone(), work.dialect, work.statements);
        let ignored = assay_lua::ignored_errors(&script.options)?;
        Ok(Box::new(move |leash| {
            let setting = Setting { leash: Arc::clone(leash), ..setting };
            let kept = Kept::new(options, dialect, mode, ignored);
            Box::new(LuaActor { script, setting, engine: None, kept })
        }))
    };
    (0..threads).map(maker).collect()
}

#[derive(Clone, Copy)]
pub(super) struct ScriptPlace<'a> {
    pub(super) options: &'a ConnectOptions,
    pub(super) dialect: Dialect,
    pub(super) seed: u64,
}

impl ScriptPlace<'_> {
    pub(super) fn setting(
        &self,
        script: &LuaScript,
        command: &str,
        thread: u32,
        threads: u32,
    ) -> Result<Setting> {
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
        Ok(Setting {
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

/// sysbench's driver name for a dialect.
#[must_use]
pub fn driver(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "mysql",
        Dialect::Postgres => "pgsql",
    }
}

struct LuaActor {
    script: &'static LuaScript,
    setting: Setting,
    engine: Option<Engine>,
    kept: Kept,
}

impl Actor for LuaActor {
    /// Rereads the script: statements prepared on an earlier connection are gone.
    fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        self.kept.forget();
        let path = Path::new(self.script.path());
        let files = Some(self.script.files.clone());
        let client = &mut self.kept.lend(Wire::Idle(wire));
        let engine = Engine::read(client, path, files, &self.setting).and_then(|engine| {
            engine.call(client, "thread_init")?;
            Ok(engine)
        });
        self.engine = Some(engine.map_err(|error| self.kept.error_of(error))?);
        Ok(())
    }

    fn event(
        &mut self,
        number: EventNumber,
        line: &mut Line<'_>,
    ) -> Result<ControlFlow<()>, Refused> {
        let Some(engine) = &self.engine else { return Ok(ControlFlow::Break(())) };
        let EventNumber { sequence, attempt } = number;
        match engine.event(&mut self.kept.lend(Wire::Event(line)), sequence, attempt) {
            Ok(Ended::Done) => Ok(ControlFlow::Continue(())),
            Ok(Ended::NoMore) => Ok(ControlFlow::Break(())),
            Ok(Ended::Again(code)) => Err(Refused::Again(code)),
            Err(error) => Err(match self.kept.cause_of(&error) {
                Some((sql, source)) => Refused::Statement { sql, source },
                None => Refused::Failed(Box::new(error.into())),
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
        self.engine.as_ref().and_then(Engine::failed_at)
    }

    fn retried(&self) -> &'static [u32] {
        &USUAL
    }
}

/// Prefix of sysbench's messages about failed statements.
const OF_STATEMENT: &str = "SQL error, errno = ";

impl Kept {
    /// The statement that made the script fail, with its error, unless the script caught that error.
    fn cause_of(&mut self, error: &assay_lua::Error) -> Option<(Vec<u8>, WireError)> {
        self.take_failed().filter(|_| error.to_string().contains(OF_STATEMENT))
    }

    /// Prefers the error of the statement that made the script fail.
    pub(super) fn error_of(&mut self, error: assay_lua::Error) -> Error {
        match self.cause_of(&error) {
            Some((sql, cause)) => Error::query(&sql, cause),
            None => error.into(),
        }
    }
}
