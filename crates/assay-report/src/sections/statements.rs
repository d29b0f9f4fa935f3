//! The statements of a user's tests one by one: their times and changes.

use assay_model::{CellId, Test, UserStep, Verdict};
use assay_verdict::{StatementChange, statement_changes};

use super::shades::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::document::{Block, Wish};
use crate::number::{NONE, figure};
use crate::words::{Symbol as _, one_line};

const SHOWN: usize = 60;

/// Smallest relative change with a colour.
const LARGE: f64 = 0.05;

/// A short report has no tables with more rows.
const SHORT: usize = 24;

pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let tables = tables(study);
    if tables.iter().map(|table| table.rows.len()).sum::<usize>() > wish.at_most(SHORT) {
        return Vec::new();
    }
    let blocks: Vec<Block> = tables.iter().map(|table| table.block(wish)).collect();
    if wish.is_page() {
        return Block::place("statements", "One by one", "Statements one by one", blocks);
    }
    blocks
}

/// A table for each test whose statements were timed. None in a large study.
fn tables(study: &JudgedStudy) -> Vec<ShadedTable> {
    if study.is_large() {
        return Vec::new();
    }
    let cells = study.record.study.cells.iter().map(|cell| cell.id);
    cells
        .filter(|cell| cell.test.user_data().is_some())
        .filter_map(|cell| table(study, cell))
        .collect()
}

fn table(study: &JudgedStudy, cell: CellId) -> Option<ShadedTable> {
    let changes: Vec<Vec<StatementChange>> = study
        .compared
        .iter()
        .map(|other| statement_changes(study.record, cell, [study.base, *other]))
        .collect();
    let places = changes.iter().max_by_key(|it| it.len()).filter(|it| !it.is_empty())?;
    let interesting = study.threshold();
    let rows = places.iter().map(|StatementChange { kind, step, time }| {
        let before = ShadedCell::plain(figure(Some(time.before)));
        let change_cell = |changes: &Vec<StatementChange>| {
            let found = changes.iter().find(|it| (it.kind, it.step) == (*kind, *step));
            found.map_or_else(ShadedCell::none, |it| changed(it, interesting))
        };
        let cells = std::iter::once(before).chain(changes.iter().map(change_cell)).collect();
        ShadedRow { name: name(cell.test, *kind, *step), cells }
    });
    let others = study.compared.iter().map(|system| format!("{} µs", study.label(*system)));
    let columns = std::iter::once(format!("{} µs", study.label(study.base))).chain(others);
    Some(ShadedTable {
        title: format!("statements of {}", study.cell_name(cell)),
        note: "mean time from sending a statement to the end of the reply; a mark says that the change is certain, for \
               which it takes three blocks"
            .to_owned(),
        corner: "statement",
        columns: columns.collect(),
        rows: rows.collect(),
    })
}

/// `52.1 ×1.12 ▼`
fn changed(change: &StatementChange, interesting: f64) -> ShadedCell {
    let time = &change.time;
    let ratio = time.after / time.before;
    let by = ratio - 1.0;
    let verdict = match by {
        _ if !time.is_certain() || by.abs() < interesting => None,
        0.0.. => Some(Verdict::Slower),
        _ => Some(Verdict::Faster),
    };
    let shade = match verdict {
        Some(Verdict::Slower) if by > LARGE => Shade::Worse,
        Some(Verdict::Faster) if by < -LARGE => Shade::Better,
        _ => Shade::None,
    };
    let mark = verdict.map_or(String::new(), |it| format!(" {}", it.symbol()));
    ShadedCell { text: format!("{} ×{ratio:.2}{mark}", figure(Some(time.after))), shade }
}

/// A statement, preceded by the name of its kind of events if the test has several.
fn name(test: Test, kind: u32, step: u32) -> String {
    let mut kinds = test.roles.iter().flat_map(|role| &role.script.mix);
    let several = kinds.clone().count() > 1;
    let Some(kind) = kinds.nth(kind as usize) else { return NONE.to_owned() };
    let text = match kind.steps.get(step as usize) {
        Some(UserStep::Send { sql, .. }) => sql.postgres.as_ref().or(sql.mysql.as_ref()),
        _ => None,
    };
    let text = text.map(|sql| sql.with_marks(|_| "?".to_owned())).unwrap_or_default();
    let text = one_line(&text, SHOWN, " ...");
    if several { format!("{}: {text}", kind.name) } else { text }
}
