//! Relative QPS as a matrix of tests and systems, rounded and coloured as published.

use assay_model::{Estimate, Group, Setup, Verdict};

use super::shaded::Shade;
use super::study::JudgedStudy;
use crate::ratio::{Ratio, narrow};
use assay_model::versions;

/// From this many compared systems on, a matrix is easier to read than a table with columns for each system.
pub(crate) const MANY: usize = 4;

pub(crate) struct Matrix<'a> {
    /// The base first.
    pub(crate) labels: Vec<&'a str>,
    pub(crate) short: Vec<String>,
    pub(crate) sections: Vec<MatrixSection<'a>>,
    has_intervals: bool,
}

pub(crate) struct MatrixSection<'a> {
    pub(crate) setup: Setup,
    pub(crate) group: &'static Group,
    pub(crate) rows: Vec<MatrixRow<'a>>,
}

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
}

impl MatrixCell {
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
        let mut of_base: Vec<_> =
            study.judgement.cells.iter().filter(|cell| cell.system == study.base).collect();
        of_base.sort_by_key(|cell| (cell.cell.setup, cell.group));
        let sections = of_base
            .chunk_by(|one, next| (one.cell.setup, one.group) == (next.cell.setup, next.group));
        let row = |base: &&'a assay_verdict::CellJudgement| MatrixRow {
            cell: study.number_of(base.cell),
            test: base.cell.test.name(),
            base_qps: base.qps.map(|qps| qps.value),
            cells: systems.iter().map(|&system| cell(study, base, system)).collect(),
        };
        let section = |cells: &[&'a assay_verdict::CellJudgement]| {
            let first = cells.first()?;
            let rows = cells.iter().map(row).collect();
            Some(MatrixSection { setup: first.cell.setup, group: first.group, rows })
        };
        let labels: Vec<&str> = systems.iter().map(|&system| study.label(system)).collect();
        let sections: Vec<MatrixSection<'a>> = sections.filter_map(section).collect();
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

fn cell(study: &JudgedStudy, base: &assay_verdict::CellJudgement, system: usize) -> MatrixCell {
    if system == study.base {
        let ratio = base.qps.map(|_| Estimate::without_interval(1.0));
        return MatrixCell { ratio, verdict: None, step: None };
    }
    let judged = study.cell(base.cell, system);
    let step = study.named_step(base.cell, system);
    let says = |verdict: &Verdict| *verdict != Verdict::Undecided || study.has_verdicts();
    let verdict = judged.map(|it| it.verdict).filter(says);
    let ratio = judged.filter(|it| it.verdict != Verdict::Failed).and_then(|it| it.rqps);
    MatrixCell { ratio, verdict, step }
}
