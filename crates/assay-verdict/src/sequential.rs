//! Error spent over looks (group-sequential) and over cells (false discovery rate).

use std::sync::OnceLock;

use statrs::distribution::{ContinuousCDF, Normal};

/// Two-sided error of a verdict, and one minus the level of every interval.
pub const ALPHA: f64 = 0.05;

/// Points of the grid on which the density of the test statistic is followed from look to look.
const GRID: usize = 200;

/// Half-width of that grid at the last look, standard deviations.
const REACH: f64 = 8.0;

/// The part of [`ALPHA`] that is kept back for looks beyond the plan, so that a finished study may be given more time.
pub const KEPT_BACK: f64 = 0.005;

/// Two-sided nominal level at look `look` (from 1) of a study that planned `planned` equally spaced ones.
///
/// The O'Brien-Fleming-like function of Lan and DeMets (1983) spends [`ALPHA`] less [`KEPT_BACK`], half of it on either
/// side: by the share t of the planned information, 4 − 4 Φ(z(1 − α/4) / √t). Beyond the plan, [`KEPT_BACK`] (1 − 1/t)
/// is spent in addition: never all of it, so there is no last look. The boundaries take the correlation of the looks
/// into account.
#[must_use]
pub fn look_level(look: u32, planned: u32) -> f64 {
    levels(look.max(1), planned).last().copied().unwrap_or(ALPHA)
}

fn normal() -> Normal {
    Normal::standard()
}

/// The error that may be spent by a share of the planned information.
fn spent(share: f64) -> f64 {
    let planned = ALPHA - KEPT_BACK;
    if share > 1.0 {
        return planned + KEPT_BACK * (1.0 - 1.0 / share);
    }
    let normal = normal();
    let z = normal.inverse_cdf(1.0 - planned / 4.0);
    4.0 * normal.sf(z / share.sqrt())
}

/// Looks for which the levels are kept. Computing them takes milliseconds, and a process needs the same ones again.
const LOOKS_KEPT: usize = 32;

/// Nominal levels of the first `looks` looks of a study that planned `planned`; see [`compute_levels`].
pub(crate) fn levels(looks: u32, planned: u32) -> Vec<f64> {
    static KEPT: [OnceLock<Vec<f64>>; LOOKS_KEPT] = [const { OnceLock::new() }; LOOKS_KEPT];
    let planned = planned.max(1);
    match KEPT.get(planned as usize) {
        Some(kept) if looks == planned => {
            kept.get_or_init(|| compute_levels(looks, planned)).clone()
        }
        _ => compute_levels(looks, planned),
    }
}

/// Nominal levels of all looks, by recursive integration (Armitage, McPherson and Rowe 1969) of the score process,
/// which has variance `look` and crosses outwards at ±`bound`.
fn compute_levels(looks: u32, planned: u32) -> Vec<f64> {
    let mut levels = Vec::with_capacity(looks as usize);
    let mut before = 0.0;
    // Points and weights of the density of paths that have not crossed.
    let mut inside = vec![(0.0, 1.0)];
    for look in 1..=looks {
        let total = spent(f64::from(look) / f64::from(planned));
        let bound = boundary(&inside, total - before);
        before = total;
        levels.push(2.0 * normal().sf(bound / f64::from(look).sqrt()));
        if look < looks {
            inside = advance(&inside, bound.min(REACH * f64::from(look).sqrt()));
        }
    }
    levels
}

/// The bound outside which the next step ends with probability `share`.
fn boundary(inside: &[(f64, f64)], share: f64) -> f64 {
    let normal = normal();
    let outside = |bound: f64| -> f64 {
        inside
            .iter()
            .map(|(at, weight)| weight * (normal.sf(bound - at) + normal.cdf(-bound - at)))
            .sum()
    };
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if outside(middle) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The density one unit-variance step later, cut off at ±`bound` (Simpson's rule).
fn advance(inside: &[(f64, f64)], bound: f64) -> Vec<(f64, f64)> {
    let step = 2.0 * bound / GRID as f64;
    let scale = step / 3.0 / (2.0 * std::f64::consts::PI).sqrt();
    (0..=GRID)
        .map(|index| {
            let at = -bound + step * index as f64;
            let simpson = match index {
                0 | GRID => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let density: f64 = inside
                .iter()
                .map(|(from, weight)| weight * (-0.5 * (at - from) * (at - from)).exp())
                .sum();
            (at, scale * simpson * density)
        })
        .collect()
}

/// Says which hypotheses are rejected at false discovery rate `rate` (Benjamini and Hochberg 1995).
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let cut = sorted
        .iter()
        .enumerate()
        .filter(|(index, p)| **p <= rate * (index + 1) as f64 / count)
        .map(|(_, p)| *p)
        .next_back();
    p_values.iter().map(|p| cut.is_some_and(|cut| *p <= cut)).collect()
}

/// The share of `rate` that each hypothesis must keep within to be rejected, with all others unchanged. It is the share
/// of the rank that the hypothesis would have if it were the surest.
pub(crate) fn shares(p_values: &[f64], rate: f64) -> Vec<f64> {
    let count = p_values.len() as f64;
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let keeps_within = |p: f64, rank: usize| p <= rate * rank as f64 / count;
    let rejected = (1..).zip(&order).filter(|(rank, (_, p))| keeps_within(*p, *rank));
    let rejected = rejected.map(|(rank, _)| rank).last().unwrap_or(0);
    let mut shares = vec![0.0; p_values.len()];
    // If a hypothesis were the surest, those before it would move back by one rank, and those after it would stay. Its
    // rank is then the last one up to its own that would be rejected.
    let mut moved = 1;
    let mut before = 0.0;
    for (rank, (index, p)) in (1..).zip(&order) {
        if keeps_within(before, rank) {
            moved = rank;
        }
        shares[*index] = rejected.max(moved) as f64 / count;
        before = *p;
    }
    shares
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// With the error 0.05, the bounds are 4.3326, 2.9631, 2.3590 and 2.0141 (R's package ldbounds:
    /// `ldbounds(c(1, 2, 3, 4) / 4, iuse = c(1, 1), alpha = c(.025, .025))`). With 0.045, all are further out.
    #[test]
    fn bounds_of_four_looks() {
        let z: Vec<f64> =
            levels(4, 4).iter().map(|level| normal().inverse_cdf(1.0 - level / 2.0)).collect();
        for (mine, with_all) in z.iter().zip([4.3326, 2.9631, 2.3590, 2.0141]) {
            assert!((0.03..0.1).contains(&(mine - with_all)), "{z:?}");
        }
    }

    #[test]
    fn one_look_spends_all_that_is_not_kept_back() {
        assert!((look_level(1, 1) - (ALPHA - KEPT_BACK)).abs() < 1e-9);
        assert_eq!(levels(6, 4)[..4], levels(4, 4)[..]);
    }

    /// Paths without any effect cross a boundary in no more than [`ALPHA`] of all cases, however long they go on.
    #[test]
    fn looks_beyond_the_plan_keep_the_error() {
        let bounds: Vec<f64> =
            levels(16, 4).iter().map(|level| normal().inverse_cdf(1.0 - level / 2.0)).collect();
        assert!(bounds[4..].iter().all(|bound| (2.0..3.5).contains(bound)), "{bounds:?}");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let paths = 40_000;
        let crossed = (0..paths)
            .filter(|_| {
                let mut sum = 0.0;
                (1_u32..).zip(&bounds).any(|(look, bound)| {
                    sum += normal().inverse_cdf(random.random_range(1e-12..1.0));
                    (sum / f64::from(look).sqrt()).abs() > *bound
                })
            })
            .count();
        let share = crossed as f64 / f64::from(paths);
        // Three standard errors of 40,000 paths.
        assert!((0.045..ALPHA + 0.0033).contains(&share), "{share}");
    }

    /// The example of Benjamini and Hochberg (1995), section 3.1: the first four of fifteen.
    #[test]
    fn published_false_discovery_example() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let rejected = benjamini_hochberg(&p, 0.05);
        assert_eq!(rejected.iter().filter(|&&r| r).count(), 4);
        assert!(rejected[..4].iter().all(|&r| r));
    }

    /// The share by its definition: all hypotheses are tested again for each one.
    fn shares_one_by_one(p_values: &[f64], rate: f64) -> Vec<f64> {
        let rejected_with = |index: usize| {
            let mut with = p_values.to_vec();
            with[index] = 0.0;
            benjamini_hochberg(&with, rate).into_iter().filter(|rejected| *rejected).count()
        };
        let count = p_values.len() as f64;
        (0..p_values.len()).map(|index| rejected_with(index) as f64 / count).collect()
    }

    #[test]
    fn shares_are_those_of_the_definition() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        for round in 0..2000_u32 {
            // Powers, for small values; of a grid, for ties, some of them with the levels themselves.
            let count = random.random_range(0..12);
            let power = f64::from(round % 5);
            let mut p_value = || match round % 2 {
                0 => random.random::<f64>().powf(power),
                _ => f64::from(random.random_range(0..12)) * ALPHA / 8.0,
            };
            let p_values: Vec<f64> = (0..count).map(|_| p_value()).collect();
            let one_by_one = shares_one_by_one(&p_values, ALPHA);
            assert_eq!(shares(&p_values, ALPHA), one_by_one, "{p_values:?}");
        }
    }

    #[test]
    fn a_hypothesis_is_rejected_where_it_keeps_within_its_share() {
        let p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.3240, 0.7590, 1.0];
        let within: Vec<bool> =
            p.iter().zip(shares(&p, ALPHA)).map(|(p, share)| *p <= share * ALPHA).collect();
        assert_eq!(within, benjamini_hochberg(&p, ALPHA));
        assert_eq!(shares(&[0.9; 4], ALPHA), [0.25; 4]);
        assert_eq!(shares(&[1e-9; 4], ALPHA), [1.0; 4]);
    }
}
