//! JSON and CSV of a study beside another one.

use assay_model::StudyRecord;
use assay_verdict::{Agreement, TestBeside};
use serde::Serialize;

use super::words::word;
use crate::data::csv;
use crate::data::number::{Interval, Number};
use crate::view::beside::{Beside, Pair};

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    ours: &'a str,
    theirs: &'a str,
    differences: &'a [String],
    pairs: Vec<PairRow<'a>>,
}

#[derive(Serialize)]
struct PairRow<'a> {
    base: &'a str,
    system: &'a str,
    their_base: &'a str,
    their_system: &'a str,
    /// Of the logarithms of relative QPS.
    correlation: Option<Interval>,
    /// Root mean square of the logarithm of the quotient.
    rms_log: Number,
    agrees: usize,
    differs: usize,
    /// Tests whose intervals are too wide for a disagreement.
    too_wide: usize,
    unknown: usize,
    tests: Vec<TestRow<'a>>,
    groups: Vec<GroupRow<'a>>,
}

#[derive(Serialize)]
struct TestRow<'a> {
    test: &'a str,
    group: &'a str,
    clients: u32,
    tables: u32,
    rows: u32,
    rqps: Interval,
    their_rqps: Interval,
    /// `rqps` divided by `their_rqps`.
    quotient: Interval,
    agreement: &'static str,
}

#[derive(Serialize)]
struct GroupRow<'a> {
    group: &'a str,
    clients: u32,
    tables: u32,
    rows: u32,
    n: u32,
    median: Number,
    min: Number,
    max: Number,
    their_median: Number,
    their_min: Number,
    their_max: Number,
}

pub(super) fn document<'a>(beside: &'a Beside<'a>) -> Document<'a> {
    let name = |record: &'a StudyRecord, index: usize| {
        record.systems.get(index).map_or("", |system| system.name.as_str())
    };
    let pair = |pair: &'a Pair<'a>| {
        let found = &pair.found;
        let count = |kind| found.tests.iter().filter(|test| test.agreement == kind).count();
        PairRow {
            base: name(beside.ours, found.ours[0]),
            system: name(beside.ours, found.ours[1]),
            their_base: name(beside.theirs, found.theirs[0]),
            their_system: name(beside.theirs, found.theirs[1]),
            correlation: found.correlation.map(Into::into),
            rms_log: Number(found.rms),
            agrees: count(Agreement::Agrees),
            differs: count(Agreement::Differs),
            too_wide: count(Agreement::TooWide),
            unknown: count(Agreement::Unknown),
            tests: found.tests.iter().map(test_row).collect(),
            groups: (found.groups.iter())
                .map(|it| GroupRow {
                    group: &it.group.word,
                    clients: it.setup.clients,
                    tables: it.setup.tables,
                    rows: it.setup.rows,
                    n: it.tests,
                    median: it.ours.into(),
                    min: it.our_range[0].into(),
                    max: it.our_range[1].into(),
                    their_median: it.theirs.into(),
                    their_min: it.their_range[0].into(),
                    their_max: it.their_range[1].into(),
                })
                .collect(),
        }
    };
    Document {
        schema: SCHEMA,
        ours: &beside.ours.study.id,
        theirs: &beside.theirs.study.id,
        differences: &beside.differences,
        pairs: beside.pairs.iter().map(pair).collect(),
    }
}

fn test_row(test: &TestBeside) -> TestRow<'_> {
    let setup = test.cell.setup;
    TestRow {
        test: &test.cell.test.definition().name,
        group: &test.group.word,
        clients: setup.clients,
        tables: setup.tables,
        rows: setup.rows,
        rqps: test.ours.into(),
        their_rqps: test.theirs.into(),
        quotient: test.quotient.into(),
        agreement: word(test.agreement),
    }
}

const COLUMNS: [csv::Column; 19] = [
    ("base", "/base"),
    ("system", "/system"),
    ("their_base", "/their_base"),
    ("their_system", "/their_system"),
    ("test", "/test"),
    ("group", "/group"),
    ("clients", "/clients"),
    ("tables", "/tables"),
    ("rows", "/rows"),
    ("rqps", "/rqps/value"),
    ("rqps_low", "/rqps/low"),
    ("rqps_high", "/rqps/high"),
    ("their_rqps", "/their_rqps/value"),
    ("their_rqps_low", "/their_rqps/low"),
    ("their_rqps_high", "/their_rqps/high"),
    ("quotient", "/quotient/value"),
    ("quotient_low", "/quotient/low"),
    ("quotient_high", "/quotient/high"),
    ("agreement", "/agreement"),
];

#[derive(Serialize)]
struct Line<'a> {
    base: &'a str,
    system: &'a str,
    their_base: &'a str,
    their_system: &'a str,
    #[serde(flatten)]
    test: TestRow<'a>,
}

pub(super) fn table(beside: &Beside) -> String {
    let lines = document(beside).pairs.into_iter().flat_map(|pair| {
        let PairRow { base, system, their_base, their_system, tests, .. } = pair;
        let line = move |test| Line { base, system, their_base, their_system, test };
        tests.into_iter().map(line)
    });
    csv::table(&COLUMNS, lines)
}
