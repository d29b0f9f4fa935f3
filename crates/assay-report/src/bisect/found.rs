//! The result of a search.

use std::collections::BTreeSet;

use assay_model::{BisectMeasure, BisectVersion, Estimate, Setup};

use crate::number::NONE;

#[derive(Debug, Clone, PartialEq)]
pub struct Bisection<'a> {
    pub id: &'a str,
    /// As named by the user.
    pub range: &'a str,
    pub test: &'a str,
    pub setup: Setup,
    pub measure: BisectMeasure,
    pub is_of_commits: bool,
    /// One after the other, each within the one before.
    pub ranges: Vec<SearchedRange>,
    pub comparisons: u32,
    pub builds: u32,
    pub elapsed_s: f64,
    /// Functions that changed most at the answer; `None` if nothing was counted or profiled.
    pub functions: Option<ChangedFunctions>,
    /// Plans before and after the change, if they differ.
    pub plan: Option<[String; 2]>,
    /// Commands that show or repeat the measurement, each with its purpose.
    pub commands: Vec<(&'static str, String)>,
}

/// Largest change first.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFunctions {
    pub unit: FunctionUnit,
    /// Change per operation of each function, or of several shown together. Counts have no interval.
    pub changes: Vec<(String, Estimate)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionUnit {
    Instructions,
    CpuMicroseconds,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SearchedRange {
    pub end: RangeEnd,
    pub versions: Vec<SearchedVersion>,
    /// The certain changes, in order.
    pub steps: Vec<VersionStep>,
    /// Other places of a change, the most probable first.
    pub runners_up: Vec<VersionStep>,
    /// The last version divided by the first.
    pub ends: Estimate,
    /// Probability that nothing changed.
    pub no_step: f64,
    pub several: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// All changes are certain.
    Found,
    NoStep,
    /// Further comparisons would not locate the change.
    Unsure,
    Budget,
    /// Fewer than two versions are usable.
    Nothing,
    Interrupted,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SearchedVersion {
    pub version: BisectVersion,
    /// Such as `10.11`; empty for commits.
    pub series: String,
    /// Relative to the first version, for which it is 1; `None` if it was not compared.
    pub ratio: Option<Estimate>,
    pub comparisons: u32,
    pub probability: f64,
    pub unusable: Option<String>,
    /// Source of its build, or the compiler of a commit if commits differ in it. `None` if not compared.
    pub source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VersionStep {
    /// Index of the last version before the change.
    pub after: usize,
    /// Index of the first version with the change.
    pub at: usize,
    pub probability: f64,
    /// After divided by before.
    pub ratio: Estimate,
}

impl Bisection<'_> {
    /// The range with the answer.
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

    pub(crate) fn sources(&self) -> Option<BTreeSet<&str>> {
        let sources: BTreeSet<&str> =
            self.versions.iter().filter_map(|it| it.source.as_deref()).collect();
        (sources.len() > 1).then_some(sources)
    }

    pub(crate) fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or(NONE, |it| &it.version.name)
    }
}
