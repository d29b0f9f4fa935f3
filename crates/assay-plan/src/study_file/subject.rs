//! Files with the options of a study file, and a table of a wing in place of the systems.

use clap::Args;
use serde::de::DeserializeOwned;

use super::options::{keys_of, read};
use super::read::{check_tests, options};
use crate::document::{FileFault, FileResult, FileTable, parse};
use crate::request::{Request, SetupRequest};

/// The table from which the systems follow. It refuses unknown keys.
pub trait SubjectTable: DeserializeOwned + Args {
    const KEY: &'static str;
    /// Where its keys belong, for errors.
    const HOME: &'static str;
    /// The error of a file without it.
    const MISSING: &'static str;
    const EXAMPLE: &'static str;

    /// The error of a table that lacks a key.
    fn lacks(&self) -> Option<&'static str>;
}

pub(super) fn subject<T: SubjectTable>(text: &str) -> FileResult<(T, Request)> {
    let document = parse(text)?;
    let file = FileTable::new(text, document.get_ref(), homes::<T>);
    file.refuse_unknown(&[keys_of::<Request>(), &["setup", "oltp", "tpcc", T::KEY]].concat())?;
    let Some(value) = file.get(T::KEY) else {
        return Err(FileFault::of_file(T::MISSING).hint(T::EXAMPLE));
    };
    let table = value.table(&format!("a table, written `[{}]`", T::KEY))?;
    table.refuse_unknown(keys_of::<T>())?;
    let subject: T = read(&table)?;
    if let Some(why) = subject.lacks() {
        return Err(value.fault(why).hint(T::EXAMPLE));
    }
    let request = options(&file)?;
    check_tests(&file, &request)?;
    Ok((subject, request))
}

fn homes<T: SubjectTable>() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("at the top of the file, before all tables", keys_of::<Request>()),
        ("in a `[[setup]]` table", keys_of::<SetupRequest>()),
        (T::HOME, keys_of::<T>()),
    ]
}
