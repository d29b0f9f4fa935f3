//! The work of a client as data: the steps of one event.

use serde::{Deserialize, Deserializer, Serialize};

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
    /// Tables of each client, in the order of their creation. They are dropped in reverse.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_more")]
    pub scratch: Vec<Scratch>,
}

/// A table that a client creates before a run, replacing one from an earlier run. In its name and statements, `sbtest`
/// becomes `sbtest` and the number of the client, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratch {
    pub name: String,
    /// Names and types. The first column numbers the rows.
    pub columns: Vec<(String, String)>,
    /// Rows, numbered from 1; the other columns get their defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// Sent when the table has its rows: other values, indexes, foreign keys, triggers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<ScratchStatement>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScratchStatement {
    /// Empty if only Postgres needs the statement.
    #[serde(default)]
    pub sql: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<String>,
}

/// Older ledgers have one table without a list.
fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Scratch>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ScratchForm {
        One(Scratch),
        More(Vec<Scratch>),
    }
    Ok(match ScratchForm::deserialize(from)? {
        ScratchForm::One(scratch) => vec![scratch],
        ScratchForm::More(all) => all,
    })
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renews: Option<Renewal>,
}

/// A resource that a client makes for a step, uses once and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Renewal {
    /// A prepared statement, unless all statements are sent as text.
    Statement,
    /// A connection, over which the statement is sent as text.
    Connection,
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
    /// The scratch tables of the client.
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
        for_dialect(dialect, &self.sql, self.postgres.as_deref())
    }
}

impl ScratchStatement {
    /// Empty if the dialect needs no statement.
    pub fn sql(&self, dialect: Dialect) -> &str {
        for_dialect(dialect, &self.sql, self.postgres.as_deref())
    }
}

fn for_dialect<'s>(dialect: Dialect, sql: &'s str, postgres: Option<&'s str>) -> &'s str {
    postgres.filter(|_| dialect == Dialect::Postgres).unwrap_or(sql)
}

impl Fill {
    pub fn count(self) -> u32 {
        match self {
            Self::Drawn(count) | Self::InPart(count) | Self::Hot(count) => count,
            Self::Again | Self::Plus(_) | Self::Digits(_) | Self::Rows(_) | Self::Unused => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_table_without_a_list_is_read_from_older_ledgers() {
        let old = r#"{"steps": [], "draw": "uniform", "rows": null,
            "scratch": {"name": "bulk_sbtest", "columns": [["id", "INTEGER"]]}}"#;
        let script: Script = serde_json::from_str(old).unwrap();
        assert_eq!(script.scratch[0].name, "bulk_sbtest");
        let again = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&again).unwrap(), script);
    }
}
