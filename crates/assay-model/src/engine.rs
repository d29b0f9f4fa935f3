//! Storage engines.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    InnoDb,
    RocksDb,
    /// Postgres's only engine.
    Heap,
}

impl Engine {
    pub const ALL: [Self; 3] = [Self::InnoDb, Self::RocksDb, Self::Heap];

    /// Word in system names and, for MySQL and MariaDB, in `ENGINE =`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::InnoDb => "innodb",
            Self::RocksDb => "rocksdb",
            Self::Heap => "heap",
        }
    }

    /// The option that sizes the data cache, and the bytes per unit of a bare number.
    #[must_use]
    pub fn cache_option(self) -> (&'static str, u64) {
        match self {
            Self::InnoDb => ("innodb_buffer_pool_size", 1),
            Self::RocksDb => ("rocksdb_block_cache_size", 1),
            Self::Heap => ("shared_buffers", 8192),
        }
    }
}
