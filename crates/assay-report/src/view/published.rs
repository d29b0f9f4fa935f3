//! Relative QPS as in published posts: a table for each group, with two decimals and two colours.

use super::matrix::{Matrix, MatrixSection};
use super::shaded::{ShadedCell, ShadedRow, ShadedTable};
use crate::number::NONE;
use crate::words::{Separated, title};

pub(crate) const NOTE: &str = "in the form of published posts: ratios of QPS with two decimals, without intervals and \
    verdicts";

pub(crate) fn tables(matrix: &Matrix, several_setups: bool) -> Vec<ShadedTable> {
    matrix.sections.iter().map(|section| table(matrix, section, several_setups)).collect()
}

fn table(matrix: &Matrix, section: &MatrixSection, several_setups: bool) -> ShadedTable {
    let base = matrix.labels.first().copied().unwrap_or_default();
    let rows = section.rows.iter().map(|row| ShadedRow {
        name: row.test.to_owned(),
        cells: row
            .cells
            .iter()
            .map(|cell| ShadedCell {
                text: Some(cell.text()).filter(|it| !it.is_empty()).unwrap_or(NONE.to_owned()),
                shade: cell.shade(),
            })
            .collect(),
    });
    ShadedTable {
        title: heading(section, several_setups),
        note: format!("QPS divided by that of {base}"),
        corner: "test",
        columns: matrix.short.clone(),
        rows: rows.collect(),
    }
}

/// The group, and the setup if there are several.
pub(crate) fn heading(section: &MatrixSection, several_setups: bool) -> String {
    match several_setups {
        true => format!("{}, {}", title(section.group), section.setup.separated()),
        false => title(section.group),
    }
}
