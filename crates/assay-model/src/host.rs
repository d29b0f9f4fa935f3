//! The machine of a study.

use serde::{Deserialize, Serialize};

use crate::{Examination, RealtimeAccess};

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Processor model name.
    pub cpu: String,
    /// Online CPUs.
    pub cpus: u32,
    /// Memory, KiB.
    pub memory_kb: u64,
    /// Kernel release.
    pub kernel: String,
    /// Distribution, as it names itself.
    pub os: String,
    /// Hypervisor, when the kernel sees one.
    pub hypervisor: Option<String>,
    /// File system type that holds the data directories.
    pub filesystem: String,
    /// Whether the kernel accounts the time that threads wait for block devices.
    pub counts_disk_wait: bool,
    /// Whether the data directories lie on a block device whose reads and writes are counted.
    pub counts_device: bool,
    /// Whether the user may run threads at real-time priority; `None` if nobody looked.
    pub realtime: Option<RealtimeAccess>,
    /// What an examination found before the run.
    pub doctor: Option<Examination>,
}

impl Host {
    /// Whether anything is known about it. Published results do not tell their machine.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.cpus > 0
    }

    /// Whether the other one is the same machine as far as is known. Its software and its state may have changed:
    /// another kernel leaves a little more or less memory.
    #[must_use]
    pub fn is_machine_of(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.cpu.clone(), it.cpus, it.hypervisor.clone());
        let [less, more] =
            [self.memory_kb.min(other.memory_kb), self.memory_kb.max(other.memory_kb)];
        of(self) == of(other) && more - less <= more / 50
    }

    /// A machine about which nothing is known.
    pub(crate) const fn unknown() -> Self {
        Self {
            cpu: String::new(),
            cpus: 0,
            memory_kb: 0,
            kernel: String::new(),
            os: String::new(),
            hypervisor: None,
            filesystem: String::new(),
            counts_disk_wait: false,
            counts_device: false,
            realtime: None,
            doctor: None,
        }
    }
}
