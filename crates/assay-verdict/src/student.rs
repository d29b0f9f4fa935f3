//! Student's t distribution, far into its tails.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// Smallest tail probability for which a quantile is computed. No distribution of measurements is known so far out, so
/// nothing is called at a lower level.
const TAIL_MIN: f64 = 1e-30;

pub(crate) fn is_of_use(alpha: f64) -> bool {
    alpha / 2.0 >= TAIL_MIN
}

/// Two-sided p-value of a log of 0, given its estimate, standard error and degrees of freedom.
pub(crate) fn two_sided(log: f64, se: f64, df: f64) -> f64 {
    if se <= 0.0 {
        return if log == 0.0 { 1.0 } else { 0.0 };
    }
    2.0 * upper_tail((log / se).abs(), df)
}

/// Probability that Student's t, with these degrees of freedom, exceeds `t`.
pub(crate) fn upper_tail(t: f64, df: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, df) {
        Ok(student) if df.is_finite() => student.sf(t),
        _ => Normal::standard().sf(t),
    }
}

/// Upper-tail quantile of Student's t; infinite for tails so far out that no distribution is known there.
pub fn upper_quantile(tail: f64, df: f64) -> f64 {
    if tail < TAIL_MIN {
        return f64::INFINITY;
    }
    match StudentsT::new(0.0, 1.0, df) {
        Ok(student) if df.is_finite() && tail <= 0.5 => upper_half(&student, tail),
        Ok(student) if df.is_finite() => -upper_half(&student, 1.0 - tail),
        _ => -Normal::standard().inverse_cdf(tail),
    }
}

/// Maximum steps to a quantile. Ten are usual.
const STEPS_MAX: u32 = 200;

/// The quantile above which the part `tail` lies, at most one half. Newton's method on logarithms within bounds: the
/// library's own inverse fails or does not end for small tails.
fn upper_half(student: &StudentsT, tail: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    let mut at = -Normal::standard().inverse_cdf(tail);
    for _ in 0..STEPS_MAX {
        let found = student.sf(at);
        if found > tail {
            low = at
        } else {
            high = at
        }
        let newton = at * ((found / tail).ln() * found / (at * student.pdf(at))).exp();
        let next = if newton > low && newton < high {
            newton
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            2.0 * at.max(1.0)
        };
        if (next - at).abs() <= 4.0 * f64::EPSILON * at {
            return next;
        }
        at = next;
    }
    at
}
