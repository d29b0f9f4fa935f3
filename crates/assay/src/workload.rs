//! Workload files of users, and the files that they name.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use assay_model::{Test, UserRowsFile};
use assay_plan::{
    NamedFile, Request, ScriptOptions, UserFile, Workload, WorkloadFile, pgbench_script,
    read_workload_files,
};
use sha2::{Digest as _, Sha256};

use crate::advice::Advised;
use crate::paths;

/// Largest file with rows, bytes: its rows become statements in memory.
const FILE_MAX: u64 = 4 << 30;

/// Advice if the file is not a workload file.
pub(crate) const WORKLOAD_FILES: &str = "name a workload file: TOML with `[table.NAME]` and `[test.NAME]`, or scripts \
     of pgbench; `assay tests --workload FILE` checks it";

/// Reads a workload. What a workload file names is relative to its directory.
pub(crate) fn read(files: &[String], options: &ScriptOptions) -> Result<Workload> {
    let named: Vec<NamedFile<'_>> = files.iter().map(|it| NamedFile::of(it)).collect();
    let texts = named.iter().map(|it| text(it.path)).collect::<Result<Vec<_>>>()?;
    let files = named.iter().zip(&texts);
    let given: Vec<WorkloadFile<'_>> = files
        .map(|(NamedFile { path, weight }, text)| WorkloadFile { path, weight: *weight, text })
        .collect();
    Ok(read_workload_files(&given, options, &|workload, file| {
        let directory = Path::new(workload).parent().unwrap_or(Path::new(""));
        user_file(&directory.join(file))
    })?)
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
    if !request.workload.is_empty() {
        return Ok(read(&request.workload, &options)?.tests);
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
