//! Lines of comparable values, and where they change. Pure and seeded: no I/O, no clock.

use assay_model::{CellId, StudyRecord, System, Verdict};
use assay_verdict::{ComparableLine, ComparablePoint, ComparableTerms, Judgement, comparable};

use crate::shifts::{Shift, TrendValue, shifts};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrendLine {
    pub(crate) terms: ComparableTerms,
    pub(crate) points: Vec<ComparablePoint>,
    /// Values with only a bound. Among the points, they would hide all changes.
    pub(crate) bounds: Vec<ComparablePoint>,
    /// Where it changed. `None` if unknown: a value has no interval, or there are more than
    /// [`MOST`](crate::shifts::MOST) of them.
    pub(crate) shifts: Option<Vec<Shift>>,
}

impl TrendLine {
    fn new(ComparableLine { terms, points, bounds }: ComparableLine) -> Self {
        let mut studies: Vec<&str> = points.iter().map(|it| it.study.as_str()).collect();
        studies.sort_unstable();
        studies.dedup();
        let number = |study: &str| studies.binary_search(&study).unwrap_or(0);
        let values = points.iter().map(|point| TrendValue {
            rqps: point.rqps,
            study: number(&point.study),
            is_doubtful: is_doubtful(point),
        });
        let shifts = shifts(&values.collect::<Vec<_>>(), 1);
        Self { terms, points, bounds, shifts }
    }
}

/// Whether its study could not decide. Such a value counts with a larger error, none of which is attributed to its
/// base.
pub(crate) fn is_doubtful(point: &ComparablePoint) -> bool {
    !point.is_reported
        && (point.is_disturbed || matches!(point.verdict, Verdict::Undecided | Verdict::Uneven))
}

/// Lines of a test, with changes. `is_meant` selects cells and systems.
pub(crate) fn lines(
    studies: &[(&StudyRecord, &Judgement)],
    is_meant: impl Fn(CellId, &System) -> bool,
) -> Vec<TrendLine> {
    comparable(studies, is_meant).into_iter().map(TrendLine::new).collect()
}
