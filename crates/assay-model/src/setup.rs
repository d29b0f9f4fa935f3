//! How much data and how many clients, and how much effort.

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

/// How much effort a study spends (contracts: the preset table).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Does it all work, in under a minute.
    Smoke,
    /// A first honest answer on a laptop, within ten minutes. The default.
    #[default]
    Quick,
    /// A release check, within an hour.
    Standard,
    /// As the posts ran it: sequential, long, each once.
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
