//! The machine of a study.

use serde::{Deserialize, Serialize};

use crate::{Examination, RealtimeAccess};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub cpu: String,
    pub cpus: u32,
    pub memory_kb: u64,
    pub kernel: String,
    /// Distribution's own name.
    pub os: String,
    /// `None` if the kernel reports no hypervisor.
    pub hypervisor: Option<String>,
    pub filesystem: String,
    /// Whether the kernel accounts the time threads wait for block devices.
    pub counts_disk_wait: bool,
    /// Whether reads and writes of the block device with the data directories are counted.
    pub counts_device: bool,
    /// `None` if unknown.
    pub realtime: Option<RealtimeAccess>,
    /// CPU weight of clients and servers at normal priority, 100 by default; `None` where assay could not set it.
    pub cpu_weight: Option<u32>,
    /// NUMA nodes to which the memory of servers was bound; empty if it was not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_nodes: Vec<u32>,
    /// Findings of an examination before the run.
    pub doctor: Option<Examination>,
}

impl Host {
    /// Published results do not name their machine.
    pub fn is_known(&self) -> bool {
        self.cpus > 0
    }

    /// Whether both are the same machine as far as known. Software and state may differ: another kernel leaves a little
    /// more or less memory.
    pub fn is_machine_of(&self, other: &Self) -> bool {
        let identity = |host: &Self| (host.cpu.clone(), host.cpus, host.hypervisor.clone());
        let [less, more] =
            [self.memory_kb.min(other.memory_kb), self.memory_kb.max(other.memory_kb)];
        identity(self) == identity(other) && more - less <= more / 50
    }

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
            cpu_weight: None,
            server_nodes: Vec::new(),
            doctor: None,
        }
    }
}
