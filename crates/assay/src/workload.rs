//! Workload files of users, and the files that they name.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use assay_lua::{Engine, Error as LuaError, Setting};
use assay_model::{LuaScript, Test, UserRowsFile};
use assay_plan::{Request, UserFile, Workload, is_lua, lua_workload, read_workload};
use sha2::{Digest as _, Sha256};

use crate::advice::Advised;
use crate::paths;

/// Largest file with rows, bytes: its rows become statements in memory.
const FILE_MAX: u64 = 4 << 30;

/// Advice if the file is not a workload file.
pub(crate) const WORKLOAD_FILES: &str = "name a workload file: TOML with `[table.NAME]` and `[test.NAME]`, or a script \
     of pgbench or sysbench; `assay tests --workload FILE` checks it";

/// What a user says of a Lua script beside its name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OfScript<'a> {
    /// Its options, such as `--tables=4`.
    pub(crate) options: &'a [String],
    /// Whether it may use files outside of its directory, and run programs.
    pub(crate) may_use_all: bool,
}

/// Reads a workload file or a script. The files that a workload file names are relative to its directory.
pub(crate) fn read(path: &Path, of_script: OfScript<'_>) -> Result<Workload> {
    paths::check_file(path, WORKLOAD_FILES)?;
    anyhow::ensure!(path.metadata()?.is_file(), "`{}` is not a regular file", path.display());
    let name = path.display().to_string();
    let text = paths::text(fs_err::File::open(path)?, &name, WORKLOAD_FILES)?;
    if is_lua(&name, &text) {
        return Ok(lua_workload(script(path, of_script)?));
    }
    if !of_script.options.is_empty() {
        return Err(Advised::new(
            format!("`{name}` is no Lua script, so it has no options after `--`"),
            "leave them out; a workload file says everything itself",
        )
        .into());
    }
    let directory = path.parent().unwrap_or(Path::new(""));
    Ok(read_workload(&name, &text, &|file| user_file(&directory.join(file)))?)
}

/// Reads a Lua script once, to learn which files it has and whether it takes its options.
fn script(path: &Path, of_script: OfScript<'_>) -> Result<LuaScript> {
    let options = assay_lua::parse_options(of_script.options)?;
    let (draw, own) = assay_lua::take_distribution(options.clone())?;
    let setting = Setting {
        thread: 0,
        threads: 1,
        driver: "mysql",
        command: "run".to_owned(),
        options: own,
        connection: Vec::new(),
        seed: 0,
        draw,
        may_use_all: of_script.may_use_all,
    };
    let engine = Engine::read(path, None, &setting)?;
    if !engine.has("event")? && !engine.has("thread_run")? {
        return Err(LuaError::Lacks("event".to_owned()).into());
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let may_use_all = of_script.may_use_all;
    Ok(LuaScript { name, files: engine.files(), options, may_use_all })
}

/// The tests that a request selects from: those of its workload file, or of its suite.
pub(crate) fn suite(request: &Request) -> Result<Vec<Test>> {
    match &request.workload {
        Some(path) => {
            let (options, may_use_all) = (&request.script_options, request.allow_script_io);
            Ok(read(Path::new(path), OfScript { options, may_use_all })?.tests)
        }
        None if !request.script_options.is_empty() => Err(Advised::new(
            "options after `--` are those of a Lua script, and there is none".to_owned(),
            "name one with `--workload`",
        )
        .into()),
        None => Ok(request.shipped_tests()),
    }
}

/// Reads a file with rows that must be the one that the workload was planned with.
pub(crate) fn read_again(file: &UserRowsFile) -> Result<Vec<u8>, String> {
    let found = user_file(Path::new(&file.path))?;
    match found.sha256 == file.sha256 {
        true => Ok(found.content),
        false => Err("it has changed since the study was planned".to_owned()),
    }
}

fn user_file(path: &Path) -> Result<UserFile, String> {
    let read = || -> Result<UserFile> {
        let path = path.canonicalize()?;
        // A device or a pipe may have no end.
        anyhow::ensure!(path.metadata()?.is_file(), "it is not a regular file");
        let mut content = Vec::new();
        fs_err::File::open(&path)?.take(FILE_MAX + 1).read_to_end(&mut content)?;
        anyhow::ensure!(content.len() as u64 <= FILE_MAX, "it has more than {FILE_MAX} bytes");
        let sha256 = hex::encode(Sha256::digest(&content));
        let path = path.to_str().context("its path is not UTF-8")?.to_owned();
        Ok(UserFile { path, sha256, content })
    };
    read().map_err(|error| format!("{error:#}"))
}
