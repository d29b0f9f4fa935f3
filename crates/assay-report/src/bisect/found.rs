//! What a search found.

use std::collections::BTreeSet;

use assay_model::{BisectMeasure, BisectVersion, Estimate, Setup};

use crate::number::NONE;

/// A search, so far or at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection<'a> {
    /// Its id.
    pub id: &'a str,
    /// What was searched, as the user named it.
    pub range: &'a str,
    /// The test.
    pub test: &'a str,
    /// Clients, tables, rows.
    pub setup: Setup,
    /// What versions were compared by.
    pub measure: BisectMeasure,
    /// Whether the versions are commits.
    pub is_of_commits: bool,
    /// The ranges that were searched, one after the other, each within the one before.
    pub ranges: Vec<SearchedRange>,
    /// The number of comparisons.
    pub comparisons: u32,
    /// The number of commits that were built.
    pub builds: u32,
    /// Seconds that it took.
    pub elapsed_s: f64,
    /// The functions that changed most at the version that was found; none if nothing was counted or profiled.
    pub functions: Option<ChangedFunctions>,
    /// The plans of the version before the change and of the one that has it, if they differ.
    pub plan: Option<[String; 2]>,
    /// Commands that show or measure it again, and what they are for.
    pub commands: Vec<(&'static str, String)>,
}

/// Functions that changed, the largest change first.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFunctions {
    /// What changed: instructions, or microseconds of CPU time.
    pub unit: FunctionUnit,
    /// Each function, or several that are shown together, with the change per operation. Counts have no interval.
    pub changes: Vec<(String, Estimate)>,
}

/// What functions are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionUnit {
    /// Instructions that were counted.
    Instructions,
    /// Microseconds of CPU time that were sampled.
    CpuMicroseconds,
}

/// A range that was searched.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchedRange {
    /// Why the search ended, or that it goes on.
    pub end: RangeEnd,
    /// The versions, in order.
    pub versions: Vec<SearchedVersion>,
    /// The changes that are certain, in order.
    pub steps: Vec<VersionStep>,
    /// Other places of a change, the most probable one first.
    pub runners_up: Vec<VersionStep>,
    /// The last version divided by the first one.
    pub ends: Estimate,
    /// The probability that nothing changed.
    pub no_step: f64,
    /// The probability of several changes.
    pub several: f64,
}

/// Why a search of a range ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// All changes are known with certainty.
    Found,
    /// The ends do not differ with certainty.
    NoStep,
    /// No further comparison tells the place.
    Unsure,
    /// The comparisons that the budget allows do not tell the place.
    Budget,
    /// Fewer than two versions can be used.
    Nothing,
    /// It was interrupted.
    Interrupted,
}

/// A version of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchedVersion {
    /// Its name.
    pub version: BisectVersion,
    /// Its series, such as `10.11`; empty for commits.
    pub series: String,
    /// Its value divided by that of the first version; `None` if it was not compared. 1 for the first version.
    pub ratio: Option<Estimate>,
    /// How often it was compared.
    pub comparisons: u32,
    /// The probability that it made a change.
    pub probability: f64,
    /// Why it cannot be used.
    pub unusable: Option<String>,
    /// The source of its build, or what a commit was compiled with, if not all commits have that in common. `None` if
    /// it was not compared.
    pub source: Option<String>,
}

/// A change between two versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VersionStep {
    /// Index of the last version before the change.
    pub after: usize,
    /// Index of the first version that has it.
    pub at: usize,
    /// The probability that it is here.
    pub probability: f64,
    /// The ratio of what is after the change to what is before it.
    pub ratio: Estimate,
}

impl Bisection<'_> {
    /// The last range, in which the answer is.
    pub(crate) fn last(&self) -> Option<&SearchedRange> {
        self.ranges.last()
    }

    /// The largest change of the last range, if all of its changes are certain.
    #[must_use]
    pub fn found(&self) -> Option<(&SearchedVersion, VersionStep)> {
        let range = self.last().filter(|range| range.end == RangeEnd::Found)?;
        let step = range.largest()?;
        Some((range.versions.get(step.at)?, step))
    }
}

impl SearchedRange {
    /// The largest change that is certain.
    #[must_use]
    pub fn largest(&self) -> Option<VersionStep> {
        let size = |step: &&VersionStep| step.ratio.value.ln().abs();
        self.steps.iter().max_by(|a, b| size(a).total_cmp(&size(b))).copied()
    }

    /// Whether the search ended without certainty although a change is more probable than none.
    #[must_use]
    pub fn is_suspicious(&self) -> bool {
        let is_uncertain =
            matches!(self.end, RangeEnd::NoStep | RangeEnd::Unsure | RangeEnd::Budget);
        is_uncertain && self.no_step < 0.5
    }

    /// The sources of the versions that were compared, if there are several.
    pub(crate) fn sources(&self) -> Option<BTreeSet<&str>> {
        let sources: BTreeSet<&str> =
            self.versions.iter().filter_map(|it| it.source.as_deref()).collect();
        (sources.len() > 1).then_some(sources)
    }

    pub(crate) fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or(NONE, |it| &it.version.name)
    }
}
