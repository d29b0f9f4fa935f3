//! Variances of few blocks, moderated across cells by empirical Bayes (Smyth 2004).

use statrs::function::gamma::digamma;

use crate::robust::{mean, median};
use crate::special::{trigamma, trigamma_inverse};

pub(crate) const CELLS_MIN: usize = 3;

/// Variances below this share of their median are raised to it: a variance of zero is meaningless.
const VARIANCE_FLOOR: f64 = 1e-5;

/// Degrees of freedom allowed to the prior even if a cell has fewer of its own.
const DF_MIN: f64 = 6.0;

/// Common distribution of the variances of all cells: a scaled inverse chi-squared distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Degrees of freedom; infinite if the variances differ only by chance.
    pub df: f64,
    pub variance: f64,
    /// Degrees of freedom of all cells together, the maximum of a moderated variance.
    pub df_pooled: f64,
}

/// Fits the prior to `(variance, degrees of freedom)` of many cells by the moments of log variances; `None` for too
/// few.
pub fn fit_prior(variances: &[(f64, f64)]) -> Option<Prior> {
    let usable: Vec<_> = variances
        .iter()
        .copied()
        .filter(|(variance, df)| variance.is_finite() && *df > 0.0)
        .collect();
    if usable.len() < CELLS_MIN {
        return None;
    }
    let values: Vec<f64> = usable.iter().map(|(variance, _)| *variance).collect();
    let floor = VARIANCE_FLOOR * median(&values).filter(|&middle| middle > 0.0)?;
    let logs: Vec<f64> = usable
        .iter()
        .map(|(variance, df)| variance.max(floor).ln() - digamma(df / 2.0) + (df / 2.0).ln())
        .collect();
    let centre = mean(&logs);
    let count = logs.len() as f64;
    let spread =
        logs.iter().map(|log| (log - centre) * (log - centre)).sum::<f64>() / (count - 1.0);
    let chance = usable.iter().map(|(_, df)| trigamma(df / 2.0)).sum::<f64>() / count;
    let df_pooled = usable.iter().map(|(_, df)| df).sum();
    let excess = spread - chance;
    if excess <= 0.0 {
        return Some(Prior { df: f64::INFINITY, variance: mean(&values), df_pooled });
    }
    let df = 2.0 * trigamma_inverse(excess);
    let variance = (centre + digamma(df / 2.0) - (df / 2.0).ln()).exp();
    Some(Prior { df, variance, df_pooled })
}

impl Prior {
    /// Variance of one cell with its degrees of freedom, moderated by the others.
    ///
    /// The prior counts at most as much as the cell's own variance, [`DF_MIN`] or `known`. Few blocks cannot reveal one
    /// cell in eight varying three times as much as the others, and the full prior would give it intervals that cover
    /// 84%.
    ///
    /// For a cell without a variance, `df` is 0 and the result is the prior's.
    pub fn moderate(&self, (variance, df): (f64, f64), known: f64) -> (f64, f64) {
        if df <= 0.0 {
            return (self.variance, self.df.min(self.df_pooled));
        }
        let prior = self.df.min(df.max(DF_MIN).max(known));
        let posterior = (prior * self.variance + df * variance) / (prior + df);
        (posterior, (prior + df).min(self.df_pooled.max(known)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight variances with 3 degrees of freedom each, by SciPy 1.17: `e = log(s2) - digamma(1.5) + log(1.5)`,
    /// `d0 = 2 * brentq(lambda x: polygamma(1, x) - (var(e, ddof=1) - polygamma(1, 1.5)), 1e-3, 1e6)`,
    /// `s0 = exp(mean(e) + digamma(d0 / 2) - log(d0 / 2))`, the formulas of limma's `fitFDist`.
    #[test]
    fn agrees_with_limma_formulas() {
        let variances = [0.8, 1.1, 0.4, 2.6, 9.3, 0.7, 3.1, 0.25].map(|variance| (variance, 3.0));
        let prior = fit_prior(&variances).unwrap();
        assert!((prior.df - 5.196_394_462_321_386).abs() < 1e-8, "{prior:?}");
        assert!((prior.variance - 1.427_022_885_423_495_6).abs() < 1e-8, "{prior:?}");
        let (posterior, df) = prior.moderate((9.3, 3.0), 0.0);
        assert!((posterior - 4.308_647_415_856_375).abs() < 1e-8);
        assert!((df - 8.196_394_462_321_386).abs() < 1e-8);
    }

    #[test]
    fn equal_variances_count_for_each_other() {
        let prior = fit_prior(&[(1.0, 3.0); 8]).unwrap();
        assert_eq!(prior.moderate((1.0, 3.0), 0.0), (1.0, 9.0));
    }

    #[test]
    fn too_few_cells_have_no_prior() {
        assert_eq!(fit_prior(&[(1.0, 3.0); 2]), None);
        assert_eq!(fit_prior(&[(0.0, 3.0); 9]), None);
    }
}
