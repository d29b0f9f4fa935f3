//! Facts about CPUs, memory, and the CPU quotas of control groups, from the kernel. A group that has used up its quota
//! stands still until the next period.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use assay_model::{CpuFacts, MemoryFacts};
use procfs::{CurrentSI as _, KernelStats, Meminfo};
use rustix::time::{ClockId, clock_gettime};

use crate::kernel_file::{line, number, text};

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
    let swap =
        info.as_ref().map(|info| (info.swap_total, info.swap_total.saturating_sub(info.swap_free)));
    MemoryFacts {
        available_kb: info.as_ref().and_then(|info| info.mem_available).map(|bytes| bytes / 1024),
        huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|modes| chosen(&modes).map(str::to_owned)),
        swap_kb: swap.map(|(total, _)| total / 1024),
        swap_used_kb: swap.map(|(_, used)| used / 1024),
        swappiness: number("/proc/sys/vm/swappiness").and_then(|value| u32::try_from(value).ok()),
    }
}

/// The word in brackets: `always [madvise] never`.
fn chosen(modes: &str) -> Option<&str> {
    let (_, rest) = modes.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode)
}

const ROOT: &str = "/sys/fs/cgroup";

/// Directories below the root that have the CPU controller of version 1.
const FIRST_VERSION: [&str; 2] = ["cpu", "cpu,cpuacct"];

/// The smallest quota of this process's groups, in CPUs.
pub(crate) fn quota() -> Option<f64> {
    let groups = text("/proc/self/cgroup")?;
    let limits = directories(&groups).into_iter().filter_map(|directory| limit(&directory));
    limits.min_by(f64::total_cmp)
}

/// CPU time of real-time threads per period that this process's group grants; `None` without such a limit.
pub(crate) fn realtime_us() -> Option<u64> {
    let groups = text("/proc/self/cgroup")?;
    let mut directories = directories(&groups).into_iter();
    directories.find_map(|directory| number(directory.join("cpu.rt_runtime_us")))
}

/// The directories of this process's groups and their parents, from the content of `/proc/self/cgroup`.
fn directories(groups: &str) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let roots: &[&str] = match controllers {
            "" => &[""],
            _ if controllers.split(',').any(|controller| controller == "cpu") => &FIRST_VERSION,
            _ => continue,
        };
        // Untrusted names, which must not lead out of the root.
        let group: PathBuf = (Path::new(group).components())
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect();
        for root in roots {
            directories
                .extend(group.ancestors().map(|group| Path::new(ROOT).join(root).join(group)));
        }
    }
    directories
}

fn limit(directory: &Path) -> Option<f64> {
    let second = line(directory.join("cpu.max"));
    second.and_then(|line| parse_max(&line)).or_else(|| {
        let microseconds = |name| number(directory.join(name));
        ratio(microseconds("cpu.cfs_quota_us")?, microseconds("cpu.cfs_period_us")?)
    })
}

/// Quota and period of version 2: `50000 100000`, or `max 100000` without a limit.
fn parse_max(line: &str) -> Option<f64> {
    let (quota, period) = line.split_once(' ')?;
    ratio(quota.parse().ok()?, period.parse().ok()?)
}

fn ratio(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
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
    use proptest::prelude::*;

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

    #[test]
    fn quotas_are_in_cpus() {
        assert_eq!(parse_max("50000 100000"), Some(0.5));
        assert_eq!(parse_max("max 100000"), None);
        assert_eq!(parse_max("1 0"), None);
    }

    #[test]
    fn groups_above_count_too() {
        let paths = |text: &str| -> Vec<String> {
            directories(text).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            paths("0::/system.slice/docker-1.scope\n"),
            [
                "/sys/fs/cgroup/system.slice/docker-1.scope",
                "/sys/fs/cgroup/system.slice",
                "/sys/fs/cgroup/"
            ]
        );
        assert!(paths("5:cpuacct,cpu:/a\n3:memory:/b\n").contains(&format!("{ROOT}/cpu/a")));
        assert!(paths("0::/../../etc\n").iter().all(|path| !path.contains("..")));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,60}", line in "[0-9a-z ]{0,30}") {
            let _ = directories(&text);
            let _ = parse_max(&line);
        }
    }
}
