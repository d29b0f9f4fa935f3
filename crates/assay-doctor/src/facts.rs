//! Facts about CPUs and memory from the kernel.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_model::{CpuFacts, MemoryFacts};
use procfs::{CurrentSI as _, KernelStats, Meminfo};
use rustix::time::{ClockId, clock_gettime};

use crate::kernel_file::{line, number};
use crate::quota::quota;

/// Governors of at most this many CPUs are read.
const GOVERNED: usize = 64;

pub(crate) fn cpus(cpus: &[usize]) -> CpuFacts {
    let governor =
        |cpu: &usize| line(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    let governors: BTreeSet<String> = cpus.iter().take(GOVERNED).filter_map(governor).collect();
    let governors: Vec<String> = governors.into_iter().collect();
    CpuFacts {
        allowed: cpus.len() as u32,
        quota: quota(),
        governor: (!governors.is_empty()).then(|| governors.join(", ")),
        turbo: turbo(),
        smt: number("/sys/devices/system/cpu/smt/active").map(|active| active == 1),
        numa_nodes: numa_nodes(),
    }
}

fn turbo() -> Option<bool> {
    let off = number("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == 0);
    off.or_else(|| number("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == 1))
}

/// Each node has a directory: `node0`, `node1`, ...
fn numa_nodes() -> Option<u32> {
    let is_node =
        |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    let entries = fs_err::read_dir("/sys/devices/system/node").ok()?.flatten();
    Some(entries.filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count() as u32)
}

pub(crate) fn memory() -> MemoryFacts {
    let info = <Meminfo as procfs::Current>::current().ok();
    let swap = info.as_ref().map(|it| (it.swap_total, it.swap_total.saturating_sub(it.swap_free)));
    MemoryFacts {
        available_kb: info.as_ref().and_then(|it| it.mem_available).map(|bytes| bytes / 1024),
        huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|modes| chosen(&modes).map(str::to_owned)),
        swap_kb: swap.map(|(total, _)| total / 1024),
        swap_used_kb: swap.map(|(_, used)| used / 1024),
        swappiness: number("/proc/sys/vm/swappiness").and_then(|it| u32::try_from(it).ok()),
    }
}

/// The word in brackets: `always [madvise] never`.
fn chosen(modes: &str) -> Option<&str> {
    let (_, rest) = modes.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode)
}

/// CPU time used so far, seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTimes {
    /// By all processes and the kernel.
    pub(crate) busy_s: f64,
    /// Taken by the hypervisor.
    pub(crate) steal_s: f64,
    /// By this process.
    pub(crate) own_s: f64,
}

impl CpuTimes {
    /// `None` if the kernel does not report them.
    pub(crate) fn now() -> Option<Self> {
        let total = KernelStats::current().ok()?.total;
        let optional = [total.irq, total.softirq].into_iter().flatten();
        let ticks = [total.user, total.nice, total.system].into_iter().chain(optional);
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        let own = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()?;
        Some(Self {
            busy_s: ticks.map(|ticks| ticks as f64).sum::<f64>() / per_second,
            steal_s: total.steal.unwrap_or_default() as f64 / per_second,
            own_s: own.as_secs_f64(),
        })
    }

    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            busy_s: self.busy_s - earlier.busy_s,
            // Some kernels briefly count backwards.
            steal_s: (self.steal_s - earlier.steal_s).max(0.0),
            own_s: self.own_s - earlier.own_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_mode_is_in_brackets() {
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("]["), None);
        assert_eq!(chosen(""), None);
    }

    #[test]
    fn this_machine_states_facts() {
        let facts = cpus(&[0, 1]);
        assert!(facts.allowed == 2 && facts.numa_nodes != Some(0), "{facts:?}");
        assert!(memory().available_kb.is_some());
        let before = CpuTimes::now().unwrap();
        let used = || {
            let clock = rustix::time::ClockId::ThreadCPUTime;
            Duration::try_from(rustix::time::clock_gettime(clock)).unwrap()
        };
        let began = used();
        while used() - began < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        assert!(CpuTimes::now().unwrap().since(before).own_s > 0.01);
    }
}
