//! A comparison of a candidate with the base, and how such comparisons differ.

/// The smallest standard deviation of a comparison. Numbers farther apart would exceed the precision of what is
/// computed from them.
pub(super) const SD_MIN: f64 = 1e-5;

/// How comparisons of the same candidate with the base differ, as standard deviations of the log ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectNoise {
    /// Between comparisons that start new instances, beyond their own standard errors. This is the guess before the
    /// first comparison: the search learns from the comparisons how far off it is, up to a factor of about three.
    pub instance: f64,
    /// Between builds of equal speed, which no repetition averages out, such as by the layout of their code. Changes of
    /// this size are not worth naming.
    pub build: f64,
}

impl BisectNoise {
    /// Whether comparisons repeat exactly but for the shifts of builds, as counts of instructions nearly do. One
    /// comparison then decides about a candidate, and the search is a plain binary search: half of what is left has
    /// most information.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.instance == 0.0
    }
}

/// A comparison that came to an end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    pub(super) base: usize,
    pub(super) candidate: usize,
    pub(super) log_ratio: f64,
    pub(super) se: f64,
}

/// What the comparisons of a candidate say together: the mean of the log ratios, weighted by their precision, and its
/// standard error, which is larger if they differ by more than their own errors explain. `None` without any.
#[must_use]
pub fn pooled(comparisons: &[(f64, f64)]) -> Option<(f64, f64)> {
    let weight = |se: f64| 1.0 / (se * se).max(SD_MIN * SD_MIN);
    let usable = || comparisons.iter().filter(|(value, se)| value.is_finite() && se.is_finite());
    let weights: f64 = usable().map(|(_, se)| weight(*se)).sum();
    let mean = usable().map(|(value, se)| weight(*se) * value).sum::<f64>() / weights;
    let squares: f64 = usable().map(|(value, se)| weight(*se) * (value - mean).powi(2)).sum();
    let freedom = (usable().count() as f64 - 1.0).max(1.0);
    let se = ((squares / freedom).max(1.0) / weights).sqrt();
    mean.is_finite().then_some((mean, se))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_that_disagree_widen_the_error() {
        assert_eq!(pooled(&[]), None);
        assert_eq!(pooled(&[(f64::NAN, 0.1), (0.1, f64::INFINITY)]), None);
        let (mean, se) = pooled(&[(0.1, 0.01), (0.1, 0.01)]).unwrap();
        assert!((mean - 0.1).abs() < 1e-12 && (se - 0.01 / 2.0_f64.sqrt()).abs() < 1e-12);
        let (mean, wide) = pooled(&[(0.0, 0.01), (0.2, 0.01)]).unwrap();
        assert!((mean - 0.1).abs() < 1e-12 && wide > 10.0 * se, "{wide}");
    }
}
