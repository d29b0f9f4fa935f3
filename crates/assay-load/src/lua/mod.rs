//! sysbench scripts as work: the client lent to a script, its actor in a study, and its commands.

mod actor;
mod client;
mod command;

pub use actor::driver;
pub(crate) use actor::lua_actors;
pub(crate) use client::CONNECTIONS;
pub(crate) use command::run_init;
pub use command::{Begun, CommandDone, Reporter, run_command};
