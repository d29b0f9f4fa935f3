//! The published statistics of relative QPS by group.

use super::table::{fits, left, plain_table, right, trimmed};
use crate::view::Report;
use crate::view::groups::GroupRow;

/// One table. Several setups have a heading each; so have several systems where a column of their names is too wide.
pub(crate) fn lines(report: &Report, width: usize) -> Vec<String> {
    if report.groups.is_empty() {
        return Vec::new();
    }
    let (several_setups, several_systems) = (report.several_setups, report.several_systems());
    let mut rows: Vec<&GroupRow> = report.groups.iter().collect();
    let lines = laid_out(&rows, several_setups, several_systems, false);
    if !several_systems || fits(&lines, width) {
        return lines;
    }
    rows.sort_by_key(|row| (row.setup, row.system_number));
    laid_out(&rows, several_setups, false, true)
}

fn laid_out(
    rows: &[&GroupRow],
    several_setups: bool,
    system_column: bool,
    system_headings: bool,
) -> Vec<String> {
    let mut table = plain_table();
    let mut header = vec![left("rQPS by group")];
    header.extend(system_column.then(|| left("system")));
    header.extend(["n", "min", "max", "avg"].map(right));
    header.extend([left("median [95%]"), right("stddev")]);
    table.set_header(header);
    for row in rows {
        let mut cells = vec![left(format!("  {}", row.group.word))];
        cells.extend(system_column.then(|| left(row.system)));
        cells.extend([&row.n, &row.min, &row.max, &row.avg].map(right));
        cells.extend([left(row.median), right(&row.stddev)]);
        table.add_row(cells);
    }
    let mut laid = trimmed(&table).into_iter();
    let mut lines: Vec<String> = laid.by_ref().take(1).collect();
    let mut above = String::new();
    for (row, line) in rows.iter().zip(laid) {
        let setup = several_setups.then(|| row.setup.to_string());
        let system = system_headings.then(|| row.system.to_owned());
        let heading = [setup, system].into_iter().flatten().collect::<Vec<_>>().join(", ");
        if heading != above {
            lines.push(format!(" {heading}"));
            above = heading;
        }
        lines.push(line);
    }
    lines
}
