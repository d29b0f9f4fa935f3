//! The systems that are compared: a DBMS version with its engine and configuration.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A family of database servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Product {
    /// MariaDB Server.
    MariaDb,
    /// MySQL Server.
    MySql,
    /// PostgreSQL.
    Postgres,
}

impl Product {
    /// Every product, in the order in which they are listed to users.
    pub const ALL: [Self; 3] = [Self::MariaDb, Self::MySql, Self::Postgres];

    /// The word used in system names.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
            Self::Postgres => "postgres",
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

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

/// The origin of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A version or series as typed, such as `10.11` or `8.0.33`.
    Version(String),
    /// An unpacked basedir on this machine.
    Dir(PathBuf),
    /// A source tree and, after `#`, the ref to build.
    Git(String),
    /// A server that is running already, by its URL without password.
    Url(String),
}

/// A system as the user named it: `mariadb@10.11/rocksdb+innodb_log_write_ahead_size=4096`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SystemSpec {
    /// The family.
    pub product: Product,
    /// The origin of the server.
    pub origin: Origin,
    /// The storage engine, the product's default unless named.
    pub engine: Engine,
    /// Server options set on top of the common intent, in the order given.
    pub overrides: Vec<(String, String)>,
}

impl SystemSpec {
    /// The engine a product uses when none is named.
    #[must_use]
    pub fn default_engine(product: Product) -> Engine {
        match product {
            Product::MariaDb | Product::MySql => Engine::InnoDb,
            Product::Postgres => Engine::Heap,
        }
    }
}

impl fmt::Display for SystemSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Origin::Url(url) = &self.origin {
            return f.write_str(url);
        }
        write!(f, "{}@", self.product)?;
        match &self.origin {
            Origin::Url(_) => {}
            Origin::Version(version) => f.write_str(version)?,
            Origin::Dir(path) => write!(f, "dir:{}", path.display())?,
            Origin::Git(reference) => write!(f, "git:{reference}")?,
        }
        if self.engine != Self::default_engine(self.product) {
            write!(f, "/{}", self.engine.word())?;
        }
        for (option, value) in &self.overrides {
            write!(f, "+{option}={value}")?;
        }
        Ok(())
    }
}
