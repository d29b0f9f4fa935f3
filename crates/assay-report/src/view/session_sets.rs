//! Statements that belong to several tests, because sessions of the log set different settings before them.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{PerDialect, Sql, StudyRecord, Test, Transaction, UserStep, counted};

/// Statements with placeholders for their values, each with its tests.
pub(crate) type ByStatement<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// `None` for a mix, and for tests that are not the user's.
pub(crate) fn only_kind(test: Test) -> Option<&'static Transaction> {
    let mut kinds = test.definition().roles.iter().flat_map(|role| &role.script.mix);
    kinds.next().filter(|_| kinds.next().is_none())
}

pub(crate) fn text(kind: &Transaction) -> String {
    let sent = kind.steps.iter().filter_map(|step| match step {
        UserStep::Send { sql: PerDialect { mysql, postgres }, .. } => {
            mysql.as_ref().or(postgres.as_ref()).map(marked)
        }
        UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
    });
    sent.collect::<Vec<_>>().join("; ")
}

fn marked(sql: &Sql) -> String {
    let text = sql.with_marks(|_| "?".to_owned());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Kinds of events that are separate tests, by name.
fn kinds(record: &StudyRecord) -> BTreeMap<&'static str, &'static Transaction> {
    let tests = record.study.cells.iter().map(|cell| cell.id.test);
    tests.filter_map(|test| Some((test.name(), only_kind(test)?))).collect()
}

fn differing(kinds: &[&'static Transaction]) -> BTreeSet<&'static str> {
    let mut values: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for setting in kinds.iter().flat_map(|kind| &kind.session) {
        let (count, of_name) = values.entry(setting.name()).or_default();
        *count += 1;
        of_name.insert(setting.value());
    }
    // A session without the setting has the server's value.
    let differ =
        |(count, values): &(usize, BTreeSet<&str>)| values.len() > 1 || *count < kinds.len();
    values.into_iter().filter(|(_, it)| differ(it)).map(|(name, _)| name).collect()
}

/// `2 statements (5 tests)`
pub(super) fn in_tests(of: &ByStatement<'_>) -> String {
    let statements = counted(of.len() as u64, "statement");
    let tests: BTreeSet<&str> = of.values().flatten().copied().collect();
    match tests.len() <= of.len() {
        true => statements,
        false => format!("{statements} ({})", counted(tests.len() as u64, "test")),
    }
}

/// Number of statements in the tests of a log, if some are in several tests because of their sessions.
pub(super) fn note(record: &StudyRecord) -> Option<String> {
    let mut by_text: BTreeMap<String, Vec<&'static Transaction>> = BTreeMap::new();
    for kind in kinds(record).into_values().filter(|it| !it.steps.is_empty()) {
        by_text.entry(text(kind)).or_default().push(kind);
    }
    let names: BTreeSet<&str> = by_text.values().flat_map(|kinds| differing(kinds)).collect();
    if names.is_empty() {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let tests: usize = by_text.values().map(Vec::len).sum();
    Some(format!(
        "the report is about {} ({}, because sessions set {} differently)",
        counted(by_text.len() as u64, "statement"),
        counted(tests as u64, "test"),
        names.join(", ")
    ))
}
