//! The figures of a system in one test: their names, their meanings, and their texts.

use assay_verdict::CellJudgement;

use super::certainty::{beyond_threshold, same_within};
use super::study::JudgedStudy;
use crate::number::{NONE, confidence, figure, share, thousands, within};
use crate::ratio::Quotient;

/// A figure of a system in one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Qps,
    CpuRatio,
    ServerCpu,
    BackgroundCpu,
    ClientCpu,
    CpuWait,
    OtherWait,
    ContextSwitches,
    Reads,
    WriteKb,
    LatencyP50,
    LatencyP95,
    LatencyP99,
    Slices,
    Blocks,
    Errors,
    Detectable,
    BeyondThreshold,
    SameWithin,
    /// A figure of published results, by its name there.
    Published(&'static str),
}

/// Each figure with a heading that fits a narrow column and an explanation, in the order in which readers want them.
const WORDS: [(Figure, &str, &str); 24] = [
    (Figure::Qps, "QPS", "operations per second"),
    (
        Figure::CpuRatio,
        "CPU ×",
        "server CPU per operation divided by that of the base, with 95% interval",
    ),
    (
        Figure::ServerCpu,
        "server µs/op",
        "CPU time per operation of all threads of the server, as in the ratio",
    ),
    (Figure::BackgroundCpu, "backgr. µs/op", "the part of it in threads that serve no connection"),
    (Figure::ClientCpu, "client µs/op", "CPU time per operation of assay's clients"),
    (
        Figure::CpuWait,
        "CPU wait µs/op",
        "time of those threads on the run queue, except while their own client has the CPU",
    ),
    (
        Figure::OtherWait,
        "other wait µs/op",
        "all other waiting: locks, network, wake-ups, disk; – if the counters cannot tell, as for CPU wait",
    ),
    (Figure::ContextSwitches, "cs/op", "context switches of the server per operation"),
    (
        Figure::Reads,
        "reads/op",
        "reads that the block device completed per operation, for any process",
    ),
    (Figure::WriteKb, "wKB/op", "KiB sent to block devices per operation"),
    (Figure::LatencyP50, "p50 µs", "median latency of events"),
    (Figure::LatencyP95, "p95 µs", "95th percentile of the latency of events"),
    (Figure::LatencyP99, "p99 µs", "99th percentile of the latency of events"),
    (Figure::Slices, "slices", "good slices; after a +, slices in machine trouble"),
    (Figure::Blocks, "blocks", "sets of fresh servers"),
    (Figure::Errors, "errors", "retried errors"),
    (
        Figure::Detectable,
        "MDE",
        "minimum detectable effect: the change that 4 of 5 studies like this one would call",
    ),
    (
        Figure::BeyondThreshold,
        "> threshold",
        "confidence that the change of QPS exceeds the threshold in the direction of its estimate",
    ),
    (
        Figure::SameWithin,
        "same within",
        "the largest change of QPS in the interval on which the verdict same rests",
    ),
    (
        Figure::Published("cpu/o"),
        "cpu/o",
        "as published: CPU of the machine, client included, in percent of all CPUs, divided by QPS",
    ),
    (
        Figure::Published("cs/o"),
        "cs/o",
        "as published: context switches of the machine per operation",
    ),
    (Figure::Published("r/o"), "r/o", "as published: reads of the block device per operation"),
    (
        Figure::Published("rKB/o"),
        "rKB/o",
        "as published: KiB read from the block device per operation",
    ),
    (
        Figure::Published("wKB/o"),
        "wKB/o",
        "as published: KiB written to the block device per operation",
    ),
];

impl Figure {
    /// The figures of a study, in the order in which readers want them: of what assay measures, or, of published
    /// results, what was published.
    pub(crate) fn of(study: &JudgedStudy) -> Vec<Self> {
        let cells = &study.judgement.cells;
        let is_known = |figure: &Self| cells.iter().any(|cell| figure.quantity(cell).is_some());
        let is_reported = study.record.is_reported();
        let is_wanted = |figure: &Self| match (figure, is_reported) {
            (Self::Published(_), false) => false,
            (_, false) => true,
            (_, true) => is_known(figure),
        };
        WORDS.iter().map(|(figure, ..)| *figure).filter(is_wanted).collect()
    }

    fn words(self) -> (&'static str, &'static str) {
        let words = WORDS.iter().find(|(figure, ..)| *figure == self);
        words.map_or(("", ""), |(_, heading, explanation)| (*heading, *explanation))
    }

    /// A heading that fits a narrow column.
    pub(crate) fn heading(self) -> &'static str {
        self.words().0
    }

    /// An explanation of the figure.
    pub(crate) fn explanation(self) -> &'static str {
        self.words().1
    }

    /// The figure as a quantity; `None` if it was not measured or is no plain quantity.
    pub(crate) fn quantity(self, cell: &CellJudgement) -> Option<f64> {
        let per_op = |key| cell.per_op?.get(key);
        match self {
            Self::Qps => cell.qps.map(|qps| qps.value),
            Self::ServerCpu => per_op("all_cpu_us"),
            Self::BackgroundCpu => per_op("background_cpu_us"),
            Self::ClientCpu => per_op("client_cpu_us"),
            Self::CpuWait => per_op("cpu_wait_us"),
            Self::OtherWait => per_op("wait_us"),
            Self::ContextSwitches => per_op("cs"),
            Self::Reads => per_op("reads"),
            Self::WriteKb => per_op("write_kb"),
            Self::LatencyP50 => cell.latency.and_then(|it| it.p50),
            Self::LatencyP95 => cell.latency.and_then(|it| it.p95),
            Self::LatencyP99 => cell.latency.and_then(|it| it.p99),
            Self::Published(name) => {
                cell.published.iter().find(|(it, _)| it == name).map(|(_, value)| *value)
            }
            Self::CpuRatio
            | Self::Slices
            | Self::Blocks
            | Self::Errors
            | Self::Detectable
            | Self::BeyondThreshold
            | Self::SameWithin => None,
        }
    }

    /// The figure as people read it; a dash where it was not measured.
    pub(crate) fn text(self, cell: &CellJudgement) -> String {
        match self {
            Self::CpuRatio => Quotient(cell.cpu_ratio).value_with_interval(),
            Self::Slices if cell.troubled > 0 => {
                // Those of a disturbed cell are judged, and counted among the others.
                let judged = if cell.is_disturbed { cell.troubled } else { 0 };
                format!("{} + {}", cell.slices.saturating_sub(judged), cell.troubled)
            }
            Self::Slices => cell.slices.to_string(),
            Self::Blocks => cell.blocks.to_string(),
            Self::Errors => thousands(cell.errors as f64),
            Self::Detectable => match cell.detectable {
                // A larger number would be of no use.
                Some(1.0..) => "> × 2".to_owned(),
                Some(effect) => share(effect),
                None => NONE.to_owned(),
            },
            Self::BeyondThreshold => {
                beyond_threshold(cell).map_or_else(|| NONE.to_owned(), confidence)
            }
            Self::SameWithin => same_within(cell).map_or_else(|| NONE.to_owned(), within),
            // A change of the last digit would be a change of the published figure.
            Self::Published(_) => {
                self.quantity(cell).map_or_else(|| NONE.to_owned(), |value| value.to_string())
            }
            _ => figure(self.quantity(cell)),
        }
    }
}
