//! Workload files of users, and the files that they name.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use assay_lua::{Engine, Error as LuaError, NoServer, Setting};
use assay_model::{Captured, Dialect, LuaFile, LuaScript, Test, UserRowsFile};
use assay_plan::{
    NamedFile, Request, ScriptOptions, UserFile, Wanted, Workload, WorkloadFile, is_lua,
    lua_workload, parse_system, pgbench_script, read_workload_files,
};
use assay_wire::Stop;
use assay_workloads::{CapturedLines, captured, keep_captured};
use sha2::{Digest as _, Sha256};

use crate::advice::Advised;
use crate::dump_file::dump_file;
use crate::paths;

/// Largest file with rows, bytes: its rows become statements in memory.
const FILE_MAX: u64 = 4 << 30;

/// Advice if the file is not a workload file.
pub(crate) const WORKLOAD_FILES: &str = "name a workload file: TOML with `[table.NAME]` and `[test.NAME]`, scripts of \
     pgbench, or a Lua script of sysbench; `assay tests --workload FILE` checks it";

/// What a user says of a Lua script beside its name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OfLua<'a> {
    /// Its options, such as `--tables=4`.
    pub(crate) options: &'a [String],
    /// Whether it may use files outside of its directory, and run programs.
    pub(crate) may_use_all: bool,
    /// The dialects of the servers that it will be run on; none if they are not known.
    pub(crate) dialects: &'a [Dialect],
}

/// Reads a workload. What a workload file names is relative to its directory.
pub(crate) fn read(
    files: &[String],
    options: &ScriptOptions,
    of_lua: OfLua<'_>,
) -> Result<Workload> {
    let named: Vec<NamedFile<'_>> = files.iter().map(|it| NamedFile::of(it)).collect();
    let texts = named.iter().map(|it| text(it.path)).collect::<Result<Vec<_>>>()?;
    let files = named.iter().zip(&texts);
    let mut scripts = files.clone().filter(|(file, text)| is_lua(file.path, text));
    match (scripts.next(), named.as_slice()) {
        (Some((file, _)), [_]) => {
            if let Some(option) = options.given() {
                return Err(Advised::new(
                    format!(
                        "`{option}` is for scripts of pgbench, and `{}` is a Lua script",
                        file.path
                    ),
                    "give options of a Lua script after `--`, for example `-- --tables=4`",
                )
                .into());
            }
            return Ok(lua_workload(script(Path::new(file.path), of_lua)?));
        }
        (Some((file, _)), _) => {
            return Err(Advised::new(
                format!("`{}` is a Lua script, which is a workload of its own", file.path),
                "name it alone; `require` in the script reads other files",
            )
            .into());
        }
        (None, _) if !of_lua.options.is_empty() => {
            return Err(Advised::new(
                "options after `--` are those of a Lua script, and the workload is none".to_owned(),
                "leave them out; `--define NAME=VALUE` sets a variable of scripts of pgbench",
            )
            .into());
        }
        (None, _) => {}
    }
    let given: Vec<WorkloadFile<'_>> = files
        .map(|(NamedFile { path, weight }, text)| WorkloadFile { path, weight: *weight, text })
        .collect();
    Ok(read_workload_files(&given, options, &|workload, file, wanted| {
        let directory = Path::new(workload).parent().unwrap_or(Path::new(""));
        let path = directory.join(file);
        match wanted {
            Wanted::Whole => user_file(&path),
            Wanted::Head => dump_file(&path),
        }
    })?)
}

/// Reads a Lua script as for each dialect and command, to learn which files it has and whether it takes its options.
fn script(path: &Path, of_lua: OfLua<'_>) -> Result<LuaScript> {
    let options = assay_lua::parse_options(of_lua.options)?;
    let (draw, own) = assay_lua::take_distribution(options.clone())?;
    let may_use_all = of_lua.may_use_all;
    let dialects = match of_lua.dialects {
        [] => &[Dialect::MySql],
        known => known,
    };
    let mut files: Vec<LuaFile> = Vec::new();
    for (dialect, command) in dialects.iter().flat_map(|it| COMMANDS.map(|command| (it, command))) {
        let setting = Setting {
            thread: 0,
            threads: 1,
            driver: assay_load::driver(*dialect),
            command: command.to_owned(),
            options: own.clone(),
            connection: Vec::new(),
            seed: 0,
            draw,
            may_use_all,
            leash: Arc::default(),
        };
        let (leash, own_path) = (Arc::clone(&setting.leash), path.to_owned());
        let read = assay_load::apart(&leash, &Stop::default(), move || {
            let engine = Engine::read(&mut NoServer::default(), &own_path, None, &setting)?;
            let is_run = setting.command == "run";
            if is_run && !engine.has("event")? && !engine.has("thread_run")? {
                return Err(LuaError::Lacks("event".to_owned()).into());
            }
            Ok(engine.files())
        });
        let new = read?.into_iter().filter(|file| !files.contains(file));
        files.extend(new.collect::<Vec<_>>());
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(LuaScript { name, files, options, may_use_all })
}

/// The commands of sysbench for which a script may read different files.
const COMMANDS: [&str; 3] = ["run", "prepare", "cleanup"];

/// The dialects of the systems of a request, as far as they can be read.
fn dialects(request: &Request) -> Vec<Dialect> {
    let specs = request.systems.iter().filter_map(|it| parse_system(&it.words).ok());
    let mut all: Vec<Dialect> = specs.map(|spec| spec.product.dialect()).collect();
    all.sort();
    all.dedup();
    all
}

/// The content of a file, or of a script that comes with pgbench.
pub(crate) fn text(name: &str) -> Result<String> {
    if let Some(script) = pgbench_script(name) {
        return Ok(script);
    }
    let path = Path::new(name);
    paths::check_file(path, WORKLOAD_FILES)?;
    anyhow::ensure!(path.metadata()?.is_file(), "`{name}` is not a regular file");
    paths::text(fs_err::File::open(path)?, name, WORKLOAD_FILES)
}

/// The tests that a request selects from: those of its workload, or of its suite.
pub(crate) fn suite(request: &Request) -> Result<Vec<Test>> {
    let options = request.script_options();
    let dialects = dialects(request);
    let of_lua = OfLua {
        options: &request.script_options,
        may_use_all: request.allow_script_io,
        dialects: &dialects,
    };
    if !request.workload.is_empty() {
        return Ok(read(&request.workload, &options, of_lua)?.tests);
    }
    if !of_lua.options.is_empty() {
        anyhow::bail!(Advised::new(
            "options after `--` are those of a Lua script, and there is none".to_owned(),
            "name one with `--workload`",
        ));
    }
    match options.given() {
        None => Ok(request.shipped_tests()),
        Some(option) => anyhow::bail!(Advised::new(
            format!("`{option}` is for scripts of pgbench, and there is none"),
            "name one with `--workload`, for example `--workload tpcb-like`",
        )),
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

/// Reads the captured values of tests, unless they were read. The files must be those that the tests were planned with.
pub(crate) fn read_captured(tests: impl IntoIterator<Item = Test>) -> Result<()> {
    for test in tests {
        let mixes = test.definition().roles.iter().flat_map(|role| &role.script.mix);
        for Captured { file, width, .. } in mixes.filter_map(|kind| kind.captured.as_ref()) {
            if captured(&file.sha256).is_some() {
                continue;
            }
            let fail = |why: String| anyhow::anyhow!("`{}` cannot be used: {why}", file.path);
            let content = read_again(file).map_err(fail)?;
            let lines = CapturedLines::parse(&content, *width as usize);
            let lines = lines.map_err(|errors| {
                fail(errors.first().map_or_else(String::new, ToString::to_string))
            })?;
            keep_captured(&file.sha256, lines);
        }
    }
    Ok(())
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
        let bytes = content.len() as u64;
        Ok(UserFile { path, sha256, content, bytes })
    };
    read().map_err(|error| format!("{error:#}"))
}
