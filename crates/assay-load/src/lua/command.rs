//! Commands of a script, such as `prepare`.

use std::path::Path;

use assay_lua::Engine;
use assay_model::{Dialect, LuaScript, StatementMode};
use assay_wire::{ConnectOptions, Connection};

use super::actor::ScriptPlace;
use super::client::{Kept, Wire};
use crate::error::{Error, Result};
use crate::share::for_whole_tables;

/// Carries out a command of a script: one of its own list, or the function of this name, in one thread. Returns what it
/// has printed, and the bytes that were sent.
///
/// # Errors
/// [`assay_lua::Error::Lacks`] if the script does not have it.
pub fn run_command(
    script: &LuaScript,
    command: &str,
    options: &ConnectOptions,
    dialect: Dialect,
    seed: u64,
) -> Result<(String, u64)> {
    let options = &for_whole_tables(options);
    let setting = ScriptPlace { options, dialect, seed }.setting(script, command, 0, 1)?;
    let connected = Connection::connect(options);
    let mut wire = connected.map_err(|source| Error::Connect { client: 0, source })?;
    let path = Path::new(script.path());
    let engine = Engine::read(path, Some(script.files.clone()), &setting)?;
    let mut kept = Kept::new(options.clone(), dialect, StatementMode::Prepared);
    let done = engine.command(&mut kept.lend(Wire::Idle(&mut wire)), command);
    done.map_err(|error| kept.error_of(error))?;
    // Scripts that switch off autocommit may leave a transaction open, which sysbench loses.
    Ok((engine.take_said(), wire.bytes_sent()))
}
