//! A sysbench script, which creates its tables itself.

use std::time::Instant;

use assay_lua::LuaError;
use assay_model::{DataSet, LuaScript};
use assay_wire::ConnectOptions;

use super::Workload;
use crate::actor::{ActorMaker, ClientWork};
use crate::content::TableContent;
use crate::error::{LoadError, Result};
use crate::fill::{LoadProgress, LoadReport, LoadTarget};
use crate::lua::{CONNECTIONS, CommandDone, lua_actors, run_command, run_init};
use crate::share::for_whole_tables;
use crate::user::{all_tables, read_back, read_tables_once};

/// Threads of a parallel `prepare`. The rows depend on their number, so it must not depend on the machine.
const PREPARE_THREADS: u32 = 4;

impl Workload for LuaScript {
    fn in_words(&self, _: DataSet) -> String {
        format!("the tables of {}", self.name)
    }

    fn content_key(&self) -> Option<String> {
        Some(self.work())
    }

    fn tables(&self, target: &LoadTarget<'_>) -> Result<Vec<String>> {
        all_tables(target.options)
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        None
    }

    fn connections(&self) -> u32 {
        CONNECTIONS as u32
    }

    fn fill(
        &self,
        target: &LoadTarget<'_>,
        _: bool,
        _: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let start = Instant::now();
        let LoadTarget { options, dialect, seed, .. } = *target;
        let prepared = run_command(self, "prepare", (options, dialect), seed, PREPARE_THREADS);
        let bytes_sent = or_lacks(prepared)?;
        let elapsed = start.elapsed();
        let content = self.content(target)?;
        let tables = all_tables(options)?.len() as u32;
        let (rows, restored) = (content.rows, Vec::new());
        Ok(LoadReport { tables, rows, content, bytes_sent, elapsed, restored })
    }

    /// Runs the script's `init`, which may create tables too.
    fn begin(&self, target: &LoadTarget<'_>, clients: u32) -> Result<()> {
        run_init(self, (target.options, target.dialect), target.seed, clients)
    }

    fn content(&self, target: &LoadTarget<'_>) -> Result<TableContent> {
        let options = for_whole_tables(target.options);
        read_back(&options, &self.tables(target)?).map(|(content, _)| content)
    }

    fn fill_cache(&self, target: &LoadTarget<'_>) -> Result<()> {
        read_tables_once(&for_whole_tables(target.options), &self.tables(target)?)
    }

    fn actors(&self, options: &ConnectOptions, work: &ClientWork) -> Result<Vec<ActorMaker>> {
        let script = work.test.lua().ok_or_else(|| LoadError::Roles(work.test.name()))?;
        lua_actors(script, options, work)
    }
}

/// Bytes sent by a command; 0 if the script lacks it.
fn or_lacks(done: CommandDone) -> Result<u64> {
    match done.bytes_sent {
        Ok(bytes) => Ok(bytes),
        Err(LoadError::Lua(LuaError::Lacks(_))) => Ok(0),
        Err(error) => Err(error),
    }
}
