//! Settings of all commands that fetch or start servers, facts of the machine for plans, and the place where servers
//! run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use assay_model::{CpuPlacement, PlannedCell, Priority};
use assay_plan::MachineFacts;
use assay_servers::{Site, Supervisor, UNFINISHED};
use assay_wire::Stop;

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::{paths, scheduler};

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
pub fn on_disk(error: assay_plan::PlanError, data: &Path) -> anyhow::Error {
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
        realtime: Some(scheduler::realtime_access()),
    })
}

pub struct LocalSite {
    pub site: Site,
    /// CPUs of clients and servers. A client and a server that share one use the first.
    cpus: Vec<usize>,
    templates: PathBuf,
}

impl LocalSite {
    /// Supervisors run this program. The directory of instances is next to that of the templates from which their data
    /// is copied.
    pub fn new(env: &Environment) -> Result<Self> {
        let site = Self::site(env.cache_dir.join("instances"), env.interrupt.stop());
        let cpus = assay_probe::cpus_by_core()?;
        ensure!(!cpus.is_empty(), "no CPU is allowed");
        Ok(Self { site, cpus, templates: env.cache_dir.join(TEMPLATES) })
    }

    /// CPUs to which the clients of a cell and the threads that serve them are confined in turn. If empty, they run
    /// anywhere.
    pub fn cpus_of(&self, cell: &PlannedCell) -> &[usize] {
        match (cell.placement, cell.priority) {
            (CpuPlacement::OneCpu | CpuPlacement::ConnectionsOnOneCpu, _) => &self.cpus[..1],
            (CpuPlacement::Pairs, Priority::Realtime) => self.realtime_cpus(),
            (CpuPlacement::Pairs, Priority::Normal) => &self.cpus,
            (CpuPlacement::Free, _) => &[],
        }
    }

    /// CPUs for threads of real-time priority: all but one, which is reserved for other processes.
    pub fn realtime_cpus(&self) -> &[usize] {
        self.cpus.split_last().map_or(&[], |(_, rest)| rest)
    }

    pub fn site(data_root: PathBuf, stop: Stop) -> Site {
        // This is the running program itself, even if its file has been replaced meanwhile.
        let program = PathBuf::from("/proc/self/exe");
        let args = vec![OsString::from("supervise")];
        let runtime_dir = runtime_dir(std::env::var_os("XDG_RUNTIME_DIR"));
        let run_root = assay_servers::run_root(runtime_dir.as_deref());
        Site { supervisor: Supervisor { program, args }, run_root, data_root, stop }
    }

    /// Removes leftovers of assays that were killed together with their supervisors, or that lost power: everything
    /// that no supervisor holds, on this machine or in a container that shares the cache.
    pub fn collect_garbage(&self) -> Result<()> {
        assay_servers::collect_garbage(&self.site.run_root)?;
        assay_servers::collect_unheld(&self.site.data_root, |_| true)?;
        assay_servers::collect_unheld(&self.templates, |name| name.starts_with(UNFINISHED))?;
        Ok(())
    }
}

/// Sandboxes do not share the place of a study's instances, which are removed when a study begins.
pub fn sandbox_site() -> Result<Site> {
    // Both are in the state directory: a login's runtime directory is removed with its session, and data without a run
    // directory counts as garbage.
    let state = paths::sandboxes()?;
    let data_root = state.join("data");
    paths::make_own(&data_root)?;
    let run_root = assay_servers::run_root(Some(&state));
    Ok(Site { data_root, run_root, ..LocalSite::site(PathBuf::new(), Stop::default()) })
}

/// The runtime directory of the session. If the session has ended, the directory may be gone.
fn runtime_dir(named: Option<OsString>) -> Option<PathBuf> {
    named.map(PathBuf::from).filter(|it| it.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_runtime_directory_is_not_used() {
        assert_eq!(runtime_dir(Some("/proc/no/such".into())), None);
        assert_eq!(runtime_dir(Some("/proc".into())), Some("/proc".into()));
    }
}
