//! Change points of a line of values with known errors.
//!
//! Binary segmentation (Scott and Knott 1974; Vostrikova 1981): the best split of a segment is the one whose two
//! means differ most, relative to their errors. It is a change if, without any, such a difference would be rarer than
//! [`ALPHA`]. How rare it would be is simulated with the values' own errors, so it holds for any errors and any number
//! of values, as far as these are normally distributed. Both sides of a change are then split in the same way.
//!
//! The values of a study share the noise of its base. The simulation takes half of the variance of a logarithm for the
//! base's, as if base and system varied alike.

use std::collections::BTreeMap;

use assay_model::Estimate;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::looks::ALPHA;
use crate::special::{Z, log_error};

/// Simulated segments without a change.
const SIMULATED: usize = 2000;

/// Most values that are searched: the time of the simulation grows with their number.
pub const MOST: usize = 500;

/// A change between two neighbours of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The first value after the change, by its number from 0.
    pub at: usize,
    /// The mean after the change divided by that before it, up to the neighbouring changes.
    pub ratio: Estimate,
    /// The confidence that there is a change in this part of the line at all, from 0 to 1.
    pub confidence: f64,
    /// The probability that it lies at this place, if it is a single step and every place is as likely beforehand.
    pub placed: f64,
}

/// The part of a logarithm's variance that all values of a study share.
const SHARED: f64 = 0.5;

/// A logarithm, its standard error, and the number of its study.
#[derive(Debug, Clone, Copy)]
struct Value {
    log: f64,
    error: f64,
    study: usize,
}

/// The change points of values in their order, each with the number of its study; `None` if one of them has no
/// interval, or if there are more than [`MOST`].
pub(super) fn shifts(values: &[(Estimate, usize)], seed: u64) -> Option<Vec<Shift>> {
    if values.len() > MOST {
        return None;
    }
    let values: Option<Vec<Value>> = values.iter().map(|(it, study)| value(it, *study)).collect();
    let values = values?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found = Vec::new();
    search(&values, 0, &mut random, &mut found);
    found.sort_by_key(|it| it.at);
    let mut ends: Vec<usize> = found.iter().map(|it| it.at).collect();
    ends.push(values.len());
    let mut begin = 0;
    for (number, shift) in found.iter_mut().enumerate() {
        let end = ends.get(number + 1).copied().unwrap_or(values.len());
        let (before, after) = (values.get(begin..shift.at)?, values.get(shift.at..end)?);
        shift.ratio = ratio(before, after);
        begin = shift.at;
    }
    Some(found)
}

/// An interval of a t distribution gives an error that is larger by the ratio of the quantiles, so that the change of
/// a single pair of values is called no more often than its interval allows.
fn value(estimate: &Estimate, study: usize) -> Option<Value> {
    let error = log_error(*estimate).filter(|error| *error > 0.0 && error.is_finite())?;
    let log = estimate.value.ln();
    log.is_finite().then_some(Value { log, error, study })
}

fn search(
    values: &[Value],
    offset: usize,
    random: &mut Xoshiro256PlusPlus,
    found: &mut Vec<Shift>,
) {
    let logs: Vec<f64> = values.iter().map(|it| it.log).collect();
    let weights: Vec<f64> = values.iter().map(|it| it.error.powi(-2)).collect();
    let statistics = splits(&logs, &weights);
    let best = statistics.iter().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((before, &largest)) = best else { return };
    let p = rarity(largest, values, &weights, random);
    if p > ALPHA {
        return;
    }
    let all: f64 = statistics.iter().map(|it| ((it - largest) / 2.0).exp()).sum();
    let at = offset + before + 1;
    let (placed, confidence) = (1.0 / all, 1.0 - p);
    found.push(Shift { at, ratio: Estimate::without_interval(1.0), confidence, placed });
    let (left, right) = values.split_at(before + 1);
    search(left, offset, random, found);
    search(right, at, random, found);
}

/// The squared difference of the means on both sides of each place, divided by its variance: the first is that
/// between the first value and the second.
fn splits(logs: &[f64], weights: &[f64]) -> Vec<f64> {
    let all_weight: f64 = weights.iter().sum();
    let all: f64 = logs.iter().zip(weights).map(|(log, weight)| log * weight).sum();
    let (mut weight, mut sum) = (0.0, 0.0);
    let places = logs.iter().zip(weights).take(logs.len().saturating_sub(1));
    places
        .map(|(log, of_value)| {
            weight += of_value;
            sum += log * of_value;
            let rest = all_weight - weight;
            let difference = sum / weight - (all - sum) / rest;
            difference.powi(2) * weight * rest / all_weight
        })
        .collect()
}

/// The share of simulated segments without a change whose best split is at least as large.
fn rarity(largest: f64, values: &[Value], weights: &[f64], random: &mut Xoshiro256PlusPlus) -> f64 {
    let studies = values.iter().map(|it| it.study + 1).max().unwrap_or(0);
    let (own, shared) = ((1.0 - SHARED).sqrt(), SHARED.sqrt());
    let is_as_large = |random: &mut Xoshiro256PlusPlus| {
        let of_base: Vec<f64> = (0..studies).map(|_| shared * normal(random)).collect();
        let of_base = |it: &Value| of_base.get(it.study).copied().unwrap_or(0.0);
        let noise = values.iter().map(|it| it.error * (own * normal(random) + of_base(it)));
        let noise: Vec<f64> = noise.collect();
        splits(&noise, weights).into_iter().fold(0.0, f64::max) >= largest
    };
    let as_large = (0..SIMULATED).filter(|_| is_as_large(random)).count();
    (as_large + 1) as f64 / (SIMULATED + 1) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    Normal::standard().inverse_cdf(random.random_range(1e-12..1.0))
}

/// The mean after a change divided by that before it. The errors that values of a study share cancel out as far as the
/// study lies on both sides.
fn ratio(before: &[Value], after: &[Value]) -> Estimate {
    let weight = |it: &Value| it.error.powi(-2);
    let (of_before, of_after): (f64, f64) =
        (before.iter().map(weight).sum(), after.iter().map(weight).sum());
    let parts = before.iter().map(|it| (it, -weight(it) / of_before));
    let parts = parts.chain(after.iter().map(|it| (it, weight(it) / of_after)));
    let (mut log, mut variance) = (0.0, 0.0);
    let mut shared: BTreeMap<usize, f64> = BTreeMap::new();
    for (value, part) in parts {
        log += part * value.log;
        variance += (1.0 - SHARED) * (part * value.error).powi(2);
        *shared.entry(value.study).or_default() += part * value.error;
    }
    variance += shared.values().map(|sum| SHARED * sum.powi(2)).sum::<f64>();
    let room = Z * variance.sqrt();
    Estimate { value: log.exp(), low: (log - room).exp(), high: (log + room).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study for each value.
    fn estimates(values: &[f64], error: f64) -> Vec<(Estimate, usize)> {
        let of = |value: &f64| Estimate {
            value: *value,
            low: value * (-Z * error).exp(),
            high: value * (Z * error).exp(),
        };
        values.iter().map(of).zip(0..).collect()
    }

    #[test]
    fn steps_are_found_with_their_size() {
        let mut values = vec![1.0; 6];
        values.extend([0.9; 5]);
        values.extend([1.2; 4]);
        let found = shifts(&estimates(&values, 0.01), 1).unwrap();
        assert_eq!(found.iter().map(|it| it.at).collect::<Vec<_>>(), [6, 11]);
        assert!((found[0].ratio.value - 0.9).abs() < 1e-9, "{found:?}");
        assert!((found[1].ratio.value - 1.2 / 0.9).abs() < 1e-9, "{found:?}");
        assert!(found.iter().all(|it| it.confidence > 0.99 && it.placed > 0.9), "{found:?}");
        assert!(found[0].ratio.low < 0.9 && found[0].ratio.high > 0.9);
    }

    #[test]
    fn without_intervals_nothing_is_said() {
        let mut values = estimates(&[1.0, 1.0, 2.0, 2.0], 0.01);
        values[1].0 = Estimate::without_interval(1.0);
        assert_eq!(shifts(&values, 1), None);
        assert_eq!(shifts(&[], 1), Some(Vec::new()));
        assert_eq!(shifts(&values[..1], 1), Some(Vec::new()));
    }

    /// The error rate of a whole line, over lines of noise alone with unequal errors.
    #[test]
    fn noise_is_called_a_change_as_often_as_it_may_be() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let lines = 200;
        let called = (0..lines).filter(|line| {
            let noise = |number: usize| {
                let error = 0.01 * (1 + number % 3) as f64;
                (estimates(&[(error * normal(&mut random)).exp()], error)[0].0, number)
            };
            let values: Vec<(Estimate, usize)> = (0..12).map(noise).collect();
            !shifts(&values, *line).unwrap().is_empty()
        });
        let called = called.count();
        assert!(called <= 20, "{called} of {lines}");
    }

    /// Three studies of four versions each: the noise of a base moves all values of its study.
    #[test]
    fn the_noise_of_a_base_is_no_change() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let (lines, error) = (200, 0.02_f64);
        let called = (0..lines).filter(|line| {
            let mut of_base = 0.0;
            let noise = |number: usize| {
                if number.is_multiple_of(4) {
                    of_base = normal(&mut random);
                }
                let log = error * 0.5_f64.sqrt() * (of_base + normal(&mut random));
                (estimates(&[log.exp()], error)[0].0, number / 4)
            };
            let values: Vec<(Estimate, usize)> = (0..12).map(noise).collect();
            !shifts(&values, *line).unwrap().is_empty()
        });
        let called = called.count();
        assert!((2..=20).contains(&called), "{called} of {lines}");
    }
}
