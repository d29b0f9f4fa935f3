//! Study files: a [`Request`](crate::Request) as TOML, read with errors that point at the place, and written.
//!
//! The document is walked by hand over values that know their place in the file: so that every mistake, of whatever
//! kind, can be shown with its line.

mod command;
mod fault;
mod read;
mod value;
mod write;

pub use command::shell_quoted;
pub use fault::StudyFileError;
pub use write::write_study;

use crate::Request;

/// Reads a study file; `name` is what errors call it, `text` its content.
///
/// # Errors
/// [`StudyFileError`] for the first mistake found: its text shows the line and marks the place.
pub fn read_study(name: &str, text: &str) -> Result<Request, StudyFileError> {
    read::request(text).map_err(|fault| fault.shown_in(name, text))
}

#[cfg(test)]
mod tests;
