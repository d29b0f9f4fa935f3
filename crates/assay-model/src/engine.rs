//! Storage engines.

use crate::words;

words! {
    /// A storage engine, by its word in system names and, for MySQL and MariaDB, in `ENGINE =`.
    pub enum Engine {
        /// InnoDB.
        InnoDb = "innodb",
        /// RocksDB.
        RocksDb = "rocksdb",
        /// Postgres's only engine.
        Heap = "heap",
    }
}

impl Engine {
    /// The option that sizes the data cache, and the bytes per unit of a bare number.
    pub fn cache_option(self) -> (&'static str, u64) {
        match self {
            Self::InnoDb => ("innodb_buffer_pool_size", 1),
            Self::RocksDb => ("rocksdb_block_cache_size", 1),
            Self::Heap => ("shared_buffers", 8192),
        }
    }
}
