//! A study's role in a search, and in a range of versions that is followed.

use serde::{Deserialize, Serialize};

use crate::words;

words! {
    /// Measure by which versions are compared.
    pub enum SearchMeasure (default: Qps) {
        /// Queries per second, relative to the first version.
        Qps = "qps",
        /// CPU time per operation of the threads that serve connections.
        Cpu = "cpu",
        /// Instructions per operation, counted.
        Instructions = "instructions",
    }
}

/// The search that a study belongs to, and the version it compares with the first usable one. Every study repeats the
/// facts shared by the search, so a search is as durable as its studies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchPart {
    pub id: String,
    /// Range as the user typed it, such as `mariadb@10.6..11.8`.
    pub range: String,
    pub measure: SearchMeasure,
    pub comparisons_max: u32,
    /// Number of ranges searched before this one: after a search over series comes one over the patch releases between
    /// two of them.
    pub level: u32,
    /// All releases between the ends of the whole search, in order; empty if the versions are commits.
    pub releases: Vec<String>,
    pub versions: Vec<NamedVersion>,
    pub unusable: Vec<UnusableVersion>,
    /// Index of the version that this study compares.
    pub version: usize,
    pub spent_s: f64,
}

/// A range of versions that is followed, to which a study or its search belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowedRange {
    pub name: String,
    pub range: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedVersion {
    /// Specification of the system, such as `mariadb@10.11.9`.
    pub words: String,
    pub name: String,
    /// A commit's date and subject.
    pub title: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnusableVersion {
    pub version: usize,
    pub why: String,
}
