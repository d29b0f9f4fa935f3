//! Numbers and intervals in JSON.

use assay_model::Estimate;
use serde::{Serialize, Serializer};

use crate::number::Digits;

/// A finite number, or null. Whole numbers stay exact.
#[derive(Debug, Clone, Copy, Default)]
pub struct Number(pub Option<f64>);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(Some(value))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.and_then(Digits::from_value) {
            // Without a decimal point.
            Some(Digits::Whole(value)) => serializer.serialize_i64(value),
            Some(Digits::Fraction(value)) => serializer.serialize_f64(value),
            None => serializer.serialize_none(),
        }
    }
}

/// A value with the ends of its interval.
#[derive(Serialize)]
pub struct Interval {
    value: Number,
    low: Number,
    high: Number,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        // A bound has no known value.
        let value = Some(estimate.value).filter(|_| !estimate.is_bound());
        Self { value: Number(value), low: estimate.low.into(), high: estimate.high.into() }
    }
}
