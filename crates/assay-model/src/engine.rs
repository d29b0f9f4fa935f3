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
    /// The word used in system names and, for MySQL and MariaDB, in `ENGINE =`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::InnoDb => "innodb",
            Self::RocksDb => "rocksdb",
            Self::Heap => "heap",
        }
    }
}
