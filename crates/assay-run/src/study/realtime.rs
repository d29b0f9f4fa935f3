//! Real-time turns: clients and servers run before all other processes while a cell is measured. One CPU is left to
//! other processes. Supervisors and the thread that controls the turns have a higher level than clients and servers.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_doctor::{DelayMonitor, Heirs, PriorityLevel, Throttling, set_level};
use assay_model::{PlannedCell, Priority};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::systems::{Instance, LocalSite};

/// Gives a server and its clients the priority of a cell. Returns a monitor that notices involuntary waits; `None` at
/// normal priority.
pub(super) fn at_priority(
    cell: &PlannedCell,
    server: &Instance,
    clients: &[i32],
    local: &LocalSite,
) -> Result<Option<DelayMonitor>> {
    if cell.priority == Priority::Normal {
        return Ok(None);
    }
    let monitor = monitor(cell, local)?;
    raise(server, clients, local)?;
    Ok(Some(monitor))
}

pub(super) fn monitor(cell: &PlannedCell, local: &LocalSite) -> Result<DelayMonitor> {
    let pinned = local.cpus_of(cell);
    let cpus = if pinned.is_empty() { local.realtime_cpus() } else { pinned };
    ensure!(!cpus.is_empty(), "real-time priority needs a second CPU, and assay may use only one");
    DelayMonitor::on(cpus).context("cannot watch a CPU at real-time priority")
}

/// Raises a server and its clients, which are threads of assay, to real-time priority, and its supervisor to a higher
/// one.
pub(super) fn raise(server: &Instance, clients: &[i32], local: &LocalSite) -> Result<()> {
    let mut cpus = CpuSet::new();
    local.realtime_cpus().iter().for_each(|cpu| cpus.set(*cpu));
    let raised = |tid, level, heirs| raise_thread(tid, &cpus, level, heirs);
    if let Some(supervisor) = server.supervisor() {
        raised(supervisor, PriorityLevel::Above, Heirs::Normal)?;
    }
    server.each_thread(|tid| raised(tid, PriorityLevel::Measured, Heirs::Alike))?;
    clients.iter().try_for_each(|tid| raised(*tid, PriorityLevel::Measured, Heirs::Normal))?;
    Ok(())
}

pub(super) fn lower(server: &Instance, clients: &[i32]) -> Result<()> {
    let each = |tid: &i32| unless_ended(set_level(*tid, PriorityLevel::Normal, Heirs::Normal));
    clients.iter().try_for_each(each)?;
    server.each_thread(|tid| unless_ended(set_level(tid, PriorityLevel::Normal, Heirs::Alike)))?;
    if let Some(supervisor) = server.supervisor() {
        unless_ended(set_level(supervisor, PriorityLevel::Normal, Heirs::Normal))?;
    }
    Ok(())
}

/// Confines a thread to those of its CPUs that are not left to other processes, then sets its level. A thread that the
/// server has bound to other CPUs is unchanged.
fn raise_thread(tid: i32, cpus: &CpuSet, level: PriorityLevel, heirs: Heirs) -> io::Result<()> {
    let pid = Pid::from_raw(tid);
    let Ok(allowed) = sched_getaffinity(pid) else { return Ok(()) };
    let mut kept = CpuSet::new();
    let common = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu) && cpus.is_set(*cpu));
    common.for_each(|cpu| kept.set(cpu));
    if kept.count() == 0 {
        return Ok(());
    }
    if kept.count() < allowed.count() {
        unless_ended(sched_setaffinity(pid, &kept).map_err(io::Error::from))?;
    }
    unless_ended(set_level(tid, level, heirs))
}

fn unless_ended(done: io::Result<()>) -> io::Result<()> {
    let is_gone =
        |error: &io::Error| error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
    done.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) })
}

/// Rests between real-time turns, in which ordinary threads get the share of the CPU that the kernel grants them.
pub(super) struct Rests {
    throttling: Throttling,
    rested: Instant,
}

impl Rests {
    pub(super) fn new() -> Self {
        Self { throttling: Throttling::here(), rested: Instant::now() }
    }

    pub(super) fn due(&mut self, now: Instant, turn: Duration) -> Duration {
        if now.saturating_duration_since(self.rested) + turn <= self.throttling.stretch() {
            return Duration::ZERO;
        }
        let rest = self.throttling.rest();
        self.rested = now + rest;
        rest
    }
}

/// Priority and CPUs of the thread that controls turns, restored on drop.
///
/// With a single client, it runs on the client's CPU: a thread that wakes another on its own CPU and then sleeps hands
/// over in half the time that it takes to wake one on an idle CPU.
pub(super) struct ControlThread {
    before: CpuSet,
    is_raised: bool,
}

impl ControlThread {
    /// Does nothing if clients of normal priority run on several CPUs. Fails if real-time priority is no longer
    /// permitted; failure to pin the thread only costs time.
    pub(super) fn for_cell(cell: &PlannedCell, local: &LocalSite) -> Result<Option<Self>> {
        let is_raised = cell.priority == Priority::Realtime;
        let cpus = match local.cpus_of(cell) {
            [client_cpu] => std::slice::from_ref(client_cpu),
            _ if is_raised => local.realtime_cpus(),
            _ => return Ok(None),
        };
        let Ok(before) = sched_getaffinity(None) else { return Ok(None) };
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        if let Err(error) = sched_setaffinity(None, &set) {
            log::debug!("{error}");
        }
        let control = Self { before, is_raised };
        if is_raised {
            set_level(0, PriorityLevel::Above, Heirs::Normal)
                .context("cannot run at real-time priority any more")?;
        }
        Ok(Some(control))
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        if self.is_raised {
            let lowered = set_level(0, PriorityLevel::Normal, Heirs::Normal);
            lowered.unwrap_or_else(|error| log::warn!("cannot lower the priority: {error}"));
        }
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_comes_before_the_turn_that_would_be_throttled() {
        let (runtime, period) = (Duration::from_millis(950), Duration::from_secs(1));
        let throttling = Throttling { runtime, period };
        let mut rests = Rests { throttling, rested: Instant::now() };
        let (turn, mut now) = (Duration::from_millis(100), rests.rested);
        let (mut busy, mut longest) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..50 {
            let rest = rests.due(now, turn);
            busy = if rest.is_zero() { busy } else { Duration::ZERO };
            busy += turn;
            longest = longest.max(busy);
            now += rest + turn;
        }
        assert_eq!(longest, Duration::from_millis(800));
        assert!(longest <= throttling.stretch());
        // One that is longer than that cannot be protected, and still follows a rest.
        assert_eq!(rests.due(now, period * 3), throttling.rest());
    }
}
