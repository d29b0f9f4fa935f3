//! Every test and system as a matrix.

use std::ops::Range;

use crate::charts::Place;
use crate::document::{
    Block, Caption, Column, FormField, Look, PageForm, Row, RowGroup, Table, TableCell, Wish,
};
use crate::number::{NONE, figure, within};
use crate::text::{Text, link};
use crate::view::Report;
use crate::view::matrix::{MatrixCell, MatrixRow, MatrixSection};
use crate::words::Symbol as _;

/// On a page, the reader chooses the base.
pub(super) fn blocks(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !wish.is_page() {
        return vec![Block::Images(wish.images.at(&Place::Matrix))];
    }
    let labels = &report.matrix.labels;
    if labels.len() <= 2 {
        return Vec::new();
    }
    let words = Some(labels.iter().map(|label| (*label).to_owned()).collect());
    let base = FormField { label: "Base", name: "base", words, ..FormField::default() };
    let form = PageForm { id: "choice", fields: vec![base], button: None, output: "chosen" };
    let blocks = vec![Block::Form(form), Block::Table(table(report))];
    Block::place("matrix", "Matrix", "Matrix", blocks)
}

fn table(report: &Report) -> Table {
    let matrix = &report.matrix;
    let names = matrix.short.iter().zip(&matrix.labels);
    let mut columns = vec![Column::words("Test")];
    columns.extend(names.map(|(name, label)| Column::numbers(name.clone()).titled(*label)));
    let has_intervals = matrix.has_intervals();
    let widest = "Half the width of the widest 95% interval of the row";
    columns.extend(has_intervals.then(|| Column::numbers("Widest ±").titled(widest)));
    let cell = |cell: &MatrixCell| {
        let title = cell.interval().unwrap_or_default();
        TableCell::from(marked(cell)).class(cell.class()).titled(title).key(cell.key())
    };
    let row = |row: &MatrixRow| {
        let (id, name) = match (format!("test-{}", row.cell), report.is_large) {
            (id, true) => (id, Text::from(row.test)),
            (id, false) => (String::new(), link(format!("#{id}"), row.test).into()),
        };
        let cells = std::iter::once(TableCell::from(name)).chain(row.cells.iter().map(cell));
        Row { id, ..Row::new(cells.chain(has_intervals.then(|| self::widest(row).into()))) }
    };
    let group = |section: &MatrixSection| {
        let setup = report.several_setups.then(|| report.setup(section.setup));
        RowGroup {
            heading: Text::from(section.group.word.as_str()).of(setup),
            rows: section.rows.iter().map(row).collect(),
            ..RowGroup::default()
        }
    };
    let class = "matrix shaded".to_owned();
    let label = "Matrix of tests and systems";
    Table {
        caption: Some(Caption { note: note(report, has_intervals), ..Caption::default() }),
        columns,
        groups: matrix.sections.iter().map(group).collect(),
        look: Look { class, scroll: "tall", label, ..Look::default() },
        ..Table::default()
    }
}

fn note(report: &Report, has_intervals: bool) -> String {
    let [marks, called] = match has_intervals {
        true => [". ▲ faster, ▼ slower, = same, ? undecided", ", if called faster or slower"],
        false => [""; 2],
    };
    let large = match report.is_large {
        true => format!(
            " This study is so large that the other figures of its tests are only in `assay report {} --format csv`.",
            report.id()
        ),
        false => String::new(),
    };
    format!(
        "Relative QPS: QPS divided by that of {}{marks}. Blue: above 1.05, yellow: below 0.95, as in published \
         tables{called}. A bar at the left: changed against the version before it.{large}",
        report.base
    )
}

pub(super) fn columns(report: &Report, has_base: bool, systems: &Range<usize>) -> Vec<Column> {
    let mut columns = vec![Column::words("test")];
    columns.extend(has_base.then(|| Column::numbers("base QPS")));
    let names = &report.matrix.short[systems.clone()];
    columns.extend(names.iter().map(|name| Column::words(name.clone())));
    columns.extend(report.matrix.has_intervals().then(|| Column::numbers("±")));
    columns
}

pub(super) fn row(report: &Report, row: &MatrixRow, has_base: bool, systems: &Range<usize>) -> Row {
    let mut cells = vec![row.test.to_owned()];
    cells.extend(has_base.then(|| figure(row.base_qps)));
    cells.extend(row.cells[systems.clone()].iter().map(marked));
    cells.extend(report.matrix.has_intervals().then(|| widest(row)));
    Row::new(cells)
}

/// `▼0.93`.
fn marked(cell: &MatrixCell) -> String {
    let symbol = cell.verdict.map_or(" ", |verdict| verdict.symbol());
    match cell.text() {
        none if none.is_empty() => format!("{symbol}{NONE}"),
        text => format!("{symbol}{text}"),
    }
}

/// `±1.2%`.
fn widest(row: &MatrixRow) -> String {
    row.widest().map_or_else(|| NONE.to_owned(), within)
}
