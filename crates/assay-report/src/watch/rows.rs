//! JSON of a watch.

use serde::Serialize;

use super::watched::{Watched, WatchedChange, WatchedLine, WatchedSuspicion};
use crate::data::number::{Interval, Number};

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    range: &'a str,
    /// All values are relative to this version.
    baseline: &'a str,
    newest: &'a str,
    measured: Vec<&'a str>,
    /// Newest version first.
    changes: Vec<ChangeRow<'a>>,
    /// Suspected but uncertain changes.
    suspected: Vec<SuspicionRow<'a>>,
    tests: Vec<TestRow<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ChangeRow<'a> {
    test: &'a str,
    clients: u32,
    tables: u32,
    rows: u32,
    measure: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    after: &'a str,
    ratio: Interval,
    probability: Number,
    search: &'a str,
    is_new: bool,
}

#[derive(Serialize)]
struct SuspicionRow<'a> {
    test: &'a str,
    clients: u32,
    tables: u32,
    rows: u32,
    measure: &'static str,
    /// The last version without the change, and one with it.
    between: [&'a str; 2],
    ratio: Interval,
    /// Probability that anything changed.
    probability: Number,
    search: &'a str,
}

#[derive(Serialize)]
struct TestRow<'a> {
    test: &'a str,
    clients: u32,
    tables: u32,
    rows: u32,
    measure: &'static str,
    versions: Vec<VersionRow<'a>>,
}

#[derive(Serialize)]
struct VersionRow<'a> {
    version: &'a str,
    ratio: Interval,
    studies: usize,
}

pub(super) fn document<'a>(watch: &'a Watched<'a>) -> Document<'a> {
    let change = |(line, change): (&'a WatchedLine, &'a WatchedChange)| ChangeRow {
        test: &line.test,
        clients: line.setup.clients,
        tables: line.setup.tables,
        rows: line.setup.rows,
        measure: line.measure.word(),
        version: Some(watch.name(change.at)).filter(|_| !watch.is_of_commits),
        commit: Some(watch.name(change.at)).filter(|_| watch.is_of_commits),
        title: watch.versions.get(change.at).and_then(|it| it.title.as_deref()),
        after: watch.name(change.after),
        ratio: change.step.ratio.into(),
        probability: change.step.probability.into(),
        search: &change.search,
        is_new: change.is_new,
    };
    let suspicion = |(line, it): (&'a WatchedLine, &'a WatchedSuspicion)| SuspicionRow {
        test: &line.test,
        clients: line.setup.clients,
        tables: line.setup.tables,
        rows: line.setup.rows,
        measure: line.measure.word(),
        between: [watch.name(it.after), watch.name(it.at)],
        ratio: it.ratio.into(),
        probability: it.probability.into(),
        search: &it.search,
    };
    let test = |line: &'a WatchedLine| TestRow {
        test: &line.test,
        clients: line.setup.clients,
        tables: line.setup.tables,
        rows: line.setup.rows,
        measure: line.measure.word(),
        versions: (line.values.iter())
            .map(|it| VersionRow {
                version: watch.name(it.version),
                ratio: it.ratio.into(),
                studies: it.studies,
            })
            .collect(),
    };
    Document {
        schema: SCHEMA,
        range: &watch.range,
        baseline: watch.name(0),
        newest: watch.name(watch.versions.len().saturating_sub(1)),
        measured: watch.new.iter().map(|it| watch.name(*it)).collect(),
        changes: watch.changes().into_iter().map(change).collect(),
        suspected: watch.suspected().map(suspicion).collect(),
        tests: watch.lines.iter().map(test).collect(),
        notes: &watch.notes,
    }
}
