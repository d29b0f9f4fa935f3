//! The published statistics of relative QPS by group.

use assay_model::StudyRecord;
use assay_verdict::{GroupSummary, Judgement};

use super::table::{fits, left, plain_table, right, trimmed};
use crate::headline::compared;
use crate::label::label;
use crate::number::{NONE, median};

/// One table; where there are several setups a heading for each, and for each system where a column of their names
/// is too wide.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement, width: usize) -> Vec<String> {
    let systems = compared(record);
    let mut shown: Vec<&GroupSummary> =
        judgement.groups.iter().filter(|summary| systems.contains(&summary.system)).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let lines = laid_out(record, &shown, systems.len() > 1, false);
    if systems.len() == 1 || fits(&lines, width) {
        return lines;
    }
    shown.sort_by_key(|summary| (summary.setup, summary.system));
    laid_out(record, &shown, false, true)
}

fn laid_out(
    record: &StudyRecord,
    shown: &[&GroupSummary],
    system_column: bool,
    system_headings: bool,
) -> Vec<String> {
    let mut table = plain_table();
    let mut header = vec![left("rQPS by group")];
    header.extend(system_column.then(|| left("system")));
    header.extend(["n", "min", "max", "avg"].map(right));
    header.extend([left("median [95 %]"), right("stddev")]);
    table.set_header(header);
    for summary in shown {
        let mut row = vec![left(format!("  {}", summary.group.word.as_str()))];
        row.extend(system_column.then(|| left(label(record, summary.system))));
        row.push(right(summary.n));
        row.extend([summary.min, summary.max, summary.avg].map(|v| right(format!("{v:.2}"))));
        row.push(left(median(summary)));
        row.push(right(summary.stddev.map_or_else(|| NONE.to_owned(), |s| format!("{s:.3}"))));
        table.add_row(row);
    }
    let mut rows = trimmed(&table).into_iter();
    let mut lines: Vec<String> = rows.by_ref().take(1).collect();
    let several_setups = record.study.setups.len() > 1;
    let mut above = String::new();
    for (summary, row) in shown.iter().zip(rows) {
        let setup = several_setups.then(|| summary.setup.to_string());
        let system = system_headings.then(|| label(record, summary.system));
        let heading = [setup, system].into_iter().flatten().collect::<Vec<_>>().join(", ");
        if heading != above {
            lines.push(format!(" {heading}"));
            above = heading;
        }
        lines.push(row);
    }
    lines
}
