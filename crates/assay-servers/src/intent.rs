//! The intent: the configuration that all compared systems have in common, whatever their versions.

/// When a committed transaction is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Written at commit, flushed to the disk about once a second.
    Relaxed,
    /// Flushed to the disk at every commit.
    Full,
}

/// The configuration that all compared systems have in common.
///
/// Settings without a field here are the same in every study: no binary log, no TLS, doublewrite on, no query cache, no
/// performance schema, direct I/O for data files, no buffer pool dump. The tables in `options` list them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Size of the engine's cache, MiB.
    pub buffer_pool_mb: u64,
    /// Size of the redo log, MiB.
    pub log_mb: u64,
    /// When a committed transaction is on disk.
    pub durability: Durability,
    /// Connections that may be open at once.
    pub connections_max: u32,
}
