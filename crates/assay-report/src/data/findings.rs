//! Findings of a user's workload for scripts: answers that differ, and messages while a dump was restored.

use assay_model::{
    AnswerDifference, AnswerPart, Class, DumpFinding, EventKind, Severity, StudyRecord,
    Transaction, UntakenOption,
};
use assay_verdict::CellJudgement;
use serde::Serialize;
use serde_json::Value;

use super::field::{FileField, file_fields, json};
use super::value::JsonValue;
use crate::sections::answers::{self, AnswersByStatement, only_kind, sql_text};
use crate::sections::outcomes::plan_changed;
use crate::sections::startup;
use crate::sections::study::JudgedStudy;

/// A word of the model, as in ledgers.
pub(super) fn word(value: impl Serialize) -> JsonValue {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word.into(),
        other => unreachable!("{other:?} is not a word"),
    }
}

/// Requested systems that take no part.
pub(super) fn missing(record: &StudyRecord) -> Vec<JsonValue> {
    let missing = record.events.iter().filter_map(|event| match &event.what {
        EventKind::SystemMissing { system, why } => Some(JsonValue::object([
            ("system", system.as_str().into()),
            ("why", why.as_str().into()),
        ])),
        _ => None,
    });
    missing.collect()
}

/// Options of config files that systems do not accept, or not permanently.
pub(super) fn config(record: &StudyRecord) -> Vec<JsonValue> {
    let mut options: Vec<_> = startup::options(record).collect();
    options.sort_by_key(|(.., severity)| *severity);
    let row = |(system, option, severity): (usize, &UntakenOption, Severity)| {
        JsonValue::object([
            ("system", name(record, system).into()),
            ("option", option.name.as_str().into()),
            ("value", option.value.as_str().into()),
            ("place", option.place.as_deref().into()),
            ("severity", word(severity)),
            ("said", option.said.as_deref().into()),
            ("remedy", option.remedy.as_str().into()),
        ])
    };
    options.into_iter().map(row).collect()
}

/// Number of statements that each system answers as the base does.
pub(super) fn compared(record: &StudyRecord) -> Vec<JsonValue> {
    let rows = record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::AnswersCompared(counts), Some(system)) => Some(JsonValue::object([
            ("system", name(record, system).into()),
            ("statements", counts.statements.into()),
            ("same", counts.same.into()),
            ("undetermined", counts.undetermined.into()),
            ("least", counts.least.into()),
            ("most", counts.most.into()),
            ("values", counts.values.into()),
        ])),
        _ => None,
    });
    rows.collect()
}

/// Answers to a user's statements that differ from those of the base.
pub(super) fn answers(record: &StudyRecord) -> Vec<JsonValue> {
    let row = |(system, it): (usize, &AnswerDifference)| {
        JsonValue::object([
            ("system", name(record, system).into()),
            ("test", it.test.as_str().into()),
            ("statement", it.statement.as_str().into()),
            ("sent", it.sent.as_str().into()),
            ("what", word(it.what)),
            ("severity", word(it.what.severity())),
            ("why", it.why.as_deref().into()),
            ("events", it.count.into()),
            ("compared", it.of.into()),
            ("base", it.base.as_str().into()),
            ("here", it.here.as_str().into()),
        ])
    };
    answers::differences(record).map(row).collect()
}

/// Messages of systems while a dump was restored.
pub(super) fn restored(record: &StudyRecord) -> Vec<JsonValue> {
    let row = |(system, it): (usize, &DumpFinding)| {
        JsonValue::object([
            ("system", name(record, system).into()),
            ("what", word(it.what)),
            ("file", it.file.as_str().into()),
            ("line", it.line.into()),
            ("statement", it.statement.as_str().into()),
            ("message", it.message.as_str().into()),
            ("count", it.count.into()),
        ])
    };
    answers::restored(record).map(row).collect()
}

fn name(record: &StudyRecord, system: usize) -> &str {
    record.systems.get(system).map_or("", |it| it.name.as_str())
}

/// A test of a user's workload in an upgrade.
pub(super) struct StatementFigures {
    /// `None` for a mix.
    kind: Option<&'static Transaction>,
    plan_changed: Option<bool>,
    answers: Option<CountedAnswers>,
}

/// Left out if the test is not of a user's workload.
pub(super) fn statement(study: &JudgedStudy<'_>, judged: &CellJudgement) -> JsonValue {
    let test = judged.cell.test;
    if test.user_data().is_none() {
        return JsonValue::Absent;
    }
    let kind = only_kind(test);
    let figures = StatementFigures {
        kind,
        plan_changed: plan_changed(study.record, judged),
        // The statements of a mix are compared in the tests that it mixes.
        answers: kind.and_then(|_| CountedAnswers::for_cell(study.record, judged)),
    };
    json(STATEMENT, study, &figures)
}

pub(super) const STATEMENT: &[FileField<StatementFigures>] = file_fields! { |study, it: StatementFigures|
    "fingerprint",
        "statements of a test of a workload file, with marks for their values; null for a mix; this and the next six \
         fields are present only for workload files",
        it.kind.map(sql_text), csv(41, "fingerprint");
    "calls", "calls in the log that the test comes from; null if it comes from none",
        it.kind.and_then(|kind| kind.logged).map(|logged| logged.calls), csv(41, "calls");
    "share",
        "their share of the time of all statements of the log, 0 to 1; of all calls, if the log has no times",
        it.kind.and_then(|kind| kind.logged).map(|logged| logged.share), csv(41, "share");
    "plan_changed",
        "whether a statement has another plan than in the base; null if the plans were not compared",
        it.plan_changed, csv(41, "plan_changed");
    "answers_differ",
        "whether an answer differs from that of the base, apart from warnings; null if the answers were not compared",
        it.answers.as_ref().map(|it| it.differ), csv(41, "answers_differ");
    "new_errors",
        "with how many values the system refuses a statement that the base answers; null if the answers were not \
         compared",
        it.answers.as_ref().map(|it| it.errors), csv(41, "new_errors");
    "new_warnings",
        "with how many values it has warnings that the base does not have; null if the answers were not compared",
        it.answers.as_ref().map(|it| it.warnings), csv(41, "new_warnings");
};

struct CountedAnswers {
    differ: bool,
    errors: u64,
    warnings: u64,
}

impl CountedAnswers {
    /// `None` if the answers of the test were not compared.
    fn for_cell(record: &StudyRecord, judged: &CellJudgement) -> Option<Self> {
        let (test, system) = (judged.cell.test, judged.system);
        AnswersByStatement::for_system(record, system)
            .compared
            .filter(|_| test.class == Class::Read)?;
        let of_test = answers::differences(record)
            .filter(|(index, it)| *index == system && it.test == test.name());
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
