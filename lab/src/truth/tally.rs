//! Results of many studies against the truth.

use std::collections::BTreeMap;

use assay_model::{Estimate, Verdict};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// No difference, in a read with the usual noise.
    Null,
    /// No difference, in a write with the usual noise.
    Write,
    /// A difference of the case's size, in a read.
    Changed,
    /// A difference of the case's size, in a write.
    ChangedWrite,
    /// One system stalls now and then.
    Stalled,
    /// No difference, and more noise than other cells have.
    Wide,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Write => "write",
            Self::Changed => "changed",
            Self::ChangedWrite => "changed_write",
            Self::Stalled => "stalled",
            Self::Wide => "wide",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    pub cells: u64,
    pub right: u64,
    /// Called in the other direction, or without a true difference.
    pub wrong: u64,
    pub same: u64,
    /// Called the same although the true difference exceeds the threshold.
    pub wrong_same: u64,
    pub uneven: u64,
    pub intervals: u64,
    /// Intervals that contain the truth.
    pub covered: u64,
    /// Sum of the squared errors of the estimates' logarithms.
    pub squared_error: f64,
    pub error: f64,
    /// Sum of the half-widths of the intervals' logarithms.
    pub half: f64,
    pub decided: u64,
    /// Sum of the seconds until then over these cells.
    pub decided_s: f64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.cells += other.cells;
        self.right += other.right;
        self.wrong += other.wrong;
        self.same += other.same;
        self.wrong_same += other.wrong_same;
        self.uneven += other.uneven;
        self.intervals += other.intervals;
        self.covered += other.covered;
        self.squared_error += other.squared_error;
        self.error += other.error;
        self.half += other.half;
        self.decided += other.decided;
        self.decided_s += other.decided_s;
    }

    fn json(&self) -> Value {
        json!({
            "cells": self.cells,
            "right": self.right,
            "wrong": self.wrong,
            "same": self.same,
            "wrong_same": self.wrong_same,
            "uneven": self.uneven,
            "intervals": self.intervals,
            "covered": self.covered,
            "squared_error": rounded(self.squared_error),
            "error": rounded(self.error),
            "half": rounded(self.half),
            "decided": self.decided,
            "decided_s": rounded(self.decided_s),
        })
    }
}

/// Six significant digits: sums need no more, and lines stay short.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[derive(Debug, Clone, Default)]
pub struct Quantity {
    pub kinds: BTreeMap<Kind, Counts>,
    pub with_wrong: u64,
    /// Sum over studies of the share of wrong calls among all calls; 0 for a study without calls.
    pub false_share: f64,
    /// Sum over studies of the median half-width of the intervals' logarithms.
    pub half_median: f64,
    /// Sum over studies of the half-width that nine of ten cells do not exceed.
    pub half_nine_of_ten: f64,
    pub half_widest: f64,
}

impl Quantity {
    fn add(&mut self, other: &Self) {
        for (kind, counts) in &other.kinds {
            self.kinds.entry(*kind).or_default().add(counts);
        }
        self.with_wrong += other.with_wrong;
        self.false_share += other.false_share;
        self.half_median += other.half_median;
        self.half_nine_of_ten += other.half_nine_of_ten;
        self.half_widest += other.half_widest;
    }

    fn json(&self) -> Value {
        let kinds: serde_json::Map<String, Value> =
            self.kinds.iter().map(|(kind, it)| (kind.word().to_owned(), it.json())).collect();
        json!({
            "kinds": kinds,
            "with_wrong": self.with_wrong,
            "false_share": rounded(self.false_share),
            "half_median": rounded(self.half_median),
            "half_nine_of_ten": rounded(self.half_nine_of_ten),
            "half_widest": rounded(self.half_widest),
        })
    }
}

#[derive(Debug)]
pub(super) struct Study {
    pub(super) qps: StudyQuantity,
    pub(super) cpu: StudyQuantity,
}

#[derive(Debug, Default)]
pub(super) struct StudyQuantity {
    threshold: f64,
    kinds: BTreeMap<Kind, Counts>,
    halves: Vec<f64>,
}

impl Study {
    pub(super) fn new(threshold: f64) -> Self {
        let quantity = || StudyQuantity { threshold, ..StudyQuantity::default() };
        Self { qps: quantity(), cpu: quantity() }
    }

    /// A cell was decided after this number of seconds.
    pub(super) fn decided(&mut self, kind: Kind, seconds: f64) {
        let counts = self.qps.kinds.entry(kind).or_default();
        counts.decided += 1;
        counts.decided_s += seconds;
    }
}

impl StudyQuantity {
    /// A cell whose true logarithm is `truth`. More is better.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        truth: f64,
        verdict: Verdict,
        estimate: Option<Estimate>,
    ) {
        let counts = self.kinds.entry(kind).or_default();
        counts.cells += 1;
        match verdict.word() {
            "faster" if truth > 0.0 => counts.right += 1,
            "slower" if truth < 0.0 => counts.right += 1,
            "faster" | "slower" => counts.wrong += 1,
            "same" => {
                counts.same += 1;
                counts.wrong_same += u64::from(truth.exp_m1().abs() > 1.001 * self.threshold);
            }
            "uneven" => counts.uneven += 1,
            _ => {}
        }
        let Some(estimate) = estimate.filter(|it| it.has_interval()) else { return };
        let error = estimate.value.ln() - truth;
        counts.intervals += 1;
        counts.covered += u64::from(estimate.low.ln() <= truth && truth <= estimate.high.ln());
        counts.error += error;
        counts.squared_error += error * error;
        let half = 0.5 * (estimate.high / estimate.low).ln();
        counts.half += half;
        self.halves.push(half);
    }

    /// Calls, and how many of them are wrong.
    fn calls(&self) -> (u64, u64) {
        let sum = |count: fn(&Counts) -> u64| self.kinds.values().map(count).sum();
        (sum(|it| it.right + it.wrong), sum(|it| it.wrong))
    }

    fn summed(mut self) -> Quantity {
        let (calls, wrong) = self.calls();
        self.halves.sort_by(f64::total_cmp);
        let last = self.halves.len().saturating_sub(1);
        let at = |share: f64| {
            let place = (share * self.halves.len() as f64).ceil() as usize;
            self.halves.get(place.saturating_sub(1).min(last)).copied().unwrap_or(0.0)
        };
        Quantity {
            with_wrong: u64::from(wrong > 0),
            false_share: wrong as f64 / calls.max(1) as f64,
            half_median: 0.5 * (at(0.5) + at(0.5 + 1.0 / self.halves.len().max(1) as f64)),
            half_nine_of_ten: at(0.9),
            half_widest: at(1.0),
            kinds: self.kinds,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub studies: u64,
    /// Sum of their seconds.
    pub seconds: f64,
    /// Operations per second.
    pub qps: Quantity,
    /// CPU per operation, inverted, so that more is better.
    pub cpu: Quantity,
    /// Sum over studies of the share of wrong calls among all calls, of both quantities together.
    pub false_share: f64,
}

impl Tally {
    pub(super) fn add_study(&mut self, study: Study, seconds: f64) {
        let ((calls, wrong), (cpu_calls, cpu_wrong)) = (study.qps.calls(), study.cpu.calls());
        self.studies += 1;
        self.seconds += seconds;
        self.false_share += (wrong + cpu_wrong) as f64 / (calls + cpu_calls).max(1) as f64;
        self.qps.add(&study.qps.summed());
        self.cpu.add(&study.cpu.summed());
    }

    pub fn json(&self, case: &str, first: u64, fingerprint: u64) -> Value {
        json!({
            "case": case,
            "first": first,
            "studies": self.studies,
            "fingerprint": format!("{fingerprint:016x}"),
            "seconds": rounded(self.seconds),
            "false_share": rounded(self.false_share),
            "qps": self.qps.json(),
            "cpu": self.cpu.json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_against_the_truth() {
        let mut study = Study::new(0.02);
        let around =
            |value: f64, half: f64| Some(Estimate { value, low: value - half, high: value + half });
        let mut add =
            |kind, truth, verdict, estimate| study.qps.add(kind, truth, verdict, estimate);
        add(Kind::Null, 0.0, Verdict::Same, around(1.0, 0.01));
        add(Kind::Null, 0.0, Verdict::Faster, around(1.05, 0.02));
        add(Kind::Changed, -0.05, Verdict::Slower, around(0.95, 0.03));
        add(Kind::Changed, -0.05, Verdict::Faster, around(1.05, 0.04));
        add(Kind::Stalled, -0.2, Verdict::Same, None);
        study.decided(Kind::Null, 300.0);
        let mut tally = Tally::default();
        tally.add_study(study, 600.0);
        let counts = |kind| tally.qps.kinds[&kind];
        let null = counts(Kind::Null);
        assert_eq!((null.cells, null.same, null.wrong, null.covered), (2, 1, 1, 1));
        assert_eq!((counts(Kind::Changed).right, counts(Kind::Changed).wrong), (1, 1));
        assert_eq!((counts(Kind::Stalled).wrong_same, counts(Kind::Stalled).intervals), (1, 0));
        assert!((tally.qps.false_share - 2.0 / 3.0).abs() < 1e-12);
        assert!((tally.qps.half_median - 0.0257).abs() < 0.001, "{}", tally.qps.half_median);
        assert!((tally.qps.half_widest - 0.0381).abs() < 0.001, "{}", tally.qps.half_widest);
        let line = tally.json("x", 1, 0xab);
        assert_eq!(line["fingerprint"], "00000000000000ab");
        assert_eq!(line["qps"]["kinds"]["null"]["decided_s"], 300.0);
    }
}
