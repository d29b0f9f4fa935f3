//! Study files: a [`Request`](crate::Request) as TOML, read with errors that point at the place, and written.
//!
//! Options and setups go through serde; systems and their options are walked, since their keys are free. Either way a
//! mistake has its place in the file, so that its line can be shown.

mod command;
mod de;
mod gate;
mod keys;
mod read;
mod systems;
mod write;

pub use command::shell_quoted;
pub use write::write_study;

use crate::document::FileError;
use crate::request::Request;

/// Reads a study file; `name` is what errors call it, `text` its content.
pub fn read_study(name: &str, text: &str) -> Result<Request, FileError> {
    read::request(text).map_err(|fault| fault.shown_in(name, text))
}

#[cfg(test)]
mod tests;
