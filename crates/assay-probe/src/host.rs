//! Facts about the machine and its disks, for the plan's checks and for the reader of a report.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use assay_model::{Host, read_cpus};
use procfs::process::{MountInfo, Process};
use procfs::sys::kernel::Version;
use procfs::{CpuInfo, Current, Meminfo};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::{ProbeResult, UsageProbeError};

/// A hypervisor's clock, used if nothing else names the hypervisor.
const HYPERVISOR_CLOCKS: [(&str, &str); 3] =
    [("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];

/// `data_dir` must exist.
pub fn host(data_dir: &Path) -> ProbeResult<Host> {
    let cpu = CpuInfo::current()?;
    Ok(Host {
        cpu: processor(&cpu),
        cpus: online_cpus(),
        memory_kb: Meminfo::current()?.mem_total / 1024,
        kernel: first_line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        os: os_name().unwrap_or_default(),
        hypervisor: hypervisor(&cpu),
        filesystem: mount_of(data_dir)?.map(|mount| mount.fs_type).unwrap_or_default(),
        counts_disk_wait: disk_wait_is_accounted(),
        counts_device: block_device(data_dir)?.is_some(),
        realtime: None,
        cpu_weight: None,
        server_nodes: Vec::new(),
        doctor: None,
    })
}

/// Without swapping, KiB.
pub fn available_memory_kb() -> ProbeResult<u64> {
    let available = Meminfo::current()?.mem_available;
    available.map(|bytes| bytes / 1024).ok_or_else(|| UsageProbeError::Format {
        path: "/proc/meminfo".into(),
        expected: "`MemAvailable`",
    })
}

/// Space available to this user below `path`, KiB.
pub fn free_disk_kb(path: &Path) -> ProbeResult<u64> {
    let space = rustix::fs::statvfs(path).map_err(|source| UsageProbeError::Kernel {
        question: format!("the free space at `{}`", path.display()),
        source: source.into(),
    })?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize) / 1024)
}

/// Ascending.
pub fn cpus_allowed() -> ProbeResult<Vec<usize>> {
    let allowed = sched_getaffinity(None).map_err(|source| UsageProbeError::Kernel {
        question: "the CPUs that this process may use".to_owned(),
        source: source.into(),
    })?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// The allowed CPUs in the order in which threads that must not disturb each other get them: one of each core before
/// the second one of any core, the last numbers first, because machines do most other work on the first ones.
pub fn cpus_by_core() -> ProbeResult<Vec<usize>> {
    let core = |cpu| {
        first_line(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
    };
    Ok(by_core(cpus_allowed()?.into_iter().map(|cpu| (cpu, core(cpu)))))
}

/// NUMA nodes that have some of these CPUs, and memory that this process may use; empty if there is a single node.
pub fn memory_nodes(cpus: &[u32]) -> Vec<u32> {
    let status = Process::myself().and_then(|process| process.status()).ok();
    let allowed = status.and_then(|it| it.mems_allowed_list).unwrap_or_else(|| vec![(0, u32::MAX)]);
    let mut nodes = nodes_of(Path::new("/sys/devices/system/node"), cpus);
    nodes.retain(|node| allowed.iter().any(|it| (it.0..=it.1).contains(node)));
    nodes
}

fn nodes_of(place: &Path, cpus: &[u32]) -> Vec<u32> {
    let listed = |file: &str| {
        let text = fs_err::read_to_string(place.join(file)).ok();
        text.and_then(|text| read_cpus(text.trim())).unwrap_or_default()
    };
    let nodes = listed("has_memory");
    let has = |id: &u32| listed(&format!("node{id}/cpulist")).iter().any(|it| cpus.contains(it));
    if nodes.len() > 1 { nodes.into_iter().filter(has).collect() } else { Vec::new() }
}

/// Takes CPUs in ascending order. Those without a core count as separate cores.
fn by_core(cpus: impl DoubleEndedIterator<Item = (usize, Option<String>)>) -> Vec<usize> {
    let mut met: BTreeMap<String, u32> = BTreeMap::new();
    let mut ordered: Vec<(u32, usize)> = cpus
        .rev()
        .map(|(cpu, core)| {
            let of_core = core.map(|core| met.entry(core).and_modify(|n| *n += 1).or_insert(0));
            (of_core.map_or(0, |n| *n), cpu)
        })
        .collect();
    ordered.sort_by_key(|(place, _)| *place);
    ordered.into_iter().map(|(_, cpu)| cpu).collect()
}

/// The longest mount point above an existing path, the last one mounted.
pub(crate) fn mount_of(path: &Path) -> ProbeResult<Option<MountInfo>> {
    let path = fs_err::canonicalize(path)?;
    let mounts = Process::myself()?.mountinfo()?;
    let above = mounts.into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    Ok(above.max_by_key(|mount| mount.mount_point.components().count()))
}

/// The statistics file of the block device below `directory`; `None` for memory, network and layered file systems.
pub(crate) fn block_device(directory: &Path) -> ProbeResult<Option<PathBuf>> {
    let mut device = fs_err::metadata(directory)?.dev();
    if rustix::fs::major(device) == 0 {
        // File systems with subvolumes have separate device numbers, but name their device.
        let source = mount_of(directory)?.and_then(|mount| mount.mount_source);
        match source.and_then(|source| fs_err::metadata(source).ok()) {
            Some(source) => device = source.rdev(),
            None => return Ok(None),
        }
    }
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Ok((major != 0).then(|| PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"))))
}

/// Whether the kernel accounts the time that threads wait for block devices. Since Linux 5.14 it is off unless
/// `kernel.task_delayacct` is set, and a kernel without that setting cannot do it; before that it was always on.
pub(crate) fn disk_wait_is_accounted() -> bool {
    let setting = first_line("/proc/sys/kernel/task_delayacct");
    accounts_disk_wait(setting.as_deref(), Version::current().ok())
}

fn accounts_disk_wait(setting: Option<&str>, kernel: Option<Version>) -> bool {
    match setting {
        Some(value) => value == "1",
        None => kernel.is_some_and(|kernel| kernel < Version::new(5, 14, 0)),
    }
}

/// CPUs that are online, whether or not this process may use them.
pub(crate) fn online_cpus() -> u32 {
    let listed = first_line("/sys/devices/system/cpu/online").and_then(|list| count_listed(&list));
    listed.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32))
}

/// Count of a list such as `0-3,8`.
fn count_listed(list: &str) -> Option<u32> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)?.checked_add(1)
        })
        .sum()
}

fn processor(cpu: &CpuInfo) -> String {
    let named = cpu.model_name(0).map(str::to_owned);
    let by_number = || {
        let implementer = cpu.get_field(0, "CPU implementer")?;
        let part = cpu.get_field(0, "CPU part")?;
        Some(format!("implementer {implementer}, part {part}"))
    };
    named.or_else(by_number).unwrap_or_default()
}

fn hypervisor(cpu: &CpuInfo) -> Option<String> {
    if let Some(name) = first_line("/sys/hypervisor/type") {
        return Some(name);
    }
    cpu.flags(0)?.contains(&"hypervisor").then_some(())?;
    let clocks = first_line("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let by_clock = HYPERVISOR_CLOCKS.iter().find(|(clock, _)| clocks.contains(clock));
    let product = || first_line("/sys/class/dmi/id/product_name");
    by_clock
        .map(|(_, name)| (*name).to_owned())
        .or_else(product)
        .or_else(|| Some("unnamed".to_owned()))
}

fn os_name() -> Option<String> {
    let text = fs_err::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// `None` if the file is missing or empty.
fn first_line(path: &str) -> Option<String> {
    let text = fs_err::read_to_string(path).ok()?;
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_counted() {
        assert_eq!(count_listed("0-3,8,10-11"), Some(7));
        assert_eq!(count_listed("0"), Some(1));
        assert_eq!(count_listed("3-1"), None);
        assert_eq!(count_listed(""), None);
    }

    #[test]
    fn without_the_setting_only_old_kernels_account_disk_waits() {
        let (old, new) = (Some(Version::new(5, 13, 19)), Some(Version::new(5, 14, 0)));
        assert!(accounts_disk_wait(Some("1"), new) && !accounts_disk_wait(Some("0"), new));
        assert!(accounts_disk_wait(None, old) && !accounts_disk_wait(None, new));
        assert!(!accounts_disk_wait(None, None));
    }

    #[test]
    fn the_second_cpu_of_a_core_comes_after_the_first_of_all_cores() {
        let cpus = |cores: &[&str]| {
            let core = |core: &&str| (!core.is_empty()).then(|| (*core).to_owned());
            by_core(cores.iter().map(core).enumerate())
        };
        assert_eq!(cpus(&["0-1", "0-1", "2-3", "2-3"]), [3, 1, 2, 0]);
        assert_eq!(cpus(&["0,2", "1,3", "0,2", "1,3"]), [3, 2, 1, 0]);
        assert_eq!(cpus(&["", ""]), [1, 0]);
    }

    #[test]
    fn memory_is_on_the_nodes_of_the_cpus_if_there_are_several() {
        let place = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let file = place.path().join(file);
            fs_err::create_dir_all(file.parent().unwrap()).unwrap();
            fs_err::write(file, text).unwrap();
        };
        assert!(nodes_of(place.path(), &[0]).is_empty());
        put("has_memory", "0\n");
        put("node0/cpulist", "0-11,24-35\n");
        assert!(nodes_of(place.path(), &[0]).is_empty());
        put("has_memory", "0-1\n");
        put("node1/cpulist", "12-23,36-47\n");
        // A node without CPUs.
        put("node2/cpulist", "\n");
        assert_eq!(nodes_of(place.path(), &[0, 35]), [0]);
        assert_eq!(nodes_of(place.path(), &[11, 12]), [0, 1]);
        assert!(nodes_of(place.path(), &[]).is_empty());
    }

    #[test]
    fn this_machine_has_facts() {
        let directory = tempfile::tempdir().unwrap();
        let host = host(directory.path()).unwrap();
        assert!(host.cpus >= 1 && host.memory_kb > 0, "{host:?}");
        assert!(!host.kernel.is_empty() && !host.filesystem.is_empty(), "{host:?}");
        assert!(available_memory_kb().unwrap() <= host.memory_kb);
        assert!(free_disk_kb(directory.path()).is_ok());
        let allowed = cpus_allowed().unwrap();
        assert!(!allowed.is_empty() && allowed.is_sorted());
        let mut by_core = cpus_by_core().unwrap();
        by_core.sort_unstable();
        assert_eq!(by_core, allowed);
    }

    #[test]
    fn a_directory_without_a_block_device_is_accepted() {
        assert_eq!(block_device(Path::new("/proc/self")).unwrap(), None);
    }
}
