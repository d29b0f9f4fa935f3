//! The state of a machine and the noise of its speed, which decide how small a change it can show.

use serde::{Deserialize, Serialize};

use crate::{BusyProcess, Priority};

/// What `assay doctor`, or a study before its first slice, found. A fact is `None` where the machine does not state it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// The CPUs.
    pub cpus: CpuFacts,
    /// Other users of the CPUs.
    pub load: LoadFacts,
    /// Memory and swap.
    pub memory: MemoryFacts,
    /// The time that the kernel and the disk take.
    pub delays: Delays,
    /// The noise of the machine's speed, for a thread of normal priority.
    pub noise: Option<Noise>,
    /// The same for a thread of real-time priority.
    pub noise_realtime: Option<Noise>,
}

impl Examination {
    /// The noise for threads of this priority.
    #[must_use]
    pub fn noise_at(&self, priority: Priority) -> Option<&Noise> {
        match priority {
            Priority::Normal => self.noise.as_ref(),
            Priority::Realtime => self.noise_realtime.as_ref(),
        }
    }
}

/// The CPUs that assay may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// Number of CPUs that this process may run on.
    pub allowed: u32,
    /// CPU time that a control group grants per unit of time.
    pub quota: Option<f64>,
    /// Governors of the clock frequency, separated by commas.
    pub governor: Option<String>,
    /// Whether CPUs may exceed their nominal frequency.
    pub turbo: Option<bool>,
    /// Whether cores run several threads at a time.
    pub smt: Option<bool>,
    /// Number of NUMA nodes.
    pub numa_nodes: Option<u32>,
}

/// The use of the CPUs by others during the examination.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadFacts {
    /// Length of the examination, seconds.
    pub seconds: f64,
    /// CPU time that the hypervisor took, in CPUs.
    pub steal_cpus: Option<f64>,
    /// CPU time of other processes, in CPUs.
    pub other_cpus: Option<f64>,
    /// The processes that used most of it, the busiest first.
    pub busiest: Vec<BusyProcess>,
}

/// Memory and swap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// Memory that can be used without swapping, KiB.
    pub available_kb: Option<u64>,
    /// When the kernel uses huge pages on its own: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Swap space, KiB.
    pub swap_kb: Option<u64>,
    /// Its used part, KiB.
    pub swap_used_kb: Option<u64>,
    /// The kernel's `vm.swappiness`.
    pub swappiness: Option<u32>,
}

/// The time that the kernel and the disk take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// The kernel's source of time.
    pub clock: Option<String>,
    /// Reading the clock, nanoseconds.
    pub clock_read_ns: f64,
    /// Delay of a thread that sleeps until a given time, microseconds.
    pub sleep_late_us: Option<Quantiles>,
    /// Delay that the kernel may add to save power, nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// From a thread's message until another one on the same CPU has it, microseconds.
    pub wake_one_cpu_us: Option<f64>,
    /// The same if the other thread waits on another CPU.
    pub wake_two_cpus_us: Option<f64>,
    /// Appending a record to a file and flushing it to the disk (`fdatasync`), microseconds.
    pub flush_us: Option<Quantiles>,
}

/// The distribution of a duration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Half of all are shorter.
    pub median: f64,
    /// 99% are shorter.
    pub p99: f64,
}

/// The noise of the machine's speed: how long a fixed piece of work took, over and over again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Time that was recorded, seconds.
    pub seconds: f64,
    /// The correlation of the speed at two moments, by the time between them, which ascends.
    pub correlations: Vec<Correlation>,
    /// The error of a ratio by the length of a turn, which ascends.
    pub turns: Vec<TurnError>,
    /// The longest turn whose error is close to the smallest one, milliseconds.
    pub asked_ms: f64,
}

/// The correlation of the speed at two moments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    /// Time between the moments, milliseconds.
    pub lag_ms: f64,
    /// From −1 to 1.
    pub value: f64,
}

/// The error of the ratio of two equal systems that take turns in the order A B B A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TurnError {
    /// Length of a turn, milliseconds.
    pub turn_ms: f64,
    /// Standard error of the log ratio after one second, both systems together. It falls with the square root of the
    /// time.
    pub error: f64,
}
