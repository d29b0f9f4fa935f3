//! Probability of each position of a step.
//!
//! σ and the instance noise have priors on grids. All positions between two measured candidates have the same
//! likelihood, so the work depends on the number of measured candidates rather than on that of all.

use super::comparison::{BisectComparison, BisectNoise, CandidateOrder, SD_MIN};
use super::likelihood::{MeasuredCandidate, StepSizes, Sums, instances, measured, sizes};

/// Prior probabilities of no step, one and two. 40% of the culprits searched in one large company did not exist.
const PRIOR: [f64; 3] = [0.4, 0.45, 0.15];

/// A second step below this share of the first is negligible.
const NEGLIGIBLE: f64 = 1.0 / 3.0;

/// The places between two measured candidates, including the upper one.
#[derive(Debug)]
pub(super) struct PlaceSegment {
    pub(super) first: usize,
    /// Its candidate is measured, except in the segment after the last measured one.
    pub(super) last: usize,
    pub(super) weight: f64,
    /// Sum of pairwise products of the places' weights.
    pairs: f64,
    /// Probability of a step at a place per unit of its weight.
    density: f64,
    /// Probability of two steps at places of this segment per unit of the product of their weights.
    pair_density: f64,
    size: f64,
    variance: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StepHypothesis {
    pub(super) first: usize,
    pub(super) second: Option<usize>,
    pub(super) probability: f64,
    pub(super) sizes: StepSizes,
}

#[derive(Debug)]
pub(super) struct Posterior {
    pub(super) segments: Vec<PlaceSegment>,
    pub(super) cells: Vec<StepHypothesis>,
    no_step: f64,
    several: f64,
    weights: Vec<f64>,
    measured: Vec<MeasuredCandidate>,
    noise: BisectNoise,
    /// Usual variance of a comparison.
    usual: f64,
    instance: f64,
}

impl Posterior {
    pub(super) fn new(
        order: &CandidateOrder,
        comparisons: &[BisectComparison],
        noise: BisectNoise,
        source: &[f64],
    ) -> Self {
        let weights: Vec<f64> = (0..order.len()).map(|place| order.weight(place)).collect();
        let measured = measured(order, comparisons, noise, source);
        let count =
            measured.iter().map(|candidate| candidate.values.len()).sum::<usize>().max(1) as f64;
        let squares =
            measured.iter().flat_map(|candidate| &candidate.values).map(|(_, square)| square);
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

    pub(super) fn no_step(&self) -> f64 {
        self.no_step
    }

    pub(super) fn several(&self) -> f64 {
        self.several
    }

    pub(super) fn weight(&self, place: usize) -> f64 {
        self.weights[place]
    }

    pub(super) fn places(&self) -> impl Iterator<Item = (usize, f64)> {
        self.segments.iter().flat_map(move |segment| {
            (segment.first..=segment.last).map(move |place| {
                let weight = self.weight(place);
                let pairs = weight * (segment.weight - weight);
                (place, weight * segment.density + pairs * segment.pair_density)
            })
        })
    }

    /// Entropy of the place of a step, nats, where no step is a place too.
    pub(super) fn entropy(&self) -> f64 {
        let places = self.places().map(|(_, probability)| probability);
        entropy(&std::iter::once(self.no_step).chain(places).collect::<Vec<_>>())
    }

    /// The same of a step of which nothing else is known.
    pub(super) fn entropy_of_any(&self) -> f64 {
        entropy(&self.weights)
    }

    pub(super) fn size(&self, place: usize) -> (f64, f64) {
        let mut segments = self.segments.iter();
        let segment = segments.find(|segment| (segment.first..=segment.last).contains(&place));
        segment.map_or((0.0, 0.0), |segment| (segment.size, segment.variance.sqrt()))
    }

    pub(super) fn ends(&self) -> (f64, f64) {
        let Some(last) = self.measured.last() else { return (0.0, f64::INFINITY) };
        let (weight, value) = last.sums(self.instance);
        let build = self.noise.build * self.noise.build;
        (value / weight, (1.0 / weight + build + last.build).sqrt())
    }

    /// Variance of one more comparison at a place, as an estimate of the candidate's speed without its build's shift:
    /// the inverse of its contribution to the weight.
    pub(super) fn variance(&self, place: usize) -> f64 {
        let known = self.measured.iter().find(|known| known.place == place);
        let so_far = known.map_or(0.0, |known| known.sums(self.instance).0);
        let build = known.map_or(self.noise.build * self.noise.build, |known| known.build);
        let more = so_far + 1.0 / self.usual;
        1.0 / (more / (1.0 + build * more) - so_far / (1.0 + build * so_far))
    }

    fn weigh(&mut self, grid: &[Sums]) {
        let unit = (self.usual + 2.0 * self.noise.build * self.noise.build).sqrt();
        let sizes = sizes(&self.measured, unit);
        let shape = shape(&self.segments);
        // Log probability of no step, then of the cells, for each noise and size.
        let mut logs: Vec<f64> = Vec::new();
        let mut found: Vec<StepSizes> = Vec::new();
        for sums in grid {
            logs.push(sums.null + PRIOR[0].ln());
            found.push(StepSizes::default());
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
        let probability = |log: &f64| (log - highest).exp() / total;
        let rows = 1 + sizes.len() * shape.len();
        let mut mixed = vec![(0.0, [Mixture::default(); 3]); shape.len()];
        self.no_step = 0.0;
        for (sums, (logs, found)) in grid.iter().zip(logs.chunks(rows).zip(found.chunks(rows))) {
            self.instance += sums.instance * logs.iter().map(probability).sum::<f64>();
            self.no_step += probability(&logs[0]);
            for (nth, (log, sizes)) in logs.iter().zip(found).skip(1).enumerate() {
                let probability = probability(log);
                let (sum, mixtures) = &mut mixed[nth % shape.len()];
                *sum += probability;
                for (mixture, one) in
                    mixtures.iter_mut().zip([sizes.first, sizes.second, sizes.sum])
                {
                    mixture.add(probability, one);
                }
            }
        }
        for (&(first, second, _), (probability, [one, other, sum])) in shape.iter().zip(mixed) {
            let sizes =
                StepSizes { first: one.normal(), second: other.normal(), sum: sum.normal() };
            self.cells.push(StepHypothesis { first, second, probability, sizes });
        }
        self.neglect();
    }

    /// Turns pairs with one negligible step into the other step alone. The search does not look for the smaller one,
    /// and the data hardly ever exclude it.
    fn neglect(&mut self) {
        let mut single: Vec<Option<usize>> = vec![None; self.segments.len()];
        for (index, cell) in self.cells.iter().enumerate() {
            if cell.second.is_none() {
                single[cell.first] = Some(index);
            }
        }
        for index in 0..self.cells.len() {
            let cell = &mut self.cells[index];
            let Some(second) = cell.second.filter(|&second| second != cell.first) else { continue };
            let (all, first, sizes) = (cell.probability, cell.first, cell.sizes);
            let is_first = exceeds(sizes.first, NEGLIGIBLE * sizes.second.0.abs());
            let is_second = exceeds(sizes.second, NEGLIGIBLE * sizes.first.0.abs());
            cell.probability *= is_first * is_second;
            let shares = [(first, 1.0 - is_second), (second, is_second * (1.0 - is_first))];
            for (segment, share) in shares {
                if let Some(one) = single[segment] {
                    self.cells[one].probability += all * share;
                }
            }
        }
    }

    fn sum_up(&mut self) {
        let mut mixed = vec![Mixture::default(); self.segments.len()];
        for cell in &self.cells {
            mixed[cell.first].add(cell.probability, cell.sizes.first);
            let Some(second) = cell.second else { continue };
            self.several += cell.probability;
            if second != cell.first {
                mixed[second].add(cell.probability, cell.sizes.second);
            } else {
                let segment = &mut self.segments[second];
                segment.pair_density += cell.probability / segment.pairs;
            }
        }
        for (segment, mixture) in self.segments.iter_mut().zip(mixed) {
            // The mixture counts both steps of a pair in this segment as one.
            let pairs = segment.pair_density * segment.pairs;
            segment.density = (mixture.probability - pairs) / segment.weight.max(f64::MIN_POSITIVE);
            (segment.size, segment.variance) = mixture.normal();
        }
    }
}

/// Entropy of a distribution with these weights, nats.
fn entropy(weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let shares = weights.iter().map(|weight| weight / total).filter(|share| *share > 0.0);
    shares.map(|share| -share * share.ln()).sum()
}

/// Probability that a normally distributed number exceeds a limit in absolute value.
fn exceeds((mean, variance): (f64, f64), limit: f64) -> f64 {
    let sd = variance.sqrt().max(f64::MIN_POSITIVE);
    tail((limit - mean) / sd) + tail((limit + mean) / sd)
}

/// Probability that a standard normal number exceeds `z` (Abramowitz and Stegun 1964, 26.2.17).
fn tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let inner = -1.821_255_978 + t * 1.330_274_429;
    let series = t * (0.319_381_53 + t * (-0.356_563_782 + t * (1.781_477_937 + t * inner)));
    let upper = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * series;
    if z < 0.0 { 1.0 - upper } else { upper }
}

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

    /// Mean and variance.
    fn normal(self) -> (f64, f64) {
        if self.probability <= 0.0 {
            return (0.0, 0.0);
        }
        let mean = self.mean / self.probability;
        (mean, (self.square / self.probability - mean * mean).max(0.0))
    }
}

fn segments(weights: &[f64], measured: &[MeasuredCandidate]) -> Vec<PlaceSegment> {
    let mut first = 1;
    let mut segments = Vec::new();
    for last in measured.iter().map(|known| known.place).chain([weights.len() - 1]) {
        let inside = &weights[first..=last];
        let weight: f64 = inside.iter().sum();
        let squares: f64 = inside.iter().map(|weight| weight * weight).sum();
        segments.push(PlaceSegment {
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

fn shape(segments: &[PlaceSegment]) -> Vec<(usize, Option<usize>, f64)> {
    let places: f64 = segments.iter().map(|segment| segment.weight).sum();
    let square = |segment: &PlaceSegment| segment.weight * segment.weight - 2.0 * segment.pairs;
    let squares: f64 = segments.iter().map(square).sum();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up() {
        let order = CandidateOrder::new(&[true; 12]);
        let comparisons =
            [(11, 0.03), (6, 0.0), (8, 0.04), (7, 0.01)].map(|(candidate, log_ratio)| {
                BisectComparison { base: 0, candidate, log_ratio, se: 0.005 }
            });
        let noise = BisectNoise { instance: 0.01, build: 0.002 };
        let posterior = Posterior::new(&order, &comparisons, noise, &[]);
        let cells: f64 = posterior.cells.iter().map(|cell| cell.probability).sum();
        assert!((posterior.no_step() + cells - 1.0).abs() < 1e-9);
        let steps: f64 = posterior.places().map(|(_, probability)| probability).sum();
        assert!((steps - cells - posterior.several()).abs() < 1e-9);
        let [highest, ..] = [8, 7, 6].map(|place| posterior.places().nth(place - 1).unwrap().1);
        assert!(posterior.places().all(|(_, probability)| probability <= highest));
        // At most that of twelve equally probable places.
        assert!((0.1..12.0_f64.ln()).contains(&posterior.entropy()), "{}", posterior.entropy());
    }

    #[test]
    fn tails_are_those_of_the_normal_distribution() {
        for (z, expected) in [(0.0, 0.5), (1.0, 0.158_655), (1.96, 0.024_998), (-1.0, 0.841_345)] {
            assert!((tail(z) - expected).abs() < 1e-6, "{z}");
        }
    }
}
