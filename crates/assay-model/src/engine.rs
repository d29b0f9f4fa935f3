//! Storage engines.

use serde::{Deserialize, Serialize};

/// A storage engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// InnoDB, the default of MySQL and MariaDB.
    InnoDb,
    /// MyRocks.
    RocksDb,
    /// Postgres's heap, its only engine.
    Heap,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 3] = [Self::InnoDb, Self::RocksDb, Self::Heap];

    /// The word used in system names and, for MySQL and MariaDB, in `ENGINE =`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::InnoDb => "innodb",
            Self::RocksDb => "rocksdb",
            Self::Heap => "heap",
        }
    }

    /// The option that sizes its cache of data, and the bytes that a number without a unit counts.
    #[must_use]
    pub fn cache_option(self) -> (&'static str, u64) {
        match self {
            Self::InnoDb => ("innodb_buffer_pool_size", 1),
            Self::RocksDb => ("rocksdb_block_cache_size", 1),
            // Pages.
            Self::Heap => ("shared_buffers", 8192),
        }
    }
}
