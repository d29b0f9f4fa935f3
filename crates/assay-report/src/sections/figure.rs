//! The figures of a system in one test: their names, their meanings, their texts, and the certainty of verdicts.

use std::borrow::Cow;

use assay_model::Verdict;
use assay_verdict::{CellJudgement, LATENCIES, METRICS, PER_OP};

use super::study::JudgedStudy;
use crate::number::{NONE, confidence, figure, share, thousands, within};
use crate::ratio::Quotient;
use crate::words::shortened;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestFigure {
    Qps,
    CpuRatio,
    /// A row of [`PER_OP`] or [`LATENCIES`] with a heading, by its key.
    Row(&'static str),
    Slices,
    Blocks,
    Errors,
    Detectable,
    BeyondThreshold,
    SameWithin,
    Published(&'static str),
}

const FIRST: [TestFigure; 2] = [TestFigure::SERVER_CPU, TestFigure::Row("background_cpu_us")];

/// Figures that are not rows, with a heading for a narrow column and an explanation: those before the rows, and those
/// after them.
const BEFORE: [(TestFigure, &str, &str); 2] = [
    (TestFigure::Qps, "QPS", "operations per second"),
    (
        TestFigure::CpuRatio,
        "CPU ×",
        "server CPU per operation divided by that of the base, with 95% interval",
    ),
];
const AFTER: [(TestFigure, &str, &str); 6] = [
    (TestFigure::Slices, "slices", "good slices; after a +, slices in machine trouble"),
    (TestFigure::Blocks, "blocks", "sets of fresh servers"),
    (TestFigure::Errors, "errors", "retried errors"),
    (
        TestFigure::Detectable,
        "MDE",
        "minimum detectable effect: the change that 4 of 5 studies like this one would call",
    ),
    (
        TestFigure::BeyondThreshold,
        "> threshold",
        "confidence that the change of QPS exceeds the threshold in the direction of its estimate",
    ),
    (
        TestFigure::SameWithin,
        "same within",
        "the largest change of QPS in the interval on which the verdict same rests",
    ),
];

fn rows() -> impl Iterator<Item = &'static assay_verdict::CellFigure> {
    PER_OP.iter().chain(LATENCIES).filter(|row| !row.heading.is_empty())
}

fn is_rare(key: &str) -> bool {
    rows().any(|row| row.key == key && row.is_rare)
}

impl TestFigure {
    pub(super) const SERVER_CPU: Self = Self::Row("all_cpu_us");
    pub(super) const CLIENT_CPU: Self = Self::Row("client_cpu_us");
    pub(super) const CONTEXT_SWITCHES: Self = Self::Row("cs");

    /// In the order in which readers want them: measured figures, or, for published results, the published ones.
    pub(super) fn for_study(study: &JudgedStudy) -> Vec<Self> {
        let cells = &study.judgement.cells;
        let is_known = |figure: &Self| cells.iter().any(|cell| figure.quantity(cell).is_some());
        let is_reported = study.record.is_reported();
        let is_wanted = |figure: &Self| match (figure, is_reported) {
            (Self::Published(_), false) => false,
            (Self::Row(key), false) if is_rare(key) => is_known(figure),
            (_, false) => true,
            (_, true) => is_known(figure),
        };
        let others = rows().map(|row| Self::Row(row.key)).filter(|row| !FIRST.contains(row));
        let [before, after] =
            [BEFORE.as_slice(), &AFTER].map(|all| all.iter().map(|(figure, ..)| *figure));
        let published = METRICS.iter().map(|metric| Self::Published(metric.name));
        let all = before.chain(FIRST).chain(others).chain(after).chain(published);
        all.filter(is_wanted).collect()
    }

    fn words(self) -> (&'static str, Cow<'static, str>) {
        let mut own = BEFORE.iter().chain(&AFTER);
        let row = |key| rows().find(|row| row.key == key);
        let metric = |name| METRICS.iter().find(|metric| metric.name == name);
        let words = match self {
            Self::Row(key) => row(key).map(|row| (row.heading, row.about.into())),
            Self::Published(name) => {
                metric(name).map(|metric| (name, format!("as published: {}", metric.about).into()))
            }
            _ => own
                .find(|(it, ..)| *it == self)
                .map(|(_, heading, about)| (*heading, (*about).into())),
        };
        words.expect("every figure has a heading")
    }

    pub(super) fn heading(self) -> &'static str {
        self.words().0
    }

    pub(super) fn explanation(self) -> Cow<'static, str> {
        self.words().1
    }

    /// `None` if not measured or not a plain quantity.
    pub(super) fn quantity(self, cell: &CellJudgement) -> Option<f64> {
        match self {
            Self::Qps => cell.qps.map(|qps| qps.value),
            Self::Row(key) => rows().find(|row| row.key == key)?.value(cell),
            Self::Published(name) => cell.published(name),
            Self::CpuRatio
            | Self::Slices
            | Self::Blocks
            | Self::Errors
            | Self::Detectable
            | Self::BeyondThreshold
            | Self::SameWithin => None,
        }
    }

    /// A dash if not measured.
    pub(super) fn text(self, cell: &CellJudgement) -> String {
        match self {
            Self::CpuRatio => Quotient(cell.cpu_ratio).value_with_interval(),
            Self::Slices if cell.troubled > 0 => {
                // Troubled slices of a disturbed cell, and segments of a step, are judged, so `slices` includes them.
                let has_segments = cell.step.as_ref().is_some_and(|step| step.total_rate.is_some());
                let judged = if cell.is_disturbed || has_segments { cell.troubled } else { 0 };
                format!("{} + {}", cell.slices.saturating_sub(judged), cell.troubled)
            }
            Self::Slices => cell.slices.to_string(),
            Self::Blocks => cell.blocks.to_string(),
            Self::Errors => thousands(cell.errors as f64),
            Self::Detectable => match cell.detectable {
                // A larger number would be useless.
                Some(1.0..) => "> × 2".to_owned(),
                Some(effect) => share(effect),
                None => NONE.to_owned(),
            },
            Self::BeyondThreshold => {
                beyond_threshold(cell).map_or_else(|| NONE.to_owned(), confidence)
            }
            Self::SameWithin => same_within(cell).map_or_else(|| NONE.to_owned(), within),
            // Published figures keep all their digits.
            Self::Published(_) => {
                self.quantity(cell).map_or_else(|| NONE.to_owned(), |value| value.to_string())
            }
            _ => figure(self.quantity(cell)),
        }
    }
}

pub(crate) fn beyond_threshold(cell: &CellJudgement) -> Option<f64> {
    cell.beyond_threshold.filter(|_| cell.verdict != Verdict::Failed)
}

pub(crate) fn same_within(cell: &CellJudgement) -> Option<f64> {
    cell.bound.filter(|_| cell.verdict == Verdict::Same)
}

/// Confidence from which on a change is said to exceed the threshold.
const CERTAIN: f64 = 0.95;

/// Maximum number of changes named because they may be smaller than the threshold.
const NAMES: usize = 5;

pub(super) fn of_changes(study: &JudgedStudy) -> Option<String> {
    let is_called = |cell: &&CellJudgement| {
        matches!(cell.verdict, Verdict::Faster | Verdict::Slower)
            && study.compared.contains(&cell.system)
    };
    let called = study.judgement.cells.iter().filter(is_called);
    let called: Vec<(&CellJudgement, f64)> =
        called.filter_map(|cell| Some((cell, cell.beyond_threshold?))).collect();
    let mut rest: Vec<_> = called.iter().filter(|(_, beyond)| *beyond < CERTAIN).collect();
    rest.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let what =
        format!("exceed {} with at least {} confidence", share(study.threshold()), share(CERTAIN));
    let name = |(cell, beyond): &&(&CellJudgement, f64)| {
        let system = match study.compared.len() {
            1 => String::new(),
            _ => format!(" {}", study.label(cell.system)),
        };
        format!("{}{system} ({})", study.cell_name(cell.cell), confidence(*beyond))
    };
    let names: Vec<String> = rest.iter().map(name).collect();
    match (called.len(), names.len()) {
        (0, _) => None,
        (_, 0) => Some(format!("all called changes {what}")),
        _ => Some(format!("all called changes {what} except {}", shortened(&names, NAMES))),
    }
}
