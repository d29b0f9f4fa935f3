//! TOML files written by users: values with their places, and mistakes shown there.

mod fault;
mod value;

use toml::Spanned;
use toml::de::DeTable;

pub use fault::FileError;
pub(crate) use fault::{FileFault, FileResult, all};
pub(crate) use value::{FileTable, FileValue, listed};

pub(crate) fn parse(text: &str) -> FileResult<Spanned<DeTable<'_>>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let faults = errors.into_iter().map(|error| {
        let message = error.message().trim_end().replace('\n', ", ");
        FileFault::at(error.span().unwrap_or_default(), message)
    });
    FileFault::of_all(faults).map_or(Ok(document), Err)
}
