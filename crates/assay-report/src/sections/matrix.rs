//! Relative QPS as a matrix of tests and systems, rounded and coloured as published.

use std::ops::Range;

use assay_model::{CellId, Estimate, Verdict, versions};

use super::shades::Shade;
use super::study::{JudgedStudy, TestGroup};
use crate::charts::Place;
use crate::document::{
    Block, Caption, Column, FormField, Look, PageForm, Row, RowGroup, Table, TableCell, Wish,
};
use crate::number::{NONE, figure, within};
use crate::ratio::{Ratio, narrow};
use crate::text::{Text, link};
use crate::words::{Separated, Symbol as _, title};

/// From this many compared systems on, a matrix is easier to read than a table with columns for each system.
const MANY: usize = 4;

pub(crate) struct Matrix<'a> {
    /// The base first.
    pub(crate) labels: Vec<&'a str>,
    pub(crate) short: Vec<String>,
    pub(crate) sections: Vec<MatrixSection<'a>>,
    pub(crate) has_intervals: bool,
}

pub(crate) type MatrixSection<'a> = TestGroup<MatrixRow<'a>>;

pub(crate) struct MatrixRow<'a> {
    /// Number of the cell in the study, from 1.
    pub(crate) cell: usize,
    pub(crate) test: &'a str,
    base_qps: Option<f64>,
    pub(crate) cells: Vec<MatrixCell>,
}

pub(crate) struct MatrixCell {
    /// Relative to the base; 1 for the base.
    pub(crate) ratio: Option<Estimate>,
    /// `None` for the base.
    pub(crate) verdict: Option<Verdict>,
    /// Direction of the step from the previous version, if reports name that step.
    pub(crate) step: Option<Verdict>,
    /// Whether a colour would contradict its verdict: not called, in a study with intervals.
    is_uncalled: bool,
}

impl MatrixCell {
    /// `0.93`, `≤1/420`; empty if not measured.
    pub(crate) fn text(&self) -> String {
        self.ratio.map_or_else(String::new, narrow)
    }

    /// Published tables colour what is more than 5% better or worse, on numbers rounded to two decimals.
    pub(crate) fn shade(&self) -> Shade {
        let ratio = self.ratio.filter(|_| !self.is_uncalled);
        match ratio.map(|ratio| (100.0 * ratio.value).round()) {
            Some(percent) if percent > 105.0 => Shade::Better,
            Some(percent) if percent < 95.0 => Shade::Worse,
            _ => Shade::None,
        }
    }
}

impl MatrixRow<'_> {
    /// Widest half-width of its intervals, as a share of the ratio; `None` if no interval is known.
    fn widest(&self) -> Option<f64> {
        let ratios = self.cells.iter().filter_map(|cell| cell.ratio);
        let halves = ratios.filter(|it| it.has_interval() && it.value > 0.0);
        halves.map(|it| 0.5 * (it.high - it.low) / it.value).reduce(f64::max)
    }
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(study: &'a JudgedStudy<'a>) -> Self {
        let systems: Vec<usize> = std::iter::once(study.base).chain(study.others()).collect();
        let mut ratios = study.judgement.cells.iter().filter_map(|cell| cell.rqps);
        let has_intervals = ratios.any(|ratio| ratio.has_interval());
        let cell = |base, &system: &usize| cell(study, base, system, has_intervals);
        let sections: Vec<MatrixSection<'a>> = study.grouped(|base| {
            Some(MatrixRow {
                cell: study.number_of(base.cell),
                test: base.cell.test.name(),
                base_qps: base.qps.map(|qps| qps.value),
                cells: systems.iter().map(|system| cell(base.cell, system)).collect(),
            })
        });
        let labels: Vec<&str> = systems.iter().map(|&system| study.label(system)).collect();
        Self { short: versions(&labels), labels, sections, has_intervals }
    }

    /// Whether it replaces wider tables.
    pub(super) fn has_many_systems(&self) -> bool {
        self.labels.len() > MANY
    }
}

/// On a page, the reader chooses the base.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !wish.is_page() {
        return vec![Block::Images(wish.images.at(&Place::Matrix))];
    }
    let matrix = Matrix::new(study);
    if matrix.labels.len() <= 2 {
        return Vec::new();
    }
    let words = Some(matrix.labels.iter().map(|label| (*label).to_owned()).collect());
    let base = FormField { label: "Base", name: "base", words, ..FormField::default() };
    let form = PageForm { id: "choice", fields: vec![base], button: None, output: "chosen" };
    let blocks = vec![Block::Form(form), Block::Table(page_table(study, &matrix))];
    Block::place("matrix", "Matrix", "Matrix", blocks)
}

fn page_table(study: &JudgedStudy, matrix: &Matrix) -> Table {
    let is_large = study.is_large();
    let names = matrix.short.iter().zip(&matrix.labels);
    let mut columns = vec![Column::words("Test")];
    columns.extend(names.map(|(name, label)| Column::numbers(name.clone()).titled(*label)));
    let has_intervals = matrix.has_intervals;
    let widest = "Half the width of the widest 95% interval of the row";
    columns.extend(has_intervals.then(|| Column::numbers("Widest ±").titled(widest)));
    let cell = |cell: &MatrixCell| {
        let step = cell.step.map_or("", |_| " step");
        let class = format!("{}{step}", cell.shade().class());
        let (shown, ratio) = (TableCell::from(marked(cell)), Ratio(cell.ratio));
        let title = ratio.interval().unwrap_or_default();
        shown.class(class.trim_start()).titled(title).key(ratio.key())
    };
    let row = |row: &MatrixRow| {
        let (id, name) = match (format!("test-{}", row.cell), is_large) {
            (id, true) => (id, Text::from(row.test)),
            (id, false) => (String::new(), link(format!("#{id}"), row.test).into()),
        };
        let cells = std::iter::once(TableCell::from(name)).chain(row.cells.iter().map(cell));
        Row { id, ..Row::new(cells.chain(has_intervals.then(|| self::widest(row).into()))) }
    };
    let group = |section: &MatrixSection| RowGroup {
        heading: Text::from(section.group.word.as_str())
            .with_setup(study.setup_if_several(section.setup)),
        rows: section.rows.iter().map(row).collect(),
        ..RowGroup::default()
    };
    let class = "matrix shaded".to_owned();
    let label = "Matrix of tests and systems";
    Table {
        caption: Some(Caption { note: note(study, has_intervals), ..Caption::default() }),
        columns,
        groups: matrix.sections.iter().map(group).collect(),
        look: Look { class, scroll: "tall", label, ..Look::default() },
        ..Table::default()
    }
}

fn note(study: &JudgedStudy, has_intervals: bool) -> String {
    let [marks, called] = match has_intervals {
        true => [". ▲ faster, ▼ slower, = same, ? undecided", ", if called faster or slower"],
        false => [""; 2],
    };
    let large = match study.is_large() {
        true => format!(
            " This study is so large that the other figures of its tests are only in `assay report {} --format csv`.",
            study.record.study.id
        ),
        false => String::new(),
    };
    format!(
        "Relative QPS: QPS divided by that of {}{marks}. Blue: above 1.05, orange: below 0.95, the limits of published \
         tables{called}. A bar at the left: changed against the version before it.{large}",
        study.base_label()
    )
}

impl Matrix<'_> {
    /// The columns of a terminal or a post.
    pub(super) fn columns(&self, has_base: bool, systems: &Range<usize>) -> Vec<Column> {
        let mut columns = vec![Column::words("test")];
        columns.extend(has_base.then(|| Column::numbers("base QPS")));
        let names = &self.short[systems.clone()];
        columns.extend(names.iter().map(|name| Column::words(name.clone())));
        columns.extend(self.has_intervals.then(|| Column::numbers("±")));
        columns
    }

    pub(super) fn row(&self, row: &MatrixRow, has_base: bool, systems: &Range<usize>) -> Row {
        let mut cells = vec![row.test.to_owned()];
        cells.extend(has_base.then(|| figure(row.base_qps)));
        cells.extend(row.cells[systems.clone()].iter().map(marked));
        cells.extend(self.has_intervals.then(|| widest(row)));
        Row::new(cells)
    }
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

fn cell(study: &JudgedStudy, cell: CellId, system: usize, has_intervals: bool) -> MatrixCell {
    let judged = study.cell(cell, system).filter(|_| system != study.base);
    let verdict = judged.map(|judged| judged.verdict).filter(|verdict| study.says(*verdict));
    MatrixCell {
        ratio: study.ratio(cell, system),
        verdict,
        is_uncalled: has_intervals && !matches!(verdict, Some(Verdict::Faster | Verdict::Slower)),
        step: study.named_step(cell, system).filter(|_| system != study.base),
    }
}

/// The group, and the setup if there are several.
pub(crate) fn heading(study: &JudgedStudy, section: &MatrixSection) -> String {
    match study.several_setups() {
        true => format!("{}, {}", title(section.group), section.setup.separated()),
        false => title(section.group),
    }
}
