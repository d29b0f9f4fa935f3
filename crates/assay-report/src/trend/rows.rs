//! JSON and CSV of a trend.

use assay_model::Setup;
use assay_verdict::{Shift, TrendLine, TrendPoint};
use serde::Serialize;

use super::words::{Trend, all};
use crate::data::csv;
use crate::data::number::{Interval, Number};
use crate::words::rfc3339;

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    test: &'a str,
    studies: usize,
    lines: Vec<LineRow<'a>>,
}

#[derive(Serialize)]
struct LineRow<'a> {
    family: &'a str,
    base: &'a str,
    machine: &'a str,
    work: &'a str,
    #[serde(flatten)]
    setup: Setup,
    points: Vec<PointRow<'a>>,
    /// Values with only a known bound, because a side did not answer. They are ignored in `changes`.
    bounds: Vec<PointRow<'a>>,
    /// Null if a value has no interval, so that nothing can be concluded.
    changes: Option<Vec<ChangeRow>>,
}

#[derive(Serialize)]
struct PointRow<'a> {
    study: &'a str,
    /// Null for published results.
    started: Option<String>,
    system: &'a str,
    version: &'a str,
    rqps: Interval,
    qps: Option<Interval>,
    /// Null for published results.
    verdict: Option<&'static str>,
    /// Null for published results.
    disturbed: Option<bool>,
}

#[derive(Serialize)]
struct ChangeRow {
    /// Number of the first value after the change, from 0.
    at: usize,
    ratio: Interval,
    confidence: Number,
    placed: Number,
}

pub(super) fn document<'a>(trend: &Trend<'a>) -> Document<'a> {
    let lines = trend.lines.iter().map(line).collect();
    Document { schema: SCHEMA, test: trend.test, studies: trend.studies, lines }
}

fn line(line: &TrendLine) -> LineRow<'_> {
    LineRow {
        family: &line.terms.family,
        base: &line.terms.base,
        machine: &line.terms.machine,
        work: &line.terms.work,
        setup: line.terms.setup,
        points: line.points.iter().map(point).collect(),
        bounds: line.bounds.iter().map(point).collect(),
        changes: line.shifts.as_ref().map(|shifts| shifts.iter().map(change).collect()),
    }
}

fn point(point: &TrendPoint) -> PointRow<'_> {
    PointRow {
        study: &point.study,
        started: rfc3339(point.started_ms).filter(|_| !point.is_reported),
        system: &point.system,
        version: &point.version,
        rqps: point.rqps.into(),
        qps: point.qps.map(Interval::from),
        verdict: (!point.is_reported).then(|| point.verdict.word()),
        disturbed: (!point.is_reported).then_some(point.is_disturbed),
    }
}

fn change(shift: &Shift) -> ChangeRow {
    ChangeRow {
        at: shift.at,
        ratio: shift.ratio.into(),
        confidence: shift.confidence.into(),
        placed: shift.placed.into(),
    }
}

const COLUMNS: [csv::Column; 19] = [
    ("test", "/test"),
    ("family", "/family"),
    ("base", "/base"),
    ("machine", "/machine"),
    ("work", "/work"),
    ("clients", "/clients"),
    ("tables", "/tables"),
    ("rows", "/rows"),
    ("study", "/study"),
    ("started", "/started"),
    ("system", "/system"),
    ("version", "/version"),
    ("rqps", "/rqps/value"),
    ("rqps_low", "/rqps/low"),
    ("rqps_high", "/rqps/high"),
    ("qps", "/qps/value"),
    ("verdict", "/verdict"),
    ("disturbed", "/disturbed"),
    ("is_change", "/is_change"),
];

#[derive(Serialize)]
struct ValueRow<'a> {
    test: &'a str,
    family: &'a str,
    base: &'a str,
    machine: &'a str,
    work: &'a str,
    #[serde(flatten)]
    setup: Setup,
    #[serde(flatten)]
    point: PointRow<'a>,
    is_change: bool,
}

pub(super) fn table(trend: &Trend<'_>) -> String {
    let values = trend.lines.iter().flat_map(|line| {
        all(line).map(|(value, is_change)| ValueRow {
            test: trend.test,
            family: &line.terms.family,
            base: &line.terms.base,
            machine: &line.terms.machine,
            work: &line.terms.work,
            setup: line.terms.setup,
            point: point(value),
            is_change,
        })
    });
    csv::table(&COLUMNS, values)
}
