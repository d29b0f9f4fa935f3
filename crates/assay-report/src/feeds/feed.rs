//! The description of a feed, and the results of a study for it.

use std::borrow::Cow;

use assay_model::{Estimate, Experiment, Setup, StudyRecord, System, Verdict, printable};
use assay_verdict::{CellJudgement, Judgement};

use crate::data::cell::CELL_COLUMNS;
use crate::data::field;
use crate::data::value::JsonValue;
use crate::sections::doubts::why;
use crate::sections::study::JudgedStudy;

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

/// A figure of a cell in the words of other programs.
#[derive(Clone, Copy)]
pub(super) struct FeedFigure {
    /// The field of the cell, and the name below it: `latency_us/p50`.
    pub(super) place: &'static str,
    needs: FeedNeed,
    /// Name of the measure for Bencher, which ends with its unit; empty if Bencher does not get it.
    pub(super) bencher: &'static str,
    /// Name, unit and meaning for OpenMetrics. Fields in µs are in seconds there, and in ns for Bencher.
    pub(super) metric: [&'static str; 3],
}

/// What a figure needs to be known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FeedNeed {
    /// A rate of the system with its interval, even if the base failed.
    Rate,
    /// A mean of the system, even if the base failed.
    Mean,
    /// A ratio of the system and the base, with its interval.
    Ratio,
    Nothing,
}

const SECONDS: &str = "seconds";

macro_rules! feed_figures {
    ($($place:literal $needs:ident $bencher:literal $name:literal $unit:expr, $about:literal;)+) => {
        &[$(FeedFigure {
            place: $place,
            needs: FeedNeed::$needs,
            bencher: $bencher,
            metric: [$name, $unit, $about],
        }),+]
    };
}

pub(super) const FEED_FIGURES: &[FeedFigure] = feed_figures! {
    "qps" Rate "throughput" "throughput" "operations_per_second", "Operations per second";
    "rqps" Ratio "relative-throughput-ratio"
        "relative_throughput" "ratio", "Operations per second divided by those of the base";
    "cpu_ratio" Ratio "server-cpu-ratio"
        "server_cpu" "ratio", "Server CPU time per operation divided by that of the base";
    "latency_us/avg" Mean "latency" "latency_mean" SECONDS, "Mean latency of events";
    "latency_us/p50" Mean "latency-p50-ns" "latency_p50" SECONDS, "Median latency of events";
    "latency_us/p95" Mean "latency-p95-ns"
        "latency_p95" SECONDS, "95th percentile of the latency of events";
    "latency_us/p99" Mean "latency-p99-ns"
        "latency_p99" SECONDS, "99th percentile of the latency of events";
    "latency_us/max" Mean "latency-max-ns" "latency_max" SECONDS, "Largest latency of events";
    "per_op/server_cpu_us" Mean "" "operation_server_cpu" SECONDS,
        "CPU time per operation of the server's threads that serve connections";
    "detectable" Nothing ""
        "detectable_change" "ratio", "Smallest relative change that 4 of 5 such studies would call";
};

pub(super) const QPS: FeedFigure = FEED_FIGURES[0];
pub(super) const RQPS: FeedFigure = FEED_FIGURES[1];

impl FeedFigure {
    /// Whether its field is in microseconds.
    pub(super) fn is_time(&self) -> bool {
        self.metric[1] == SECONDS
    }

    pub(super) fn has_ends(&self) -> bool {
        matches!(self.needs, FeedNeed::Rate | FeedNeed::Ratio)
    }
}

pub(super) struct FeedCell<'a> {
    pub(super) study: &'a JudgedStudy<'a>,
    pub(super) judged: &'a CellJudgement,
    pub(super) system: &'a System,
}

/// All of them, in the order of the judgement.
pub(super) fn cells<'a>(study: &'a JudgedStudy<'a>) -> Vec<FeedCell<'a>> {
    let cell = |judged: &'a CellJudgement| {
        let system = &study.record.systems[judged.system];
        FeedCell { study, judged, system }
    };
    study.judgement.cells.iter().map(cell).collect()
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

    /// In the unit of its field; a ratio may be a bound.
    pub(super) fn estimate(&self, figure: &FeedFigure) -> Option<Estimate> {
        let is_unknown = match figure.needs {
            // The verdict is also `failed` if the base failed.
            FeedNeed::Rate | FeedNeed::Mean => self.judged.failure.is_some(),
            FeedNeed::Ratio => {
                // Feeds have the CPU of servers, but published results that of the machine.
                let is_of_machine = figure.place == "cpu_ratio" && self.study.record.is_reported();
                is_of_machine || self.judged.verdict == Verdict::Failed
            }
            FeedNeed::Nothing => false,
        };
        if is_unknown {
            return None;
        }
        let (name, below) = figure.place.split_once('/').unwrap_or((figure.place, ""));
        let value = field::value(CELL_COLUMNS, name, self.study, self.judged);
        let found = if below.is_empty() { Some(&value) } else { value.get(below) };
        match found {
            Some(JsonValue::Interval(estimate)) => Some(*estimate),
            Some(JsonValue::Fraction(value)) => Some(Estimate::without_interval(*value)),
            _ => None,
        }
    }

    /// `None` for the base, unless it failed, and for published results.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let verdict = self.judged.verdict;
        let has_verdict = !self.system.is_base && !self.study.record.is_reported();
        (has_verdict || verdict == Verdict::Failed).then_some(verdict)
    }

    /// Why it failed, changed or is undecided.
    pub(super) fn why(&self) -> Option<Cow<'a, str>> {
        why(self.study.record, self.judged)
    }

    /// Line for people on a cell without a value.
    pub(super) fn left_out(&self) -> String {
        let nothing = match self.study.record.study.experiment {
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
