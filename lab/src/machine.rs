//! The program under calibration, its commit, and the day.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

pub(super) fn build(package: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--quiet", "--release", "--package", package, "--message-format", "json"];
    let output = Command::new(cargo).args(build).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{package} does not build");
    let messages = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let executable = |it: Value| Some(PathBuf::from(it["executable"].as_str()?));
    let program = messages.filter_map(|it| it.ok().and_then(executable)).last();
    program.context("cargo does not say where the program is")
}

/// The commit of a checkout, with `+` if something besides the documents, which contain the results, differs from it.
pub(super) fn commit(root: &Path) -> Result<String> {
    let git = |words: &[&str]| done(Command::new("git").args(words).current_dir(root));
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--", ":(exclude)docs"])?;
    Ok(format!("{}{}", commit.trim(), if changes.is_empty() { "" } else { "+" }))
}

/// In UTC, such as `2026-01-31`.
pub(super) fn today() -> Result<String> {
    Ok(done(Command::new("date").args(["--utc", "+%F"]))?.trim().to_owned())
}

pub(super) fn done(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{}: {command:?}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}
