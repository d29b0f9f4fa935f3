//! The data a study works on, and how statements access it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Setup, StartFrom, words};

/// Tables × rows. Setups that differ only in clients share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataSet {
    pub tables: u32,
    pub rows: u32,
}

impl Setup {
    pub fn data(self) -> DataSet {
        DataSet { tables: self.tables, rows: self.rows }
    }
}

impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.tables, self.rows)
    }
}

/// How sysbench's tables are created, beside their engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableForm {
    /// Whether the server assigns ids; otherwise the client does.
    pub auto_inc: bool,
    pub create_secondary: bool,
    /// Text after the columns and the engine in `CREATE TABLE`.
    pub create_table_options: String,
}

/// Maximum length of the text after the columns in `CREATE TABLE`, bytes.
const TABLE_OPTIONS_BYTES: usize = 1000;

/// Forbidden words: another engine would be measured under the name of the system's own, and files elsewhere would
/// remain when the server's directory is removed.
const REFUSED: [&str; 3] = ["engine", "directory", "tablespace"];

impl Default for TableForm {
    fn default() -> Self {
        Self { auto_inc: true, create_secondary: true, create_table_options: String::new() }
    }
}

impl TableForm {
    pub fn check_options(text: &str) -> Result<(), &'static str> {
        if text.len() > TABLE_OPTIONS_BYTES {
            return Err("must have at most 1,000 bytes");
        }
        if text.contains(';') || text.chars().any(char::is_control) {
            return Err("must be a part of one statement, without `;` and control characters");
        }
        if !text.is_ascii() {
            return Err("must be ASCII");
        }
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let is_refused = |word: &str| REFUSED.iter().any(|it| word.eq_ignore_ascii_case(it));
        if words.any(is_refused) {
            return Err(
                "must not name an engine, which a system or `--engine` names, nor a directory or tablespace",
            );
        }
        Ok(())
    }

    /// Differences from the default form, for reports; `None` without any.
    pub fn in_words(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.auto_inc {
            parts.push("ids from the client".to_owned());
        }
        if !self.create_secondary {
            parts.push("no index on k".to_owned());
        }
        if !self.create_table_options.is_empty() {
            parts.push(format!("the options `{}`", self.create_table_options));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

words! {
    /// The way in which statements are sent that the published tests prepare.
    pub enum StatementMode (default: Prepared) {
        /// Prepared on the server, once per connection.
        Prepared = "prepared",
        /// Sent as text.
        Text = "text",
        /// Parsed, planned and executed each time, with the values apart from the text (Postgres only).
        Extended = "extended",
    }
}

/// Content of a system's tables at the start of its instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataContent {
    pub system: usize,
    pub data: DataSet,
    pub start_from: StartFrom,
    pub rows: u64,
    /// Checksum of all columns of all rows, independent of row order. For a user's tables, a prefix word with a colon
    /// names the method of computing it.
    pub checksum: String,
}

/// Whether two checksums may belong to the same data: they are equal, or were computed differently.
pub fn may_equal(one: &str, other: &str) -> bool {
    let way = |checksum: &str| checksum.split_once(':').map(|(way, _)| way.to_owned());
    one == other || way(one) != way(other)
}
