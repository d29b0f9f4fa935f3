//! Estimates with their uncertainty, and the verdict that follows.

use serde::{Deserialize, Serialize};

use crate::words;

/// A value with its 95% interval. Both ends are NaN if the uncertainty is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// A value of unknown uncertainty, such as a single measurement.
    pub fn without_interval(value: f64) -> Self {
        Self { value, low: f64::NAN, high: f64::NAN }
    }

    /// Only an upper bound is known.
    pub fn at_most(value: f64) -> Self {
        Self { value, low: f64::NAN, high: value }
    }

    /// Only a lower bound is known.
    pub fn at_least(value: f64) -> Self {
        Self { value, low: value, high: f64::NAN }
    }

    pub fn is_bound(self) -> bool {
        self.low.is_finite() != self.high.is_finite()
    }

    /// Ends of the interval, or the bound with 0 or infinity, as values are not negative. `None` if neither is known.
    pub fn ends(self) -> Option<(f64, f64)> {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => Some((self.low, self.high)),
            (false, true) => Some((0.0, self.high)),
            (true, false) => Some((self.low, f64::INFINITY)),
            (false, false) => None,
        }
    }

    /// A value with known ends; an end of 0 or infinity carries no information.
    pub fn between(value: f64, (low, high): (f64, f64)) -> Self {
        match (low > 0.0, high.is_finite()) {
            (true, true) => Self { value, low, high },
            (false, true) => Self::at_most(high),
            (true, false) => Self::at_least(low),
            (false, false) => Self::without_interval(f64::NAN),
        }
    }

    pub fn has_interval(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

words! {
    /// The outcome of comparing two systems.
    pub enum Verdict {
        /// The interval lies above 1, and the estimate exceeds 1 by more than the threshold.
        Faster = "faster",
        /// The interval lies below 1, and the estimate falls below 1 by more than the threshold.
        Slower = "slower",
        /// The whole interval lies within the threshold around 1.
        Same = "same",
        /// The usual ratio and the ratio of totals differ by more than the threshold: one system stalls at times, the
        /// other less or not at all.
        Uneven = "uneven",
        /// The evidence suffices for none of these.
        Undecided = "undecided",
        /// The cell could not be measured.
        Failed = "failed",
    }
}

words! {
    /// A verdict on CPU time per operation, or on the tail of latencies.
    pub enum CpuVerdict (default: Undecided) {
        /// More than the base, by more than the threshold.
        More = "more",
        /// Less than the base, by more than the threshold.
        Less = "less",
        /// The whole interval lies within the threshold around 1.
        Same = "same",
        /// The evidence suffices for none of these.
        Undecided = "undecided",
    }
}

words! {
    /// The figures by which a study answers its question.
    pub enum JudgedFigures (default: Both) {
        /// By time, and by CPU where that says more. Limits and searches are about time.
        Both = "both",
        /// Only by time: queries per second.
        Time = "time",
        /// Only by the CPU time per operation of the threads that serve connections.
        Cpu = "cpu",
    }
}
