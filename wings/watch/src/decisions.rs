//! Detects where a watched product may have changed. Pure.
//!
//! A watch periodically measures the newest version together with the previous one and a fixed baseline, so each
//! version has values from one or several studies. A change is suspected between two neighbours if the levels of the
//! versions on both sides differ. The suspicion is cheap and sometimes wrong; a search decides.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WatchValue {
    pub(crate) version: usize,
    pub(crate) log_ratio: f64,
    pub(crate) se: f64,
    /// Source of its build, a number chosen by the caller.
    pub(crate) source: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WatchSearch {
    pub(crate) ends: [usize; 2],
    pub(crate) has_found: bool,
}

/// Prior knowledge of a measure: standard deviations of the log ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WatchNoise {
    /// Variation of a version between studies beyond its errors.
    pub(crate) between: f64,
    /// Difference of builds of equal speed, however often they are measured.
    pub(crate) build: f64,
    /// The same for builds from different sources.
    pub(crate) source: f64,
    /// Smallest change worth a search: absolute log ratio.
    pub(crate) least: f64,
    /// Whether values repeat almost exactly, like instruction counts: neighbours then locate a change.
    pub(crate) is_exact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Suspicion {
    pub(crate) ends: [usize; 2],
    /// Difference of the levels, in standard errors.
    pub(crate) significance: f64,
}

/// Versions on each side whose mean is the level.
const REACH: usize = 5;

/// Difference of levels, in standard errors, from which a change is suspected: by chance, one pair in fourteen reaches
/// it, and the search rejects nearly all of these. Chosen with `cargo lab watch`.
const SUSPECTED: f64 = 1.8;

/// Additional significance required per fruitless search there.
const AGAIN: f64 = 0.3;

/// The most worthwhile search: between the neighbours with the most significant difference, extended by one version on
/// each side unless the measure is exact, because the level of a few versions does not locate a change exactly. `None`
/// if no difference calls for a search.
pub(crate) fn suspect(
    values: &[WatchValue],
    searches: &[WatchSearch],
    noise: WatchNoise,
) -> Option<Suspicion> {
    let levels = levels(values, noise);
    let reach = if noise.is_exact { 1 } else { REACH };
    // A fruitless search may be repeated once there is more evidence.
    let searched = |[after, at]: [usize; 2]| {
        let covers = |search: &&WatchSearch| search.ends[0] <= after && at <= search.ends[1];
        let mut covering = searches.iter().filter(covers);
        let in_vain = covering.clone().filter(|search| !search.has_found).count();
        (covering.any(|search| search.has_found), in_vain as f64)
    };
    let found_between = |after: usize, at: usize| {
        let mut searches = searches.iter().filter(|search| search.has_found);
        searches.any(|search| search.ends[0] < at && after < search.ends[1])
    };
    let mut best: Option<Suspicion> = None;
    for (place, pair) in levels.windows(2).enumerate() {
        let (before, after) = (&pair[0], &pair[1]);
        let (has_found, in_vain) = searched([before.version, after.version]);
        // An exact measure would repeat its answer.
        if has_found || (noise.is_exact && in_vain > 0.0) {
            continue;
        }
        let (left, right) = levels.split_at(place + 1);
        // A level ends at a found change, and where the source of builds changes.
        let up_to = left.iter().rev().take(reach).take_while(|level| {
            level.source == before.source && !found_between(level.version, before.version)
        });
        let from = right.iter().take(reach).take_while(|level| {
            level.source == after.source && !found_between(after.version, level.version)
        });
        let Some(((one, of_one), (other, of_other))) = mean(up_to).zip(mean(from)) else {
            continue;
        };
        let of_sources = if before.source == after.source { 0.0 } else { noise.source.powi(2) };
        let difference = (other - one).abs();
        let significance = difference / (of_one + of_other + of_sources).sqrt();
        let is_suspected = significance >= SUSPECTED * (1.0 + AGAIN * in_vain);
        if difference < noise.least || !is_suspected {
            continue;
        }
        if best.is_none_or(|best| significance > best.significance) {
            let more =
                |at: usize| levels.get(at).map(|level| level.version).filter(|_| !noise.is_exact);
            let earlier = place.checked_sub(1).and_then(more);
            let earlier = earlier.filter(|version| !searched([*version, before.version]).0);
            let later = more(place + 2).filter(|version| !searched([after.version, *version]).0);
            let ends = [earlier.unwrap_or(before.version), later.unwrap_or(after.version)];
            best = Some(Suspicion { ends, significance });
        }
    }
    best
}

struct VersionLevel {
    version: usize,
    source: usize,
    mean: f64,
    variance: f64,
}

fn levels(values: &[WatchValue], noise: WatchNoise) -> Vec<VersionLevel> {
    let mut sums: BTreeMap<usize, (f64, f64, usize)> = BTreeMap::new();
    for value in values {
        let weight = 1.0 / (value.se.powi(2) + noise.between.powi(2)).max(f64::MIN_POSITIVE);
        if value.log_ratio.is_finite() && weight.is_finite() && weight > 0.0 {
            let (sum, weights, source) = sums.entry(value.version).or_default();
            *sum += weight * value.log_ratio;
            *weights += weight;
            *source = value.source;
        }
    }
    let levels = sums.into_iter().map(|(version, (sum, weights, source))| VersionLevel {
        version,
        source,
        mean: sum / weights,
        variance: 1.0 / weights + noise.build.powi(2),
    });
    levels.collect()
}

fn mean<'a>(levels: impl Iterator<Item = &'a VersionLevel>) -> Option<(f64, f64)> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for level in levels {
        sum += level.mean / level.variance;
        weights += 1.0 / level.variance;
    }
    (weights > 0.0).then(|| (sum / weights, 1.0 / weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMED: WatchNoise =
        WatchNoise { between: 0.003, build: 0.001, source: 0.06, least: 0.01, is_exact: false };
    const COUNTED: WatchNoise =
        WatchNoise { between: 0.0, build: 0.0005, source: 0.02, least: 0.0025, is_exact: true };

    fn values(log_ratios: &[(usize, f64)]) -> Vec<WatchValue> {
        let value = |&(version, log_ratio): &(usize, f64)| WatchValue {
            version,
            log_ratio,
            se: 0.002,
            source: 0,
        };
        log_ratios.iter().map(value).collect()
    }

    fn ends(
        values: &[WatchValue],
        searches: &[WatchSearch],
        noise: WatchNoise,
    ) -> Option<[usize; 2]> {
        suspect(values, searches, noise).map(|suspicion| suspicion.ends)
    }

    #[test]
    fn a_change_is_suspected_where_the_level_changes() {
        let steady = [(0, 0.0), (5, 0.001), (10, -0.001), (15, 0.0)];
        assert_eq!(ends(&values(&steady), &[], TIMED), None);
        let changed = [(0, 0.0), (5, 0.001), (10, 0.03), (15, 0.031)];
        assert_eq!(ends(&values(&changed), &[], TIMED), Some([0, 15]));
        let found = WatchSearch { ends: [0, 15], has_found: true };
        assert_eq!(ends(&values(&changed), &[found], TIMED), None);
        let again = [&changed[..], &[(20, 0.06), (25, 0.06)]].concat();
        assert_eq!(ends(&values(&again), &[found], TIMED), Some([15, 25]));
    }

    #[test]
    fn counts_place_a_change_between_neighbours_and_small_changes_are_left_alone() {
        let changed = [(0, 0.0), (5, 0.001), (10, 0.03), (15, 0.031)];
        let exact: Vec<_> =
            values(&changed).iter().map(|value| WatchValue { se: 0.0001, ..*value }).collect();
        assert_eq!(ends(&exact, &[], COUNTED), Some([5, 10]));
        let found = WatchSearch { ends: [5, 10], has_found: true };
        assert_eq!(ends(&exact, &[found], COUNTED), None);
        // A fruitless search would repeat its answer, also after more versions.
        let in_vain = WatchSearch { ends: [5, 10], has_found: false };
        assert_eq!(ends(&exact, &[in_vain], COUNTED), None);
    }

    #[test]
    fn builds_from_another_source_are_trusted_less_however_many_there_are() {
        let all = [(0, 0.0), (5, 0.05), (10, 0.051), (15, 0.049), (20, 0.05)];
        let mut mixed = values(&all);
        mixed.iter_mut().skip(1).for_each(|value| value.source = 1);
        assert_eq!(ends(&mixed, &[], TIMED), None);
        mixed[4].log_ratio = 0.13;
        assert_eq!(ends(&mixed, &[], TIMED), Some([10, 20]));
    }

    #[test]
    fn one_search_is_enough_and_values_that_say_nothing_are_left_out() {
        let odd = [(0, 0.0), (5, f64::NAN), (10, 0.03)];
        assert_eq!(ends(&values(&odd), &[], TIMED), Some([0, 10]));
        // More evidence is needed after a fruitless search.
        let refused = WatchSearch { ends: [0, 10], has_found: false };
        let weak = values(&[(0, 0.0), (10, 0.011)]);
        assert_eq!(ends(&weak, &[], TIMED), Some([0, 10]));
        assert_eq!(ends(&weak, &[refused], TIMED), None);
        assert_eq!(ends(&values(&odd), &[refused], TIMED), Some([0, 10]));
        let vague = WatchValue { version: 10, log_ratio: 0.03, se: f64::INFINITY, source: 0 };
        assert_eq!(ends(&[values(&odd)[0], vague], &[], TIMED), None);
        assert_eq!(ends(&[], &[], TIMED), None);
    }
}
