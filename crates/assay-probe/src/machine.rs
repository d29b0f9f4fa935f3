//! Counters of the whole machine and of the block device that holds the data.

use std::path::Path;

use rustix::time::{ClockId, clock_getres};

use crate::ProbeResult;
use crate::device::{DeviceStatistics, parse_device};
use crate::file::{Buffer, KernelFile, field, named, numbers, since};
use crate::host::block_device;
use crate::trouble::Accounting;

/// File with the CPU time of all tasks in version 1 of control groups, nanoseconds.
const CPUACCT_USAGE: [&str; 2] =
    ["/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"];

/// Minimum part of the machine's CPU time since boot that `cpuacct.usage` must hold to cover the whole machine: in a
/// container the same file is about the container alone.
const WHOLE_MACHINE_SHARE: f64 = 0.9;

/// CPU time of all CPUs together that was neither idle nor waiting, CPU time taken by the hypervisor, and context
/// switches.
const NAMES: [&str; 3] = ["busy_ns", "steal_ns", "context_switches"];

/// Since boot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MachineCounters([u64; NAMES.len()]);

impl MachineCounters {
    pub(crate) fn busy_ns(&self) -> u64 {
        let [busy_ns, ..] = self.0;
        busy_ns
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self(since(&self.0, &earlier.0))
    }

    pub(crate) fn named(&self) -> impl Iterator<Item = (String, u64)> {
        named("host_", NAMES, self.0)
    }
}

#[derive(Debug)]
pub(crate) struct MachineFiles {
    stat: KernelFile,
    /// The scheduler's sum over all tasks, if the kernel provides it.
    usage: Option<KernelFile>,
    /// `/sys/dev/block/MAJOR:MINOR/stat`, if the data is on a block device.
    device: Option<KernelFile>,
    tick_ns: u64,
}

impl MachineFiles {
    pub(crate) fn open(
        data_dir: Option<&Path>,
        buffer: &mut Buffer,
        tick_ns: u64,
    ) -> ProbeResult<Self> {
        let mut machine = Self {
            stat: KernelFile::open_existing("/proc/stat".into())?,
            usage: None,
            device: match data_dir.map(block_device).transpose()?.flatten() {
                Some(statistics) => KernelFile::open(statistics)?,
                None => None,
            },
            tick_ns,
        };
        let sampled_ns = machine.read(buffer)?.busy_ns();
        machine.usage =
            CPUACCT_USAGE.iter().find_map(|path| KernelFile::open(path.into()).ok().flatten());
        if (machine.read(buffer)?.busy_ns() as f64) < WHOLE_MACHINE_SHARE * sampled_ns as f64 {
            machine.usage = None;
        }
        Ok(machine)
    }

    pub(crate) fn accounting(&self) -> Accounting {
        let period = clock_getres(ClockId::MonotonicCoarse);
        let tick_ns = u64::try_from(period.tv_nsec).unwrap_or_default();
        if self.usage.is_some() {
            Accounting::Exact { tick_ns }
        } else {
            Accounting::Sampled { tick_ns }
        }
    }

    pub(crate) fn read(&self, buffer: &mut Buffer) -> ProbeResult<MachineCounters> {
        let counts = self.stat.read(buffer, "CPU times and context switches", |text| {
            let ticks = parse_cpu_line(text)?;
            let tick_ns = self.tick_ns;
            Some([ticks.busy * tick_ns, ticks.steal * tick_ns, field(text, "ctxt ")?])
        })?;
        let mut counts = counts.unwrap_or_default();
        if let Some(usage) = &self.usage {
            let busy_ns = usage.read(buffer, "number", |text| numbers(text).next()?)?;
            counts = [busy_ns.unwrap_or(counts[0]), counts[1], counts[2]];
        }
        Ok(MachineCounters(counts))
    }

    pub(crate) fn read_device(&self, buffer: &mut Buffer) -> ProbeResult<Option<DeviceStatistics>> {
        let Some(device) = &self.device else { return Ok(None) };
        device.read(buffer, "device counters", parse_device)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct CpuTicks {
    busy: u64,
    steal: u64,
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. The later fields (guests) are
/// already part of user and nice.
fn parse_cpu_line(text: &[u8]) -> Option<CpuTicks> {
    let line = text.strip_prefix(b"cpu ")?.split(|byte| *byte == b'\n').next()?;
    let ticks: Vec<u64> = numbers(line).take(8).collect::<Option<_>>()?;
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks.try_into().ok()?;
    Some(CpuTicks { busy: user + nice + system + irq + softirq, steal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_line_leaves_idle_and_guests_out() {
        let text = b"cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(parse_cpu_line(text), Some(CpuTicks { busy: 103, steal: 128 }));
        assert_eq!(parse_cpu_line(b"cpu  1 2 4\n"), None);
    }
}
