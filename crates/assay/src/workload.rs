//! Workload files of users, and the files that they name.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use assay_model::{Test, UserRowsFile};
use assay_plan::{Request, UserFile, Workload, read_workload};
use sha2::{Digest as _, Sha256};

use crate::paths;

/// Largest file with rows, bytes: its rows become statements in memory.
const FILE_MAX: u64 = 4 << 30;

/// Advice if the file is not a workload file.
pub(crate) const WORKLOAD_FILES: &str = "name a workload file: TOML with `[table.NAME]` and `[test.NAME]`, or a script \
     of pgbench; `assay tests --workload FILE` checks it";

/// Reads a workload file. The files that it names are relative to its directory.
pub(crate) fn read(path: &Path) -> Result<Workload> {
    paths::check_file(path, WORKLOAD_FILES)?;
    anyhow::ensure!(path.metadata()?.is_file(), "`{}` is not a regular file", path.display());
    let name = path.display().to_string();
    let text = paths::text(fs_err::File::open(path)?, &name, WORKLOAD_FILES)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    Ok(read_workload(&name, &text, &|file| user_file(&directory.join(file)))?)
}

/// The tests that a request selects from: those of its workload file, or of its suite.
pub(crate) fn suite(request: &Request) -> Result<Vec<Test>> {
    match &request.workload {
        Some(path) => Ok(read(Path::new(path))?.tests),
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
