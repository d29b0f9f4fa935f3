//! The description of a feed, and the results of a study for it.

use std::borrow::Cow;

use assay_model::{Estimate, Experiment, Setup, StudyRecord, System, Verdict, printable};
use assay_verdict::{CellJudgement, Judgement, Latency, PerOp};

use crate::view::undecided::why;

/// A format that another program reads.
#[derive(Debug)]
pub struct Feed {
    /// Value of `--format`.
    pub word: &'static str,
    /// Help line without a full stop.
    pub about: &'static str,
    /// The program that reads it, for the documentation.
    pub reader: &'static str,
    /// File extensions, with their dots.
    pub endings: &'static [&'static str],
    /// Treatment of cells without a decision, for the documentation.
    pub undecided: &'static str,
    /// Treatment of cells without a value, for the documentation.
    pub failed: &'static str,
    pub render: FeedRender,
}

impl PartialEq for Feed {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Feed {}

pub type FeedStudy<'a> = (&'a StudyRecord, &'a Judgement);

#[derive(Debug, Clone, Copy)]
pub enum FeedRender {
    Study(fn(&StudyRecord, &Judgement) -> FeedText),
    History(fn(&[FeedStudy<'_>], &str) -> FeedText),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedText {
    /// Ends with a line feed.
    pub text: String,
    /// Omissions with reasons: lines for people.
    pub left_out: Vec<String>,
}

pub(super) struct FeedCell<'a> {
    pub(super) record: &'a StudyRecord,
    pub(super) judged: &'a CellJudgement,
    pub(super) system: &'a System,
}

/// In the order of the judgement.
pub(super) fn cells<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Vec<FeedCell<'a>> {
    let cell = |judged: &'a CellJudgement| {
        let system = record.systems.get(judged.system)?;
        Some(FeedCell { record, judged, system })
    };
    judgement.cells.iter().filter_map(cell).collect()
}

/// `point-query/clients=1/tables=1/rows=100000`.
pub(super) fn test_path(test: &str, setup: Setup) -> String {
    let Setup { clients, tables, rows } = setup;
    format!("{}/clients={clients}/tables={tables}/rows={rows}", printable(test))
}

impl<'a> FeedCell<'a> {
    pub(super) fn test(&self) -> &'a str {
        &self.judged.cell.test.definition().name
    }

    /// `mariadb@11.8/point-query/clients=1/tables=1/rows=100000`: the same in every study.
    pub(super) fn path(&self) -> String {
        let test = test_path(self.test(), self.judged.cell.setup);
        format!("{}/{test}", printable(&self.system.name))
    }

    /// Whether this system itself could not be measured; the verdict is also `failed` if the base failed.
    fn has_failed(&self) -> bool {
        self.judged.failure.is_some()
    }

    /// Operations per second.
    pub(super) fn qps(&self) -> Option<Estimate> {
        self.judged.qps.filter(|_| !self.has_failed())
    }

    /// Relative to the base; may be a bound.
    pub(super) fn rqps(&self) -> Option<Estimate> {
        self.judged.rqps.filter(|_| self.judged.verdict != Verdict::Failed)
    }

    /// Server CPU per operation, relative to the base.
    pub(super) fn cpu_ratio(&self) -> Option<Estimate> {
        self.judged.cpu_ratio.filter(|_| self.judged.verdict != Verdict::Failed)
    }

    /// Of events, microseconds.
    pub(super) fn latency(&self) -> Option<Latency> {
        self.judged.latency.filter(|_| !self.has_failed())
    }

    pub(super) fn per_op(&self) -> Option<PerOp> {
        let is_measured = !self.record.is_reported() && !self.has_failed();
        self.judged.per_op.filter(|_| is_measured)
    }

    /// `None` for the base, unless it failed, and for published results.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let verdict = self.judged.verdict;
        let has_verdict = !self.system.is_base && !self.record.is_reported();
        (has_verdict || verdict == Verdict::Failed).then_some(verdict)
    }

    /// Why it failed, changed or is undecided.
    pub(super) fn why(&self) -> Option<Cow<'a, str>> {
        why(self.record, self.judged)
    }

    /// Line for people on a cell without a value.
    pub(super) fn left_out(&self) -> String {
        let nothing = match self.record.study.experiment {
            Experiment::Counted => "instructions were counted, and rates were not measured",
            _ => "nothing was measured",
        };
        let why = self.why().unwrap_or(Cow::Borrowed(nothing));
        format!("{}: {}", self.path(), printable(&why))
    }
}

/// `None` if only a bound is known.
pub(super) fn value(estimate: Option<Estimate>) -> Option<f64> {
    let estimate = estimate.filter(|it| !it.is_bound())?;
    finite(estimate.value)
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| crate::number::rounded(value))
}
