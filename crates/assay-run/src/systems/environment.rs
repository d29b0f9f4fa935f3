//! Settings of all commands that fetch or start servers, facts of the machine for plans, and the place where servers
//! run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use assay_model::{CpuLists, CpuPlacement, PlannedCell, Priority, Study, cpus_in_words, cpus_text};
use assay_plan::MachineFacts;
use assay_probe::memory_nodes;
use assay_servers::{ServerBinding, Site, Supervisor, UNFINISHED};
use assay_wire::Stop;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::advice::HintedError;
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

/// Refuses CPUs that this process may not use.
pub fn check_cpus(study: &Study) -> Result<()> {
    let allowed: Vec<u32> =
        assay_probe::cpus_allowed()?.into_iter().map(|cpu| cpu as u32).collect();
    refuse_other_cpus(&study.cpus, &allowed)
}

fn refuse_other_cpus(lists: &CpuLists, allowed: &[u32]) -> Result<()> {
    for (option, cpus) in [("--server-cpus", &lists.servers), ("--client-cpus", &lists.clients)] {
        let others: Vec<u32> = cpus.iter().copied().filter(|cpu| !allowed.contains(cpu)).collect();
        if !others.is_empty() {
            bail!(HintedError::new(
                format!(
                    "assay may not use {}, which `{option} {}` names",
                    cpus_in_words(&others),
                    cpus_text(cpus)
                ),
                format!(
                    "it may use {}; a control group or `taskset` can exclude CPUs that the machine has",
                    cpus_in_words(allowed)
                )
            ));
        }
    }
    Ok(())
}

pub struct LocalSite {
    pub site: Site,
    /// CPUs of clients and servers. A client and a server that share one use the first.
    cpus: Vec<usize>,
    /// CPUs of clients if the user names them.
    client_cpus: Vec<u32>,
    templates: PathBuf,
}

impl LocalSite {
    /// Supervisors run this program. The directory of instances is next to that of the templates from which their data
    /// is copied.
    pub fn new(env: &Environment) -> Result<Self> {
        let site = Self::site(env.cache_dir.join("instances"), env.interrupt.stop());
        let cpus = assay_probe::cpus_by_core()?;
        ensure!(!cpus.is_empty(), "no CPU is allowed");
        let templates = env.cache_dir.join(TEMPLATES);
        Ok(Self { site, cpus, client_cpus: Vec::new(), templates })
    }

    /// With the CPUs that the study names, which were [checked](check_cpus).
    pub fn for_study(env: &Environment, study: &Study) -> Result<Self> {
        let mut local = Self::new(env)?;
        let CpuLists { servers, clients } = study.cpus.clone();
        local.site.binding = ServerBinding { nodes: memory_nodes(&servers), cpus: servers };
        local.client_cpus = clients;
        if let Some(used) = study.cpus.used() {
            let is_used = |cpu: &usize| used.iter().any(|it| *it as usize == *cpu);
            let (used, others): (Vec<_>, Vec<_>) = local.cpus.into_iter().partition(is_used);
            // The last one is for other processes.
            local.cpus = used.into_iter().chain(others.first().copied()).collect();
        }
        Ok(local)
    }

    /// Confines threads of clients to the CPUs that the study names for them.
    pub fn confine_clients(&self, tids: &[i32]) -> Result<()> {
        if self.client_cpus.is_empty() {
            return Ok(());
        }
        let mut cpus = CpuSet::new();
        self.client_cpus.iter().for_each(|cpu| cpus.set(*cpu as usize));
        for tid in tids {
            sched_setaffinity(Pid::from_raw(*tid), &cpus).with_context(|| {
                format!("cannot confine clients to {}", cpus_in_words(&self.client_cpus))
            })?;
        }
        Ok(())
    }

    /// How many systems with one client each can work at the same time, each on a CPU of its own.
    pub(super) fn side_by_side(&self) -> usize {
        if self.has_named_cpus() { 1 } else { self.cpus.len() }
    }

    /// The same with another first CPU, for one of several systems that work at the same time.
    pub(super) fn with_first_cpu(&self, number: usize) -> Self {
        let (site, client_cpus) = (self.site.clone(), self.client_cpus.clone());
        let (mut cpus, templates) = (self.cpus.clone(), self.templates.clone());
        if !self.has_named_cpus() && !cpus.is_empty() {
            let first = number % cpus.len();
            cpus.rotate_left(first);
        }
        Self { site, cpus, client_cpus, templates }
    }

    fn has_named_cpus(&self) -> bool {
        !self.site.binding.cpus.is_empty() || !self.client_cpus.is_empty()
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
        let (supervisor, binding) = (Supervisor { program, args }, ServerBinding::default());
        Site { supervisor, run_root, data_root, binding, stop }
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
    fn cpus_that_cannot_be_used_are_named() {
        let lists = |clients| CpuLists { servers: vec![0, 1], clients };
        assert!(refuse_other_cpus(&lists(vec![2]), &[0, 1, 2]).is_ok());
        assert!(refuse_other_cpus(&CpuLists::default(), &[0]).is_ok());
        let error = refuse_other_cpus(&lists(vec![1, 2, 3]), &[0, 1]).unwrap_err();
        let message = "assay may not use CPUs 2-3, which `--client-cpus 1-3` names";
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn systems_that_work_at_the_same_time_have_different_first_cpus_unless_cpus_are_named() {
        let site = LocalSite::site(PathBuf::new(), Stop::default());
        let (client_cpus, templates) = (Vec::new(), PathBuf::new());
        let mut local = LocalSite { site, cpus: vec![4, 2, 0], client_cpus, templates };
        assert_eq!(local.side_by_side(), 3);
        let firsts = |local: &LocalSite| [0, 1, 2, 3].map(|at| local.with_first_cpu(at).cpus[0]);
        assert_eq!(firsts(&local), [4, 2, 0, 4]);
        local.client_cpus = vec![4];
        assert_eq!((local.side_by_side(), firsts(&local)), (1, [4; 4]));
    }

    #[test]
    fn a_missing_runtime_directory_is_not_used() {
        assert_eq!(runtime_dir(Some("/proc/no/such".into())), None);
        assert_eq!(runtime_dir(Some("/proc".into())), Some("/proc".into()));
    }
}
