//! The part that a study has in a search for the version that made a change.

use serde::{Deserialize, Serialize};

use crate::words;

words! {
    /// What versions are compared by.
    pub enum BisectMeasure (default: Qps) {
        /// Queries per second, relative to the first version.
        Qps = "qps",
        /// The server's CPU time per operation.
        Cpu = "cpu",
        /// Instructions per operation, counted.
        Instructions = "instructions",
    }
}

/// The search that a study belongs to, and which version it compares with the first one that can be used. What all
/// studies of a search have in common stands in each of them, so a search is as durable as its studies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BisectPart {
    /// The id of the search.
    pub id: String,
    /// What is searched, as the user named it, such as `mariadb@10.6..11.8`.
    pub range: String,
    /// What versions are compared by.
    pub measure: BisectMeasure,
    /// The maximum number of comparisons.
    pub comparisons_max: u32,
    /// The number of ranges that were searched before this one: a search of series is followed by one of the patch
    /// releases between two of them.
    pub level: u32,
    /// The names of all releases between the ends of the whole search, in order; none if its versions are commits.
    pub releases: Vec<String>,
    /// The versions of the range, in order.
    pub versions: Vec<BisectVersion>,
    /// Those that were known to be unusable when the study began.
    pub unusable: Vec<Unusable>,
    /// Index of the version that this study compares.
    pub version: usize,
    /// Seconds that the search had taken when the study was planned.
    pub spent_s: f64,
}

/// The watch that a study, or the search that it is a part of, belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchPart {
    /// The name of the watch, which its file says.
    pub name: String,
    /// What is watched, as the file says, such as `mariadb@11.4..11.8`.
    pub range: String,
}

/// A version that a search considers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BisectVersion {
    /// The words that ask for the system, such as `mariadb@10.11.9`.
    pub words: String,
    /// Its name in the answer: a version, or a commit's abbreviated id.
    pub name: String,
    /// What a commit says of itself: date and subject.
    pub title: Option<String>,
}

/// A version that does not build or start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unusable {
    /// Index of the version.
    pub version: usize,
    /// Why, in words.
    pub why: String,
}
