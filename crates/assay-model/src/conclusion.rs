//! Conclusions of a study, as stored in the ledger.

use crate::{Estimate, Verdict};

#[derive(Debug, Clone, PartialEq)]
pub struct Conclusions {
    pub judged_by: String,
    /// One per cell and system: by cell in the study's order, then by system.
    pub cells: Vec<Conclusion>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    pub cell: usize,
    pub system: usize,
    pub verdict: Verdict,
    pub qps: Option<Estimate>,
    /// Operations per second relative to the base; `None` for the base.
    pub rqps: Option<Estimate>,
    pub cpu_verdict: Option<Verdict>,
    /// Server CPU time per operation relative to the base.
    pub cpu_ratio: Option<Estimate>,
}

/// Relative differences up to this are rounding: math libraries of two machines may differ in the last bit.
const ROUNDING: f64 = 1e-9;

impl Conclusion {
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let fields = [
            ("verdict", self.verdict == other.verdict),
            ("qps", is_same(self.qps, other.qps)),
            ("rqps", is_same(self.rqps, other.rqps)),
            ("cpu_verdict", self.cpu_verdict == other.cpu_verdict),
            ("cpu_ratio", is_same(self.cpu_ratio, other.cpu_ratio)),
        ];
        fields.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
    }
}

fn is_same(one: Option<Estimate>, other: Option<Estimate>) -> bool {
    let numbers = |it: Estimate| [it.value, it.low, it.high];
    match (one.map(numbers), other.map(numbers)) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            one.into_iter().zip(other).all(|(one, other)| is_close(one, other))
        }
        _ => false,
    }
}

fn is_close(one: f64, other: f64) -> bool {
    // Unknown interval ends are NaN.
    one == other
        || (one.is_nan() && other.is_nan())
        || (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_differ_beyond_rounding() {
        let conclusion = |value: f64| Conclusion {
            cell: 0,
            system: 1,
            verdict: Verdict::Same,
            qps: Some(Estimate { value, low: value, high: f64::INFINITY }),
            rqps: Some(Estimate::without_interval(1.0)),
            cpu_verdict: None,
            cpu_ratio: None,
        };
        assert!(conclusion(100.0).differences(&conclusion(100.0 + 1e-12)).is_empty());
        assert_eq!(conclusion(100.0).differences(&conclusion(100.001)), ["qps"]);
        let none = Conclusion { rqps: None, verdict: Verdict::Slower, ..conclusion(100.0) };
        assert_eq!(conclusion(100.0).differences(&none), ["verdict", "rqps"]);
    }
}
