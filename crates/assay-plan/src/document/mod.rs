//! TOML files written by users: values with their places, and mistakes shown there.

mod fault;
mod number;
mod value;

use toml::Spanned;
use toml::de::DeTable;

pub use fault::FileError;
pub(crate) use fault::{Fault, all};
pub(crate) use value::{Table, Value, listed};

pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Fault> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let faults = errors.into_iter().map(|error| {
        let message = error.message().trim_end().replace('\n', ", ");
        Fault::at(error.span().unwrap_or_default(), message)
    });
    Fault::of_all(faults).map_or(Ok(document), Err)
}
