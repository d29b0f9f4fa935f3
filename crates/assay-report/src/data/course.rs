//! The rates of each system in a cell, second by second.

use assay_model::StudyRecord;
use assay_verdict::{ActiveSecond, CellJudgement, Judgement, active_seconds};
use serde::Serialize;

use super::number::Number;
use super::row::{FigureGroup, system_name, tables_and_rows};

#[derive(Serialize)]
pub(crate) struct CourseRow<'a> {
    test: &'a str,
    clients: u32,
    /// Null for a user's workload, like the rows of each.
    tables: Option<u32>,
    rows: Option<u32>,
    system: &'a str,
    seconds: Vec<SecondRow>,
}

#[derive(Serialize)]
struct SecondRow {
    /// Duration, seconds.
    s: Number,
    tps: Number,
    qps: Number,
    latency_us: Option<FigureGroup>,
}

/// Only for studies with several client counts.
pub(crate) fn courses<'a>(record: &'a StudyRecord, judgement: &Judgement) -> Vec<CourseRow<'a>> {
    let first = record.study.setups.first();
    let several =
        record.study.setups.iter().any(|it| Some(it.clients) != first.map(|it| it.clients));
    let cells = judgement.cells.iter().filter(|_| several);
    cells.map(|judged| course(record, judged)).collect()
}

fn course<'a>(record: &'a StudyRecord, judged: &CellJudgement) -> CourseRow<'a> {
    let setup = judged.cell.setup;
    let (tables, rows) = tables_and_rows(record, setup);
    let seconds = active_seconds(record, judged.cell, judged.system, judged.is_disturbed);
    CourseRow {
        test: judged.cell.test.name(),
        clients: setup.clients,
        tables,
        rows,
        system: system_name(record, judged.system),
        seconds: seconds.iter().map(second).collect(),
    }
}

fn second(second: &ActiveSecond) -> SecondRow {
    SecondRow {
        s: second.seconds.into(),
        tps: (second.events as f64 / second.seconds).into(),
        qps: (second.queries as f64 / second.seconds).into(),
        latency_us: second.latency.as_ref().map(Into::into),
    }
}
