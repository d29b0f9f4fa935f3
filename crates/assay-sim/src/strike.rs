//! Reasons for the early end of a simulated run.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strike {
    Killed,
    Interrupted,
    LedgerFull,
    ServerGone,
    Broken(String),
}
