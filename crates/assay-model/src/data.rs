//! The data that a study measures, and how statements access it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Setup, StartFrom, words};

/// Tables × rows. Setups that differ only in clients share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataSet {
    /// Tables `sbtest1` to `sbtest<tables>`.
    pub tables: u32,
    /// Rows in each table after the load.
    pub rows: u32,
}

impl Setup {
    /// The data set it works on.
    #[must_use]
    pub fn data(self) -> DataSet {
        DataSet { tables: self.tables, rows: self.rows }
    }
}

impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.tables, self.rows)
    }
}

words! {
    /// The kind of key that the column `id` gets.
    pub enum IdKey (default: Primary) {
        /// `PRIMARY KEY (id)`: the published default.
        Primary = "primary",
        /// A secondary index in place of the primary key (`usepk=0` in the published harness).
        Secondary = "secondary",
    }
}

/// How sysbench's tables are created, beside their engine and the key of `id`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableForm {
    /// Whether the server numbers the rows; otherwise the client does.
    pub auto_inc: bool,
    /// Whether there is an index on `k`.
    pub create_secondary: bool,
    /// What follows the columns and the engine in `CREATE TABLE`.
    pub create_table_options: String,
    /// The variant of Postgres.
    pub pgsql_variant: PgsqlVariant,
}

words! {
    /// sysbench's variants of Postgres.
    pub enum PgsqlVariant (default: None) {
        /// Postgres itself.
        None = "none",
        /// Amazon Redshift.
        Redshift = "redshift",
    }
}

/// Longest text after the columns in `CREATE TABLE`, bytes.
const TABLE_OPTIONS_BYTES: usize = 1000;

/// Words that the text must not have: another engine would be measured under the name of the system's own, and files
/// in other places would stay when the server's own directory is removed.
const REFUSED: [&str; 3] = ["engine", "directory", "tablespace"];

impl Default for TableForm {
    fn default() -> Self {
        Self {
            auto_inc: true,
            create_secondary: true,
            create_table_options: String::new(),
            pgsql_variant: PgsqlVariant::None,
        }
    }
}

impl TableForm {
    /// Whether the text may follow the columns in `CREATE TABLE`.
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

    /// What differs from the usual form, for reports; `None` if nothing does.
    #[must_use]
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
        if self.pgsql_variant == PgsqlVariant::Redshift {
            parts.push("ids of Redshift".to_owned());
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

/// The content of a system's tables when its instances started from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataContent {
    /// Index into [`crate::StudyRecord::systems`].
    pub system: usize,
    /// The data set.
    pub data: DataSet,
    /// Loaded, or aged as well.
    pub start_from: StartFrom,
    /// Rows in all tables.
    pub rows: u64,
    /// Checksum of all columns of all rows, whatever their order; equal data have equal checksums. That of a user's
    /// tables begins with a word and a colon: other words stand for other ways to compute it.
    pub checksum: String,
}

/// Whether two checksums may be of the same data: they are equal, or were not computed in the same way.
#[must_use]
pub fn may_equal(one: &str, other: &str) -> bool {
    let way = |checksum: &str| checksum.split_once(':').map(|(way, _)| way.to_owned());
    one == other || way(one) != way(other)
}
