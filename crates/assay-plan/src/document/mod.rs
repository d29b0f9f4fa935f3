//! Files that users write, as TOML: values with their places in the file, and mistakes shown at those places.

mod fault;
mod number;
mod value;

use toml::Spanned;
use toml::de::DeTable;

pub use fault::FileError;
pub(crate) use fault::{Fault, all};
pub(crate) use value::{Table, Value, listed};

/// The content of a file.
pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Fault> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let faults = errors.into_iter().map(|error| {
        let message = error.message().trim_end().replace('\n', ", ");
        Fault::at(error.span().unwrap_or_default(), message)
    });
    Fault::of_all(faults).map_or(Ok(document), Err)
}
