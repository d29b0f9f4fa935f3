//! How probable each position of a step is.
//!
//! The log ratio `y` of a comparison of candidate `c` is the sum of all steps up to `c`, the noise of this comparison
//! (variance `d = se² + instance²`), the shift of the build of `c` and that of the base (variance `build²` each). Steps
//! have sizes from N(0, σ²), so the marginal likelihood of a hypothesis is analytic. With `w` the weight of a measured
//! candidate and `h` its weighted mean,
//!
//! > w = S / (1 + build² S), h = (Σ y/d) / (1 + build² S), S = Σ 1/d,
//!
//! `G` the Gram matrix of the indicators "at or after the step" under these weights and `b` their product with the
//! values, both less what the shift of the base explains, a hypothesis is this much more probable than no step, up to
//! its prior (Kass and Raftery 1995; Gelman et al., Bayesian Data Analysis, ch. 14):
//!
//! > log BF = ½ bᵀ (G + I/σ²)⁻¹ b − ½ log det(I + σ² G)
//!
//! σ and the instance noise have priors on grids. All positions between two measured candidates have the same
//! likelihood, so the work depends on the number of measured candidates rather than on that of all.

use super::order::Order;
use super::{BisectNoise, Comparison};

/// The prior probabilities of no step, of one and of two. Of the culprits searched in one large company, 40% did not
/// exist.
const PRIOR: [f64; 3] = [0.4, 0.45, 0.15];

/// By how much the instance noise may differ from the guess, as a power of two: the standard deviation, and the range
/// and the distance of the grid.
const GUESS_SD: f64 = 0.7;
const GUESS_MAX: f64 = 1.5;
const GUESS_BY: f64 = 0.5;

/// The smallest standard deviation of a comparison.
const SD_MIN: f64 = 1e-7;

/// The sizes of steps, in units of the noise: the factor from one σ to the next, and how many there are at least and at
/// most.
const SIZE_BY: f64 = 3.0;
const SIZES_MIN: i32 = 3;
const SIZES_MAX: i32 = 14;

/// The places between two measured candidates, the upper one included.
#[derive(Debug)]
pub(super) struct Segment {
    /// The first place.
    pub(super) first: usize,
    /// The last place, whose candidate is measured, except for places after the last measured one.
    pub(super) last: usize,
    /// The sum of the weights of the places.
    pub(super) weight: f64,
    /// The sum of the products of two of these weights.
    pairs: f64,
    /// Probability of a step at a place, for each unit of its weight.
    density: f64,
    /// The same of two steps at places of this segment, for each unit of the product of the weights.
    pair_density: f64,
    /// The mean size of a step here.
    size: f64,
    /// The variance of this size.
    variance: f64,
}

/// One or two steps in certain segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    /// The segment of the first step.
    pub(super) first: usize,
    /// The segment of the second step.
    pub(super) second: Option<usize>,
    /// The probability of the cell.
    pub(super) probability: f64,
    /// The sizes.
    pub(super) sizes: Sizes,
}

/// The levels that steps lead to: their means and variances.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    /// The level after the first step.
    pub(super) first: (f64, f64),
    /// The difference between both levels.
    pub(super) second: (f64, f64),
    /// The level after both.
    pub(super) sum: (f64, f64),
}

/// The probabilities of all hypotheses.
#[derive(Debug)]
pub(super) struct Posterior {
    pub(super) segments: Vec<Segment>,
    pub(super) cells: Vec<Cell>,
    no_step: f64,
    several: f64,
    /// The weight of each place.
    weights: Vec<f64>,
    measured: Vec<Measured>,
    noise: BisectNoise,
    /// The usual variance of a comparison.
    usual: f64,
    /// The learned variance between instances.
    instance: f64,
}

/// The comparisons of one candidate.
#[derive(Debug)]
struct Measured {
    place: usize,
    /// Log ratios and the squares of their standard errors.
    values: Vec<(f64, f64)>,
}

/// The comparisons under one instance noise, summed up from the last candidate down.
#[derive(Debug)]
struct Sums {
    /// The logarithm of the likelihood of no step, with the prior of this noise.
    null: f64,
    instance: f64,
    /// For each segment, the weight of the measured candidates after a step in it.
    weights: Vec<f64>,
    /// The same of the weighted values.
    values: Vec<f64>,
    /// What the shift of the base takes off.
    base: f64,
}

impl Posterior {
    pub(super) fn new(order: &Order, comparisons: &[Comparison], noise: BisectNoise) -> Self {
        let weights: Vec<f64> = (0..order.len()).map(|place| order.weight(place)).collect();
        let measured = measured(order, comparisons);
        let count = measured.iter().map(|it| it.values.len()).sum::<usize>().max(1) as f64;
        let squares = measured.iter().flat_map(|it| &it.values).map(|(_, square)| square);
        let within = squares.sum::<f64>() / count;
        let grid: Vec<Sums> = instances(noise)
            .into_iter()
            .map(|(prior, instance)| Sums::new(&measured, instance, prior, noise.build))
            .collect();
        let mut posterior = Self {
            segments: segments(&weights, &measured),
            cells: Vec::new(),
            no_step: 1.0,
            several: 0.0,
            weights,
            measured,
            noise,
            usual: within + noise.instance * noise.instance + SD_MIN * SD_MIN,
            instance: 0.0,
        };
        posterior.weigh(&grid);
        posterior.usual = within + posterior.instance + SD_MIN * SD_MIN;
        posterior.sum_up();
        posterior
    }

    /// The probability that there is no step.
    pub(super) fn no_step(&self) -> f64 {
        self.no_step
    }

    /// The probability that there are several steps.
    pub(super) fn several(&self) -> f64 {
        self.several
    }

    /// The weight of a place, relative to others.
    pub(super) fn weight(&self, place: usize) -> f64 {
        self.weights.get(place).copied().unwrap_or(0.0)
    }

    /// The places with the probability that a step is there.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, f64)> {
        self.segments.iter().flat_map(move |segment| {
            (segment.first..=segment.last).map(move |place| {
                let weight = self.weight(place);
                let pairs = weight * (segment.weight - weight);
                (place, weight * segment.density + pairs * segment.pair_density)
            })
        })
    }

    /// The mean and the standard deviation of the size of a step at a place.
    pub(super) fn size(&self, place: usize) -> (f64, f64) {
        let segment = self.segments.iter().find(|it| (it.first..=it.last).contains(&place));
        segment.map_or((0.0, 0.0), |it| (it.size, it.variance.sqrt()))
    }

    /// The log ratio of the last measured candidate to the base, with its standard deviation.
    pub(super) fn ends(&self) -> (f64, f64) {
        let Some(last) = self.measured.last() else { return (0.0, f64::INFINITY) };
        let (weight, value) = last.sums(self.instance);
        let build = self.noise.build * self.noise.build;
        (value / weight, (1.0 / weight + 2.0 * build).sqrt())
    }

    /// The variance of one more comparison at a place, as far as it tells the speed of the candidate rather than the
    /// shift of its build: the inverse of what it adds to the weight.
    pub(super) fn variance(&self, place: usize) -> f64 {
        let build = self.noise.build * self.noise.build;
        let so_far = self.measured.iter().find(|it| it.place == place);
        let so_far = so_far.map_or(0.0, |it| it.sums(self.instance).0);
        let more = so_far + 1.0 / self.usual;
        1.0 / (more / (1.0 + build * more) - so_far / (1.0 + build * so_far))
    }

    /// Computes the probabilities of the cells.
    fn weigh(&mut self, grid: &[Sums]) {
        let unit = (self.usual + 2.0 * self.noise.build * self.noise.build).sqrt();
        let sizes = sizes(&self.measured, unit);
        let shape = shape(&self.segments);
        // The logarithm of no step's probability, then those of the cells, for each noise and size.
        let mut logs: Vec<f64> = Vec::new();
        let mut found: Vec<Sizes> = Vec::new();
        for sums in grid {
            logs.push(sums.null + PRIOR[0].ln());
            found.push(Sizes::default());
            for &square in &sizes {
                let prior = sums.null - (sizes.len() as f64).ln();
                for &(first, second, cell) in &shape {
                    let (factor, sizes) = sums.fit(first, second, square);
                    logs.push(prior + cell.ln() + factor);
                    found.push(sizes);
                }
            }
        }
        let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - highest).exp()).sum();
        let of = |log: &f64| (log - highest).exp() / total;
        let rows = 1 + sizes.len() * shape.len();
        let mut mixed = vec![(0.0, [Mixture::default(); 3]); shape.len()];
        self.no_step = 0.0;
        for (sums, (logs, found)) in grid.iter().zip(logs.chunks(rows).zip(found.chunks(rows))) {
            self.instance += sums.instance * logs.iter().map(of).sum::<f64>();
            self.no_step += logs.first().map_or(0.0, of);
            for (nth, (log, sizes)) in logs.iter().zip(found).skip(1).enumerate() {
                let probability = of(log);
                let Some(cell) = mixed.get_mut(nth % shape.len()) else { continue };
                cell.0 += probability;
                for (mixture, one) in cell.1.iter_mut().zip([sizes.first, sizes.second, sizes.sum])
                {
                    mixture.add(probability, one);
                }
            }
        }
        for (&(first, second, _), (probability, [one, other, sum])) in shape.iter().zip(mixed) {
            let sizes = Sizes { first: one.of(), second: other.of(), sum: sum.of() };
            self.cells.push(Cell { first, second, probability, sizes });
        }
    }

    /// Computes the probabilities of the segments from those of the cells.
    fn sum_up(&mut self) {
        let mut mixed = vec![Mixture::default(); self.segments.len()];
        let mut add = |segment: usize, probability: f64, size: (f64, f64)| {
            if let Some(mixture) = mixed.get_mut(segment) {
                mixture.add(probability, size);
            }
        };
        for cell in &self.cells {
            add(cell.first, cell.probability, cell.sizes.first);
            let Some(second) = cell.second else { continue };
            self.several += cell.probability;
            if second != cell.first {
                add(second, cell.probability, cell.sizes.second);
            } else if let Some(segment) = self.segments.get_mut(second) {
                segment.pair_density += cell.probability / segment.pairs;
            }
        }
        for (segment, mixture) in self.segments.iter_mut().zip(mixed) {
            // The mixture has both steps of a pair in this segment as one.
            let pairs = segment.pair_density * segment.pairs;
            segment.density = (mixture.probability - pairs) / segment.weight.max(f64::MIN_POSITIVE);
            (segment.size, segment.variance) = mixture.of();
        }
    }
}

impl Measured {
    /// The weight and the weighted value, without the shift of the build.
    fn sums(&self, instance: f64) -> (f64, f64) {
        let weights =
            self.values.iter().map(|(value, square)| (1.0 / total(*square, instance), value));
        weights.fold((0.0, 0.0), |(all, values), (weight, value)| {
            (all + weight, values + weight * value)
        })
    }
}

/// The variance of a comparison.
fn total(square: f64, instance: f64) -> f64 {
    (square + instance).max(SD_MIN * SD_MIN)
}

impl Sums {
    fn new(measured: &[Measured], instance: f64, prior: f64, build: f64) -> Self {
        let build = build * build;
        let mut twice = 0.0;
        let mut sums =
            Self { null: 0.0, instance, weights: vec![0.0], values: vec![0.0], base: 0.0 };
        let (mut weights, mut values) = (0.0, 0.0);
        for one in measured.iter().rev() {
            let (weight, value) = one.sums(instance);
            let shrunk = 1.0 + build * weight;
            for &(value, square) in &one.values {
                let variance = total(square, instance);
                twice -= variance.ln() + value * value / variance;
            }
            twice += build / shrunk * value * value - shrunk.ln();
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

    /// The weight and the weighted value of the candidates after a step in this segment, and the diagonal of `G`.
    fn after(&self, segment: usize) -> (f64, f64) {
        let weight = self.weights.get(segment).copied().unwrap_or(0.0);
        (weight, self.values.get(segment).copied().unwrap_or(0.0))
    }

    /// The logarithm of the Bayes factor of steps in these segments against no step, and what it says of their sizes.
    fn fit(&self, first: usize, second: Option<usize>, square: f64) -> (f64, Sizes) {
        let (_, values) = self.after(0);
        let less = |segment: usize| {
            let (weight, value) = self.after(segment);
            (weight, weight - self.base * weight * weight, value - self.base * weight * values)
        };
        let (weight, gram, value) = less(first);
        let Some(second) = second.filter(|&second| second != first) else {
            // Two steps that no measured candidate parts are one step with twice the variance.
            let square = if second.is_some() { 2.0 * square } else { square };
            let variance = 1.0 / (gram + 1.0 / square);
            let mean = variance * value;
            let factor = 0.5 * (value * mean - (square * gram).ln_1p());
            let sum = (mean, variance);
            if second.is_none() {
                return (factor, Sizes { first: sum, second: (0.0, 0.0), sum });
            }
            let half = (mean / 2.0, variance / 4.0 + square / 4.0);
            return (factor, Sizes { first: half, second: half, sum });
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
        let sizes = Sizes {
            first: (first_mean, other / determinant),
            second: (second_mean, one / determinant),
            sum: (first_mean + second_mean, (one + other - 2.0 * across) / determinant),
        };
        (factor, sizes)
    }
}

/// The mean and the variance of a mixture.
#[derive(Debug, Clone, Copy, Default)]
struct Mixture {
    probability: f64,
    mean: f64,
    square: f64,
}

impl Mixture {
    fn add(&mut self, probability: f64, (mean, variance): (f64, f64)) {
        self.probability += probability;
        self.mean += probability * mean;
        self.square += probability * (mean * mean + variance);
    }

    fn of(self) -> (f64, f64) {
        if self.probability <= 0.0 {
            return (0.0, 0.0);
        }
        let mean = self.mean / self.probability;
        (mean, (self.square / self.probability - mean * mean).max(0.0))
    }
}

/// The comparisons by candidate. Those with candidates that are the base or cannot be used count for nothing.
fn measured(order: &Order, comparisons: &[Comparison]) -> Vec<Measured> {
    let mut measured: Vec<Measured> = Vec::new();
    for comparison in comparisons {
        let Some(place) = order.place(comparison.candidate).filter(|place| *place > 0) else {
            continue;
        };
        let value = (comparison.log_ratio, comparison.se * comparison.se);
        match measured.iter_mut().find(|it| it.place == place) {
            Some(one) => one.values.push(value),
            None => measured.push(Measured { place, values: vec![value] }),
        }
    }
    measured.sort_by_key(|it| it.place);
    measured
}

fn segments(weights: &[f64], measured: &[Measured]) -> Vec<Segment> {
    let mut first = 1;
    let mut segments = Vec::new();
    let lasts = measured.iter().map(|it| it.place).chain([weights.len().saturating_sub(1)]);
    for last in lasts {
        let inside = weights.get(first..=last).unwrap_or_default();
        let weight: f64 = inside.iter().sum();
        let squares: f64 = inside.iter().map(|weight| weight * weight).sum();
        segments.push(Segment {
            first,
            last,
            weight,
            pairs: (weight * weight - squares) / 2.0,
            density: 0.0,
            pair_density: 0.0,
            size: 0.0,
            variance: 0.0,
        });
        first = last + 1;
    }
    segments
}

/// The cells that have places, with their prior probabilities.
fn shape(segments: &[Segment]) -> Vec<(usize, Option<usize>, f64)> {
    let places: f64 = segments.iter().map(|it| it.weight).sum();
    let squares: f64 = segments.iter().map(|it| it.weight * it.weight - 2.0 * it.pairs).sum();
    let pairs = (places * places - squares) / 2.0;
    let mut cells = Vec::new();
    for (index, one) in segments.iter().enumerate() {
        cells.push((index, None, PRIOR[1] * one.weight / places));
        for (other_index, other) in segments.iter().enumerate().skip(index) {
            let product = if index == other_index { one.pairs } else { one.weight * other.weight };
            cells.push((index, Some(other_index), PRIOR[2] * product / pairs.max(1.0)));
        }
    }
    cells.retain(|(_, _, prior)| *prior > 0.0);
    cells
}

/// The variances between instances that are possible, with the logarithms of their priors.
fn instances(noise: BisectNoise) -> Vec<(f64, f64)> {
    if noise.is_exact() {
        return vec![(0.0, 0.0)];
    }
    let steps = (GUESS_MAX / GUESS_BY) as i32;
    let of = |step: i32| {
        let power = f64::from(step) * GUESS_BY;
        let instance = noise.instance * power.exp2();
        (-0.5 * (power / GUESS_SD).powi(2), instance * instance)
    };
    (-steps..=steps).map(of).collect()
}

/// The variances of the sizes that are possible: from the noise up to the largest value.
fn sizes(measured: &[Measured], unit: f64) -> Vec<f64> {
    let values = measured.iter().flat_map(|it| &it.values).map(|(value, _)| value.abs());
    let largest = values.fold(0.0, f64::max);
    let of = |power: i32| unit * SIZE_BY.powi(power);
    let is_possible = |power: &i32| *power < SIZES_MIN || of(*power) < largest * SIZE_BY;
    (0..SIZES_MAX).take_while(is_possible).map(|power| of(power) * of(power)).collect()
}
