//! The work of a client, as data: the steps of one event.

use serde::{Deserialize, Serialize};

use crate::{Dialect, Distribution, Transaction};

/// The events of a client. They differ only in their random parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// One event, in order.
    pub steps: Vec<Step>,
    /// The random distribution of rows.
    pub draw: Distribution,
    /// The number of rows of a table that are drawn from; `None` means all.
    pub rows: Option<u32>,
    /// The kinds of events of a workload that a user wrote, which has nothing else; empty for all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<Transaction>,
    /// A table that each client creates for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch: Option<Scratch>,
}

/// A table that a client creates before a run, replacing one that an earlier run left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratch {
    /// Its name, in which `sbtest` stands for `sbtest` and the number of the client, from 1.
    pub name: String,
    /// The names of its columns, with their types as SQL.
    pub columns: Vec<(String, String)>,
}

/// A statement of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Text with `?` for parameters; `sbtest` stands for the table.
    pub sql: String,
    /// The text for Postgres, where it differs.
    pub postgres: Option<String>,
    /// The table that it uses.
    pub table: Table,
    /// Parameters for the `?`, in order.
    pub fill: Vec<Fill>,
    /// Number of repetitions in a row, on the same table, with fresh parameters.
    pub times: u32,
    /// Whether it is sent as text even where prepared statements are used.
    pub text: bool,
}

/// The table of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Table {
    /// None: `BEGIN`, `COMMIT`.
    None,
    /// Drawn uniformly once per event and step.
    Drawn,
    /// The table of the previous step.
    Same,
    /// Fixed: client number modulo tables, plus 1.
    OfClient,
    /// The client's own [`Scratch`].
    Scratch,
}

/// One or more parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// This many draws of the script's distribution over the rows, as `id` or as `k`.
    Drawn(u32),
    /// The last draw again.
    Again,
    /// The last draw plus this number.
    Plus(u32),
    /// This many consecutive ids just above the middle of the table.
    Hot(u32),
    /// A fresh string of this many groups of digits.
    Digits(usize),
    /// This many draws over the client's part of the rows. Client t of T has those from t × rows / T up to that plus
    /// rows / T, where rows / T is rounded down.
    InPart(u32),
    /// The text of this many rows `(n, n)`, where n counts the rows of the client from 1. Only where text is sent.
    Rows(u32),
    /// An id that no row has: negative, different each time, and in no order. Rows with negative ids are removed before
    /// clients connect.
    Unused,
}

impl Step {
    /// The text in a dialect, with `?` for parameters.
    #[must_use]
    pub fn sql(&self, dialect: Dialect) -> &str {
        match (dialect, &self.postgres) {
            (Dialect::Postgres, Some(sql)) => sql,
            _ => &self.sql,
        }
    }
}

impl Fill {
    /// Number of parameters that it fills.
    #[must_use]
    pub fn count(self) -> u32 {
        match self {
            Self::Drawn(count) | Self::InPart(count) | Self::Hot(count) => count,
            Self::Again | Self::Plus(_) | Self::Digits(_) | Self::Rows(_) | Self::Unused => 1,
        }
    }
}
