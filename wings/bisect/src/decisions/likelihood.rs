//! Likelihood of the comparisons given steps at certain positions.
//!
//! The log ratio `y` of a comparison of candidate `c` is the sum of all steps up to `c`, the noise of this comparison
//! (variance `d = se² + instance²`), the shift of the build of `c` and that of the base (variance `build²` each, and
//! more for `c` if it comes from another source). Steps have sizes from N(0, σ²), so the marginal likelihood of a
//! hypothesis is analytic. With `w` the weight of a measured candidate and `h` its weighted mean,
//!
//! > w = S / (1 + build² S), h = (Σ y/d) / (1 + build² S), S = Σ 1/d,
//!
//! `G` the Gram matrix of the indicators "at or after the step" under these weights and `b` their product with the
//! values, both less what the shift of the base explains, the Bayes factor against no step is (Kass and Raftery 1995;
//! Gelman et al., Bayesian Data Analysis, ch. 14):
//!
//! > log BF = ½ bᵀ (G + I/σ²)⁻¹ b − ½ log det(I + σ² G)

use super::comparison::{BisectComparison, BisectNoise, CandidateOrder, SD_MIN};

/// Deviation of the instance noise from the guess, as a power of two: standard deviation, and range and spacing of the
/// grid.
const GUESS_SD: f64 = 0.6;
const GUESS_MAX: f64 = 1.5;
const GUESS_BY: f64 = 0.5;

const VALUE_MAX: f64 = 100.0;

/// Sizes of steps: smallest σ in units of the noise, ratio of consecutive σ, and minimum and maximum number of σ.
const SIZE_MIN: f64 = 2.0;
const SIZE_BY: f64 = 3.0;
const SIZES_MIN: i32 = 2;
const SIZES_MAX: i32 = 14;

/// Levels after steps: means and variances.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepSizes {
    pub(super) first: (f64, f64),
    pub(super) second: (f64, f64),
    pub(super) sum: (f64, f64),
}

#[derive(Debug)]
pub(super) struct MeasuredCandidate {
    pub(super) place: usize,
    /// Log ratios and their squared standard errors.
    pub(super) values: Vec<(f64, f64)>,
    pub(super) build: f64,
}

/// Comparisons under one instance noise, summed from the last candidate down.
#[derive(Debug)]
pub(super) struct Sums {
    /// Log likelihood of no step, with the prior of this noise.
    pub(super) null: f64,
    pub(super) instance: f64,
    /// For each segment, the weight of the measured candidates after a step in it.
    weights: Vec<f64>,
    values: Vec<f64>,
    /// Correction for the shift of the base.
    base: f64,
}

impl MeasuredCandidate {
    /// Weight and weighted value, without the shift of the build.
    pub(super) fn sums(&self, instance: f64) -> (f64, f64) {
        let weights =
            self.values.iter().map(|(value, square)| (1.0 / total(*square, instance), value));
        weights.fold((0.0, 0.0), |(all, values), (weight, value)| {
            (all + weight, values + weight * value)
        })
    }
}

fn total(square: f64, instance: f64) -> f64 {
    (square + instance).max(SD_MIN * SD_MIN)
}

impl Sums {
    pub(super) fn new(
        measured: &[MeasuredCandidate],
        instance: f64,
        prior: f64,
        build: f64,
    ) -> Self {
        let build = build * build;
        let mut twice = 0.0;
        let mut sums =
            Self { null: 0.0, instance, weights: vec![0.0], values: vec![0.0], base: 0.0 };
        let (mut weights, mut values) = (0.0, 0.0);
        for one in measured.iter().rev() {
            let (weight, value) = one.sums(instance);
            let shrunk = 1.0 + one.build * weight;
            for &(value, square) in &one.values {
                let variance = total(square, instance);
                twice -= variance.ln() + value * value / variance;
            }
            twice += one.build / shrunk * value * value - shrunk.ln();
            weights += weight / shrunk;
            values += value / shrunk;
            sums.weights.push(weights);
            sums.values.push(values);
        }
        sums.weights.reverse();
        sums.values.reverse();
        sums.base = build / (1.0 + build * weights);
        twice += sums.base * values * values - (1.0 + build * weights).ln();
        sums.null = prior + 0.5 * twice;
        sums
    }

    fn after(&self, segment: usize) -> (f64, f64) {
        (self.weights[segment], self.values[segment])
    }

    /// Log Bayes factor of steps in these segments against no step, and the posterior of their sizes.
    pub(super) fn fit(&self, first: usize, second: Option<usize>, square: f64) -> (f64, StepSizes) {
        let (_, values) = self.after(0);
        let less = |segment: usize| {
            let (weight, value) = self.after(segment);
            (weight, weight - self.base * weight * weight, value - self.base * weight * values)
        };
        let (weight, gram, value) = less(first);
        let Some(second) = second.filter(|&second| second != first) else {
            // Two steps without a measured candidate between them are one step with twice the variance.
            let square = if second.is_some() { 2.0 * square } else { square };
            let variance = 1.0 / (gram + 1.0 / square);
            let mean = variance * value;
            let factor = 0.5 * (value * mean - (square * gram).ln_1p());
            let sum = (mean, variance);
            if second.is_none() {
                return (factor, StepSizes { first: sum, second: (0.0, 0.0), sum });
            }
            let half = (mean / 2.0, variance / 4.0 + square / 4.0);
            return (factor, StepSizes { first: half, second: half, sum });
        };
        let (other_weight, other_gram, other_value) = less(second);
        let across = other_weight - self.base * weight * other_weight;
        let (one, other) = (gram + 1.0 / square, other_gram + 1.0 / square);
        let determinant = one * other - across * across;
        let first_mean = (other * value - across * other_value) / determinant;
        let second_mean = (one * other_value - across * value) / determinant;
        let factor = 0.5
            * (value * first_mean + other_value * second_mean
                - (determinant * square * square).ln());
        let sizes = StepSizes {
            first: (first_mean, other / determinant),
            second: (second_mean, one / determinant),
            sum: (first_mean + second_mean, (one + other - 2.0 * across) / determinant),
        };
        (factor, sizes)
    }
}

/// Comparisons by candidate. Ignores those with another base, unusable candidates or implausible values.
pub(super) fn measured(
    order: &CandidateOrder,
    comparisons: &[BisectComparison],
    noise: BisectNoise,
    source: &[f64],
) -> Vec<MeasuredCandidate> {
    let mut measured: Vec<MeasuredCandidate> = Vec::new();
    let is_meant = |comparison: &&BisectComparison| {
        comparison.base == order.candidate(0)
            && comparison.log_ratio.abs() <= VALUE_MAX
            && (0.0..=VALUE_MAX).contains(&comparison.se)
    };
    for comparison in comparisons.iter().filter(is_meant) {
        let Some(place) = order.place(comparison.candidate).filter(|place| *place > 0) else {
            continue;
        };
        let value = (comparison.log_ratio, comparison.se * comparison.se);
        match measured.iter_mut().find(|known| known.place == place) {
            Some(one) => one.values.push(value),
            None => {
                let source = source.get(comparison.candidate).copied().unwrap_or(0.0);
                let build = noise.build * noise.build + source * source;
                measured.push(MeasuredCandidate { place, values: vec![value], build });
            }
        }
    }
    measured.sort_by_key(|candidate| candidate.place);
    measured
}

pub(super) fn instances(noise: BisectNoise) -> Vec<(f64, f64)> {
    if noise.is_exact() {
        return vec![(0.0, 0.0)];
    }
    let steps = (GUESS_MAX / GUESS_BY) as i32;
    let instance = |step: i32| {
        let power = f64::from(step) * GUESS_BY;
        let instance = noise.instance * power.exp2();
        (-0.5 * (power / GUESS_SD).powi(2), instance * instance)
    };
    (-steps..=steps).map(instance).collect()
}

pub(super) fn sizes(measured: &[MeasuredCandidate], unit: f64) -> Vec<f64> {
    let values =
        measured.iter().flat_map(|candidate| &candidate.values).map(|(value, _)| value.abs());
    let largest = values.fold(0.0, f64::max);
    let size = |power: i32| unit * SIZE_MIN * SIZE_BY.powi(power);
    let is_possible = |power: &i32| *power < SIZES_MIN || size(*power) < largest * SIZE_BY;
    (0..SIZES_MAX).take_while(is_possible).map(|power| size(power) * size(power)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_density(covariance: &[Vec<f64>], values: &[f64]) -> f64 {
        let count = values.len();
        let mut root = vec![vec![0.0; count]; count];
        let mut solved = vec![0.0; count];
        let mut twice = 0.0;
        for row in 0..count {
            for column in 0..=row {
                let known: f64 = (0..column).map(|at| root[row][at] * root[column][at]).sum();
                let left: f64 = covariance[row][column] - known;
                root[row][column] =
                    if row == column { left.sqrt() } else { left / root[column][column] };
            }
            let known: f64 = (0..row).map(|at| root[row][at] * solved[at]).sum();
            solved[row] = (values[row] - known) / root[row][row];
            twice -= solved[row] * solved[row] + 2.0 * root[row][row].ln();
        }
        0.5 * twice
    }

    #[test]
    fn likelihoods_are_those_of_the_normal_distribution() {
        let values = [(3, 0.01), (3, 0.03), (5, 0.02), (8, 0.07), (8, 0.06)];
        let comparison = |&(candidate, log_ratio): &(usize, f64)| BisectComparison {
            base: 0,
            candidate,
            log_ratio,
            se: 0.001 * candidate as f64,
        };
        let comparisons: Vec<BisectComparison> = values.iter().map(comparison).collect();
        let order = CandidateOrder::new(&[true; 10]);
        let (instance, build, size) = (0.01_f64, 0.004_f64, 0.02_f64);
        let noise = BisectNoise { instance, build };
        let source = [0.0, 0.0, 0.0, 0.0, 0.0, 0.03, 0.0, 0.0, 0.0, 0.0];
        let measured = measured(&order, &comparisons, noise, &source);
        let sums = Sums::new(&measured, instance * instance, 0.0, build);
        // Last candidate before each segment.
        let starts = [0, 3, 5, 8];
        let direct = |steps: &[usize]| {
            let entry = |one: usize, other: usize| {
                let (a, b) = (comparisons[one], comparisons[other]);
                let noise = if one == other { a.se.powi(2) + instance.powi(2) } else { 0.0 };
                let own = build * build + source[a.candidate].powi(2);
                let shifts = build * build + if a.candidate == b.candidate { own } else { 0.0 };
                let is_after = |step: &&usize| a.candidate.min(b.candidate) > starts[**step];
                let stepped = steps.iter().filter(is_after).count() as f64;
                noise + shifts + stepped * size * size
            };
            let row = |one| (0..values.len()).map(|other| entry(one, other)).collect();
            let covariance: Vec<Vec<f64>> = (0..values.len()).map(row).collect();
            log_density(&covariance, &values.map(|(_, value)| value))
        };
        assert!((sums.null - direct(&[])).abs() < 1e-9);
        for first in 0..4 {
            let (factor, _) = sums.fit(first, None, size * size);
            assert!((sums.null + factor - direct(&[first])).abs() < 1e-9, "{first}");
            for second in first..4 {
                let (factor, sizes) = sums.fit(first, Some(second), size * size);
                let exact = direct(&[first, second]);
                assert!((sums.null + factor - exact).abs() < 1e-9, "{first} {second}");
                assert!((sizes.first.0 + sizes.second.0 - sizes.sum.0).abs() < 1e-9);
            }
        }
    }
}
