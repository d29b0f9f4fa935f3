//! What a watch found.

use assay_model::{BisectMeasure, BisectVersion, Estimate, Setup};

use crate::bisect::VersionStep;
use crate::number::NONE;

/// A watch after a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched<'a> {
    /// What is watched, as the user named it.
    pub range: String,
    /// Whether the versions are commits.
    pub is_of_commits: bool,
    /// All versions that there are now, in order. The first one is the baseline.
    pub versions: &'a [BisectVersion],
    /// The versions that this run measured.
    pub new: Vec<usize>,
    /// What was measured, a test by a measure each.
    pub lines: Vec<WatchedLine>,
    /// What the reader must know.
    pub notes: Vec<String>,
}

/// The values of a test by one measure.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedLine {
    /// The test.
    pub test: String,
    /// Clients, tables, rows.
    pub setup: Setup,
    /// What versions are compared by.
    pub measure: BisectMeasure,
    /// The values, in order of version.
    pub values: Vec<WatchedValue>,
    /// The changes that were found, in the order in which they were searched for.
    pub changes: Vec<WatchedChange>,
    /// The changes that searches suspect but are not certain of.
    pub suspected: Vec<WatchedSuspicion>,
}

/// The value of a version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchedValue {
    /// The version.
    pub version: usize,
    /// Its value divided by that of the baseline.
    pub ratio: Estimate,
    /// The number of studies that measured it.
    pub studies: usize,
}

/// A change that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedChange {
    /// The last version before it.
    pub after: usize,
    /// The first version that has it.
    pub at: usize,
    /// Its size and probability; the versions of the step are those of the search.
    pub step: VersionStep,
    /// The search that found it.
    pub search: String,
    /// Whether this run found it.
    pub is_new: bool,
}

/// A change that a search suspects between its ends without being certain.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedSuspicion {
    /// The last version that does not have it.
    pub after: usize,
    /// A version that has it.
    pub at: usize,
    /// The ratio of these versions.
    pub ratio: Estimate,
    /// The probability that anything changed.
    pub probability: f64,
    /// The search.
    pub search: String,
}

impl Watched<'_> {
    pub(super) fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or(NONE, |it| &it.name)
    }

    /// The changes that are suspected, with their lines.
    pub(super) fn suspected(&self) -> impl Iterator<Item = (&WatchedLine, &WatchedSuspicion)> {
        self.lines.iter().flat_map(|line| line.suspected.iter().map(move |it| (line, it)))
    }

    /// The changes with their lines, the newest version first.
    pub(super) fn changes(&self) -> Vec<(&WatchedLine, &WatchedChange)> {
        let mut all = Vec::new();
        for line in &self.lines {
            all.extend(line.changes.iter().map(|change| (line, change)));
        }
        all.sort_by_key(|(_, change)| std::cmp::Reverse(change.at));
        all
    }
}
