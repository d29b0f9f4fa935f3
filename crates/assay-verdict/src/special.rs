//! Trigamma and its inverse, for moments of log variances; errors of logarithms.

use assay_model::Estimate;

/// The 97.5% quantile of the normal distribution.
pub const Z: f64 = 1.959_964;

/// Standard error of an estimate's log, from its 95% interval; `None` if unknown.
pub fn log_error(estimate: Estimate) -> Option<f64> {
    let is_known = estimate.has_interval() && estimate.low > 0.0;
    is_known.then(|| (estimate.high / estimate.low).ln() / (2.0 * Z))
}

/// From here on the asymptotic series is exact to double precision.
const ASYMPTOTIC_FROM: f64 = 12.0;

/// Second derivative of ln Γ at `x` > 0.
pub(crate) fn trigamma(x: f64) -> f64 {
    let mut shifted = x;
    let mut sum = 0.0;
    while shifted < ASYMPTOTIC_FROM {
        sum += 1.0 / (shifted * shifted);
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let series = 1.0 / 6.0
        - inverse
            * (1.0 / 30.0 - inverse * (1.0 / 42.0 - inverse * (1.0 / 30.0 - inverse * 5.0 / 66.0)));
    sum + 1.0 / shifted + 0.5 * inverse + inverse / shifted * series
}

/// The `x` > 0 at which [`trigamma`] is `y` > 0.
pub(crate) fn trigamma_inverse(y: f64) -> f64 {
    // Trigamma falls strictly; between these bounds 1/x < trigamma(x) < 1/x + 1/x² brackets the root.
    let mut low = 1.0 / (y + 1.0) / 2.0;
    let mut high = 1.0 / y + 1.0 / y.sqrt() + 1.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if trigamma(middle) > y {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.special.polygamma(1, x)`.
    const SCIPY: [(f64, f64); 6] = [
        (0.1, 101.43329915079275),
        (0.5, 4.93480220054468),
        (1.0, 1.6449340668482266),
        (1.5, 0.9348022005446793),
        (3.7, 0.31003785767003833),
        (40.0, 0.025315103841291032),
    ];

    #[test]
    fn agrees_with_scipy() {
        for (x, tri) in SCIPY {
            assert!((trigamma(x) / tri - 1.0).abs() < 1e-12, "trigamma({x})");
        }
    }

    #[test]
    fn inverse_inverts() {
        for x in [1e-3, 0.1, 0.5, 1.0, 3.7, 40.0, 1e4] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-8, "{x}");
        }
    }
}
