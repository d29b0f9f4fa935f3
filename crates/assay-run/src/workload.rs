//! Reads users' workload files, and the files they name.

use std::io::{BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use assay_lua::{LuaError, NoServer, ScriptEngine, ScriptSetting};
use assay_model::{CapturedValues, Dialect, LuaFile, LuaScript, Test, UserRowsFile};
use assay_plan::{
    FileExtent, NamedFile, Request, ScriptOptions, UserFile, UserWorkload, WorkloadFile, is_lua,
    lua_workload, parse_system, pgbench_script, read_workload_files,
};
use assay_wire::Stop;
use assay_workloads::{CapturedLines, captured, keep_captured};
use sha2::{Digest as _, Sha256};

use crate::advice::HintedError;
use crate::paths;
use crate::progress::print_said;

/// Bytes. The rows become statements in memory.
const FILE_MAX: u64 = 4 << 30;

pub const WORKLOAD_FILES: &str = "name a workload file: TOML with `[table.NAME]` and `[test.NAME]`, scripts of \
     pgbench, or a Lua script of sysbench; `assay tests --workload FILE` checks it";

#[derive(Debug, Clone, Copy, Default)]
pub struct LuaContext<'a> {
    pub options: &'a [String],
    /// Whether it may use files outside of its directory, and run programs.
    pub may_use_all: bool,
    /// Whether the user says that the file is a Lua script, whatever it looks like.
    pub is_meant: bool,
    /// Dialects of the servers to run it on; empty if unknown.
    pub dialects: &'a [Dialect],
    /// Whether only commands such as `prepare` are carried out, and no events.
    pub is_for_command: bool,
}

/// Reads a workload. File names in it are relative to its directory.
pub fn read(
    files: &[String],
    options: &ScriptOptions,
    of_lua: LuaContext<'_>,
) -> Result<UserWorkload> {
    let files: Vec<String> = files.iter().map(|it| stock_script(it)).collect();
    let named: Vec<NamedFile<'_>> = files.iter().map(|it| NamedFile::parse(it)).collect();
    let texts = named.iter().map(|it| text(it.path)).collect::<Result<Vec<_>>>()?;
    let files = named.iter().zip(&texts);
    let mut scripts =
        files.clone().filter(|(file, text)| of_lua.is_meant || is_lua(file.path, text));
    match (scripts.next(), named.as_slice()) {
        (Some((file, _)), [_]) => {
            if let Some(option) = options.given() {
                bail!(HintedError::new(
                    format!(
                        "`{option}` is for scripts of pgbench, and `{}` is a Lua script",
                        file.path
                    ),
                    "give options of a Lua script after `--`, for example `-- --tables=4`"
                ));
            }
            return Ok(lua_workload(script(Path::new(file.path), of_lua)?));
        }
        (Some((file, _)), _) => bail!(HintedError::new(
            format!("`{}` is a Lua script, which is a workload of its own", file.path),
            "name it alone; `require` in the script reads other files"
        )),
        (None, _) if !of_lua.options.is_empty() => bail!(HintedError::new(
            "options after `--` are those of a Lua script, and the workload is none",
            "leave them out; scripts of pgbench take `--scale=N` and `-D NAME=VALUE`"
        )),
        (None, _) => {}
    }
    let given: Vec<WorkloadFile<'_>> = files
        .map(|(NamedFile { path, weight }, text)| WorkloadFile { path, weight: *weight, text })
        .collect();
    Ok(read_workload_files(&given, options, &|workload, file, wanted| {
        let directory = Path::new(workload).parent().unwrap_or(Path::new(""));
        let path = directory.join(file);
        match wanted {
            FileExtent::Whole => user_file(&path),
            FileExtent::Head => dump_file(&path),
        }
    })?)
}

/// Reads a Lua script for each dialect and command, to learn its files and whether it accepts its options.
fn script(path: &Path, of_lua: LuaContext<'_>) -> Result<LuaScript> {
    let options = assay_lua::parse_options(of_lua.options)?;
    let (draw, own) = assay_lua::take_distribution(options.clone())?;
    let may_use_all = of_lua.may_use_all;
    let dialects = match of_lua.dialects {
        [] => &[Dialect::MySql],
        known => known,
    };
    let mut files: Vec<LuaFile> = Vec::new();
    for (dialect, command) in dialects.iter().flat_map(|it| COMMANDS.map(|command| (it, command))) {
        let setting = ScriptSetting {
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
        let is_for_command = of_lua.is_for_command;
        let (leash, own_path) = (Arc::clone(&setting.leash), path.to_owned());
        let read = assay_load::apart(&leash, &Stop::default(), move || {
            let engine = ScriptEngine::read(&mut NoServer::default(), &own_path, None, &setting)?;
            let is_run = setting.command == "run" && !is_for_command;
            if is_run && !engine.has("event")? && !engine.has("thread_run")? {
                return Err(LuaError::Lacks("event".to_owned()).into());
            }
            Ok(engine.files())
        });
        if read.is_err() {
            // Output before the failure helps to find its cause.
            print_said(&leash.take_said());
        }
        let new = read?.into_iter().filter(|file| !files.contains(file));
        files.extend(new.collect::<Vec<_>>());
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.replace(char::is_control, "_");
    Ok(LuaScript { name, files, options, may_use_all })
}

/// Commands of sysbench for which a script may read different files.
const COMMANDS: [&str; 3] = ["run", "prepare", "cleanup"];

fn dialects(request: &Request) -> Vec<Dialect> {
    let specs = request.systems.iter().filter_map(|it| parse_system(&it.words).ok());
    let mut all: Vec<Dialect> = specs.map(|spec| spec.product.dialect()).collect();
    all.sort();
    all.dedup();
    all
}

const INSTALLED: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];

/// Path of a script that comes with sysbench if no file has the given name, else that name.
fn stock_script(name: &str) -> String {
    if !assay_plan::is_script(name) || Path::new(name).exists() {
        return name.to_owned();
    }
    let file = format!("{}.lua", name.trim_end_matches(".lua"));
    let found = INSTALLED.iter().map(|place| Path::new(place).join(&file)).find(|it| it.is_file());
    found.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

const STOCK: &str = "no file has this name, and sysbench's own scripts are not installed in /usr/share/sysbench; assay \
                     does their work itself: `--suite oltp` in a study, `assay bench URL --test oltp_read_write`";

pub fn text(name: &str) -> Result<String> {
    if let Some(script) = pgbench_script(name) {
        return Ok(script);
    }
    let path = Path::new(name);
    paths::check_file(path, if assay_plan::is_script(name) { STOCK } else { WORKLOAD_FILES })?;
    ensure!(path.metadata()?.is_file(), "`{name}` is not a regular file");
    paths::text(fs_err::File::open(path)?, name, WORKLOAD_FILES)
}

pub fn suite(request: &Request) -> Result<Vec<Test>> {
    let options = request.script_options();
    let of_lua = LuaContext {
        options: &request.script_options,
        may_use_all: request.allow_script_io,
        dialects: &dialects(request),
        ..LuaContext::default()
    };
    if !request.workload.is_empty() {
        return Ok(read(&request.workload, &options, of_lua)?.tests);
    }
    if !of_lua.options.is_empty() {
        bail!(HintedError::new(
            "options after `--`, and `script-options`, are those of a script, and there is none",
            "name one with `--workload`; options of a suite need `--suite oltp` or `--suite tpcc`"
        ));
    }
    match options.given() {
        None => Ok(request.shipped_tests()),
        Some(option) => bail!(HintedError::new(
            format!("`{option}` is for scripts of pgbench, and there is none"),
            "name one with `--workload`, for example `--workload tpcb-like`",
        )),
    }
}

/// Reads a file with rows, which must be the one that the workload was planned with.
pub fn read_again(file: &UserRowsFile) -> Result<Vec<u8>, String> {
    unchanged(&file.path, &file.sha256)
}

fn unchanged(path: &str, sha256: &str) -> Result<Vec<u8>, String> {
    let found = user_file(Path::new(path))?;
    if found.sha256 != sha256 {
        return Err("it has changed since the study was planned".to_owned());
    }
    Ok(found.content)
}

/// Checks that scripts and their modules are those that the tests were planned with. Clients read them only once their
/// servers run.
pub fn check_scripts(tests: impl IntoIterator<Item = Test>) -> Result<()> {
    for file in tests.into_iter().filter_map(Test::lua).flat_map(|script| &script.files) {
        let found = unchanged(&file.path, &file.sha256);
        found.map_err(|why| {
            HintedError::new(
                format!("`{}` cannot be used: {why}", file.path),
                "give the file the content that it had then, or start a new study",
            )
        })?;
    }
    Ok(())
}

/// Reads the captured values of tests, unless already read. The files must be those that the tests were planned with.
pub fn read_captured(tests: impl IntoIterator<Item = Test>) -> Result<()> {
    for test in tests {
        let mixes = test.definition().roles.iter().flat_map(|role| &role.script.mix);
        for CapturedValues { file, width, .. } in mixes.filter_map(|kind| kind.captured.as_ref()) {
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
        let path = regular_file(path)?;
        let mut content = Vec::new();
        fs_err::File::open(&path)?.take(FILE_MAX + 1).read_to_end(&mut content)?;
        ensure!(content.len() as u64 <= FILE_MAX, "it has more than {FILE_MAX} bytes");
        let sha256 = hex::encode(Sha256::digest(&content));
        let path = path.to_str().context("its path is not UTF-8")?.to_owned();
        let bytes = content.len() as u64;
        Ok(UserFile { path, sha256, content, bytes })
    };
    read().map_err(|error| format!("{error:#}"))
}

fn regular_file(path: &Path) -> Result<PathBuf> {
    let path = path.canonicalize()?;
    // A device or a pipe may have no end.
    ensure!(path.metadata()?.is_file(), "it is not a regular file");
    Ok(path)
}

/// Bytes from which the kind of a dump is detected.
const HEAD: u64 = 64 << 10;

/// Bytes of a dump.
const DUMP_MAX: u64 = 1 << 40;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A dump, which may be compressed and larger than memory: it is read as a stream.
fn dump_file(path: &Path) -> Result<UserFile, String> {
    let read = || -> Result<UserFile> {
        let path = regular_file(path)?;
        let mut file = fs_err::File::open(&path)?;
        let length = file.metadata()?.len();
        ensure!(length <= DUMP_MAX, "it has more than {DUMP_MAX} bytes");
        let sha256 = checksum(&mut file)?;
        let is_compressed = is_compressed(&mut file)?;
        let bytes = if is_compressed { uncompressed(&mut file, length)? } else { length };
        file.seek(SeekFrom::Start(0))?;
        let mut content = Vec::new();
        decompressed(Box::new(file), is_compressed).take(HEAD).read_to_end(&mut content)?;
        let path = path.to_str().context("its path is not UTF-8")?.to_owned();
        Ok(UserFile { path, sha256, content, bytes })
    };
    read().map_err(|error| format!("{error:#}"))
}

/// Opens a dump, which must be the one that the workload was planned with.
pub fn open_dump(file: &UserRowsFile) -> Result<Box<dyn Read>, String> {
    let open = || -> Result<Box<dyn Read>> {
        let mut source = fs_err::File::open(&file.path)?;
        let found = checksum(&mut source)?;
        ensure!(found == file.sha256, "it has changed since the study was planned");
        let is_compressed = is_compressed(&mut source)?;
        Ok(decompressed(Box::new(source), is_compressed))
    };
    open().map_err(|error| format!("{error:#}"))
}

fn checksum(file: &mut fs_err::File) -> Result<String> {
    let mut digest = Sha256::new();
    let mut source = BufReader::with_capacity(1 << 20, file.by_ref());
    loop {
        let read = source.fill_buf()?;
        if read.is_empty() {
            break;
        }
        digest.update(read);
        let length = read.len();
        source.consume(length);
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(hex::encode(digest.finalize()))
}

fn is_compressed(file: &mut fs_err::File) -> Result<bool> {
    let mut head = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(head == GZIP)
}

/// Uncompressed size according to gzip, which stores it modulo 4 GiB.
fn uncompressed(file: &mut fs_err::File, length: u64) -> Result<u64> {
    let mut last = [0; 4];
    file.seek(SeekFrom::Start(length.saturating_sub(4)))?;
    file.read_exact(&mut last)?;
    let mut bytes = u64::from(u32::from_le_bytes(last));
    while bytes < length {
        bytes += 1 << 32;
    }
    Ok(bytes)
}

fn decompressed(source: Box<dyn Read>, is_compressed: bool) -> Box<dyn Read> {
    if is_compressed { assay_decompress::gunzipped(source) } else { source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_called_a_script_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt").display().to_string();
        fs_err::write(&path, "a = 42\nfunction event() end\n").unwrap();
        let message = |is_meant| {
            let of_lua = LuaContext { is_meant, ..LuaContext::default() };
            read(std::slice::from_ref(&path), &ScriptOptions::default(), of_lua).map(|it| it.name)
        };
        assert_eq!(message(true).unwrap(), "x");
        fs_err::write(&path, "event = 42\n").unwrap();
        assert!(message(false).is_err());
        assert!(!format!("{:#}", message(true).unwrap_err()).contains("unknown key"));
    }

    #[test]
    fn the_name_of_a_stock_script_without_sysbench_gets_advice() {
        if INSTALLED.iter().any(|place| Path::new(place).exists()) {
            return;
        }
        for name in ["oltp_read_write", "oltp-read-write.lua"] {
            let error = text(&stock_script(name)).unwrap_err();
            let hints = crate::errors::hints(&error, &[]).join("; ");
            assert!(hints.contains("--suite oltp"), "{hints}");
        }
    }

    #[test]
    fn a_module_that_has_changed_is_found_without_a_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs_err::write(path("shared.lua"), "n = 1\n").unwrap();
        fs_err::write(path("own.lua"), "require('shared')\nfunction event() end\n").unwrap();
        let read = read(&[path("own.lua")], &ScriptOptions::default(), LuaContext::default());
        let tests = read.unwrap().tests;
        check_scripts(tests.clone()).unwrap();
        fs_err::write(path("shared.lua"), "n = 2\n").unwrap();
        let message = check_scripts(tests).unwrap_err().to_string();
        assert!(message.contains("shared.lua` cannot be used: it has changed"), "{message}");
    }
}
