//! The JSON of checked claims.

use assay_model::Setup;
use assay_verdict::{ClaimFigure, ClaimStatus};
use serde::Serialize;

use super::checked::{CheckedClaim, CheckedPart};
use super::words::{claimed, found};
use crate::data::number::Interval;

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    studies: &'a [String],
    claims: Vec<ClaimRow<'a>>,
}

#[derive(Serialize)]
struct ClaimRow<'a> {
    text: &'a str,
    source: &'a str,
    reading: Option<&'a str>,
    status: &'static str,
    parts: Vec<PartRow<'a>>,
}

#[derive(Serialize)]
struct PartRow<'a> {
    status: &'static str,
    quantity: &'static str,
    summary: Option<&'static str>,
    claimed: String,
    found: String,
    missing: &'a [String],
    as_claimed: u32,
    not_so: u32,
    undecided: u32,
    figures: Vec<FigureRow<'a>>,
}

#[derive(Serialize)]
struct FigureRow<'a> {
    study: &'a str,
    system: &'a str,
    than: Option<&'a str>,
    test: Option<&'a str>,
    tests: u32,
    #[serde(flatten)]
    setup: Setup,
    value: Option<Interval>,
    status: &'static str,
}

pub(super) fn document<'a>(list: &'a [CheckedClaim], studies: &'a [String]) -> Document<'a> {
    let claims = list.iter().map(|claim| ClaimRow {
        text: &claim.text,
        source: &claim.source,
        reading: claim.reading.as_deref(),
        status: claim.status().words(),
        parts: claim.parts.iter().map(part).collect(),
    });
    Document { schema: SCHEMA, studies, claims: claims.collect() }
}

fn part(part: &CheckedPart) -> PartRow<'_> {
    let [as_claimed, not_so, undecided] = part.checked.counts;
    PartRow {
        status: part.checked.status.words(),
        quantity: part.statement.quantity.word(),
        summary: part.statement.summary.map(|it| it.word()),
        claimed: claimed(part),
        found: found(part),
        missing: &part.missing,
        as_claimed,
        not_so,
        undecided,
        figures: part.checked.figures.iter().map(figure).collect(),
    }
}

fn figure((figure, status): &(ClaimFigure, ClaimStatus)) -> FigureRow<'_> {
    FigureRow {
        study: &figure.study,
        system: &figure.system,
        than: figure.than.as_deref(),
        test: figure.test.as_deref(),
        tests: figure.tests,
        setup: figure.setup,
        value: figure.value.map(Interval::from),
        status: status.words(),
    }
}
