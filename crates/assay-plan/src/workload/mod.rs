//! Workload files: a user's tables, rows and tests, as TOML or as pgbench scripts.
//!
//! Nothing here reads a file: the caller provides the texts, and a function that reads referenced files.

mod fields;
mod files;
mod form;
mod pgbench;
mod read;
mod scripts;
mod table;
mod test;
mod values;

use assay_model::{Class, Definition, LuaScript, Test, UserData, test_name};
use assay_workloads::define;

pub use files::{FileExtent, ReadFile, ReadFileOf, UserFile, WorkloadFile};
pub(crate) use pgbench::script_variable;
pub use pgbench::{PGBENCH_SCRIPTS, ScriptOptions, pgbench_script};
pub use scripts::NamedFile;

use self::files::stem;
use self::form::FileForm;
use self::scripts::ScriptMix;
use crate::document::{FileError, FileFault, FileResult};

#[derive(Debug, Clone, PartialEq)]
pub struct UserWorkload {
    /// File name without extension.
    pub name: String,
    /// In file order. All of them use the same tables.
    pub tests: Vec<Test>,
}

/// Reads a workload of one file, whose form is detected by content. `path` identifies it in errors.
pub fn read_workload(
    path: &str,
    text: &str,
    files: &dyn Fn(&str) -> Result<UserFile, String>,
) -> Result<UserWorkload, FileError> {
    let file = WorkloadFile { path, weight: None, text };
    read_workload_files(&[file], &ScriptOptions::default(), &|_, named, _| files(named))
}

/// Reads a workload: one workload file, pgbench scripts, or scripts on the tables of a workload file. `files` reads
/// files referenced by the workload file.
pub fn read_workload_files(
    given: &[WorkloadFile<'_>],
    options: &ScriptOptions,
    files: ReadFileOf<'_>,
) -> Result<UserWorkload, FileError> {
    let (scripts, others): (Vec<WorkloadFile<'_>>, Vec<_>) =
        given.iter().partition(|it| FileForm::detect(it.path, it.text) == FileForm::Pgbench);
    let scripts = ScriptMix::read(&scripts, options);
    let file = match others.as_slice() {
        [] => None,
        [file] => Some(file),
        [_, second, ..] => {
            let fault = FileFault::of_file(
                "a workload has one workload file at most, and this is a second one",
            )
            .hint("any number of scripts of pgbench can stand beside it");
            return Err(fault.shown_in(second.path, second.text));
        }
    };
    let needs = scripts.as_ref().map_or(Some(Vec::new()), |it| it.tables());
    let read = file.map(|file| {
        let read = of_file(file, given.len(), options, files, needs);
        read.map_err(|fault| fault.shown_in(file.path, file.text))
    });
    let (scripts, read) = match (scripts, read.transpose()) {
        (Ok(scripts), Ok(read)) => (scripts, read),
        (scripts, read) => {
            let errors = scripts.err().into_iter().chain(read.err());
            return Err(FileError::of_all(errors));
        }
    };
    let (name, data, mut tests) = match (file, read) {
        (Some(file), Some(read)) => (stem(file.path), read.data, read.tests),
        _ => {
            let name = scripts.name();
            let tables = scripts.tables().unwrap_or_default();
            let is_usual = !tables.is_empty();
            // The tables do not depend on the script.
            let data = if is_usual { "pgbench" } else { name.as_str() }.to_owned();
            (name, UserData { name: data, tables, dump: None }, Vec::new())
        }
    };
    if let Some(test) = scripts.test(&data) {
        refuse_repeated(&test, &tests, given)?;
        tests.push(test);
    }
    Ok(UserWorkload { name, tests: tests.into_iter().map(define).collect() })
}

fn refuse_repeated(
    test: &Definition,
    tests: &[Definition],
    given: &[WorkloadFile<'_>],
) -> Result<(), FileError> {
    if !tests.iter().any(|it| it.name == test.name) {
        return Ok(());
    }
    let path = given.last().map_or("", |it| it.path);
    let message = format!("the workload file has a test `{}` too", test.name);
    Err(FileFault::of_file(message).hint("give one of both another name").shown_in(path, ""))
}

fn of_file(
    file: &WorkloadFile<'_>,
    files_given: usize,
    options: &ScriptOptions,
    files: ReadFileOf<'_>,
    more: Option<Vec<assay_model::UserTable>>,
) -> FileResult<read::WorkloadContent> {
    let &WorkloadFile { path, weight, text } = file;
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match FileForm::detect(path, text) {
        FileForm::Toml => {}
        FileForm::Lua => {
            return Err(FileFault::of_file(
                "this is a Lua script of sysbench, which is no workload file",
            )
            .hint(
                "the commands that plan a study take it as `--workload`, and `bench` as `--script`",
            ));
        }
        FileForm::Dump => {
            return Err(FileFault::of_file(
                "this is a dump: it makes tables, and says nothing of what to measure",
            )
            .hint(format!(
                "write a workload file beside it: `dump = \"{name}\"` restores it, \
                               and each `[test.NAME]` has statements to measure"
            )));
        }
        FileForm::Pgbench | FileForm::Unknown => {
            return Err(FileFault::of_file("this is neither a workload file in TOML nor a script of pgbench")
                .hint("a workload file has `[table.NAME]` and `[test.NAME]`; a script has SQL statements and lines \
                       such as `\\set id random(1, 100)`"));
        }
    }
    if weight.is_some() {
        return Err(FileFault::of_file("a workload file has no weight")
            .hint("scripts of pgbench have weights, such as `--workload a.sql@3,b.sql`; a workload file has `mix`"));
    }
    if let Some(option) = options.given().filter(|_| files_given == 1) {
        return Err(FileFault::of_file(format!("`{option}` is for scripts of pgbench")));
    }
    read::read(&stem(path), text, &|named, wanted| files(path, named, wanted), more)
}

pub fn is_pgbench(path: &str, text: &str) -> bool {
    FileForm::detect(path, text) == FileForm::Pgbench
}

pub fn is_lua(path: &str, text: &str) -> bool {
    FileForm::detect(path, text) == FileForm::Lua
}

/// The workload of a sysbench script: one test, which counts as a write, as its effects are unknown in advance.
pub fn lua_workload(script: LuaScript) -> UserWorkload {
    let name = script.name.clone();
    let does = "events of a Lua script of sysbench".to_owned();
    let (test, mix) = (test_name(&name), Vec::new());
    let test = read::definition(&test, does, Class::Write, mix, &name, script.into());
    UserWorkload { name, tests: vec![define(test)] }
}

#[cfg(test)]
mod pgbench_tests;
#[cfg(test)]
mod script_tests;
#[cfg(test)]
mod tests;
