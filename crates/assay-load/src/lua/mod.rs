//! Scripts of sysbench as work: the client that is lent to a script, what a client of a study does with one, and its
//! commands.

mod actor;
mod client;
mod command;

pub use actor::driver;
pub(crate) use actor::lua_actors;
pub(crate) use client::CONNECTIONS;
pub(crate) use command::run_init;
pub use command::{Begun, CommandDone, Reporter, run_command};
