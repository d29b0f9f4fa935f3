//! The result of a gate for scripts.

use assay_model::StudyRecord;
use assay_verdict::{Doubt, GateCell, GateVerdict, Judgement};
use serde::Serialize;

use super::number::{Interval, Number};
use super::row::{system_name, tables_and_rows};
use crate::view::gate::why;
use crate::view::study::JudgedStudy;

#[derive(Serialize)]
pub(crate) struct GateRow<'a> {
    verdict: &'static str,
    allow_undecided: bool,
    passed: usize,
    exceeded: usize,
    undecided: usize,
    failed: usize,
    cells: Vec<GateCellRow<'a>>,
}

/// One system in one cell. Its bounds are those of the sequential look, not the 95% interval of the cell.
#[derive(Serialize)]
struct GateCellRow<'a> {
    test: &'a str,
    clients: u32,
    /// Null for a user's workload, like the rows of each.
    tables: Option<u32>,
    rows: Option<u32>,
    system: &'a str,
    /// Largest slowdown that passes; absent if instructions are limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_slowdown: Option<Number>,
    rqps: Option<Interval>,
    /// Most additional instructions that pass, and instructions relative to the base; absent if QPS is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_more: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Interval>,
    verdict: &'static str,
    /// Multiple of the measuring time that would decide it if the estimate is right.
    needs_times: Number,
    why: Option<String>,
}

/// `None` if the study is not a gate.
pub(crate) fn gate<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Option<GateRow<'a>> {
    let (gate, limits) = (judgement.gate.as_ref()?, record.study.gate.as_ref()?);
    let study = JudgedStudy::new(record, judgement);
    Some(GateRow {
        verdict: gate.verdict().word(),
        allow_undecided: limits.allow_undecided,
        passed: gate.count(GateVerdict::Passed),
        exceeded: gate.count(GateVerdict::Exceeded),
        undecided: gate.count(GateVerdict::Undecided),
        failed: gate.count(GateVerdict::Failed),
        cells: gate.cells.iter().map(|cell| row(record, &study, cell)).collect(),
    })
}

fn row<'a>(record: &'a StudyRecord, study: &JudgedStudy, cell: &'a GateCell) -> GateCellRow<'a> {
    let setup = cell.cell.setup;
    let (tables, rows) = tables_and_rows(record, setup);
    let is_counted = study.counts_only();
    GateCellRow {
        test: cell.cell.test.name(),
        clients: setup.clients,
        tables,
        rows,
        system: system_name(record, cell.system),
        max_slowdown: (!is_counted).then(|| cell.margin.into()),
        rqps: cell.ratio.filter(|_| !is_counted).map(Into::into),
        max_more: is_counted.then(|| cell.margin.into()),
        instructions: cell.ratio.filter(|_| is_counted).map(Into::into),
        verdict: cell.verdict.word(),
        needs_times: Number(match cell.doubt {
            Some(Doubt::Wide { times, .. }) => Some(times),
            _ => None,
        }),
        why: why(study, cell),
    }
}
