//! A sysbench script, which creates its tables itself.

use std::time::Instant;

use assay_lua::Error as LuaError;
use assay_model::{DataSet, LuaScript, UserData};
use assay_wire::ConnectOptions;

use super::kind::{Place, Workload};
use crate::actor::ActorMaker;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::fill::{LoadProgress, LoadReport};
use crate::lua::{CONNECTIONS, CommandDone, lua_actors, run_command, run_init};
use crate::share::for_whole_tables;
use crate::user::{
    all_tables, connect, drop_existing, note, read_back, read_tables_once, refuse_others,
};
use crate::work::Work;

/// Threads of a parallel `prepare`. The rows depend on their number, so it must not depend on the machine.
const PREPARE_THREADS: u32 = 4;

impl Workload for LuaScript {
    fn in_words(&self, _: DataSet) -> String {
        format!("the tables of {}", self.name)
    }

    fn content_key(&self) -> Option<String> {
        Some(self.work())
    }

    fn tables(&self, place: &Place<'_>) -> Result<Vec<String>> {
        all_tables(place.options, place.dialect)
    }

    fn rows(&self, _: DataSet) -> Option<u64> {
        None
    }

    fn connections(&self) -> u32 {
        CONNECTIONS as u32
    }

    /// Only the script knows the names of its tables, so the database must be empty or from an earlier load.
    fn claim(&self, place: &Place<'_>) -> Result<Option<String>> {
        let there = all_tables(place.options, place.dialect)?;
        let mut control = connect(place.options)?;
        refuse_others(&mut control, place.dialect, &notes_of(self), &there)?;
        Ok(None)
    }

    fn fill(
        &self,
        place: &Place<'_>,
        is_ours: bool,
        _: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let start = Instant::now();
        let Place { options, dialect, seed, .. } = *place;
        if !is_ours {
            self.claim(place)?;
            if !all_tables(options, dialect)?.is_empty() {
                or_lacks(run_command(self, "cleanup", (options, dialect), seed, PREPARE_THREADS))?;
            }
            let left = all_tables(options, dialect)?;
            drop_existing(&mut connect(options)?, dialect, &left)?;
        }
        let prepared = run_command(self, "prepare", (options, dialect), seed, PREPARE_THREADS);
        let bytes_sent = or_lacks(prepared)?;
        let elapsed = start.elapsed();
        if !is_ours {
            note_all(self, place)?;
        }
        let content = self.content(place)?;
        let tables = all_tables(options, dialect)?.len() as u32;
        Ok(LoadReport {
            tables,
            rows: content.rows,
            content,
            bytes_sent,
            elapsed,
            restored: Vec::new(),
        })
    }

    /// Runs the script's `init`, which may create tables too.
    fn begin(&self, place: &Place<'_>, clients: u32, is_ours: bool) -> Result<()> {
        run_init(self, (place.options, place.dialect), place.seed, clients)?;
        if is_ours { Ok(()) } else { note_all(self, place) }
    }

    fn content(&self, place: &Place<'_>) -> Result<Content> {
        let names = self.tables(place)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let options = for_whole_tables(place.options);
        read_back(&options, place.dialect, &names).map(|(content, _)| content)
    }

    fn fill_cache(&self, place: &Place<'_>) -> Result<()> {
        let names = self.tables(place)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        read_tables_once(&for_whole_tables(place.options), place.dialect, &names)
    }

    fn actors(&self, options: &ConnectOptions, work: &Work) -> Result<Vec<ActorMaker>> {
        let script = work.test.lua().ok_or_else(|| Error::Roles(work.test.name()))?;
        lua_actors(script, options, work)
    }
}

fn note_all(script: &LuaScript, place: &Place<'_>) -> Result<()> {
    let mut control = connect(place.options)?;
    for table in all_tables(place.options, place.dialect)? {
        note(&mut control, place.dialect, &notes_of(script), &table)?;
    }
    Ok(())
}

/// The workload under which a script's tables are recorded.
fn notes_of(script: &LuaScript) -> UserData {
    UserData { name: script.name.clone(), tables: Vec::new(), dump: None }
}

/// Bytes sent by a command; 0 if the script lacks it.
fn or_lacks(done: CommandDone) -> Result<u64> {
    match done.bytes_sent {
        Ok(bytes) => Ok(bytes),
        Err(Error::Lua(LuaError::Lacks(_))) => Ok(0),
        Err(error) => Err(error),
    }
}
