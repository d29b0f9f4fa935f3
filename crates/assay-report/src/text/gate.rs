//! What a gate says, in a terminal.

use super::table::{left, plain_table, right, trimmed};
use crate::view::gate::{Gate, GateRow};
use crate::words::Symbol as _;

/// The answer and a table of the tests that did not pass, each with its reason below it.
pub(super) fn lines(gate: &Gate) -> Vec<String> {
    let mut table = plain_table();
    for row in &gate.rows {
        let mut cells =
            vec![left(format!("{} {}", row.verdict.symbol(), row.verdict.word())), left(&row.test)];
        cells.extend(gate.several_systems.then(|| left(row.system)));
        cells.extend([right(&row.change), right(format!("limit {}", row.limit))]);
        table.add_row(cells);
    }
    let why = |row: &GateRow| row.why.as_ref().map(|why| format!("      {why}"));
    let rows = trimmed(&table).into_iter().map(|line| format!(" {line}"));
    rows.zip(gate.rows.iter().map(why))
        .flat_map(|(line, why)| [Some(line), why])
        .flatten()
        .collect()
}
