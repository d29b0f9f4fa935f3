//! Published claims about measured values, as data.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantity {
    /// Operations per second relative to another system.
    Rqps,
    Qps,
    Tps,
    /// Server CPU time per operation relative to another system.
    CpuRatio,
    /// Event latencies, µs.
    LatencyP50,
    LatencyP95,
    LatencyP99,
    LatencyMax,
    /// CPU time per operation of the threads that serve connections, µs.
    ServerCpuUs,
    /// CPU time of the clients per operation, µs.
    ClientCpuUs,
    ContextSwitches,
    Reads,
    ReadKb,
    WriteKb,
    /// Rows inserted per second in a step of the Insert Benchmark.
    InsertRate,
    DeleteRate,
    QueryRate,
    /// Duration of a step of the Insert Benchmark, seconds.
    StepSeconds,
    /// 1 if a step of the Insert Benchmark kept its background rate, else 0.
    Sla,
}

impl Quantity {
    /// In the order in which users see them.
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

    /// Word in files and output formats: the figure's name in the JSON of reports.
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

    #[must_use]
    pub fn is_ratio(self) -> bool {
        matches!(self, Self::Rqps | Self::CpuRatio)
    }

    /// Whether assay computes an interval, given enough measurements.
    #[must_use]
    pub fn has_interval(self) -> bool {
        matches!(self, Self::Rqps | Self::Qps | Self::CpuRatio)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Summary {
    Median,
    Min,
    Max,
}

impl Summary {
    pub const ALL: [Self; 3] = [Self::Median, Self::Min, Self::Max];

    #[must_use]
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
