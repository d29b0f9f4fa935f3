//! How many queries one event is, by class.

use assay_model::Kind;

/// Queries by class: decided by a statement's result, not by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryCounts {
    /// Returned a result set.
    pub read: u64,
    /// Changed at least one row.
    pub write: u64,
    /// Did neither.
    pub other: u64,
}

impl QueryCounts {
    /// All queries.
    #[must_use]
    pub fn total(self) -> u64 {
        self.read + self.write + self.other
    }
}

/// Queries of one event that meets no error. A `delete` that finds its row gone is one `other`
/// instead of one `write`.
#[must_use]
pub fn queries_per_event(kind: Kind) -> QueryCounts {
    let (read, write, other) = match kind {
        Kind::UpdateInlist
        | Kind::UpdateIndex
        | Kind::UpdateNonindex
        | Kind::UpdateOne
        | Kind::UpdateZipf
        | Kind::Delete
        | Kind::Insert => (0, 1, 0),
        Kind::WriteOnly => (0, 4, 2),
        Kind::ReadWrite => (14, 4, 2),
        Kind::ReadOnly => (14, 0, 2),
        Kind::ReadOnlySimple | Kind::ReadOnlySum | Kind::ReadOnlyOrder | Kind::ReadOnlyDistinct => {
            (11, 0, 2)
        }
        Kind::Scan
        | Kind::ReadOnlyCount
        | Kind::PointQuery
        | Kind::RandomPoints
        | Kind::HotPoints
        | Kind::PointsCoveredPk
        | Kind::PointsNotcoveredPk
        | Kind::RangeCoveredPk
        | Kind::RangeNotcoveredPk
        | Kind::PointsCoveredSi
        | Kind::PointsNotcoveredSi
        | Kind::RangeCoveredSi
        | Kind::RangeNotcoveredSi => (1, 0, 0),
    };
    QueryCounts { read, write, other }
}
