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

use assay_model::{Class, LuaScript, Schema, Test};
use assay_workloads::define;

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
        Form::Lua => Err(Fault::of_file("this is a Lua script of sysbench, which is no workload file")
            .hint(
                "`--workload` takes it in `compare`, `gate`, `count`, `bisect` and `run`, and `--script` in `bench`",
            )),
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

/// Whether a file is a Lua script of sysbench, by its content.
#[must_use]
pub fn is_lua(path: &str, text: &str) -> bool {
    Form::of(path, text) == Form::Lua
}

/// The workload of a script of sysbench. It is one test, which counts as one that writes: nobody knows what a script
/// does before it does it.
#[must_use]
pub fn lua_workload(script: LuaScript) -> Workload {
    let name = script.name.clone();
    let does = "events of a Lua script of sysbench".to_owned();
    let test = read::definition(&name, does, Class::Write, Vec::new(), &name, Schema::Lua(script));
    Workload { name, tests: vec![define(test)] }
}

#[cfg(test)]
mod pgbench_tests;
#[cfg(test)]
mod tests;
