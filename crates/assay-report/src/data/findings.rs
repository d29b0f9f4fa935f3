//! Findings of a user's workload as values: answers that differ, and what was told while a dump was restored.

use assay_model::{AnswerPart, RestoredKind, StudyRecord};
use serde::Serialize;

use crate::view::answers;

/// An answer that differs from that of the base.
#[derive(Serialize)]
pub(super) struct AnswerRow<'a> {
    system: &'a str,
    test: &'a str,
    statement: &'a str,
    sent: &'a str,
    what: AnswerPart,
    events: u32,
    compared: u32,
    base: &'a str,
    here: &'a str,
}

/// What a system told of a dump.
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

pub(super) fn answers(record: &StudyRecord) -> Vec<AnswerRow<'_>> {
    let mut rows = Vec::new();
    for (system, it) in answers::differences(record) {
        rows.push(AnswerRow {
            system: name(record, system),
            test: &it.test,
            statement: &it.statement,
            sent: &it.sent,
            what: it.what,
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
