//! Tables of a terminal: columns without lines between them.

use comfy_table::{Cell, CellAlignment, Table, presets};

pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The lines of a table without the spaces at their ends.
pub(crate) fn trimmed(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

pub(crate) fn left(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Left)
}

pub(crate) fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// Whether no line is wider than the terminal.
pub(crate) fn fits(lines: &[String], width: usize) -> bool {
    lines.iter().all(|line| line.chars().count() <= width)
}
