//! Published claims about measured values, as data.

use assay_model::{Estimate, StudyRecord, Verdict};
use assay_verdict::{CellJudgement, LATENCIES, METRICS, PER_OP, mean, median, variance};
use serde::Deserialize;

/// A measured value. The word of a figure is its name in the CSV of reports, or its published name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Operations per second relative to another system.
    Rqps,
    /// Queries per second.
    Qps,
    /// CPU time per operation relative to another system.
    CpuRatio,
    /// Any other figure, by its name.
    Figure(&'static str),
    /// Such a figure divided by that of another system.
    Relative(&'static str),
}

const SLA_MET: &str = "sla_met";

/// Prefix of the word of a ratio.
const RELATIVE: &str = "relative ";

type FigureOf = fn(&CellJudgement) -> Option<f64>;

/// Figures beside those of [`LATENCIES`], [`PER_OP`] and [`METRICS`].
const OTHERS: [(&str, FigureOf); 6] = [
    ("tps", |cell| cell.tps),
    ("step_ips", |cell| Some(cell.step.as_ref()?.ips)),
    ("step_dps", |cell| Some(cell.step.as_ref()?.dps)),
    ("step_qps", |cell| Some(cell.step.as_ref()?.qps)),
    ("step_seconds", |cell| Some(cell.step.as_ref()?.seconds)),
    (SLA_MET, |cell| Some(f64::from(u8::from(cell.step.as_ref()?.sla_met?)))),
];

/// The names of all figures.
fn figures() -> impl Iterator<Item = &'static str> {
    let rows = LATENCIES.iter().chain(PER_OP).filter(|figure| figure.is_in_files());
    let others = OTHERS.into_iter().map(|(name, _)| name);
    others.chain(rows.map(|figure| figure.key)).chain(METRICS.into_iter().map(|it| it.name))
}

/// A figure of a system in a cell, by its name.
fn figure(name: &str, cell: &CellJudgement, record: &StudyRecord) -> Option<f64> {
    if let Some((_, value)) = OTHERS.into_iter().find(|(other, _)| *other == name) {
        return value(cell);
    }
    if let Some(metric) = METRICS.into_iter().find(|metric| metric.name == name) {
        return metric.value(cell, record);
    }
    if let Some(latency) = LATENCIES.iter().find(|figure| figure.key == name) {
        return latency.value(cell);
    }
    // A published rate becomes a slice without counters.
    let counted = PER_OP.iter().find(|figure| figure.key == name && !record.is_reported());
    counted?.value(cell)
}

impl Quantity {
    /// Latencies may leave out their unit.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let known = |word: &str| {
            let is_it = |name: &&str| {
                *name == word
                    || word.starts_with("latency_") && name.strip_suffix("_us") == Some(word)
            };
            figures().find(is_it)
        };
        match word {
            "rqps" => Some(Self::Rqps),
            "qps" => Some(Self::Qps),
            "cpu_ratio" => Some(Self::CpuRatio),
            _ => match word.strip_prefix(RELATIVE) {
                Some(word) => known(word).map(Self::Relative),
                None => known(word).map(Self::Figure),
            },
        }
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let own = [Self::Rqps, Self::Qps, Self::CpuRatio];
        own.into_iter().chain(figures().map(Self::Figure)).chain(figures().map(Self::Relative))
    }

    pub fn word(self) -> String {
        match self {
            Self::Rqps => "rqps".to_owned(),
            Self::Qps => "qps".to_owned(),
            Self::CpuRatio => "cpu_ratio".to_owned(),
            Self::Figure(name) => name.to_owned(),
            Self::Relative(name) => format!("{RELATIVE}{name}"),
        }
    }

    pub fn is_ratio(self) -> bool {
        matches!(self, Self::Rqps | Self::CpuRatio | Self::Relative(_))
    }

    /// Whether it is 1 or 0 for yes or no.
    pub fn is_yes_or_no(self) -> bool {
        self == Self::Figure(SLA_MET)
    }

    /// Whether assay computes an interval, given enough measurements.
    pub fn has_interval(self) -> bool {
        matches!(self, Self::Rqps | Self::Qps | Self::CpuRatio)
    }

    /// `base` is the cell of the system that ratios are relative to, which is the base of the judgement.
    pub(crate) fn value(
        self,
        cell: &CellJudgement,
        base: Option<&CellJudgement>,
        record: &StudyRecord,
    ) -> Option<Estimate> {
        if self.is_ratio() && cell.verdict == Verdict::Failed {
            return None;
        }
        let alone = match self {
            Self::Rqps => return cell.relative_rate(record),
            Self::Qps => return cell.qps,
            Self::CpuRatio => return cell.relative_cost(record),
            Self::Figure(name) => figure(name, cell, record),
            Self::Relative(name) => {
                Some(figure(name, cell, record)? / figure(name, base?, record)?)
            }
        };
        alone.filter(|it| it.is_finite()).map(Estimate::without_interval)
    }
}

/// The statistic over several tests that a claim or a printed number is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Summary {
    Median,
    Average,
    Min,
    Max,
    /// Of the sample.
    Stddev,
}

impl Summary {
    pub const ALL: [Self; 5] = [Self::Median, Self::Average, Self::Min, Self::Max, Self::Stddev];

    pub fn word(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Average => "average",
            Self::Min => "min",
            Self::Max => "max",
            Self::Stddev => "stddev",
        }
    }

    /// `None` without values, and for the standard deviation of a single one.
    pub fn compute(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Median => median(values),
            Self::Average => (!values.is_empty()).then(|| mean(values)),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Stddev => variance(values).map(f64::sqrt),
        }
    }
}

/// A range of values, closed unless `is_open`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Minus infinity if unbounded.
    pub low: f64,
    /// Infinity if unbounded.
    pub high: f64,
    /// Whether the ends are excluded.
    pub is_open: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Relation {
    In(Region),
    /// The named system has the smallest value of all systems of the claim.
    Lowest(String),
    /// The named system has the largest value of all systems of the claim.
    Highest(String),
}

/// The share of values that the claim is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    Every,
    None,
    Most,
    /// At least this share, 0 to 1.
    Part(f64),
    Count {
        least: u32,
        most: u32,
        of: Option<u32>,
    },
}

/// The unit that a share counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShareUnit {
    /// Tests: each counts if the claim holds for all its systems and client counts.
    Tests,
    /// Values: each combination of systems, test and client count.
    Cells,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub quantity: Quantity,
    /// `None` if each test is a value.
    pub summary: Option<Summary>,
    pub relation: Relation,
    pub share: Share,
    pub counted: ShareUnit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_the_sample() {
        let compute = |summary: Summary| summary.compute(&[0.8, 0.9, 1.3]).unwrap();
        assert!((compute(Summary::Average) - 1.0).abs() < 1e-9);
        assert!((compute(Summary::Stddev) - 0.07_f64.sqrt()).abs() < 1e-9);
        assert_eq!([Summary::Median, Summary::Min, Summary::Max].map(compute), [0.9, 0.8, 1.3]);
        assert_eq!(Summary::Stddev.compute(&[1.0]), None);
        assert!(Summary::ALL.iter().all(|it| it.compute(&[]).is_none()));
    }

    #[test]
    fn every_word_names_its_quantity() {
        for quantity in Quantity::all() {
            assert_eq!(Quantity::from_word(&quantity.word()), Some(quantity));
        }
        assert_eq!(Quantity::from_word("latency_p99"), Some(Quantity::Figure("latency_p99_us")));
        assert_eq!(Quantity::from_word("relative cs/o"), Some(Quantity::Relative("cs/o")));
        // The rest is not in reports, or is a ratio already.
        for word in ["all_cpu_us", "server_cpu", "relative rqps", "relative", "cs ratio"] {
            assert_eq!(Quantity::from_word(word), None, "{word}");
        }
    }
}
