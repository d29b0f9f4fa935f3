//! Workload files: a user's own tables, rows and tests, as TOML or as a pgbench script.
//!
//! Nothing here reads a file: whoever calls gives the text, and a function that reads the files it names.

mod fields;
mod files;
mod pgbench;
mod read;
mod table;
mod test;
mod values;

use assay_model::Test;

pub use files::{ReadFile, UserFile};

use crate::document::FileError;

/// A workload that a user wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name, which is that of the file without the ending.
    pub name: String,
    /// Its tests, in the order of the file. All of them work on the same tables.
    pub tests: Vec<Test>,
}

/// Reads a workload: `path` is what errors call the file, and its ending says what it is.
///
/// # Errors
/// [`FileError`] for the first mistake found: its text shows the line and marks the place.
pub fn read_workload(path: &str, text: &str, files: ReadFile<'_>) -> Result<Workload, FileError> {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (name, ending) = file.rsplit_once('.').unwrap_or((file, ""));
    let tests = match ending {
        "pgbench" | "sql" => pgbench::tests(name, text),
        _ => read::tests(name, text, files),
    };
    let tests = tests.map_err(|fault| fault.shown_in(path, text))?;
    Ok(Workload { name: name.to_owned(), tests })
}

#[cfg(test)]
mod pgbench_tests;
#[cfg(test)]
mod tests;
