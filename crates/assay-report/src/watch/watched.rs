//! The results of a watch.

use assay_model::{BisectMeasure, BisectVersion, Estimate, Setup};

use crate::bisect::VersionStep;
use crate::number::NONE;

#[derive(Debug, Clone, PartialEq)]
pub struct Watched<'a> {
    /// As named by the user.
    pub range: String,
    pub is_of_commits: bool,
    /// All existing versions, in order. The first one is the baseline.
    pub versions: &'a [BisectVersion],
    pub new: Vec<usize>,
    pub lines: Vec<WatchedLine>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WatchedLine {
    pub test: String,
    pub setup: Setup,
    pub measure: BisectMeasure,
    /// In order of version.
    pub values: Vec<WatchedValue>,
    /// In the order in which they were searched for.
    pub changes: Vec<WatchedChange>,
    /// Suspected but uncertain changes.
    pub suspected: Vec<WatchedSuspicion>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchedValue {
    pub version: usize,
    pub ratio: Estimate,
    pub studies: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WatchedChange {
    /// The last version without the change.
    pub after: usize,
    /// The first version with the change.
    pub at: usize,
    /// Size and probability; the versions of the step are those of the search.
    pub step: VersionStep,
    pub search: String,
    pub is_new: bool,
}

/// A change that a search suspects between its ends.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedSuspicion {
    /// The last version without the change.
    pub after: usize,
    /// A version with the change.
    pub at: usize,
    pub ratio: Estimate,
    pub probability: f64,
    pub search: String,
}

impl Watched<'_> {
    pub(super) fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or(NONE, |it| &it.name)
    }

    pub(super) fn suspected(&self) -> impl Iterator<Item = (&WatchedLine, &WatchedSuspicion)> {
        self.lines.iter().flat_map(|line| line.suspected.iter().map(move |it| (line, it)))
    }

    /// With their lines, the newest version first.
    pub(super) fn changes(&self) -> Vec<(&WatchedLine, &WatchedChange)> {
        let mut all = Vec::new();
        for line in &self.lines {
            all.extend(line.changes.iter().map(|change| (line, change)));
        }
        all.sort_by_key(|(_, change)| std::cmp::Reverse(change.at));
        all
    }
}
