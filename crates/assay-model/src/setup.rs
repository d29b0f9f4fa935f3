//! Amount of data, number of clients, and level of effort.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words;

/// Clients × tables × rows per table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setup {
    pub clients: u32,
    pub tables: u32,
    pub rows: u32,
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {} × {}", self.clients, self.tables, self.rows)
    }
}

words! {
    /// The level of effort of a study, which decides all other defaults.
    pub enum Preset (default: Quick) {
        /// Checks that everything works: 10,000 rows, under a minute.
        Smoke = "smoke",
        /// A first honest answer: 100,000 rows, at most five minutes.
        Quick = "quick",
        /// A release check: 8 tables of 1,000,000 rows, at most an hour.
        Standard = "standard",
        /// The procedure of the published posts: 50,000,000 rows, one system after the other, each test once for 600 or
        /// 1800 s; takes days.
        Published = "published",
    }
}
