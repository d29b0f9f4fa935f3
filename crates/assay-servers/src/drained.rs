//! The result of draining a server.

use std::time::Duration;

/// The work that was left when a server was drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Whether it came to rest within the time allowed.
    pub is_complete: bool,
    /// Transactions whose old row versions are not purged yet; on Postgres, dead rows that are left. `None` where the
    /// version does not report it.
    pub history_length: Option<u64>,
    /// Pages of the buffer pool that are not written yet.
    pub dirty_pages: u64,
    /// How long it took.
    pub took: Duration,
}
