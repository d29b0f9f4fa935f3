//! The result of a gate.

use crate::document::{Block, Column, Indent, Row, Table, Wish};
use crate::view::Report;
use crate::view::gate::{Gate, GateRow};
use crate::words::{Symbol as _, sentence};

pub(super) fn blocks(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let Some(gate) = &report.gate else { return Vec::new() };
    let table = (!gate.rows.is_empty()).then(|| Block::Table(table(gate, wish)));
    let lines = Block::Lines(gate.rest.iter().chain([&gate.basis]).cloned().collect());
    if wish.is_terminal() {
        let headline = Block::Lines(vec![gate.headline.clone()]);
        let table = table.unwrap_or(Block::Break);
        return vec![headline, table, lines, Block::Break];
    }
    if wish.is_page() {
        let lines = Block::prose("", gate.rest.iter().map(|line| sentence(line)));
        let basis = Block::prose("basis", [sentence(&gate.basis)]);
        let blocks = table.into_iter().chain(lines).chain(basis).collect();
        return Block::place("gate", "", sentence(&gate.headline), blocks);
    }
    Block::section(format!("assay {}", gate.headline), table.into_iter().chain([lines]).collect())
}

/// In a terminal, each test has its reason below it.
fn table(gate: &Gate, wish: &Wish<'_>) -> Table {
    let mut columns = vec![Column::words("result"), Column::words("test")];
    columns.extend(gate.several_systems.then(|| Column::words("system")));
    let against = format!("{} against the base [bounds]", gate.limited);
    columns.extend([against.as_str(), "limit"].map(Column::numbers));
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
