//! Tests and many systems in a terminal: the relative QPS with the symbol of its verdict.

use super::table::{fits, left, plain_table, right, trimmed};
use crate::number::{NONE, figure, within};
use crate::view::matrix::{Matrix, MatrixCell, MatrixRow};
use crate::words::{Symbol, title};

/// One table, or the fewest below each other that fit. Those of the base come only if there is room for them.
pub(super) fn lines(matrix: &Matrix, several_setups: bool, width: usize) -> Vec<String> {
    let others = matrix.labels.len().saturating_sub(1);
    let choices = (1..=others).flat_map(|tables| [(tables, tables == 1), (tables, false)]);
    let mut last = Vec::new();
    for (tables, has_base) in choices {
        let size = others.div_ceil(tables).max(1);
        let part = |from: usize| from..(from + size).min(others + 1);
        let parts = (1..=others).step_by(size).map(part);
        let laid: Vec<Vec<String>> =
            parts.map(|systems| table(matrix, several_setups, has_base, systems)).collect();
        if laid.iter().all(|lines| fits(lines, width)) {
            return laid.join(&String::new());
        }
        last = laid;
    }
    last.join(&String::new())
}

/// Explains the columns.
pub(super) fn legend(matrix: &Matrix) -> Vec<String> {
    let base = matrix.labels.first().copied().unwrap_or_default();
    let interval = match matrix.has_intervals() {
        true => "; ±: half the width of the widest 95% interval of a row",
        false => ", without intervals",
    };
    vec![
        format!("  rQPS: QPS divided by that of {base}{interval}"),
        "  ▲ faster, ▼ slower, = same, ≠ uneven, ? undecided, ✗ failed".to_owned(),
        "  every interval, CPU and latency: `--format html` or `--format csv`".to_owned(),
    ]
}

fn table(
    matrix: &Matrix,
    several_setups: bool,
    has_base: bool,
    systems: std::ops::Range<usize>,
) -> Vec<String> {
    let mut table = plain_table();
    let shown = |all: &[String]| all.get(systems.clone()).unwrap_or_default().to_vec();
    let mut header = vec![left("rQPS")];
    header.extend(has_base.then(|| right("base QPS")));
    header.extend(shown(&matrix.short).into_iter().map(|name| left(format!(" {name}"))));
    let has_intervals = matrix.has_intervals();
    header.extend(has_intervals.then(|| right("±")));
    table.set_header(header);
    let rows = || matrix.sections.iter().flat_map(|it| it.rows.iter().map(move |row| (it, row)));
    for (_, row) in rows() {
        let mut cells = vec![left(format!("  {}", row.test))];
        cells.extend(has_base.then(|| right(figure(row.base_qps))));
        let of_systems = row.cells.get(systems.clone()).unwrap_or_default();
        cells.extend(of_systems.iter().map(|cell| left(marked(cell))));
        cells.extend(has_intervals.then(|| right(widest(row))));
        table.add_row(cells);
    }
    let mut laid = trimmed(&table).into_iter();
    let mut lines: Vec<String> = laid.by_ref().take(1).collect();
    let mut above = String::new();
    for ((section, _), line) in rows().zip(laid) {
        let setup = several_setups.then(|| section.setup.to_string());
        let heading = [Some(title(section.group)), setup];
        let heading = heading.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if heading != above {
            lines.push(String::new());
            lines.push(heading.clone());
            above = heading;
        }
        lines.push(line);
    }
    lines
}

/// `▼0.93`.
pub(crate) fn marked(cell: &MatrixCell) -> String {
    let symbol = cell.verdict.map_or(" ", |verdict| verdict.symbol());
    match cell.text() {
        none if none.is_empty() => format!("{symbol}{NONE}"),
        text => format!("{symbol}{text}"),
    }
}

/// `±1.2%`.
pub(crate) fn widest(row: &MatrixRow) -> String {
    row.widest().map_or_else(|| NONE.to_owned(), within)
}
