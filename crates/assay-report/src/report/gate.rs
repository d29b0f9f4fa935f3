//! What a gate says.

use crate::document::{Block, Column, Indent, Row, Table, Wish};
use crate::view::Report;
use crate::view::gate::{Gate, GateRow};
use crate::words::{Symbol as _, sentence};

/// The answer, the tests that did not pass, and what the answer is based on.
pub(super) fn blocks(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let Some(gate) = &report.gate else { return Vec::new() };
    if wish.is_page() {
        return page(gate, report.base);
    }
    let table = (!gate.rows.is_empty()).then(|| Block::Table(table(gate, wish)));
    let lines = Block::Lines(gate.rest.iter().chain([&gate.basis]).cloned().collect());
    if wish.is_terminal() {
        let headline = Block::Lines(vec![gate.headline.clone()]);
        let table = table.unwrap_or(Block::Break);
        return vec![headline, table, lines, Block::Break];
    }
    Block::section(format!("assay {}", gate.headline), table.into_iter().chain([lines]).collect())
}

/// The same for a page, whose rows always name their system.
fn page(gate: &Gate, base: &str) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    if !gate.rows.is_empty() {
        let against = format!("QPS against {base}");
        let columns = ["Result", "Test", "System", &against, "Limit", "Why"].map(Column::words);
        let row = |row: &GateRow| {
            let verdict = format!("{} {}", row.verdict.symbol(), row.verdict.word());
            let why = row.why.clone().unwrap_or_default();
            let [system, test] = [row.system.to_owned(), row.test.clone()];
            Row::new([verdict, test, system, row.change.clone(), row.limit.clone(), why])
        };
        blocks.push(Block::Table(Table::new(columns.to_vec(), gate.rows.iter().map(row))));
    }
    blocks.extend(Block::prose("", gate.rest.iter().map(|line| sentence(line))));
    blocks.extend(Block::prose("basis", [sentence(&gate.basis)]));
    Block::place("gate", "", sentence(&gate.headline), blocks)
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
