//! The microbenchmarks: identity, published name, group, order and sets. What they send is in `assay-workloads`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The work of a microbenchmark, without its range size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the variants are the published names")]
pub enum Kind {
    UpdateInlist,
    UpdateIndex,
    UpdateNonindex,
    UpdateOne,
    UpdateZipf,
    WriteOnly,
    ReadWrite,
    Scan,
    ReadOnly,
    ReadOnlySimple,
    ReadOnlySum,
    ReadOnlyOrder,
    ReadOnlyDistinct,
    ReadOnlyCount,
    PointQuery,
    RandomPoints,
    HotPoints,
    PointsCoveredPk,
    PointsNotcoveredPk,
    RangeCoveredPk,
    RangeNotcoveredPk,
    PointsCoveredSi,
    PointsNotcoveredSi,
    RangeCoveredSi,
    RangeNotcoveredSi,
    Delete,
    Insert,
}

impl Kind {
    /// The published name without range and `.pre`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UpdateInlist => "update-inlist",
            Self::UpdateIndex => "update-index",
            Self::UpdateNonindex => "update-nonindex",
            Self::UpdateOne => "update-one",
            Self::UpdateZipf => "update-zipf",
            Self::WriteOnly => "write-only",
            Self::ReadWrite => "read-write",
            Self::Scan => "scan",
            Self::ReadOnly => "read-only",
            Self::ReadOnlySimple => "read-only-simple",
            Self::ReadOnlySum => "read-only-sum",
            Self::ReadOnlyOrder => "read-only-order",
            Self::ReadOnlyDistinct => "read-only-distinct",
            Self::ReadOnlyCount => "read-only-count",
            Self::PointQuery => "point-query",
            Self::RandomPoints => "random-points",
            Self::HotPoints => "hot-points",
            Self::PointsCoveredPk => "points-covered-pk",
            Self::PointsNotcoveredPk => "points-notcovered-pk",
            Self::RangeCoveredPk => "range-covered-pk",
            Self::RangeNotcoveredPk => "range-notcovered-pk",
            Self::PointsCoveredSi => "points-covered-si",
            Self::PointsNotcoveredSi => "points-notcovered-si",
            Self::RangeCoveredSi => "range-covered-si",
            Self::RangeNotcoveredSi => "range-notcovered-si",
            Self::Delete => "delete",
            Self::Insert => "insert",
        }
    }
}

/// Whether a microbenchmark changes data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Leaves the data as it was; slices are bounded by time.
    Read,
    /// Changes the data; slices are bounded by a number of events, so that all systems have the same history.
    Write,
}

/// Which data an instance must start from before a microbenchmark may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartFrom {
    /// Loaded and maintained, nothing written since: `.pre` tests and the eight writes that come first.
    Fresh,
    /// After a fixed number of events of those eight writes, then maintained: the reads after, `delete`, `insert`.
    Aged,
}

/// The published grouping of microbenchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Group {
    /// Point queries (sets 27, 32 and 47).
    #[serde(rename = "point")]
    Point,
    /// Point queries without random-points (set 42).
    #[serde(rename = "point-1")]
    Point1,
    /// random-points (set 42).
    #[serde(rename = "point-2")]
    Point2,
    /// Range queries without aggregation.
    #[serde(rename = "range-1")]
    Range1,
    /// Range queries with aggregation.
    #[serde(rename = "range-2")]
    Range2,
    /// Writes.
    #[serde(rename = "writes")]
    Writes,
}

impl Group {
    /// The word used in every output format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Point1 => "point-1",
            Self::Point2 => "point-2",
            Self::Range1 => "range-1",
            Self::Range2 => "range-2",
            Self::Writes => "writes",
        }
    }

    /// What the group is, in words, for headings.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Point => "point queries",
            Self::Point1 => "point queries, part 1",
            Self::Point2 => "point queries, part 2",
            Self::Range1 => "range queries without aggregation",
            Self::Range2 => "range queries with aggregation",
            Self::Writes => "writes",
        }
    }
}

/// One microbenchmark of the published sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Microbenchmark {
    /// The work.
    pub kind: Kind,
    /// The published range label R; some kinds ignore it.
    pub range: u32,
    /// Run before any write test has touched the data.
    pub pre: bool,
}

/// A published selection of microbenchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TestSet {
    /// March 2025, without `.pre` and without read-only-{simple,sum,order,distinct,count}.
    #[serde(rename = "27")]
    Set27,
    /// Since April 2025, without `.pre`. The default.
    #[serde(rename = "32")]
    Set32,
    /// April 2024 to March 2025, with 15 `.pre`.
    #[serde(rename = "42")]
    Set42,
    /// All.
    #[serde(rename = "47")]
    Set47,
}

const fn test(kind: Kind, range: u32) -> Microbenchmark {
    Microbenchmark { kind, range, pre: false }
}

const fn pre(kind: Kind, range: u32) -> Microbenchmark {
    Microbenchmark { kind, range, pre: true }
}

impl Microbenchmark {
    /// The 32 in the order of the sequence run since April 2025 (mytools, June 2026).
    pub const SET_32: [Self; 32] = [
        test(Kind::UpdateInlist, 100),
        test(Kind::UpdateIndex, 100),
        test(Kind::UpdateNonindex, 100),
        test(Kind::UpdateOne, 100),
        test(Kind::UpdateZipf, 100),
        test(Kind::WriteOnly, 10000),
        test(Kind::ReadWrite, 10),
        test(Kind::ReadWrite, 100),
        test(Kind::Scan, 100),
        test(Kind::ReadOnly, 10),
        test(Kind::ReadOnly, 100),
        test(Kind::ReadOnly, 10000),
        test(Kind::ReadOnlySimple, 1000),
        test(Kind::ReadOnlySum, 1000),
        test(Kind::ReadOnlyOrder, 1000),
        test(Kind::ReadOnlyDistinct, 1000),
        test(Kind::ReadOnlyCount, 1000),
        test(Kind::PointQuery, 100),
        test(Kind::RandomPoints, 10),
        test(Kind::RandomPoints, 100),
        test(Kind::RandomPoints, 1000),
        test(Kind::HotPoints, 100),
        test(Kind::PointsCoveredPk, 100),
        test(Kind::PointsNotcoveredPk, 100),
        test(Kind::RangeCoveredPk, 100),
        test(Kind::RangeNotcoveredPk, 100),
        test(Kind::PointsCoveredSi, 100),
        test(Kind::PointsNotcoveredSi, 100),
        test(Kind::RangeCoveredSi, 100),
        test(Kind::RangeNotcoveredSi, 100),
        test(Kind::Delete, 100),
        test(Kind::Insert, 100),
    ];

    /// All 47 in order: the sequence of 42 with the five read-only-<kind> after the read-only that follow the writes.
    pub const ALL: [Self; 47] = [
        pre(Kind::PointQuery, 100),
        pre(Kind::RandomPoints, 10),
        pre(Kind::RandomPoints, 100),
        pre(Kind::RandomPoints, 1000),
        pre(Kind::ReadOnly, 10),
        pre(Kind::ReadOnly, 100),
        pre(Kind::ReadOnly, 10000),
        pre(Kind::PointsCoveredPk, 100),
        pre(Kind::PointsNotcoveredPk, 100),
        pre(Kind::PointsCoveredSi, 100),
        pre(Kind::PointsNotcoveredSi, 100),
        pre(Kind::RangeCoveredPk, 100),
        pre(Kind::RangeNotcoveredPk, 100),
        pre(Kind::RangeCoveredSi, 100),
        pre(Kind::RangeNotcoveredSi, 100),
        test(Kind::UpdateInlist, 100),
        test(Kind::UpdateIndex, 100),
        test(Kind::UpdateNonindex, 100),
        test(Kind::UpdateOne, 100),
        test(Kind::UpdateZipf, 100),
        test(Kind::WriteOnly, 10000),
        test(Kind::ReadWrite, 10),
        test(Kind::ReadWrite, 100),
        test(Kind::ReadOnly, 10),
        test(Kind::ReadOnly, 100),
        test(Kind::ReadOnly, 10000),
        test(Kind::ReadOnlySimple, 1000),
        test(Kind::ReadOnlySum, 1000),
        test(Kind::ReadOnlyOrder, 1000),
        test(Kind::ReadOnlyDistinct, 1000),
        test(Kind::ReadOnlyCount, 1000),
        test(Kind::PointQuery, 100),
        test(Kind::RandomPoints, 10),
        test(Kind::RandomPoints, 100),
        test(Kind::RandomPoints, 1000),
        test(Kind::HotPoints, 100),
        test(Kind::PointsCoveredPk, 100),
        test(Kind::PointsNotcoveredPk, 100),
        test(Kind::PointsCoveredSi, 100),
        test(Kind::PointsNotcoveredSi, 100),
        test(Kind::RangeCoveredPk, 100),
        test(Kind::RangeNotcoveredPk, 100),
        test(Kind::RangeCoveredSi, 100),
        test(Kind::RangeNotcoveredSi, 100),
        test(Kind::Scan, 100),
        test(Kind::Delete, 100),
        test(Kind::Insert, 100),
    ];

    /// The published name: `scan`, `read-only_range=10`, `point-query.pre`.
    ///
    /// The range is part of the name only where a test exists at several ranges.
    #[must_use]
    pub fn name(self) -> String {
        let suffix = if self.pre { ".pre" } else { "" };
        if matches!(self.kind, Kind::ReadOnly | Kind::ReadWrite | Kind::RandomPoints) {
            format!("{}{suffix}_range={}", self.kind.name(), self.range)
        } else {
            format!("{}{suffix}", self.kind.name())
        }
    }

    /// Whether it changes data.
    #[must_use]
    pub fn class(self) -> Class {
        match self.kind {
            Kind::UpdateInlist
            | Kind::UpdateIndex
            | Kind::UpdateNonindex
            | Kind::UpdateOne
            | Kind::UpdateZipf
            | Kind::WriteOnly
            | Kind::ReadWrite
            | Kind::Delete
            | Kind::Insert => Class::Write,
            _ => Class::Read,
        }
    }

    /// Which data it must start from.
    #[must_use]
    pub fn start_from(self) -> StartFrom {
        let early_write =
            self.class() == Class::Write && !matches!(self.kind, Kind::Delete | Kind::Insert);
        if self.pre || early_write { StartFrom::Fresh } else { StartFrom::Aged }
    }

    /// The group in tables of the given set.
    #[must_use]
    pub fn group(self, set: TestSet) -> Group {
        match self.kind {
            _ if self.class() == Class::Write => Group::Writes,
            Kind::Scan
            | Kind::RangeCoveredPk
            | Kind::RangeNotcoveredPk
            | Kind::RangeCoveredSi
            | Kind::RangeNotcoveredSi => Group::Range1,
            Kind::ReadOnly
            | Kind::ReadOnlySimple
            | Kind::ReadOnlySum
            | Kind::ReadOnlyOrder
            | Kind::ReadOnlyDistinct
            | Kind::ReadOnlyCount => Group::Range2,
            kind => match set {
                TestSet::Set27 | TestSet::Set32 => Group::Point,
                TestSet::Set42 | TestSet::Set47 if kind == Kind::RandomPoints => Group::Point2,
                TestSet::Set42 | TestSet::Set47 => Group::Point1,
            },
        }
    }

    /// The microbenchmark with that published name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.name() == name)
    }
}

impl fmt::Display for Microbenchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl TestSet {
    /// The microbenchmarks of the set in the order in which they run.
    #[must_use]
    pub fn tests(self) -> Vec<Microbenchmark> {
        let is_single_kind = |kind| {
            matches!(
                kind,
                Kind::ReadOnlySimple
                    | Kind::ReadOnlySum
                    | Kind::ReadOnlyOrder
                    | Kind::ReadOnlyDistinct
                    | Kind::ReadOnlyCount
            )
        };
        match self {
            Self::Set27 => {
                Microbenchmark::SET_32.into_iter().filter(|t| !is_single_kind(t.kind)).collect()
            }
            Self::Set32 => Microbenchmark::SET_32.to_vec(),
            Self::Set42 => {
                Microbenchmark::ALL.into_iter().filter(|t| !is_single_kind(t.kind)).collect()
            }
            Self::Set47 => Microbenchmark::ALL.to_vec(),
        }
    }

    /// How many tests the set has: also its name.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Set27 => 27,
            Self::Set32 => 32,
            Self::Set42 => 42,
            Self::Set47 => 47,
        }
    }

    /// Never: here because clippy expects it beside `len`.
    #[must_use]
    pub fn is_empty(self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_published_sizes() {
        for set in [TestSet::Set27, TestSet::Set32, TestSet::Set42, TestSet::Set47] {
            assert_eq!(set.tests().len(), set.len());
        }
    }

    /// Sizes of published tables: 9/5/8/10 of the 32, 11/6/9/6/10 of the 42.
    #[test]
    fn groups_have_the_published_sizes() {
        let count = |set: TestSet, group| {
            set.tests().into_iter().filter(|test| test.group(set) == group).count()
        };
        let sizes_32 = [Group::Point, Group::Range1, Group::Range2, Group::Writes]
            .map(|group| count(TestSet::Set32, group));
        assert_eq!(sizes_32, [9, 5, 8, 10]);
        let sizes_42 = [Group::Point1, Group::Point2, Group::Range1, Group::Range2, Group::Writes]
            .map(|group| count(TestSet::Set42, group));
        assert_eq!(sizes_42, [11, 6, 9, 6, 10]);
    }

    #[test]
    fn names_are_unique_and_found_again() {
        for test in Microbenchmark::ALL {
            assert_eq!(Microbenchmark::by_name(&test.name()), Some(test));
        }
    }
}
