//! A number that always carries its uncertainty, and the verdict that follows from it.

use serde::{Deserialize, Serialize};

/// A value with its 95% interval. If its uncertainty is unknown, both ends are NaN.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Lower end of the 95% interval.
    pub low: f64,
    /// Upper end of the 95% interval.
    pub high: f64,
}

impl Estimate {
    /// A value whose uncertainty is unknown, such as a single measurement.
    #[must_use]
    pub fn without_interval(value: f64) -> Self {
        Self { value, low: f64::NAN, high: f64::NAN }
    }

    /// All that is known is that the value is at most this.
    #[must_use]
    pub fn at_most(value: f64) -> Self {
        Self { value, low: f64::NAN, high: value }
    }

    /// All that is known is that the value is at least this.
    #[must_use]
    pub fn at_least(value: f64) -> Self {
        Self { value, low: value, high: f64::NAN }
    }

    /// Whether only a bound of it is known.
    #[must_use]
    pub fn is_bound(self) -> bool {
        self.low.is_finite() != self.high.is_finite()
    }

    /// The ends between which the value lies, which cannot be negative: those of its interval, or its bound and 0 or
    /// infinity. `None` if neither is known.
    #[must_use]
    pub fn ends(self) -> Option<(f64, f64)> {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => Some((self.low, self.high)),
            (false, true) => Some((0.0, self.high)),
            (true, false) => Some((self.low, f64::INFINITY)),
            (false, false) => None,
        }
    }

    /// A value of which these ends are known, of which 0 and infinity say nothing.
    #[must_use]
    pub fn between(value: f64, (low, high): (f64, f64)) -> Self {
        match (low > 0.0, high.is_finite()) {
            (true, true) => Self { value, low, high },
            (false, true) => Self::at_most(high),
            (true, false) => Self::at_least(low),
            (false, false) => Self::without_interval(f64::NAN),
        }
    }

    /// Whether its uncertainty is known.
    #[must_use]
    pub fn has_interval(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// The judgement on one system against the base in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies above 1 and the estimate exceeds 1 by more than the threshold.
    Faster,
    /// The interval lies below 1 and the estimate falls below 1 by more than the threshold.
    Slower,
    /// The whole interval lies within the threshold around 1.
    Same,
    /// The usual ratio and the ratio of totals differ by more than the threshold: one system stalls at times, and the
    /// other one does not, or does so less.
    Uneven,
    /// The evidence does not suffice for any of these.
    Undecided,
    /// The cell could not be measured.
    Failed,
}

impl Verdict {
    /// The word used in every output format.
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
