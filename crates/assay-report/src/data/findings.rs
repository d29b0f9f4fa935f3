//! Findings of a user's workload for scripts: answers that differ, and messages while a dump was restored.

use assay_model::{
    AnswerDifference, AnswerPart, AnswersCompared, Class, EventKind, RestoredKind, Severity,
    StudyRecord,
};
use assay_verdict::{CellJudgement, PlanFindings};
use serde::Serialize;

use super::number::Number;
use crate::view::answers::{self, AnswersByStatement, only_kind, sql_text};
use crate::view::startup;

#[derive(Serialize)]
pub(super) struct AnswerRow<'a> {
    system: &'a str,
    test: &'a str,
    statement: &'a str,
    sent: &'a str,
    what: AnswerPart,
    severity: Severity,
    /// Null if the statement decides the answer.
    why: Option<&'a str>,
    events: u32,
    compared: u32,
    base: &'a str,
    here: &'a str,
}

#[derive(Serialize)]
pub(super) struct RestoredRow<'a> {
    system: &'a str,
    what: RestoredKind,
    file: &'a str,
    line: u64,
    statement: &'a str,
    message: &'a str,
    count: u64,
}

/// A requested system that takes no part.
#[derive(Serialize)]
pub(super) struct MissingRow<'a> {
    system: &'a str,
    why: &'a str,
}

pub(super) fn missing(record: &StudyRecord) -> Vec<MissingRow<'_>> {
    let missing = record.events.iter().filter_map(|event| match &event.what {
        EventKind::SystemMissing { system, why } => Some(MissingRow { system, why }),
        _ => None,
    });
    missing.collect()
}

/// An option of a config file that a system does not accept, or not permanently.
#[derive(Serialize)]
pub(super) struct ConfigRow<'a> {
    system: &'a str,
    option: &'a str,
    value: &'a str,
    place: Option<&'a str>,
    severity: Severity,
    said: Option<&'a str>,
    remedy: &'a str,
}

pub(super) fn config(record: &StudyRecord) -> Vec<ConfigRow<'_>> {
    let rows = startup::options(record).map(|(system, option, severity)| ConfigRow {
        system: name(record, system),
        option: &option.name,
        value: &option.value,
        place: option.place.as_deref(),
        severity,
        said: option.said.as_deref(),
        remedy: &option.remedy,
    });
    let mut rows: Vec<ConfigRow<'_>> = rows.collect();
    rows.sort_by_key(|it| it.severity);
    rows
}

#[derive(Serialize)]
pub(super) struct ComparedRow<'a> {
    system: &'a str,
    #[serde(flatten)]
    counts: AnswersCompared,
}

pub(super) fn compared(record: &StudyRecord) -> Vec<ComparedRow<'_>> {
    let rows = record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::AnswersCompared(counts), Some(system)) => {
            Some(ComparedRow { system: name(record, system), counts: *counts })
        }
        _ => None,
    });
    rows.collect()
}

pub(super) fn answers(record: &StudyRecord) -> Vec<AnswerRow<'_>> {
    let mut rows = Vec::new();
    for (system, it) in answers::differences(record) {
        rows.push(AnswerRow {
            system: name(record, system),
            test: &it.test,
            statement: &it.statement,
            sent: &it.sent,
            what: it.what,
            severity: it.what.severity(),
            why: it.why.as_deref(),
            events: it.count,
            compared: it.of,
            base: &it.base,
            here: &it.here,
        });
    }
    rows
}

pub(super) fn restored(record: &StudyRecord) -> Vec<RestoredRow<'_>> {
    let mut rows = Vec::new();
    for (system, it) in answers::restored(record) {
        rows.push(RestoredRow {
            system: name(record, system),
            what: it.what,
            file: &it.file,
            line: it.line,
            statement: &it.statement,
            message: &it.message,
            count: it.count,
        });
    }
    rows
}

fn name(record: &StudyRecord, system: usize) -> &str {
    record.systems.get(system).map_or("", |it| it.name.as_str())
}

/// A test of a user's workload in an upgrade. Fields that were not examined are null.
#[derive(Serialize)]
pub(super) struct StatementRow {
    /// The statements with placeholders for their values; null for a mix.
    fingerprint: Option<String>,
    /// Calls in the log.
    calls: Option<u64>,
    /// Share of the time of all statements of the log.
    share: Option<Number>,
    plan_changed: Option<bool>,
    answers_differ: Option<bool>,
    /// Number of values for which the system refuses a statement that the base answers.
    new_errors: Option<u64>,
    /// Number of values with warnings that the base does not give.
    new_warnings: Option<u64>,
}

impl StatementRow {
    /// `None` if the test is not of a user's workload.
    pub(super) fn new(record: &StudyRecord, judged: &CellJudgement) -> Option<Self> {
        let test = judged.cell.test;
        test.user_data()?;
        let kind = only_kind(test);
        let logged = kind.and_then(|it| it.logged);
        // The statements of a mix are compared in the tests that it mixes.
        let answers = kind.and_then(|_| CountedAnswers::of(record, judged));
        Some(Self {
            fingerprint: kind.map(sql_text),
            calls: logged.map(|it| it.calls),
            share: logged.map(|it| it.share.into()),
            plan_changed: plan_changed(record, judged),
            answers_differ: answers.as_ref().map(|it| it.differ),
            new_errors: answers.as_ref().map(|it| it.errors),
            new_warnings: answers.as_ref().map(|it| it.warnings),
        })
    }
}

struct CountedAnswers {
    differ: bool,
    errors: u64,
    warnings: u64,
}

impl CountedAnswers {
    /// `None` if the answers of the test were not compared.
    fn of(record: &StudyRecord, judged: &CellJudgement) -> Option<Self> {
        let (test, system) = (judged.cell.test, judged.system);
        AnswersByStatement::of(record, system).compared.filter(|_| test.class == Class::Read)?;
        let of_test =
            answers::differences(record).filter(|(of, it)| *of == system && it.test == test.name());
        let found: Vec<_> = of_test.map(|(_, it)| it).collect();
        let is_unknown = |it: &&AnswerDifference| it.what.severity() == Severity::NotCompared;
        if !found.is_empty() && found.iter().all(is_unknown) {
            return None;
        }
        let values = |what: AnswerPart| {
            found.iter().filter(|it| it.what == what).map(|it| u64::from(it.count)).sum()
        };
        let is_other = |it: &&AnswerDifference| {
            it.what != AnswerPart::Warnings && it.what.severity() != Severity::NotCompared
        };
        Some(Self {
            differ: found.iter().any(is_other),
            errors: values(AnswerPart::Error),
            warnings: values(AnswerPart::Warnings),
        })
    }
}

/// `None` if the plans were not compared.
fn plan_changed(record: &StudyRecord, judged: &CellJudgement) -> Option<bool> {
    let base = record.systems.iter().position(|it| it.is_base)?;
    let system = judged.system;
    let data = judged.cell.setup.data();
    let ran =
        |system: usize| record.instances.iter().any(|it| (it.system, it.data) == (system, data));
    let dialect = |system: usize| Some(record.systems.get(system)?.spec.product.dialect());
    let is_compared =
        base != system && dialect(base) == dialect(system) && ran(base) && ran(system);
    is_compared.then(|| PlanFindings::new(&record.audit).differ(judged.cell, [base, system]))
}
