//! State and noise of a machine, which decide how small a change it can resolve.

use serde::{Deserialize, Serialize};

use crate::{BusyProcess, Priority};

/// Findings of `assay doctor`, or of a study before its first slice. A fact is `None` if the machine does not state it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    pub cpus: CpuFacts,
    pub load: LoadFacts,
    pub memory: MemoryFacts,
    pub delays: Delays,
    pub noise: Option<Noise>,
    pub noise_realtime: Option<Noise>,
}

impl Examination {
    pub fn noise_at(&self, priority: Priority) -> Option<&Noise> {
        match priority {
            Priority::Normal => self.noise.as_ref(),
            Priority::Realtime => self.noise_realtime.as_ref(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// CPUs this process may run on.
    pub allowed: u32,
    /// CPU time granted by the control group per unit of time.
    pub quota: Option<f64>,
    pub governor: Option<String>,
    pub turbo: Option<bool>,
    pub smt: Option<bool>,
    pub numa_nodes: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadFacts {
    pub seconds: f64,
    /// CPU time taken by the hypervisor, in CPUs.
    pub steal_cpus: Option<f64>,
    /// CPU time of other processes, in CPUs.
    pub other_cpus: Option<f64>,
    pub busiest: Vec<BusyProcess>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// Memory usable without swapping, KiB.
    pub available_kb: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    pub swap_kb: Option<u64>,
    pub swap_used_kb: Option<u64>,
    pub swappiness: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    pub clock: Option<String>,
    pub clock_read_ns: f64,
    /// Wake-up delay of a sleeping thread, µs.
    pub sleep_late_us: Option<Quantiles>,
    /// Delay the kernel may add to save power.
    pub timer_slack_ns: Option<u64>,
    /// Latency of waking a thread on the same CPU, µs.
    pub wake_one_cpu_us: Option<f64>,
    /// The same for a thread on another CPU.
    pub wake_two_cpus_us: Option<f64>,
    /// Appending a record and flushing it (`fdatasync`), µs.
    pub flush_us: Option<Quantiles>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    pub median: f64,
    pub p99: f64,
}

/// Noise of the machine's speed, measured by timing a fixed piece of work repeatedly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Recorded time, seconds.
    pub seconds: f64,
    pub correlations: Vec<Correlation>,
    /// Error of a ratio by turn length, ascending.
    pub turns: Vec<TurnError>,
    /// The longest turn whose error is close to the smallest, milliseconds.
    pub asked_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    pub lag_ms: f64,
    /// From −1 to 1.
    pub value: f64,
}

/// Error of the ratio of two equal systems that take turns in the order A B B A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TurnError {
    pub turn_ms: f64,
    /// Standard error of the log ratio after one second of both systems together. It falls with the square root of the
    /// time.
    pub error: f64,
}
