//! How sure the rates in files of a benchmark are. Pure.
//!
//! Rates of neighbouring seconds resemble each other, so the seconds of a run are far fewer independent values than
//! they seem. The error of a mean is the largest of three estimates: that of independent values; that of the means of
//! batches of √n values (Alexopoulos and Seila 1998); and that of an autoregressive process with the correlation of
//! neighbours, because batches are too short for slow changes.

use assay_model::Estimate;
use assay_verdict::{mean, upper_quantile, variance};

/// Fewest intervals whose correlation shows.
pub(crate) const INTERVALS_MIN: usize = 10;

/// Largest correlation of neighbours in use.
const CORRELATION_MAX: f64 = 0.95;

/// One tail of a 95% interval.
const TAIL: f64 = 0.025;

/// The mean of a series with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeriesNoise {
    pub(crate) mean: f64,
    /// Standard error of the mean, relative to it.
    pub(crate) error: f64,
    /// Degrees of freedom of the error.
    pub(crate) freedom: f64,
    /// The error if all values were independent.
    pub(crate) naive: f64,
}

/// `None` for short series, and for those without work or noise: printed rates are rounded.
pub(crate) fn series_noise(values: &[f64]) -> Option<SeriesNoise> {
    let (count, mean_rate) = (values.len(), mean(values));
    if count < INTERVALS_MIN || mean_rate <= 0.0 {
        return None;
    }
    let size = (count as f64).sqrt() as usize;
    let batches = count / size;
    // The first values are the ones most like a warm-up.
    let batch_means: Vec<f64> = values[count - batches * size..].chunks(size).map(mean).collect();
    let of_batches = variance(&batch_means)? / batches as f64;
    let of_values = variance(values)? / count as f64;
    if of_values <= 0.0 {
        return None;
    }
    let correlation = correlation(values, mean_rate);
    let of_process = of_values * (1.0 + correlation) / (1.0 - correlation);
    let largest = of_batches.max(of_process).max(of_values);
    let [error, naive] = [largest, of_values].map(|square| square.sqrt() / mean_rate);
    Some(SeriesNoise { mean: mean_rate, error, freedom: batches as f64 - 1.0, naive })
}

/// Correlation of neighbours, at least 0. In a short series it is too low by about (1 + 4r) / n (Marriott and Pope
/// 1954).
fn correlation(values: &[f64], mean: f64) -> f64 {
    let deviation = |value: f64| value - mean;
    let squares: f64 = values.iter().map(|value| deviation(*value).powi(2)).sum();
    let products = values.windows(2).map(|pair| deviation(pair[0]) * deviation(pair[1]));
    let count = values.len() as f64;
    let plain = products.sum::<f64>() / squares;
    ((count * plain + 1.0) / (count - 4.0)).clamp(0.0, CORRELATION_MAX)
}

/// Rate of the second half of a series, divided by that of the first. `None` if a half is too short.
pub(crate) fn drift(values: &[f64]) -> Option<Estimate> {
    let (first, second) = values.split_at(values.len() / 2);
    let [first, second] = [first, second].map(series_noise);
    let (first, second) = (first?, second?);
    let error = WithError::of_two(first.error, first.freedom, second.error, second.freedom);
    Some(around(second.mean / first.mean, error.half_width()))
}

/// A run as statistics see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RunRate {
    pub(crate) rate: f64,
    /// `None` without rates of intervals.
    pub(crate) noise: Option<SeriesNoise>,
}

/// What an interval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoveredNoise {
    /// The files show none.
    Nothing,
    /// Changes from second to second.
    WithinRuns,
    /// Also differences between repeats.
    Repeats,
}

/// The ratio of two systems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateRatio {
    /// Without interval if no noise is known.
    pub(crate) ratio: Estimate,
    pub(crate) covered: CoveredNoise,
}

/// Rates of the other system divided by those of the base. All rates are positive, and each system has one at least.
pub(crate) fn rate_ratio(base: &[RunRate], other: &[RunRate]) -> RateRatio {
    let logs = |runs: &[RunRate]| runs.iter().map(|run| run.rate.ln()).collect::<Vec<_>>();
    let sides = [logs(base), logs(other)];
    let means = [0, 1].map(|side: usize| mean(&sides[side]));
    let value = (means[1] - means[0]).exp();
    let within = within_runs(base, other).map(WithError::half_width);
    let between = between_runs(&sides).map(WithError::half_width);
    let covered = match (between, within) {
        (Some(_), _) => CoveredNoise::Repeats,
        (None, Some(_)) => CoveredNoise::WithinRuns,
        (None, None) => CoveredNoise::Nothing,
    };
    let half = between.into_iter().chain(within).reduce(f64::max);
    let ratio = half.map_or(Estimate::without_interval(value), |half| around(value, half));
    RateRatio { ratio, covered }
}

/// `None` if a system has no run with rates of intervals.
fn within_runs(base: &[RunRate], other: &[RunRate]) -> Option<WithError> {
    let side = |runs: &[RunRate]| {
        let known: Vec<SeriesNoise> = runs.iter().filter_map(|run| run.noise).collect();
        let squares: f64 = known.iter().map(|noise| noise.error.powi(2)).sum();
        let freedom: f64 = known.iter().map(|noise| noise.freedom).sum();
        (!known.is_empty()).then(|| (squares.sqrt() / known.len() as f64, freedom))
    };
    let (base, other) = (side(base)?, side(other)?);
    Some(WithError::of_two(base.0, base.1, other.0, other.1))
}

/// Both systems are taken to vary alike, because few repeats do not show how much one of them does. `None` without
/// repeats, and if all are equal: printed rates are rounded.
fn between_runs(sides: &[Vec<f64>; 2]) -> Option<WithError> {
    let counts = [0, 1].map(|side: usize| sides[side].len() as f64);
    let freedom = counts[0] + counts[1] - 2.0;
    let squares =
        |logs: &Vec<f64>| variance(logs).map_or(0.0, |square| square * (logs.len() as f64 - 1.0));
    let all: f64 = sides.iter().map(squares).sum();
    (freedom > 0.0 && all > 0.0).then(|| WithError {
        error: (all / freedom * (1.0 / counts[0] + 1.0 / counts[1])).sqrt(),
        freedom,
    })
}

/// Standard error of the logarithm of a ratio.
#[derive(Debug, Clone, Copy)]
struct WithError {
    error: f64,
    freedom: f64,
}

impl WithError {
    /// Of the difference of two means (Welch 1947).
    fn of_two(one: f64, freedom: f64, other: f64, other_freedom: f64) -> Self {
        let (square, other_square) = (one * one, other * other);
        let all = square + other_square;
        let parts = square * square / freedom + other_square * other_square / other_freedom;
        Self { error: all.sqrt(), freedom: all * all / parts }
    }

    /// Half of the width of the 95% interval.
    fn half_width(self) -> f64 {
        upper_quantile(TAIL, self.freedom) * self.error
    }
}

fn around(value: f64, half_width: f64) -> Estimate {
    Estimate { value, low: value * (-half_width).exp(), high: value * half_width.exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series with correlated neighbours, from a linear congruential generator.
    fn series(count: usize, correlation: f64, seed: u64) -> Vec<f64> {
        let (mut state, mut value) = (seed, 0.0);
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let step = |_| {
            value = correlation * value + next();
            1000.0 + 20.0 * value
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn correlated_seconds_count_less() {
        let independent = series_noise(&series(600, 0.0, 1)).unwrap();
        assert!(independent.error < 1.6 * independent.naive, "{independent:?}");
        let correlated = series_noise(&series(600, 0.9, 1)).unwrap();
        // (1 + 0.9) / (1 − 0.9) is 19, and its root 4.4.
        let factor = correlated.error / correlated.naive;
        assert!((2.5..7.0).contains(&factor), "{factor}");
        assert_eq!(series_noise(&[1.0; 9]), None);
        assert_eq!(series_noise(&[0.0; 60]), None);
        assert_eq!(series_noise(&[5.0; 60]), None);
    }

    /// Of intervals of 95%, about 95% hold the truth, where naive ones hold it in half of the cases.
    #[test]
    fn intervals_hold_the_truth() {
        let noise = |seed| series_noise(&series(300, 0.8, seed)).unwrap();
        let (mut held, mut naive) = (0, 0);
        for pair in 0..200 {
            let [base, other] = [2 * pair + 10, 2 * pair + 11].map(noise);
            let run = |noise: SeriesNoise| RunRate { rate: noise.mean, noise: Some(noise) };
            let found = rate_ratio(&[run(base)], &[run(other)]);
            assert_eq!(found.covered, CoveredNoise::WithinRuns);
            held += u32::from(found.ratio.low <= 1.0 && found.ratio.high >= 1.0);
            let plain = 1.96 * base.naive.hypot(other.naive);
            naive += u32::from(found.ratio.value.ln().abs() <= plain);
        }
        assert!(held >= 180, "{held}");
        assert!(naive <= 150, "{naive}");
    }

    #[test]
    fn repeats_widen_an_interval_and_a_single_run_has_none() {
        let run = |rate: f64| RunRate { rate, noise: None };
        let single = rate_ratio(&[run(100.0)], &[run(110.0)]);
        assert_eq!((single.covered, single.ratio.has_interval()), (CoveredNoise::Nothing, false));
        assert!((single.ratio.value - 1.1).abs() < 1e-12);
        let equal = rate_ratio(&[run(100.0), run(100.0)], &[run(101.0), run(101.0)]);
        assert_eq!(equal.covered, CoveredNoise::Nothing, "the digits hide the noise");
        let repeated = rate_ratio(&[run(100.0), run(104.0)], &[run(108.0), run(112.0)]);
        assert_eq!(repeated.covered, CoveredNoise::Repeats);
        // Two degrees of freedom: t is 4.30, the pooled deviation 0.027.
        let half = repeated.ratio.high.ln() - repeated.ratio.value.ln();
        assert!((half - 4.303 * 0.0268).abs() < 0.002, "{half}");
        let noise = series_noise(&series(300, 0.9, 3));
        let noisy = RunRate { rate: 100.0, noise };
        let quiet = rate_ratio(&[noisy, noisy], &[noisy, noisy]);
        assert!(quiet.ratio.high > 1.0, "repeats that agree by chance hide no noise within them");
    }

    #[test]
    fn a_falling_rate_drifts() {
        let falling: Vec<f64> = (0..120).map(|at| 1000.0 - f64::from(at)).collect();
        let drift = drift(&falling).unwrap();
        assert!(drift.high < 1.0 && (drift.value - 0.938).abs() < 0.002, "{drift:?}");
        assert_eq!(super::drift(&[1.0; 15]), None);
        let steady = super::drift(&series(120, 0.5, 7)).unwrap();
        assert!(steady.low < 1.0 && steady.high > 1.0, "{steady:?}");
    }
}
