//! Where a watched product may have changed. Pure.
//!
//! A watch measures the newest version from time to time, together with the one before and a fixed baseline. Each
//! version thus has the values of several studies. A change is suspected between two neighbours if the level of the
//! versions from there on differs from that of the versions up to there. The suspicion is cheap and wrong now and
//! then; a [`crate::Bisect`] decides.

use std::collections::BTreeMap;

/// The value of a version relative to the baseline, in one study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchValue {
    /// Index of the version among those that are watched.
    pub version: usize,
    /// The logarithm of its value divided by that of the baseline.
    pub log_ratio: f64,
    /// The standard error of the logarithm.
    pub se: f64,
}

/// A search that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchSearch {
    /// The versions that were its ends.
    pub ends: [usize; 2],
    /// Whether a change was found.
    pub has_found: bool,
}

/// What is known of a measure beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchNoise {
    /// The standard deviation by which equal versions differ from study to study beyond their errors.
    pub between: f64,
    /// The least change that is worth a search: the absolute logarithm of the ratio.
    pub least: f64,
    /// Whether values repeat almost exactly, as counts of instructions do: neighbours then place a change.
    pub is_exact: bool,
}

/// The number of versions on each side whose mean is the level.
const REACH: usize = 5;

/// The difference of levels, in standard errors, from which a change is suspected: by chance, one pair in fourteen has
/// it, and the search refuses nearly all of these. Chosen with `cargo lab watch`.
const SUSPECTED: f64 = 1.8;

/// By how much more significant a difference must be for each search that found nothing there.
const AGAIN: f64 = 0.3;

/// The ends of the search that is most worthwhile: the neighbours with the most significant difference, and one
/// version more on each side unless the measure is exact, because the level of a few versions does not place a change
/// exactly. `None` if no difference calls for a search.
#[must_use]
pub fn suspect(
    values: &[WatchValue],
    searches: &[WatchSearch],
    noise: WatchNoise,
) -> Option<[usize; 2]> {
    let levels = levels(values, noise.between);
    let reach = if noise.is_exact { 1 } else { REACH };
    // A search that found nothing may be repeated once there is more evidence.
    let searched = |[after, at]: [usize; 2]| {
        let mut over = searches.iter().filter(|it| it.ends[0] <= after && at <= it.ends[1]);
        let in_vain = over.clone().filter(|it| !it.has_found).count();
        (over.any(|it| it.has_found), in_vain as f64)
    };
    let is_searched = |pair: [usize; 2]| searched(pair).0;
    let found_between = |after: usize, at: usize| {
        searches.iter().any(|it| it.has_found && it.ends[0] < at && after < it.ends[1])
    };
    let mut best: Option<(f64, [usize; 2])> = None;
    for (place, pair) in levels.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        let (has_found, in_vain) = searched([before.version, after.version]);
        if has_found {
            continue;
        }
        let (left, right) = levels.split_at(place + 1);
        // A level ends where a change was found.
        let up_to = left.iter().rev().take(reach);
        let up_to = up_to.take_while(|it| !found_between(it.version, before.version));
        let from = right.iter().take(reach);
        let from = from.take_while(|it| !found_between(after.version, it.version));
        let Some(((one, of_one), (other, of_other))) = mean(up_to).zip(mean(from)) else {
            continue;
        };
        let difference = (other - one).abs();
        let size = difference / (of_one + of_other).sqrt();
        if difference < noise.least || size.is_nan() || size < SUSPECTED * (1.0 + AGAIN * in_vain) {
            continue;
        }
        if best.is_none_or(|(largest, _)| size > largest) {
            let more = |at: usize| levels.get(at).map(|it| it.version).filter(|_| !noise.is_exact);
            let earlier = place.checked_sub(1).and_then(more);
            let earlier = earlier.filter(|it| !is_searched([*it, before.version]));
            let later = more(place + 2).filter(|it| !is_searched([after.version, *it]));
            let ends = [earlier.unwrap_or(before.version), later.unwrap_or(after.version)];
            best = Some((size, ends));
        }
    }
    best.map(|(_, ends)| ends)
}

/// A version, the mean of its values and the variance of the mean.
struct Level {
    version: usize,
    mean: f64,
    variance: f64,
}

/// The measured versions in their order.
fn levels(values: &[WatchValue], noise: f64) -> Vec<Level> {
    let mut of: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for it in values {
        let weight = 1.0 / (it.se * it.se + noise * noise);
        if it.log_ratio.is_finite() && weight.is_finite() && weight > 0.0 {
            let (sum, weights) = of.entry(it.version).or_default();
            *sum += weight * it.log_ratio;
            *weights += weight;
        }
    }
    let levels = of.into_iter().map(|(version, (sum, weights))| Level {
        version,
        mean: sum / weights,
        variance: 1.0 / weights,
    });
    levels.collect()
}

/// The mean of levels, weighted by their precision, and its variance.
fn mean<'a>(levels: impl Iterator<Item = &'a Level>) -> Option<(f64, f64)> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for it in levels {
        sum += it.mean / it.variance;
        weights += 1.0 / it.variance;
    }
    (weights > 0.0).then(|| (sum / weights, 1.0 / weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMED: WatchNoise = WatchNoise { between: 0.003, least: 0.01, is_exact: false };
    const COUNTED: WatchNoise = WatchNoise { between: 0.0005, least: 0.0025, is_exact: true };

    fn values(of: &[(usize, f64)]) -> Vec<WatchValue> {
        let value =
            |&(version, log_ratio): &(usize, f64)| WatchValue { version, log_ratio, se: 0.002 };
        of.iter().map(value).collect()
    }

    #[test]
    fn a_change_is_suspected_where_the_level_changes() {
        let steady = [(0, 0.0), (5, 0.001), (10, -0.001), (15, 0.0)];
        assert_eq!(suspect(&values(&steady), &[], TIMED), None);
        let changed = [(0, 0.0), (5, 0.001), (10, 0.03), (15, 0.031)];
        assert_eq!(suspect(&values(&changed), &[], TIMED), Some([0, 15]));
        let found = WatchSearch { ends: [0, 15], has_found: true };
        assert_eq!(suspect(&values(&changed), &[found], TIMED), None);
        let again = [&changed[..], &[(20, 0.06), (25, 0.06)]].concat();
        assert_eq!(suspect(&values(&again), &[found], TIMED), Some([15, 25]));
    }

    #[test]
    fn counts_place_a_change_between_neighbours_and_small_changes_are_left_alone() {
        let changed = [(0, 0.0), (5, 0.001), (10, 0.03), (15, 0.031)];
        let exact: Vec<_> =
            values(&changed).iter().map(|it| WatchValue { se: 0.0001, ..*it }).collect();
        assert_eq!(suspect(&exact, &[], COUNTED), Some([5, 10]));
        let found = WatchSearch { ends: [5, 10], has_found: true };
        assert_eq!(suspect(&exact, &[found], COUNTED), None);
    }

    #[test]
    fn one_search_is_enough_and_values_that_say_nothing_are_left_out() {
        let odd = [(0, 0.0), (5, f64::NAN), (10, 0.03)];
        assert_eq!(suspect(&values(&odd), &[], TIMED), Some([0, 10]));
        // More evidence is needed after a search in vain.
        let refused = WatchSearch { ends: [0, 10], has_found: false };
        let weak = values(&[(0, 0.0), (10, 0.011)]);
        assert_eq!(suspect(&weak, &[], TIMED), Some([0, 10]));
        assert_eq!(suspect(&weak, &[refused], TIMED), None);
        assert_eq!(suspect(&values(&odd), &[refused], TIMED), Some([0, 10]));
        let vague = WatchValue { version: 10, log_ratio: 0.03, se: f64::INFINITY };
        assert_eq!(suspect(&[values(&odd)[0], vague], &[], TIMED), None);
        assert_eq!(suspect(&[], &[], TIMED), None);
    }
}
