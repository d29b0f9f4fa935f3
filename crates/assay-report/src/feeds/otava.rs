//! Apache Otava's CSV: a history, one row per study, in the order of time.
//!
//! The history has the studies comparable with the named one: the same work on the same machine, divided by the QPS of
//! the same binaries. Otava refuses a metric with a gap, so the studies and columns with most gaps are left out, and
//! named, until the table is a full rectangle.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{CellId, printable};
use assay_verdict::{ComparableLine, ComparablePoint, comparable};

use super::feed::{Feed, FeedRender, FeedStudy, FeedText, test_path};
use crate::data::csv;
use crate::number::Digits;
use crate::words::rfc3339;

pub(super) static FEED: Feed = Feed {
    word: "otava",
    about: "For Apache Otava: the history of the study as CSV, a row for each comparable study",
    reader: "[Apache Otava](https://otava.apache.org), data source `csv`",
    endings: &[".otava.csv"],
    undecided: "the estimate, with its interval in the columns `rqps_low` and `rqps_high`; the verdict in `verdict`",
    failed: "the study or the column is left out, whichever loses less",
    render: FeedRender::History(render),
};

struct OtavaColumn<'a> {
    /// The number of the test keeps the order of the tests.
    key: (usize, String),
    by_study: BTreeMap<&'a str, &'a ComparablePoint>,
}

struct OtavaHistory<'a> {
    /// Times and ids of the studies, in their order.
    studies: Vec<(i64, &'a str)>,
    columns: Vec<OtavaColumn<'a>>,
    base: &'a str,
}

fn render(studies: &[FeedStudy<'_>], study: &str) -> FeedText {
    let lines = lines(studies, study);
    let mut history = history(&lines);
    let left_out = history.fill();
    FeedText { text: history.table(), left_out }
}

/// Lines with a value of the study, with the number and the name of their test.
fn lines(studies: &[FeedStudy<'_>], study: &str) -> Vec<(usize, String, ComparableLine)> {
    let measured: Vec<FeedStudy<'_>> =
        studies.iter().copied().filter(|(record, _)| !record.is_reported()).collect();
    let named = measured.iter().find(|(record, _)| record.study.id == study);
    let cells = named.map(|(record, _)| record.study.cells.as_slice()).unwrap_or_default();
    let of_cell = |(number, id): (usize, CellId)| {
        let is_it = |cell: CellId| cell.test.name() == id.test.name() && cell.setup == id.setup;
        let found = comparable(&measured, |cell, _| is_it(cell));
        let has_study = |line: &ComparableLine| line.points.iter().any(|it| it.study == study);
        let path = test_path(id.test.name(), id.setup);
        found.into_iter().filter(has_study).map(move |line| (number, path.clone(), line))
    };
    cells.iter().map(|it| it.id).enumerate().flat_map(of_cell).collect()
}

fn history(lines: &[(usize, String, ComparableLine)]) -> OtavaHistory<'_> {
    let crowded = crowded(lines);
    let mut studies: BTreeSet<(i64, &str)> = BTreeSet::new();
    let mut columns: BTreeMap<(usize, String), BTreeMap<&str, &ComparablePoint>> = BTreeMap::new();
    for (number, path, line) in lines {
        for point in &line.points {
            let family = line.terms.family.as_str();
            let name = if crowded.contains(family) { point.system.as_str() } else { family };
            let key = (*number, format!("{}/{path}", printable(name)));
            columns.entry(key).or_default().insert(&point.study, point);
            studies.insert((point.started_ms, &point.study));
        }
    }
    OtavaHistory {
        studies: studies.into_iter().collect(),
        columns: columns.into_iter().map(|(key, by_study)| OtavaColumn { key, by_study }).collect(),
        base: lines.first().map(|(.., line)| line.terms.base.as_str()).unwrap_or_default(),
    }
}

/// Families with several systems in a study. Their columns are named by system, all others by family, which stays when
/// a version changes.
fn crowded(lines: &[(usize, String, ComparableLine)]) -> BTreeSet<&str> {
    let is_crowded = |line: &&ComparableLine| {
        let mut studies = BTreeSet::new();
        !line.points.iter().all(|point| studies.insert(point.study.as_str()))
    };
    let lines = lines.iter().map(|(.., line)| line).filter(is_crowded);
    lines.map(|line| line.terms.family.as_str()).collect()
}

impl OtavaHistory<'_> {
    /// Leaves out studies and columns until no value is missing, those that lack the largest share first; returns
    /// messages.
    fn fill(&mut self) -> Vec<String> {
        let mut left_out = Vec::new();
        loop {
            let gaps_of_study = |(at, (_, study)): (usize, &(i64, &str))| {
                (self.columns.iter().filter(|it| !it.by_study.contains_key(study)).count(), at)
            };
            let gaps_of_column = |(at, column): (usize, &OtavaColumn<'_>)| {
                let lacks = |(_, study): &&(i64, &str)| !column.by_study.contains_key(study);
                (self.studies.iter().filter(lacks).count(), at)
            };
            let study = self.studies.iter().enumerate().map(gaps_of_study).max();
            let column = self.columns.iter().enumerate().map(gaps_of_column).max();
            let (Some((of_study, study)), Some((of_column, column))) = (study, column) else {
                return left_out;
            };
            if of_column == 0 {
                return left_out;
            }
            // Compares a share of a row with a share of a column.
            if of_study * self.studies.len() > of_column * self.columns.len() {
                let (_, id) = self.studies.remove(study);
                let columns = self.columns.len();
                left_out.push(format!(
                    "study {}: {of_study} of {columns} values are missing",
                    printable(id)
                ));
            } else {
                let (_, name) = self.columns.remove(column).key;
                let studies = self.studies.len();
                left_out.push(format!("{name}: {of_column} of {studies} studies have no value"));
            }
        }
    }

    fn table(&self) -> String {
        let figures = self.columns.iter().flat_map(|column| {
            let (_, name) = &column.key;
            ["rqps", "rqps_low", "rqps_high", "verdict"].map(|it| format!("{name}/{it}"))
        });
        let names =
            ["time", "study", "version", "base"].map(str::to_owned).into_iter().chain(figures);
        let rows = self.studies.iter().map(|&(ms, study)| self.row(ms, study));
        csv::text(std::iter::once(names.collect()).chain(rows))
    }

    fn row(&self, ms: i64, study: &str) -> Vec<String> {
        let points: Vec<&ComparablePoint> = (self.columns.iter())
            .filter_map(|column| column.by_study.get(study).copied())
            .collect();
        let mut versions: Vec<&str> = Vec::new();
        for point in &points {
            if !versions.contains(&point.version.as_str()) {
                versions.push(&point.version);
            }
        }
        let digits =
            |value: f64| Digits::from_value(value).map_or_else(String::new, |it| it.to_string());
        let mut row = vec![
            rfc3339(ms).unwrap_or_default(),
            study.to_owned(),
            versions.join(" "),
            self.base.to_owned(),
        ];
        row.extend(points.into_iter().flat_map(|point| {
            let rqps = [point.rqps.value, point.rqps.low, point.rqps.high].map(digits);
            rqps.into_iter().chain([point.verdict.word().to_owned()])
        }));
        row
    }
}
