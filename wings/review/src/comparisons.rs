//! What the files show of the difference between systems. Pure.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Estimate, Product};
use assay_report::blocks::change_in_words;

use crate::runs::{RateUnit, ReviewedFiles, ReviewedRun};
use crate::statistics::{CoveredNoise, RateRatio, RunRate, drift, rate_ratio};
use crate::study::counted_test;
use crate::systems::NamedRelease;

/// A system against the base in one test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReviewedChange {
    pub(crate) system: String,
    pub(crate) test: String,
    pub(crate) clients: Option<u32>,
    pub(crate) unit: RateUnit,
    /// Mean rates of the base and of the system.
    pub(crate) rates: [f64; 2],
    /// Number of runs of the base and of the system.
    pub(crate) runs: [usize; 2],
    pub(crate) found: RateRatio,
}

/// What the files show of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewVerdict {
    /// It exceeds the noise within runs and between repeats.
    Yes,
    /// It exceeds the noise within runs; there are no repeats.
    WithinRuns,
    No,
}

impl ReviewVerdict {
    /// With hyphens, also for scripts.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Yes => "shown",
            Self::WithinRuns => "shown within runs",
            Self::No => "not shown",
        }
    }
}

impl ReviewedChange {
    pub(crate) fn verdict(&self) -> ReviewVerdict {
        let Estimate { low, high, .. } = self.found.ratio;
        match self.found.covered {
            CoveredNoise::Repeats if low > 1.0 || high < 1.0 => ReviewVerdict::Yes,
            CoveredNoise::WithinRuns if low > 1.0 || high < 1.0 => ReviewVerdict::WithinRuns,
            _ => ReviewVerdict::No,
        }
    }

    /// Why a difference is not shown, or what its interval leaves out.
    pub(crate) fn why(&self) -> &'static str {
        match (self.verdict(), self.found.covered) {
            (_, CoveredNoise::Nothing) => {
                "no noise is known: neither enough rates by second nor repeats that differ"
            }
            (ReviewVerdict::No, _) => "the interval includes no difference",
            (ReviewVerdict::WithinRuns, _) => {
                "the interval does not cover differences between runs"
            }
            (ReviewVerdict::Yes, _) => "",
        }
    }
}

/// All systems against the first, test by test in the order of its runs.
pub(crate) fn changes(files: &ReviewedFiles) -> Vec<ReviewedChange> {
    let Some((base, others)) = files.systems.split_first() else { return Vec::new() };
    let mut rates: BTreeMap<_, Vec<RunRate>> = BTreeMap::new();
    for run in &files.runs {
        rates.entry((run.system.as_str(), run.key())).or_default().push(run.with_noise());
    }
    let (mut all, mut keys) = (Vec::new(), BTreeSet::new());
    for run in files.runs.iter().filter(|run| run.system == base.name) {
        let key = run.key();
        if !keys.insert(key) {
            continue;
        }
        let of_base = &rates[&(base.name.as_str(), key)];
        for other in others {
            let Some(of_other) = rates.get(&(other.name.as_str(), key)) else { continue };
            all.push(ReviewedChange {
                system: other.name.clone(),
                test: run.test.clone(),
                clients: run.clients,
                unit: run.unit,
                rates: [mean_rate(of_base), mean_rate(of_other)],
                runs: [of_base.len(), of_other.len()],
                found: rate_ratio(of_base, of_other),
            });
        }
    }
    all
}

fn mean_rate(runs: &[RunRate]) -> f64 {
    assay_verdict::mean(&runs.iter().map(|run| run.rate).collect::<Vec<_>>())
}

/// The range of factors by which the errors of runs exceed those of independent seconds.
pub(crate) fn too_narrow(files: &ReviewedFiles) -> Option<[f64; 2]> {
    let noises = files.runs.iter().filter_map(|run| run.with_noise().noise);
    let factors = noises.map(|noise| noise.error / noise.naive);
    factors.fold(None, |range: Option<[f64; 2]>, factor| {
        let [low, high] = range.unwrap_or([factor, factor]);
        Some([low.min(factor), high.max(factor)])
    })
}

/// Smallest change between the halves of a run that is reported.
const DRIFT_MIN: f64 = 0.01;

/// Runs whose rate rises or falls from their first half to their second.
pub(crate) fn drifts(files: &ReviewedFiles) -> Vec<String> {
    let sentence = |run: &ReviewedRun| {
        let drift = drift(&run.intervals)?;
        let is_sure = drift.low > 1.0 || drift.high < 1.0;
        let is_drift = is_sure && drift.value.ln().abs() > DRIFT_MIN;
        let change = change_in_words(drift).filter(|_| is_drift)?;
        Some(format!(
            "{}: from the first to the second half of the run, the rate changed by {change}: it had not settled, and a \
             longer run may have another one",
            run.file
        ))
    };
    files.runs.iter().filter_map(sentence).collect()
}

/// Relative difference between the rate of a report and that of its intervals that is reported.
const REPORT_TOLERANCE: f64 = 0.05;

/// Reports that do not agree with the rates that the same file has by interval.
pub(crate) fn contradicting_intervals(files: &ReviewedFiles) -> Vec<String> {
    let sentence = |run: &ReviewedRun| {
        // HammerDB counts transactions meanwhile, and new orders at the end.
        let is_alike = run.unit == RateUnit::Transactions;
        let mean = run.with_noise().noise.filter(|_| is_alike)?.mean;
        let differs = (mean / run.rate).ln().abs() > REPORT_TOLERANCE;
        differs.then(|| {
            format!(
                "{}: its intervals average {mean:.1} {unit}, and its report says {:.1} {unit}",
                run.file,
                run.rate,
                unit = run.unit.words()
            )
        })
    };
    files.runs.iter().filter_map(sentence).collect()
}

/// What is known of two releases without measuring them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownRatio {
    pub(crate) system: String,
    /// The name in the files.
    pub(crate) test: String,
    /// The counted test, if it has another name.
    pub(crate) counted_as: Option<String>,
    /// Instructions per operation of the system, divided by those of the base.
    pub(crate) instructions: Estimate,
}

/// `known` is asked for the base, the other release, and a test.
pub(crate) fn known_ratios(
    files: &ReviewedFiles,
    changes: &[ReviewedChange],
    known: impl Fn([(Product, &str); 2], &str) -> Option<Estimate>,
) -> Vec<KnownRatio> {
    let release = |name: &str| -> Option<&NamedRelease> {
        let system = files.systems.iter().find(|system| system.name == name)?;
        system.release.as_ref()
    };
    let base = files.systems.first().and_then(|system| system.release.as_ref());
    let mut all: Vec<KnownRatio> = Vec::new();
    for change in changes {
        let Some((base, other)) = base.zip(release(&change.system)) else { continue };
        let is_same =
            |known: &KnownRatio| (&known.system, &known.test) == (&change.system, &change.test);
        // A test has one count for all numbers of clients.
        if all.iter().any(is_same) {
            continue;
        }
        let pair = [base, other].map(|release| (release.product, release.version.as_str()));
        let counted_as = counted_test(&change.test);
        let test = counted_as.as_deref().unwrap_or(&change.test);
        let Some(instructions) = known(pair, test) else { continue };
        let (system, test) = (change.system.clone(), change.test.clone());
        all.push(KnownRatio { system, test, counted_as, instructions });
    }
    all
}
