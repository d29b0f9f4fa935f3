//! The data that a study measures, and how statements access it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Setup, StartFrom};

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

/// The kind of key that the column `id` gets.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum IdKey {
    /// `PRIMARY KEY (id)`: the published default.
    #[default]
    Primary,
    /// A secondary index in place of the primary key (`usepk=0` in the published harness).
    Secondary,
}

impl IdKey {
    /// The word used in every output format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Secondary => "secondary",
        }
    }
}

/// The way in which statements are sent that the published tests prepare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatementMode {
    /// Prepared on the server once per connection, then executed: the published default.
    #[default]
    Prepared,
    /// Sent as text, which the server parses each time (`--db-ps-mode=disable` in sysbench).
    Text,
}

impl StatementMode {
    /// The word used in every output format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Text => "text",
        }
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
