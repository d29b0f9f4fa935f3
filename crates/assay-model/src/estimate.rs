//! Estimates with their uncertainty, and the verdict that follows.

use serde::{Deserialize, Serialize};

/// A value with its 95% interval. Both ends are NaN if the uncertainty is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// A value of unknown uncertainty, such as a single measurement.
    #[must_use]
    pub fn without_interval(value: f64) -> Self {
        Self { value, low: f64::NAN, high: f64::NAN }
    }

    /// Only an upper bound is known.
    #[must_use]
    pub fn at_most(value: f64) -> Self {
        Self { value, low: f64::NAN, high: value }
    }

    /// Only a lower bound is known.
    #[must_use]
    pub fn at_least(value: f64) -> Self {
        Self { value, low: value, high: f64::NAN }
    }

    #[must_use]
    pub fn is_bound(self) -> bool {
        self.low.is_finite() != self.high.is_finite()
    }

    /// Ends of the interval, or the bound with 0 or infinity, as values are not negative. `None` if neither is known.
    #[must_use]
    pub fn ends(self) -> Option<(f64, f64)> {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => Some((self.low, self.high)),
            (false, true) => Some((0.0, self.high)),
            (true, false) => Some((self.low, f64::INFINITY)),
            (false, false) => None,
        }
    }

    /// A value with known ends; an end of 0 or infinity carries no information.
    #[must_use]
    pub fn between(value: f64, (low, high): (f64, f64)) -> Self {
        match (low > 0.0, high.is_finite()) {
            (true, true) => Self { value, low, high },
            (false, true) => Self::at_most(high),
            (true, false) => Self::at_least(low),
            (false, false) => Self::without_interval(f64::NAN),
        }
    }

    #[must_use]
    pub fn has_interval(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies above 1, and the estimate exceeds 1 by more than the threshold.
    Faster,
    /// The interval lies below 1, and the estimate falls below 1 by more than the threshold.
    Slower,
    /// The whole interval lies within the threshold around 1.
    Same,
    /// The usual ratio and the ratio of totals differ by more than the threshold: one system stalls at times, the other
    /// less or not at all.
    Uneven,
    /// The evidence suffices for none of these.
    Undecided,
    Failed,
}

impl Verdict {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Uneven => "uneven",
            Self::Undecided => "undecided",
            Self::Failed => "failed",
        }
    }
}
