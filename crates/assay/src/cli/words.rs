//! Words of options, and what they stand for.

use assay_model::{CpuPlacement, Profiling, StatementMode};
use clap::ValueEnum;

/// `--db-ps-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PsModeWord {
    /// Prepared on the server, once per connection
    Auto,
    /// Sent as text
    Disable,
}

/// `--profile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileWord {
    /// Tests in which a system is faster, slower or uneven, or takes more or less CPU time per operation
    Changed,
    /// All tests
    All,
}

/// `--placement`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PlacementWord {
    /// Client and whole server on one CPU
    OneCpu,
    /// Client and the threads that serve it on one CPU, background threads anywhere
    ConnectionsOnOneCpu,
    /// Each client and the thread that serves it on one of the CPUs, background threads anywhere
    Pairs,
    /// Nothing pinned
    Free,
}

impl PsModeWord {
    pub(super) fn mode(self) -> StatementMode {
        match self {
            Self::Auto => StatementMode::Prepared,
            Self::Disable => StatementMode::Text,
        }
    }
}

impl ProfileWord {
    pub(super) fn profiling(self) -> Profiling {
        match self {
            Self::Changed => Profiling::Changed,
            Self::All => Profiling::All,
        }
    }
}

impl PlacementWord {
    pub(super) fn placement(self) -> CpuPlacement {
        match self {
            Self::OneCpu => CpuPlacement::OneCpu,
            Self::ConnectionsOnOneCpu => CpuPlacement::ConnectionsOnOneCpu,
            Self::Pairs => CpuPlacement::Pairs,
            Self::Free => CpuPlacement::Free,
        }
    }
}
