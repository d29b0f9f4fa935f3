//! What a published statement says of measured values, as data.

/// A figure of a system in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantity {
    /// Operations per second divided by those of another system.
    Rqps,
    /// Operations per second.
    Qps,
    /// Events per second.
    Tps,
    /// Server CPU per operation divided by that of another system.
    CpuRatio,
    /// Latency of events, median, microseconds.
    LatencyP50,
    /// Latency of events, 95th percentile, microseconds.
    LatencyP95,
    /// Latency of events, 99th percentile, microseconds.
    LatencyP99,
    /// Latency of events, largest, microseconds.
    LatencyMax,
    /// CPU time of the threads that serve the connections, microseconds per operation.
    ServerCpuUs,
    /// CPU time of the clients, microseconds per operation.
    ClientCpuUs,
    /// Context switches of the server per operation.
    ContextSwitches,
    /// Reads by the block device per operation.
    Reads,
    /// KiB read from block devices per operation.
    ReadKb,
    /// KiB written to block devices per operation.
    WriteKb,
    /// Rows that a step of the Insert Benchmark inserted per second.
    InsertRate,
    /// Rows that a step of the Insert Benchmark deleted per second.
    DeleteRate,
    /// Queries per second of a step of the Insert Benchmark.
    QueryRate,
    /// Duration of a step of the Insert Benchmark, seconds.
    StepSeconds,
    /// 1 if a step of the Insert Benchmark kept its background rate, 0 if it did not.
    Sla,
}

impl Quantity {
    /// Every quantity, in the order in which they are listed to users.
    pub const ALL: [Self; 19] = [
        Self::Rqps,
        Self::Qps,
        Self::Tps,
        Self::CpuRatio,
        Self::LatencyP50,
        Self::LatencyP95,
        Self::LatencyP99,
        Self::LatencyMax,
        Self::ServerCpuUs,
        Self::ClientCpuUs,
        Self::ContextSwitches,
        Self::Reads,
        Self::ReadKb,
        Self::WriteKb,
        Self::InsertRate,
        Self::DeleteRate,
        Self::QueryRate,
        Self::StepSeconds,
        Self::Sla,
    ];

    /// The word in files and in every output format: the name of the figure in the JSON of reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rqps => "rqps",
            Self::Qps => "qps",
            Self::Tps => "tps",
            Self::CpuRatio => "cpu_ratio",
            Self::LatencyP50 => "latency_p50",
            Self::LatencyP95 => "latency_p95",
            Self::LatencyP99 => "latency_p99",
            Self::LatencyMax => "latency_max",
            Self::ServerCpuUs => "server_cpu_us",
            Self::ClientCpuUs => "client_cpu_us",
            Self::ContextSwitches => "cs",
            Self::Reads => "reads",
            Self::ReadKb => "read_kb",
            Self::WriteKb => "write_kb",
            Self::InsertRate => "step_ips",
            Self::DeleteRate => "step_dps",
            Self::QueryRate => "step_qps",
            Self::StepSeconds => "step_seconds",
            Self::Sla => "sla_met",
        }
    }

    /// Whether it compares a system with another one.
    #[must_use]
    pub fn is_ratio(self) -> bool {
        matches!(self, Self::Rqps | Self::CpuRatio)
    }

    /// Whether assay gives it an interval if it has measured enough.
    #[must_use]
    pub fn has_interval(self) -> bool {
        matches!(self, Self::Rqps | Self::Qps | Self::CpuRatio)
    }
}

/// How the values of several tests become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Summary {
    /// The median.
    Median,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl Summary {
    /// Every summary.
    pub const ALL: [Self; 3] = [Self::Median, Self::Min, Self::Max];

    /// The word in files and in every output format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

/// A range of values. Its ends belong to it, unless it is open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Lower end; minus infinity if there is none.
    pub low: f64,
    /// Upper end; infinity if there is none.
    pub high: f64,
    /// Whether the ends do not belong to it.
    pub is_open: bool,
}

/// What is claimed of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    /// It lies in a range.
    In(Region),
    /// The named system has the smallest value of all systems of the claim.
    Lowest(String),
    /// The named system has the largest value of all systems of the claim.
    Highest(String),
}

/// Of how many values it is claimed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// The claim is about all of them.
    Every,
    /// The claim is about none of them.
    None,
    /// The claim is about more than half of them.
    Most,
    /// The claim is about at least this part of them, from 0 to 1.
    Part(f64),
    /// The claim is about a number of them.
    Count {
        /// The smallest number that suffices.
        least: u32,
        /// The largest number that is claimed.
        most: u32,
        /// The number of all values, if the claim says so.
        of: Option<u32>,
    },
}

/// What a share counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Tests: each counts if what is claimed is so for all its systems and client counts.
    Tests,
    /// Values: each pair of systems, test and client count is one.
    Cells,
}

/// What is claimed of the values of a selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The figure.
    pub quantity: Quantity,
    /// How tests become one value; `None` if each test is one.
    pub summary: Option<Summary>,
    /// What is claimed of each value.
    pub relation: Relation,
    /// Of how many values.
    pub share: Share,
    /// What the share counts.
    pub counted: Counted,
}
