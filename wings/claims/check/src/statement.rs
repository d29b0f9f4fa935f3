//! Published claims about measured values, as data.

/// A measured value, in the order in which users see them. Its word is its name in the JSON of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Operations per second relative to another system.
    Rqps,
    /// Queries per second.
    Qps,
    /// Transactions per second.
    Tps,
    /// Server CPU time per operation relative to another system.
    CpuRatio,
    /// Median event latency, µs.
    LatencyP50,
    /// 95th percentile of event latency, µs.
    LatencyP95,
    /// 99th percentile of event latency, µs.
    LatencyP99,
    /// Largest event latency, µs.
    LatencyMax,
    /// CPU time per operation of the threads that serve connections, µs.
    ServerCpuUs,
    /// CPU time of the clients per operation, µs.
    ClientCpuUs,
    /// Context switches per operation.
    ContextSwitches,
    /// Reads from the disk per operation.
    Reads,
    /// KiB read per operation.
    ReadKb,
    /// KiB written per operation.
    WriteKb,
    /// Rows inserted per second in a step of the Insert Benchmark.
    InsertRate,
    /// Rows deleted per second in such a step.
    DeleteRate,
    /// Queries per second in such a step.
    QueryRate,
    /// Duration of such a step, seconds.
    StepSeconds,
    /// 1 if such a step kept its background rate, else 0.
    Sla,
}

impl Quantity {
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

    pub fn is_ratio(self) -> bool {
        matches!(self, Self::Rqps | Self::CpuRatio)
    }

    /// Whether assay computes an interval, given enough measurements.
    pub fn has_interval(self) -> bool {
        matches!(self, Self::Rqps | Self::Qps | Self::CpuRatio)
    }
}

/// The statistic over several tests that a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    Median,
    Min,
    Max,
}

impl Summary {
    pub const ALL: [Self; 3] = [Self::Median, Self::Min, Self::Max];

    pub fn word(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Min => "min",
            Self::Max => "max",
        }
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
pub enum ShareUnit {
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
    pub counted: ShareUnit,
}
