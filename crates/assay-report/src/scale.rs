//! The logarithmic scale of ratios that all charts of relative QPS share.

use assay_model::Estimate;

/// Ratios at which a scale may end or have a label.
const STEPS: [f64; 53] = [
    1e-6, 1e-5, 1e-4, 2e-4, 5e-4, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15,
    0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8,
    2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 14.0, 20.0, 30.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3,
    1e4, 1e5, 1e6,
];

/// Ratios labelled first on a scale that spans several powers of ten.
const POWERS: [f64; 12] = [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];

/// The end of an interval stretches a scale to ten, or to this many times its value.
const END: f64 = 3.0;

/// A scale reaches at most this many times as far as nine of ten ends of intervals; ends beyond it become arrows.
const STRETCH: f64 = 3.0;

/// Margin beyond each end of the scale, percent of the width.
const MARGIN: f64 = 3.0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RatioScale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) threshold: f64,
}

impl RatioScale {
    /// Fits nearly all of the estimates and marks the band of ± `threshold` around 1.
    pub(crate) fn fitting(estimates: &[Estimate], threshold: f64) -> Self {
        let least = (3.0 * threshold).max(0.1).ln_1p();
        let sides: (Vec<f64>, Vec<f64>) =
            estimates.iter().flat_map(logs).partition(|log| *log < 0.0);
        let low = (-reach(sides.0).max(least)).exp();
        let high = reach(sides.1).max(least).exp();
        let below = STEPS.iter().rev().find(|step| **step <= low * 1.01);
        let above = STEPS.iter().find(|step| **step >= high * 0.99);
        Self {
            low: below.copied().unwrap_or(STEPS[0]),
            high: above.copied().unwrap_or(STEPS[STEPS.len() - 1]),
            threshold,
        }
    }

    /// Percent of the width, clamped to the ends of the scale.
    pub(crate) fn x(&self, ratio: f64) -> f64 {
        let share = (ratio / self.low).ln() / (self.high / self.low).ln();
        MARGIN + (100.0 - 2.0 * MARGIN) * share.clamp(0.0, 1.0)
    }

    pub(crate) fn holds(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }

    /// The ratios with a label: 1 and the ends first, then those that fit.
    pub(crate) fn labels(&self, distance: f64) -> Vec<f64> {
        let mut labels = vec![1.0];
        for step in [self.low, self.high].into_iter().chain(POWERS).chain(STEPS) {
            let is_free = |other: &f64| (self.x(step) - self.x(*other)).abs() >= distance;
            if self.holds(step) && labels.iter().all(is_free) {
                labels.push(step);
            }
        }
        labels.sort_by(f64::total_cmp);
        labels
    }
}

/// Logarithms of a value and of the ends of its interval. Values always count; an end that is nearly unbounded must not
/// make the scale useless for the others.
fn logs(estimate: &Estimate) -> impl Iterator<Item = f64> + use<> {
    let log = |ratio: f64| (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln());
    let value = log(estimate.value);
    let most = 10_f64.ln().max(value.map_or(0.0, |value| value.abs() + END.ln()));
    let end = move |ratio: f64| log(ratio).map(|log| log.clamp(-most, most));
    [value, end(estimate.low), end(estimate.high)].into_iter().flatten()
}

/// Distance from 1 that one side of a scale must reach.
fn reach(logs: Vec<f64>) -> f64 {
    let mut distances: Vec<f64> = logs.into_iter().map(f64::abs).collect();
    distances.sort_by(f64::total_cmp);
    let furthest = distances.last().copied().unwrap_or(0.0);
    let most =
        distances.get(distances.len() * 9 / 10).map_or(0.0, |nine_of_ten| STRETCH * nine_of_ten);
    furthest.min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    #[test]
    fn a_scale_without_estimates_surrounds_one() {
        let scale = RatioScale::fitting(&[], 0.02);
        assert!(scale.low < 1.0 && scale.high > 1.0);
        assert!(scale.labels(10.0).contains(&1.0));
    }

    #[test]
    fn a_scale_holds_a_ratio_of_any_size_and_ends_that_say_nothing_do_not_stretch_it() {
        for value in [0.000385, 0.02, 12.0, 2400.0] {
            let scale = RatioScale::fitting(&[estimate(value, 0.8 * value, 1.3 * value)], 0.02);
            assert!(scale.holds(0.8 * value) && scale.holds(1.3 * value), "{value}: {scale:?}");
            assert!(scale.labels(12.0).len() >= 3, "{:?}", scale.labels(12.0));
        }
        let vague = RatioScale::fitting(&[estimate(1.0, 1e-9, 1e30)], 0.02);
        assert_eq!((vague.low, vague.high), (0.1, 10.0));
    }

    #[test]
    fn a_factor_takes_the_same_width_everywhere() {
        let scale = RatioScale::fitting(&[estimate(0.5, 0.5, 2.0)], 0.02);
        let width = |low: f64, high: f64| scale.x(high) - scale.x(low);
        assert!((width(0.6, 0.66) - width(1.2, 1.32)).abs() < 1e-9);
        assert!((scale.x(1.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn labels_keep_their_distance() {
        for (low, high) in [(0.9, 1.1), (0.3, 1.02), (0.99, 9.0), (0.01, 100.0)] {
            let scale = RatioScale::fitting(&[estimate(1.0, low, high)], 0.02);
            let labels = scale.labels(19.0);
            assert!(labels.len() >= 2, "{labels:?}");
            for pair in labels.windows(2) {
                assert!(scale.x(pair[1]) - scale.x(pair[0]) >= 19.0, "{labels:?}");
            }
        }
    }
}
