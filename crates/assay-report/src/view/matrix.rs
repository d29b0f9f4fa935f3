//! Relative QPS as a matrix of tests and systems, rounded and coloured as published, and as tables in the form of
//! published posts.

use assay_model::{CellId, Estimate, Verdict, versions};

use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::{JudgedStudy, TestGroup};
use crate::number::NONE;
use crate::ratio::{Ratio, narrow};
use crate::words::{Separated, title};

/// From this many compared systems on, a matrix is easier to read than a table with columns for each system.
pub(crate) const MANY: usize = 4;

pub(crate) struct Matrix<'a> {
    /// The base first.
    pub(crate) labels: Vec<&'a str>,
    pub(crate) short: Vec<String>,
    pub(crate) sections: Vec<MatrixSection<'a>>,
    has_intervals: bool,
}

pub(crate) type MatrixSection<'a> = TestGroup<MatrixRow<'a>>;

pub(crate) struct MatrixRow<'a> {
    /// Number of the cell in the study, from 1.
    pub(crate) cell: usize,
    pub(crate) test: &'a str,
    pub(crate) base_qps: Option<f64>,
    pub(crate) cells: Vec<MatrixCell>,
}

pub(crate) struct MatrixCell {
    /// Relative to the base; 1 for the base.
    pub(crate) ratio: Option<Estimate>,
    /// `None` for the base.
    pub(crate) verdict: Option<Verdict>,
    /// Direction of the step from the previous version, if reports name that step.
    pub(crate) step: Option<Verdict>,
}

impl MatrixCell {
    /// `0.93`, `≤1/420`; empty if not measured.
    pub(crate) fn text(&self) -> String {
        self.ratio.map_or_else(String::new, narrow)
    }

    pub(crate) fn key(&self) -> String {
        Ratio(self.ratio).key()
    }

    /// `[0.91, 0.95]`.
    pub(crate) fn interval(&self) -> Option<String> {
        Ratio(self.ratio).interval()
    }

    /// The published colour: more than 5% better or worse, on numbers rounded to two decimals. A value with an interval
    /// is coloured only if its verdict agrees.
    pub(crate) fn shade(&self) -> Shade {
        let is_open = !matches!(self.verdict, Some(Verdict::Faster | Verdict::Slower));
        let ratio = self.ratio.filter(|ratio| !(is_open && ratio.has_interval()));
        match ratio.map(|ratio| (100.0 * ratio.value).round()) {
            Some(percent) if percent > 105.0 => Shade::Better,
            Some(percent) if percent < 95.0 => Shade::Worse,
            _ => Shade::None,
        }
    }

    pub(crate) fn class(&self) -> String {
        let step = self.step.map_or("", |_| " step");
        format!("{}{step}", self.shade().class()).trim_start().to_owned()
    }
}

impl MatrixRow<'_> {
    /// Widest half-width of its intervals, as a share of the ratio; `None` if no interval is known.
    pub(crate) fn widest(&self) -> Option<f64> {
        let ratios = self.cells.iter().filter_map(|cell| cell.ratio);
        let halves = ratios.filter(|it| it.has_interval() && it.value > 0.0);
        halves.map(|it| 0.5 * (it.high - it.low) / it.value).reduce(f64::max)
    }
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(study: &'a JudgedStudy<'a>) -> Self {
        let others = study.compared.iter().copied().filter(|&system| !study.is_twin(system));
        let systems: Vec<usize> = std::iter::once(study.base).chain(others).collect();
        let sections: Vec<MatrixSection<'a>> = study.grouped(|base| {
            Some(MatrixRow {
                cell: study.number_of(base.cell),
                test: base.cell.test.name(),
                base_qps: base.qps.map(|qps| qps.value),
                cells: systems.iter().map(|&system| cell(study, base.cell, system)).collect(),
            })
        });
        let labels: Vec<&str> = systems.iter().map(|&system| study.label(system)).collect();
        let mut rows = sections.iter().flat_map(|section| &section.rows);
        let has_intervals = rows.any(|row| row.widest().is_some());
        Self { short: versions(&labels), labels, sections, has_intervals }
    }

    pub(crate) fn has_intervals(&self) -> bool {
        self.has_intervals
    }

    /// Whether it replaces wider tables.
    pub(crate) fn has_many_systems(&self) -> bool {
        self.labels.len() > MANY
    }
}

fn cell(study: &JudgedStudy, cell: CellId, system: usize) -> MatrixCell {
    let judged = study.cell(cell, system).filter(|_| system != study.base);
    MatrixCell {
        ratio: study.ratio(cell, system),
        verdict: judged.map(|judged| judged.verdict).filter(|verdict| study.says(*verdict)),
        step: study.named_step(cell, system).filter(|_| system != study.base),
    }
}

pub(crate) const PUBLISHED_NOTE: &str = "in the form of published posts: ratios of QPS with two decimals, without \
    intervals and verdicts";

pub(crate) fn published_tables(matrix: &Matrix, several_setups: bool) -> Vec<ShadedTable> {
    matrix.sections.iter().map(|section| table(matrix, section, several_setups)).collect()
}

fn table(matrix: &Matrix, section: &MatrixSection, several_setups: bool) -> ShadedTable {
    let base = matrix.labels[0];
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
