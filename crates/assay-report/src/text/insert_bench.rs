//! The tables of the Insert Benchmark in a terminal.

use super::table::{left, plain_table, right, trimmed};
use super::wrap;
use crate::view::insert_bench::InsertBench;
use crate::view::shaded::ShadedTable;

/// The rates of all steps and the longest response times. The tables of response times are for wider pages.
pub(crate) fn lines(bench: &InsertBench, width: usize) -> Vec<String> {
    let tables = bench.summaries.iter().chain(&bench.longest);
    let tables: Vec<Vec<String>> = tables.map(|shown| table(shown, width)).collect();
    tables.join(&String::new())
}

pub(super) fn table(shown: &ShadedTable, width: usize) -> Vec<String> {
    let mut table = plain_table();
    let header = std::iter::once(left("")).chain(shown.columns.iter().map(right));
    table.set_header(header.collect::<Vec<_>>());
    for row in &shown.rows {
        let cells = row.cells.iter().map(|cell| right(&cell.text));
        table.add_row(std::iter::once(left(format!("  {}", row.name))).chain(cells));
    }
    let heading = format!("{}: {}", shown.title, shown.note);
    wrap::wrap(&heading, width).into_iter().chain(trimmed(&table)).collect()
}
