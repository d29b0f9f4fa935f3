//! Workload files: a user's own tables, rows and tests, as TOML or as a pgbench script.
//!
//! Nothing here reads a file: whoever calls gives the text, and a function that reads the files it names.

mod fields;
mod files;
mod form;
mod pgbench;
mod read;
mod table;
mod test;
mod values;

use assay_model::Test;

pub use files::{ReadFile, UserFile};

use self::form::Form;
use crate::document::{Fault, FileError};

/// A workload that a user wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name, which is that of the file without the ending.
    pub name: String,
    /// Its tests, in the order of the file. All of them work on the same tables.
    pub tests: Vec<Test>,
}

/// Reads a workload: `path` is what errors call the file. Its content says what it is.
pub fn read_workload(path: &str, text: &str, files: ReadFile<'_>) -> Result<Workload, FileError> {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = file.rsplit_once('.').map_or(file, |(name, _)| name);
    let tests = match Form::of(path, text) {
        Form::Pgbench => pgbench::tests(name, text),
        Form::Toml => read::tests(name, text, files),
        Form::Lua => Err(Fault::of_file("this is a script of sysbench, and assay does not run Lua yet")
            .hint("write its tables and statements as a workload file: TOML with `[table.NAME]` and `[test.NAME]`")
            .hint("the scripts that come with sysbench need no file: `--suite oltp` has them")),
        Form::Dump => Err(Fault::of_file("this is a dump: it makes tables, and says nothing of what to measure")
            .hint(format!("write a workload file beside it: a `[table.NAME]` with `script = \"{file}\"` loads it, and \
                           each `[test.NAME]` has statements to measure"))),
        Form::Unknown => Err(Fault::of_file(
            "this is neither a workload file in TOML nor a script of pgbench",
        )
        .hint("a workload file has `[table.NAME]` and `[test.NAME]`; a script has SQL statements and lines such as \
               `\\set id random(1, 100)`")),
    };
    let tests = tests.map_err(|fault| fault.shown_in(path, text))?;
    Ok(Workload { name: name.to_owned(), tests })
}

#[cfg(test)]
mod pgbench_tests;
#[cfg(test)]
mod tests;
