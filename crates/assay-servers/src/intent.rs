//! What all compared systems are meant to have in common, whatever their versions.

/// When a committed transaction is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Written at commit, flushed to the disk about once a second.
    Relaxed,
    /// Flushed to the disk at every commit.
    Full,
}

/// The character set that a server uses for what names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// `latin1` with `latin1_swedish_ci`, as the published results.
    Latin1,
    /// `utf8mb4` with `utf8mb4_general_ci`, which every version has.
    Utf8mb4,
}

/// What all compared systems are meant to have in common.
///
/// What has no field here is the same in every study: no binary log, no TLS, doublewrite on, no query cache,
/// no performance schema, direct data files, no buffer pool dump. The options are listed in `options`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Size of the engine's cache, MiB.
    pub buffer_pool_mb: u64,
    /// Size of the redo log, MiB.
    pub log_mb: u64,
    /// When a commit is safe.
    pub durability: Durability,
    /// Character set of tables and sessions that name none.
    pub charset: Charset,
    /// Connections that may be open at once.
    pub connections_max: u32,
}
