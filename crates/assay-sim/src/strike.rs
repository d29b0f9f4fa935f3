//! Why a run of a simulated study ends early.

/// The reason why a run ended before its study did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strike {
    /// assay was killed.
    Killed,
    /// The user interrupted.
    Interrupted,
    /// The ledger could not grow.
    LedgerFull,
    /// The server of a sequential study has ended.
    ServerGone,
    /// The driver broke its contract.
    Broken(String),
}
