//! The work of a client as data: the steps of one event.

use serde::{Deserialize, Serialize};

use crate::{Dialect, Distribution, Transaction};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub steps: Vec<Step>,
    pub draw: Distribution,
    /// Rows of a table to draw from; `None` means all.
    pub rows: Option<u32>,
    /// Kinds of events of a user's workload, which has nothing else; empty for all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<Transaction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch: Option<Scratch>,
}

/// A table that a client creates before a run, replacing one from an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratch {
    /// Name, where `sbtest` becomes `sbtest` and the number of the client, from 1.
    pub name: String,
    pub columns: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Text with `?` for parameters and `sbtest` for the table.
    pub sql: String,
    pub postgres: Option<String>,
    pub table: TableChoice,
    pub fill: Vec<Fill>,
    /// Consecutive repetitions on the same table, with fresh parameters.
    pub times: u32,
    /// Sent as text even in prepared mode.
    pub text: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableChoice {
    /// `BEGIN`, `COMMIT`.
    None,
    /// Drawn uniformly, once per event and step.
    Drawn,
    Same,
    /// Fixed: client number modulo tables, plus 1.
    OfClient,
    Scratch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// This many draws of row numbers from the script's distribution, as `id` or `k`.
    Drawn(u32),
    Again,
    Plus(u32),
    /// This many consecutive ids just above the middle of the table.
    Hot(u32),
    /// A fresh string of this many groups of digits.
    Digits(usize),
    /// This many draws from the client's part of the rows. Client t of T has those from t × rows / T up to that plus
    /// rows / T, where rows / T is rounded down.
    InPart(u32),
    /// Text of this many rows `(n, n)`, where n counts the client's rows from 1. Only in text mode.
    Rows(u32),
    /// An unused id: negative, different each time, unordered. Rows with negative ids are removed before clients
    /// connect.
    Unused,
}

impl Step {
    pub fn sql(&self, dialect: Dialect) -> &str {
        match (dialect, &self.postgres) {
            (Dialect::Postgres, Some(sql)) => sql,
            _ => &self.sql,
        }
    }
}

impl Fill {
    pub fn count(self) -> u32 {
        match self {
            Self::Drawn(count) | Self::InPart(count) | Self::Hot(count) => count,
            Self::Again | Self::Plus(_) | Self::Digits(_) | Self::Rows(_) | Self::Unused => 1,
        }
    }
}
