//! What a gate says.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

use super::Judged;
use crate::charts::ChartFile;
use crate::document::{Block, Column, Document, Indent, Row, Table, Wish};
use crate::page::{Content, Page};
use crate::view::Report;
use crate::view::gate::{Gate, GateRow};
use crate::words::Symbol as _;

/// What a gate says: for people a summary, for scripts the whole study. A study that is no gate has its report.
#[must_use]
pub fn gate<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(Summary(Judged { record, judgement }))
}

struct Summary<'a>(Judged<'a>);

impl Content for Summary<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        if wish.is_page() {
            return Content::document(&self.0, wish, then);
        }
        self.0.document(wish, |report, wish| (Vec::new(), summary(report, wish)), then);
    }

    fn json(&self) -> Option<String> {
        self.0.json()
    }

    fn csv(&self) -> Option<String> {
        self.0.csv()
    }

    fn charts(&self) -> Vec<ChartFile> {
        self.0.charts()
    }
}

fn summary<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let Some(gate) = report.gate.as_ref() else {
        return super::blocks(report, wish);
    };
    let mut blocks = blocks(gate, wish);
    let id = report.again.id;
    blocks.push(Block::Lines(report.warning_lines()));
    blocks.push(Block::Break);
    let (study, stop) = if wish.is_terminal() { ("study", "") } else { ("Study", ".") };
    blocks.push(Block::Command {
        before: format!("{study} {id}: "),
        command: format!("assay report {id}"),
        after: format!(" shows every test{stop}"),
    });
    blocks
}

/// The answer, the tests that did not pass, and what the answer is based on.
pub(super) fn blocks(gate: &Gate, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let table = (!gate.rows.is_empty()).then(|| Block::Table(table(gate, wish)));
    let lines = Block::Lines(gate.rest.iter().chain([&gate.basis]).cloned().collect());
    if wish.is_terminal() {
        let headline = Block::Lines(vec![gate.headline.clone()]);
        let table = table.unwrap_or(Block::Break);
        return vec![headline, table, lines, Block::Break];
    }
    Block::section(format!("assay {}", gate.headline), table.into_iter().chain([lines]).collect())
}

/// In a terminal, each test has its reason below it.
fn table(gate: &Gate, wish: &Wish<'_>) -> Table {
    let mut columns = vec![Column::words("result"), Column::words("test")];
    columns.extend(gate.several_systems.then(|| Column::words("system")));
    columns.extend(["QPS against the base [bounds]", "limit"].map(Column::numbers));
    columns.push(Column::words("why"));
    let row = |row: &GateRow| {
        let mut cells = vec![format!("{} {}", row.verdict.symbol(), row.verdict.word())];
        cells.push(row.test.clone());
        cells.extend(gate.several_systems.then(|| row.system.to_owned()));
        cells.push(row.change.clone());
        if wish.is_terminal() {
            cells.push(format!("limit {}", row.limit));
            let below = row.why.as_ref().map(|why| format!("      {why}"));
            return Row { below, ..Row::new(cells) };
        }
        cells.extend([row.limit.clone(), row.why.clone().unwrap_or_default()]);
        Row::new(cells)
    };
    let table = Table::new(columns, gate.rows.iter().map(row)).indented(Indent::Little);
    if wish.is_terminal() { table.without_headings() } else { table }
}
