//! Findings from making a template, stored beside its directories.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use assay_model::Restored;
use serde::{Deserialize, Serialize};

use super::cached::write_whole;
use crate::paths;

const RESTORED: &str = "restored.json";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Made {
    /// Events per second of each aging test with one client, by test name: write slices are sized by these.
    pub(super) rates: BTreeMap<String, f64>,
    pub(super) fresh: Counted,
    pub(super) aged: Counted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) rows: u64,
    pub(super) checksum: String,
}

pub(super) fn restored_in(dir: &Path) -> Result<Vec<Restored>> {
    let path = dir.join(RESTORED);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let read = serde_json::from_slice(&fs_err::read(&path)?);
    read.with_context(|| format!("`{}` is damaged", path.display()))
}

pub(super) fn write_restored(fresh: &Path, restored: &[Restored]) -> Result<()> {
    let path = fresh.with_file_name(RESTORED);
    // The directory of the template appears with its data, which come later.
    path.parent().map_or(Ok(()), paths::make_private)?;
    write_whole(&path, &restored)
}
