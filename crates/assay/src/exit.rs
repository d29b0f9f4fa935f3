//! Exit codes. Only this file knows them.

use std::process::ExitCode;

/// How assay ends, as users' scripts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done. Undecided cells are a normal result.
    Done = 0,
    /// A limit of a gate was exceeded, or a claim does not hold.
    LimitExceeded = 1,
    /// Wrong use, or the environment does not allow it.
    Error = 2,
    /// Finished, but at least one cell could not be measured, a gate or a claim is undecided, or a verification found
    /// differences.
    Incomplete = 3,
    /// Interrupted; what was measured is in the ledger.
    Interrupted = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
