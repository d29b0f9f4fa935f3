//! What a gate says, in a terminal.

use super::table::{left, plain_table, right, trimmed};
use super::wrap::wrap;
use crate::view::gate::{Gate, GateRow};
use crate::words::Symbol as _;

/// The answer and a table of the tests that did not pass, each with its reason below it.
pub(super) fn lines(gate: &Gate, width: usize) -> Vec<String> {
    let mut table = plain_table();
    for row in &gate.rows {
        let mut cells =
            vec![left(format!("{} {}", row.verdict.symbol(), row.verdict.word())), left(&row.test)];
        cells.extend(gate.several_systems.then(|| left(row.system)));
        cells.extend([right(&row.change), right(format!("limit {}", row.limit))]);
        table.add_row(cells);
    }
    let reason = |why: &String| wrap(&format!("      {why}"), width);
    let why = |row: &GateRow| row.why.as_ref().map(reason).unwrap_or_default();
    let rows = trimmed(&table).into_iter().map(|line| format!(" {line}"));
    rows.zip(gate.rows.iter().map(why))
        .flat_map(|(line, why)| std::iter::once(line).chain(why))
        .collect()
}
