//! Result of draining a server.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    pub is_complete: bool,
    /// Transactions whose old row versions are not purged yet; on Postgres, remaining dead rows. `None` if the version
    /// does not report it.
    pub history_length: Option<u64>,
    /// Unwritten pages of the buffer pool.
    pub dirty_pages: u64,
    pub took: Duration,
}
