//! TOML files written by users: values with their places, and mistakes shown there.

mod fault;
mod value;

use toml::Spanned;
use toml::de::DeTable;

pub(crate) use fault::all;
pub use fault::{FileError, FileFault, FileResult};
pub use value::{FileTable, FileValue, listed};

pub fn parse(text: &str) -> FileResult<Spanned<DeTable<'_>>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let faults = errors.into_iter().map(|error| {
        let message = error.message().trim_end().replace('\n', ", ");
        FileFault::at(error.span().unwrap_or_default(), message)
    });
    FileFault::of_all(faults).map_or(Ok(document), Err)
}
