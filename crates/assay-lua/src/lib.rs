//! sysbench scripts in Lua: their interface, their limits and their files. This crate sends nothing. A script calls a
//! [`ScriptClient`], which is lent to it for each call.
//!
//! A script is trusted by the user, as with sysbench. Its random values depend only on the seed, the thread and the
//! event, so that all systems get the same work. It may use the files of its directory, and everything else only with
//! the user's permission.

mod engine;
mod error;
mod files;
mod host;
mod interface;
mod leash;
mod options;
mod programs;
mod requests;
mod sources;
mod watch;

pub use engine::{EventEnd, ScriptEngine};
pub use error::{LuaError, Result};
pub use leash::{Leash, Patience};
pub use options::{
    IgnoredErrors, ScriptDraws, ScriptSetting, ignored_errors, parse_options, take_distribution,
};
pub use programs::{PROGRAM_COMMAND, ProgramOutput};
pub use requests::{NoServer, RowUse, ScriptAnswer, ScriptClient, ScriptValue, SqlError};
