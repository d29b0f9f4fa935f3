//! Settings of all commands that fetch or start servers, and facts of the machine for plans.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_plan::MachineFacts;

use crate::interrupt::Interrupt;
use crate::paths;
use crate::progress::Progress;
use crate::scheduled;

pub(crate) const TEMPLATES: &str = "templates";

pub struct Environment<'a> {
    pub cache_dir: PathBuf,
    pub offline: bool,
    pub accept_expired_index: bool,
    pub progress: &'a Progress,
    pub interrupt: Interrupt,
}

pub fn environment<'a>(
    cache_dir: Option<&Path>,
    offline: bool,
    accept_expired_index: bool,
    progress: &'a Progress,
) -> Result<Environment<'a>> {
    let cache_dir = paths::made_cache_dir(cache_dir)?;
    let interrupt = Interrupt::listen()?;
    Ok(Environment { cache_dir, offline, accept_expired_index, progress, interrupt })
}

/// Names the directory of the full disk, which the plan does not know.
pub fn on_disk(error: assay_plan::Error, data: &Path) -> anyhow::Error {
    if !error.is_of_disk() {
        return error.into();
    }
    let context = format!("the disk of the cache, `{}`, is too full", data.display());
    anyhow::Error::from(error).context(context)
}

pub fn machine_facts(data: &Path) -> Result<MachineFacts> {
    Ok(MachineFacts {
        cpus: assay_probe::cpus_allowed()?.len() as u32,
        memory_mb: assay_probe::available_memory_kb()? / 1024,
        disk_mb: assay_probe::free_disk_kb(data)? / 1024,
        realtime: Some(scheduled::realtime_access()),
    })
}
