//! Amount of data, number of clients, and level of effort.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Clients × tables × rows per table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setup {
    /// Connections that send work at the same time.
    pub clients: u32,
    /// Tables `sbtest1` to `sbtest<tables>`.
    pub tables: u32,
    /// Rows in each table after the load.
    pub rows: u32,
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} × {}", self.clients, self.tables, self.rows)
    }
}

/// The level of effort of a study, which decides all other defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Checks that everything works, in under a minute.
    Smoke,
    /// A first honest answer on a laptop, within five minutes. The default.
    #[default]
    Quick,
    /// A release check, within an hour.
    Standard,
    /// Follows the published posts: sequential, long, each test once.
    Published,
}

impl Preset {
    /// The word used on the command line and in every output format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Published => "published",
        }
    }
}
