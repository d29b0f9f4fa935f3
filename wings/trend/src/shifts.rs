//! Change points of a line of values with known errors. Pure and seeded: no I/O, no clock.
//!
//! Binary segmentation (Scott and Knott 1974; Vostrikova 1981): the best split of a segment is the one whose two means
//! differ most, relative to their errors. It is a change if, without any, such a difference would be rarer than
//! [`ALPHA`], as simulated with the values' own errors, so it holds for any errors and any number of values, if these
//! are normally distributed. Both sides of a change are then split in the same way.
//!
//! The values of a study share the noise of its base. The simulation attributes half of the variance of a log to the
//! base, as if base and system varied alike.
//!
//! A value that its own study left undecided, or measured on a disturbed machine, counts with [`DOUBT`] times its
//! error, all of it independent: its interval is that of one short study, and ignores differences between such studies.
//! No change is called among values of a single study that decided on none of them.

use std::collections::BTreeMap;

use assay_model::Estimate;
use assay_verdict::{ALPHA, Z, log_error};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal};

/// Simulated segments without a change.
const SIMULATED: usize = 2000;

/// Maximum number of searched values, as simulation time grows with it.
pub(crate) const MOST: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    /// Index of the first value after the change.
    pub(crate) at: usize,
    pub(crate) ratio: Estimate,
    /// Confidence that there is any change in this part of the line, 0 to 1.
    pub(crate) confidence: f64,
    /// Probability of this place, assuming a single step and equal prior probability of all places.
    pub(crate) placed: f64,
}

/// Share of a log's variance common to all values of a study.
const SHARED: f64 = 0.5;

/// Factor on the error of a doubtful value.
pub(crate) const DOUBT: f64 = 2.0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct TrendValue {
    pub(crate) rqps: Estimate,
    pub(crate) study: usize,
    pub(crate) is_doubtful: bool,
}

#[derive(Debug, Clone, Copy)]
struct LogValue {
    log: f64,
    error: f64,
    study: usize,
    is_doubtful: bool,
    /// Part of its variance common to all values of its study.
    shared: f64,
}

/// Change points of ordered values; `None` if one has no interval, or for more than [`MOST`].
pub(crate) fn shifts(values: &[TrendValue], seed: u64) -> Option<Vec<Shift>> {
    if values.len() > MOST {
        return None;
    }
    let values: Option<Vec<LogValue>> = values.iter().map(value).collect();
    let values = values?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found = Vec::new();
    search(&values, 0, &mut random, &mut found);
    found.sort_by_key(|it| it.at);
    let mut ends: Vec<usize> = found.iter().map(|it| it.at).collect();
    ends.push(values.len());
    let mut begin = 0;
    for (number, shift) in found.iter_mut().enumerate() {
        let (before, after) = (&values[begin..shift.at], &values[shift.at..ends[number + 1]]);
        shift.ratio = ratio(before, after);
        begin = shift.at;
    }
    Some(found)
}

/// An interval of a t distribution gives an error enlarged by the ratio of the quantiles, so that the change of a
/// single pair of values is called no more often than its interval allows.
fn value(measured: &TrendValue) -> Option<LogValue> {
    let error = log_error(measured.rqps).filter(|error| *error > 0.0 && error.is_finite())?;
    let log = measured.rqps.value.ln();
    let &TrendValue { study, is_doubtful, .. } = measured;
    let (error, shared) = if is_doubtful { (DOUBT * error, 0.0) } else { (error, SHARED) };
    log.is_finite().then_some(LogValue { log, error, study, is_doubtful, shared })
}

fn search(
    values: &[LogValue],
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
    if p > ALPHA || is_of_one_doubtful_study(values) {
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

/// Whether all values come from one study that decided on none of them: it must not conclude more here than in its own
/// report.
fn is_of_one_doubtful_study(values: &[LogValue]) -> bool {
    let first = values.first().map(|it| it.study);
    values.iter().all(|it| it.is_doubtful && Some(it.study) == first)
}

/// Squared difference of the means on both sides of each place, divided by its variance, starting between the first two
/// values.
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

/// Share of simulated segments without a change whose best split is at least as large.
fn rarity(
    largest: f64,
    values: &[LogValue],
    weights: &[f64],
    random: &mut Xoshiro256PlusPlus,
) -> f64 {
    let studies = values.iter().map(|it| it.study + 1).max().unwrap_or(0);
    let is_as_large = |random: &mut Xoshiro256PlusPlus| {
        let of_base: Vec<f64> = (0..studies).map(|_| normal(random)).collect();
        let noise = values.iter().map(|value| {
            let own = (1.0 - value.shared).sqrt() * normal(random);
            value.error * (own + value.shared.sqrt() * of_base[value.study])
        });
        let noise: Vec<f64> = noise.collect();
        splits(&noise, weights).into_iter().fold(0.0, f64::max) >= largest
    };
    let as_large = (0..SIMULATED).filter(|_| is_as_large(random)).count();
    (as_large + 1) as f64 / (SIMULATED + 1) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    Normal::standard().inverse_cdf(random.random_range(1e-12..1.0))
}

/// Ratio of the means after and before a change. Errors common to a study cancel as far as it lies on both sides.
fn ratio(before: &[LogValue], after: &[LogValue]) -> Estimate {
    let weight = |it: &LogValue| it.error.powi(-2);
    let (of_before, of_after): (f64, f64) =
        (before.iter().map(weight).sum(), after.iter().map(weight).sum());
    let parts = before.iter().map(|it| (it, -weight(it) / of_before));
    let parts = parts.chain(after.iter().map(|it| (it, weight(it) / of_after)));
    let (mut log, mut variance) = (0.0, 0.0);
    let mut shared: BTreeMap<usize, f64> = BTreeMap::new();
    for (value, part) in parts {
        log += part * value.log;
        variance += (1.0 - value.shared) * (part * value.error).powi(2);
        *shared.entry(value.study).or_default() += part * value.error * value.shared.sqrt();
    }
    variance += shared.values().map(|sum| sum.powi(2)).sum::<f64>();
    let room = Z * variance.sqrt();
    Estimate { value: log.exp(), low: (log - room).exp(), high: (log + room).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(values: &[f64], error: f64) -> Vec<TrendValue> {
        let trend_value = |(study, value): (usize, &f64)| TrendValue {
            rqps: Estimate {
                value: *value,
                low: value * (-Z * error).exp(),
                high: value * (Z * error).exp(),
            },
            study,
            is_doubtful: false,
        };
        values.iter().enumerate().map(trend_value).collect()
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
        values[1].rqps = Estimate::without_interval(1.0);
        assert_eq!(shifts(&values, 1), None);
        assert_eq!(shifts(&[], 1), Some(Vec::new()));
        assert_eq!(shifts(&values[..1], 1), Some(Vec::new()));
    }

    /// Three versions in one study of five seconds: 0.97 [0.94, 1.01] and 1.04 [1.00, 1.08].
    #[test]
    fn a_single_study_without_verdicts_shows_no_change() {
        let of_one = |is_doubtful: bool| -> Vec<TrendValue> {
            let values = estimates(&[0.97, 1.04], 0.018);
            values.into_iter().map(|it| TrendValue { study: 0, is_doubtful, ..it }).collect()
        };
        assert_eq!(shifts(&of_one(false), 1).unwrap().len(), 1);
        assert_eq!(shifts(&of_one(true), 1), Some(Vec::new()));
        // However narrow the intervals happen to be.
        let narrow = estimates(&[0.97, 1.04], 0.003);
        let narrow: Vec<TrendValue> =
            narrow.into_iter().map(|it| TrendValue { study: 0, is_doubtful: true, ..it }).collect();
        assert_eq!(shifts(&narrow, 1), Some(Vec::new()));
    }

    /// Ten studies can show what none could alone.
    #[test]
    fn many_doubtful_studies_show_a_change() {
        let values: Vec<f64> = [[1.0; 10], [0.95; 10]].concat();
        let values = estimates(&values, 0.02);
        let values: Vec<TrendValue> =
            values.into_iter().map(|it| TrendValue { is_doubtful: true, ..it }).collect();
        let found = shifts(&values, 1).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let certain: Vec<TrendValue> =
            values.iter().map(|it| TrendValue { is_doubtful: false, ..*it }).collect();
        let width = |it: &Shift| (it.ratio.high / it.ratio.low).ln();
        assert!(width(&found[0]) > 1.5 * width(&shifts(&certain, 1).unwrap()[0]), "{found:?}");
    }

    #[test]
    fn noise_is_called_a_change_as_often_as_it_may_be() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let lines = 200;
        let called = (0..lines).filter(|line| {
            let noise = |number: usize| {
                let error = 0.01 * (1 + number % 3) as f64;
                TrendValue {
                    study: number,
                    ..estimates(&[(error * normal(&mut random)).exp()], error)[0]
                }
            };
            let values: Vec<TrendValue> = (0..12).map(noise).collect();
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
                TrendValue { study: number / 4, ..estimates(&[log.exp()], error)[0] }
            };
            let values: Vec<TrendValue> = (0..12).map(noise).collect();
            !shifts(&values, *line).unwrap().is_empty()
        });
        let called = called.count();
        assert!((2..=20).contains(&called), "{called} of {lines}");
    }
}
