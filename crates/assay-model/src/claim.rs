//! Published claims about measured values, as data.

use crate::words;

words! {
    /// A measured value, by its name in the JSON of reports. In the order in which users see them.
    pub enum Quantity {
        /// Operations per second relative to another system.
        Rqps = "rqps",
        /// Queries per second.
        Qps = "qps",
        /// Transactions per second.
        Tps = "tps",
        /// Server CPU time per operation relative to another system.
        CpuRatio = "cpu_ratio",
        /// Median event latency, µs.
        LatencyP50 = "latency_p50",
        /// 95th percentile of event latency, µs.
        LatencyP95 = "latency_p95",
        /// 99th percentile of event latency, µs.
        LatencyP99 = "latency_p99",
        /// Largest event latency, µs.
        LatencyMax = "latency_max",
        /// CPU time per operation of the threads that serve connections, µs.
        ServerCpuUs = "server_cpu_us",
        /// CPU time of the clients per operation, µs.
        ClientCpuUs = "client_cpu_us",
        /// Context switches per operation.
        ContextSwitches = "cs",
        /// Reads from the disk per operation.
        Reads = "reads",
        /// KiB read per operation.
        ReadKb = "read_kb",
        /// KiB written per operation.
        WriteKb = "write_kb",
        /// Rows inserted per second in a step of the Insert Benchmark.
        InsertRate = "step_ips",
        /// Rows deleted per second in such a step.
        DeleteRate = "step_dps",
        /// Queries per second in such a step.
        QueryRate = "step_qps",
        /// Duration of such a step, seconds.
        StepSeconds = "step_seconds",
        /// 1 if such a step kept its background rate, else 0.
        Sla = "sla_met",
    }
}

impl Quantity {
    pub fn is_ratio(self) -> bool {
        matches!(self, Self::Rqps | Self::CpuRatio)
    }

    /// Whether assay computes an interval, given enough measurements.
    pub fn has_interval(self) -> bool {
        matches!(self, Self::Rqps | Self::Qps | Self::CpuRatio)
    }
}

words! {
    /// The statistic over several tests that a claim is about.
    pub enum Summary {
        /// The median.
        Median = "median",
        /// The smallest value.
        Min = "min",
        /// The largest value.
        Max = "max",
    }
}

/// A range of values, closed unless `is_open`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Minus infinity if unbounded.
    pub low: f64,
    /// Infinity if unbounded.
    pub high: f64,
    /// Whether the ends are excluded.
    pub is_open: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    In(Region),
    /// The named system has the smallest value of all systems of the claim.
    Lowest(String),
    /// The named system has the largest value of all systems of the claim.
    Highest(String),
}

/// The share of values that the claim is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    Every,
    None,
    Most,
    /// At least this share, 0 to 1.
    Part(f64),
    Count {
        least: u32,
        most: u32,
        of: Option<u32>,
    },
}

/// The unit that a share counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Tests: each counts if the claim holds for all its systems and client counts.
    Tests,
    /// Values: each combination of systems, test and client count.
    Cells,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub quantity: Quantity,
    /// `None` if each test is a value.
    pub summary: Option<Summary>,
    pub relation: Relation,
    pub share: Share,
    pub counted: Counted,
}
