//! Intervals of shares and of means.

/// A value with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// 97.5% quantile of the normal distribution.
pub(super) const Z: f64 = 1.959_964;

/// 97.5% quantiles of Student's t distribution for 1, 2, ... degrees of freedom.
const T: [f64; 20] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
];

/// A share of `count` among `of` (Wilson 1927); `None` if `of` is 0.
pub(super) fn share(count: f64, total: f64) -> Option<Interval> {
    if total <= 0.0 {
        return None;
    }
    let value = count / total;
    let middle = (value + Z * Z / (2.0 * total)) / (1.0 + Z * Z / total);
    let half = Z / (1.0 + Z * Z / total)
        * (value * (1.0 - value) / total + Z * Z / (4.0 * total * total)).sqrt();
    Some(Interval { value, low: (middle - half).max(0.0), high: (middle + half).min(1.0) })
}

/// The mean of independent values; `None` for fewer than two.
pub(super) fn mean(values: &[f64]) -> Option<Interval> {
    let half = student(values.len().checked_sub(1)?) * sd(values)? / (values.len() as f64).sqrt();
    let value = values.iter().sum::<f64>() / values.len() as f64;
    Some(Interval { value, low: value - half, high: value + half })
}

/// The means of groups of independent values with equal variance: a few values say little about their spread, those of
/// all groups say more. `None` for a group without values, and if no group has two.
pub(super) fn means_alike(groups: &[Vec<f64>]) -> Vec<Option<Interval>> {
    let squares = groups.iter().filter_map(|it| Some((sd(it)?.powi(2), it.len() - 1)));
    let (sum, df) =
        squares.fold((0.0, 0), |(sum, all), (square, df)| (sum + square * df as f64, all + df));
    let mean = |values: &Vec<f64>| {
        if df == 0 || values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let half = student(df) * (sum / df as f64 / count).sqrt();
        let value = values.iter().sum::<f64>() / count;
        Some(Interval { value, low: value - half, high: value + half })
    };
    groups.iter().map(mean).collect()
}

/// The sample standard deviation; `None` for fewer than two values.
pub(super) fn sd(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

pub(super) fn student(df: usize) -> f64 {
    // Beyond the table: Cornish and Fisher's first term.
    let beyond = || Z + (Z.powi(3) + Z) / (4.0 * df as f64);
    df.checked_sub(1).and_then(|at| T.get(at).copied()).unwrap_or_else(|| match df {
        0 => f64::INFINITY,
        _ => beyond(),
    })
}

/// `None` without values.
pub(super) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_intervals_of_the_tables() {
        let found = share(0.0, 20.0).unwrap();
        assert!(found.low == 0.0 && (found.high - 0.161).abs() < 0.001, "{found:?}");
        let half = share(50.0, 100.0).unwrap();
        assert!((half.low - 0.404).abs() < 0.001 && (half.high - 0.596).abs() < 0.001, "{half:?}");
        assert_eq!(share(0.0, 0.0), None);
    }

    #[test]
    fn means_have_students_interval() {
        let found = mean(&[1.0, 2.0, 6.0]).unwrap();
        assert!((found.value - 3.0).abs() < 1e-9 && (found.high - 9.572).abs() < 0.01, "{found:?}");
        assert_eq!(mean(&[1.0]), None);
        assert_eq!(mean(&[]), None);
        assert!((student(30) - 2.042).abs() < 0.01);
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
