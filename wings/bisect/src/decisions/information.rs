//! Chooses the comparison with the most information per second about the position of the step.
//!
//! The information of a comparison is that between its value and the position (Lindley 1956; MacKay 2003, Information
//! Theory, Inference, and Learning Algorithms). Under each hypothesis the value is normal, and
//!
//! > I = Σ p E log(N(y; m, v) / Σ p N(y; m, v))
//!
//! by Gauss-Hermite quadrature. Within a segment, it depends only on which part of the segment is at or before the
//! candidate, so a few points suffice however many candidates there are.

use super::comparison::CandidateOrder;
use super::likelihood::StepSizes;
use super::posterior::Posterior;

/// Points per segment at which information is computed. A binary search needs only the middle one; the others matter
/// where candidates differ in cost.
const POINTS: usize = 16;

/// Nodes and weights of the Gauss-Hermite quadrature with seven points, for the standard normal distribution.
const NODES: [(f64, f64); 7] = [
    (-3.750_439_717_725_742, 0.000_548_268_855_972_218),
    (-2.366_759_410_734_541, 0.030_757_123_967_586_5),
    (-1.154_405_394_739_968, 0.240_123_178_605_013),
    (0.0, 0.457_142_857_142_857),
    (1.154_405_394_739_968, 0.240_123_178_605_013),
    (2.366_759_410_734_541, 0.030_757_123_967_586_5),
    (3.750_439_717_725_742, 0.000_548_268_855_972_218),
];

/// Levels closer than this share of the noise are merged.
const SAME: f64 = 0.3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Where,
    Several,
}

/// Candidate with the most information per second, and the information of its comparison, nats; ties go to the first.
/// `None` if no comparison is informative.
pub(super) fn best_candidate(
    order: &CandidateOrder,
    posterior: &Posterior,
    question: Question,
    seconds: impl Fn(usize) -> f64,
) -> Option<(usize, f64)> {
    let mut best: Option<(f64, usize, f64)> = None;
    for (index, segment) in posterior.segments.iter().enumerate() {
        if segment.last < segment.first {
            continue;
        }
        let levels = levels(posterior, index);
        let places: Vec<usize> = (segment.first..=segment.last).collect();
        let before = places.iter().scan(0.0, |sum, place| {
            *sum += posterior.weight(*place);
            Some(*sum / segment.weight)
        });
        let parts: Vec<f64> = before.collect();
        let variance = posterior.variance(segment.first);
        let step = places.len().div_ceil(POINTS);
        let known: Vec<f64> = parts[..parts.len() - 1]
            .iter()
            .step_by(step)
            .map(|part| information(question, &levels, *part, variance))
            .collect();
        for (nth, &place) in places.iter().enumerate() {
            let is_last = nth + 1 == places.len();
            let value = if is_last {
                information(question, &levels, 1.0, posterior.variance(place))
            } else {
                between(&known, nth, step)
            };
            let candidate = order.candidate(place);
            let rate = value / seconds(candidate).max(f64::MIN_POSITIVE);
            if best.is_none_or(|(highest, ..)| rate > highest) {
                best = Some((rate, candidate, value));
            }
        }
    }
    best.filter(|(rate, ..)| *rate > 0.0).map(|(_, candidate, value)| (candidate, value))
}

fn between(known: &[f64], nth: usize, step: usize) -> f64 {
    let below = known.get(nth / step).copied().unwrap_or(0.0);
    let above = known.get(nth / step + 1).copied().unwrap_or(0.0);
    let part = (nth % step) as f64 / step as f64;
    below + part * (above - below)
}

/// A level that a candidate of a segment may have. Its probability is a polynomial in the part `f` of the segment at or
/// before the candidate: `c0 + c1 f + c2 f²`.
#[derive(Debug, Clone, Copy)]
struct CandidateLevel {
    is_of_several: bool,
    mean: f64,
    variance: f64,
    probability: [f64; 3],
}

fn levels(posterior: &Posterior, segment: usize) -> Vec<CandidateLevel> {
    let mut levels: Vec<CandidateLevel> = Vec::new();
    let mut none = [posterior.no_step(), 0.0, 0.0];
    let mut none_yet = [0.0; 3];
    for cell in &posterior.cells {
        let p = cell.probability;
        // Probability that a step in a segment is at or before the candidate, and that it is after it.
        let at = |other: usize| match other.cmp(&segment) {
            std::cmp::Ordering::Less => [1.0, 0.0],
            std::cmp::Ordering::Equal => [0.0, 1.0],
            std::cmp::Ordering::Greater => [0.0, 0.0],
        };
        let [one, part] = at(cell.first);
        let Some(second) = cell.second else {
            levels.push(level(false, cell.sizes.first, [p * one, p * part, 0.0]));
            none = sum(none, [p * (1.0 - one), -p * part, 0.0]);
            continue;
        };
        if second == segment && cell.first == segment {
            let StepSizes { first, sum: both, .. } = cell.sizes;
            levels.push(level(true, both, [0.0, 0.0, p]));
            levels.push(level(true, first, [0.0, 2.0 * p, -2.0 * p]));
            none_yet = sum(none_yet, [p, -2.0 * p, p]);
            continue;
        }
        // The steps are in order, and at most one is in the segment.
        let [other, other_part] = at(second);
        levels.push(level(true, cell.sizes.sum, [p * other, p * other_part, 0.0]));
        levels.push(level(
            true,
            cell.sizes.first,
            [p * (one - other), p * (part - other_part), 0.0],
        ));
        none_yet = sum(none_yet, [p * (1.0 - one), -p * part, 0.0]);
    }
    levels.push(level(false, (0.0, 0.0), none));
    levels.push(level(true, (0.0, 0.0), none_yet));
    levels.retain(|level| level.probability.iter().any(|p| p.abs() > 1e-6));
    levels.sort_by(|one, other| {
        let class = one.is_of_several.cmp(&other.is_of_several);
        class.then(one.mean.total_cmp(&other.mean))
    });
    merged(&levels, SAME * posterior.variance(posterior.segments[segment].first).sqrt())
}

fn level(
    is_of_several: bool,
    (mean, variance): (f64, f64),
    probability: [f64; 3],
) -> CandidateLevel {
    CandidateLevel { is_of_several, mean, variance, probability }
}

fn sum(one: [f64; 3], other: [f64; 3]) -> [f64; 3] {
    let ([a, b, c], [d, e, f]) = (one, other);
    [a + d, b + e, c + f]
}

fn merged(levels: &[CandidateLevel], width: f64) -> Vec<CandidateLevel> {
    let mut merged: Vec<CandidateLevel> = Vec::new();
    let mut from = f64::NEG_INFINITY;
    for level in levels {
        let Some(last) = merged
            .last_mut()
            .filter(|last| last.is_of_several == level.is_of_several && level.mean - from < width)
        else {
            from = level.mean;
            merged.push(*level);
            continue;
        };
        // The weight is the mean probability over the segment.
        let weight = |[a, b, c]: [f64; 3]| (a + b / 2.0 + c / 3.0).max(f64::MIN_POSITIVE);
        let (one, other) = (weight(last.probability), weight(level.probability));
        let mean = (one * last.mean + other * level.mean) / (one + other);
        let square = |level: &CandidateLevel| level.variance + level.mean * level.mean;
        let squares = (one * square(last) + other * square(level)) / (one + other);
        let probability = sum(last.probability, level.probability);
        *last = CandidateLevel {
            is_of_several: level.is_of_several,
            mean,
            variance: (squares - mean * mean).max(0.0),
            probability,
        };
    }
    merged
}

#[derive(Debug, Clone, Copy)]
struct Normal {
    is_of_several: bool,
    probability: f64,
    mean: f64,
    variance: f64,
}

impl Normal {
    fn density(&self, y: f64) -> f64 {
        let exponent = -0.5 * (y - self.mean) * (y - self.mean) / self.variance;
        self.probability * exponent.exp() / self.variance.sqrt()
    }
}

/// Information of a comparison of a candidate, nats.
fn information(question: Question, levels: &[CandidateLevel], part: f64, variance: f64) -> f64 {
    let normal = |level: &CandidateLevel| {
        let [a, b, c] = level.probability;
        let probability = a + part * (b + part * c);
        let variance = level.variance + variance;
        Normal { is_of_several: level.is_of_several, probability, mean: level.mean, variance }
    };
    let mut normals: Vec<Normal> = levels.iter().map(normal).collect();
    normals.retain(|normal| normal.probability > 1e-6);
    let of_several = normals.iter().filter(|normal| normal.is_of_several);
    let several: f64 = of_several.map(|normal| normal.probability).sum();
    let share = |one: &Normal| {
        let at = NODES.iter().map(|&(node, weight)| {
            let y = one.mean + node * one.variance.sqrt();
            let (mut same, mut all) = (0.0, 0.0);
            for other in &normals {
                let density = other.density(y);
                all += density;
                same += if other.is_of_several == one.is_of_several { density } else { 0.0 };
            }
            let known = match question {
                Question::Where => (-0.5 * node * node).exp() / one.variance.sqrt(),
                Question::Several if one.is_of_several => same / several,
                Question::Several => same / (1.0 - several),
            };
            weight * (known / all).ln()
        });
        one.probability * at.sum::<f64>()
    };
    normals.iter().map(share).sum()
}
