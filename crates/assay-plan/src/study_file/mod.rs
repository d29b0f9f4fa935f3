//! Reads and writes study files, a [`Request`](crate::Request) as TOML, with errors at their places. A wing may
//! have files with the same options, and a table of its own in place of the systems.
//!
//! Options and setups go through serde; systems and their options are walked, since their keys are arbitrary. Either
//! way a mistake has its place in the file, so that its line can be shown.

mod command;
mod options;
mod read;
mod subject;
mod write;

pub(crate) use command::first_change;
pub use command::shell_quoted;
pub use options::study_key;
pub use subject::SubjectTable;
pub use write::write_study;

use crate::document::FileError;
use crate::request::Request;

pub fn read_study(name: &str, text: &str) -> Result<Request, FileError> {
    read::request(text).map_err(|fault| fault.shown_in(name, text))
}

pub fn read_subject<T: SubjectTable>(name: &str, text: &str) -> Result<(T, Request), FileError> {
    subject::subject(text).map_err(|fault| fault.shown_in(name, text))
}

#[cfg(test)]
mod tests;
