//! Where assay keeps things: the XDG base directories, overridable by option and environment.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_model::Hint;

/// The cache of servers and templates.
pub(crate) fn cache_dir(given: Option<&Path>) -> Result<PathBuf> {
    absolute(given, "XDG_CACHE_HOME", ".cache", "assay")
}

/// The ledger file.
pub(crate) fn ledger_file(given: Option<&Path>) -> Result<PathBuf> {
    absolute(given, "XDG_DATA_HOME", ".local/share", "assay/ledger.db")
}

/// What outlives a command but is no result: servers left running.
pub(crate) fn state_dir() -> Result<PathBuf> {
    absolute(None, "XDG_STATE_HOME", ".local/state", "assay")
}

/// The user's own catalog of servers: `ASSAY_CATALOG`, else `catalog.toml` among the configuration; none if neither is
/// there.
pub(crate) fn own_catalog() -> Result<Option<PathBuf>> {
    if let Some(named) = std::env::var_os("ASSAY_CATALOG") {
        return Ok(Some(PathBuf::from(named)));
    }
    let path = absolute(None, "XDG_CONFIG_HOME", ".config", "assay/catalog.toml")?;
    Ok(path.is_file().then_some(path))
}

/// A directory that assay needs cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the {what} directory")]
pub(crate) struct NotMade {
    what: &'static str,
    /// What names another place.
    chosen_by: &'static str,
    source: std::io::Error,
}

impl Hint for NotMade {
    fn hints(&self) -> Vec<String> {
        vec![format!("set {} to a directory that you can write to", self.chosen_by)]
    }
}

/// The cache of servers and templates, made where it is not there yet.
pub(crate) fn made_cache_dir(given: Option<&Path>) -> Result<PathBuf> {
    let dir = cache_dir(given)?;
    let chosen_by = "`--cache-dir` or `ASSAY_CACHE`";
    fs_err::create_dir_all(&dir).map_err(|source| NotMade { what: "cache", chosen_by, source })?;
    Ok(dir)
}

/// The directory of what outlives a command, made where it is not there yet.
pub(crate) fn made_state_dir() -> Result<PathBuf> {
    let dir = state_dir()?;
    let chosen_by = "`XDG_STATE_HOME`";
    fs_err::create_dir_all(&dir).map_err(|source| NotMade { what: "state", chosen_by, source })?;
    Ok(dir)
}

fn absolute(given: Option<&Path>, variable: &str, below_home: &str, name: &str) -> Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => base(variable, below_home)?.join(name),
    };
    std::path::absolute(&path).with_context(|| format!("`{}` is not a path", path.display()))
}

fn base(variable: &str, below_home: &str) -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os(variable).map(PathBuf::from).filter(|dir| dir.is_absolute())
    {
        return Ok(dir);
    }
    let home = std::env::home_dir()
        .filter(|home| home.is_absolute())
        .with_context(|| format!("neither `{variable}` nor `HOME` names a directory"))?;
    Ok(home.join(below_home))
}
