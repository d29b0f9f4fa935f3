//! Ranks systems: every system against every other, in each test and over all tests.
//!
//! The interval of a pair has the level of its last look divided by the number of pairs (Bonferroni), so all intervals
//! of a ranking hold simultaneously with 95% probability. Two systems are distinguished if that interval excludes 1 and
//! the difference exceeds the study's threshold. In a test, the false discovery rate over all pairs and tests must
//! allow it too.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{CellId, Estimate, Experiment, StudyRecord, Verdict};

use crate::VerdictDoubt;
use crate::effect::{BlockCentres, Effect, common_variance};
use crate::prior_variance::{COMMON, DESIGN_DF, PriorVariance};
use crate::rules::{Decision, Rules};
use crate::samples::{QuantityEstimates, Samples};

/// Fewest ranked systems. For two, the verdicts suffice.
pub const RANKED_MIN: usize = 3;

/// Maximum comparisons, pairs times tests, to keep reports fast.
const COMPARISONS_MAX: usize = 20_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Rankings {
    /// Over all tests, by geometric mean; `None` if no test has all ranked systems.
    pub overall: Option<Ranking>,
    /// One per test with at least two systems to rank, in the order of the cells.
    pub tests: Vec<Ranking>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    pub cell: Option<CellId>,
    pub tests: u32,
    pub left_out: u32,
    /// Groups of indistinguishable systems, the fastest first; within a group, the highest estimate first.
    pub groups: Vec<Vec<usize>>,
    pub pairs: Vec<RankedPair>,
    /// Systems that failed, did not answer, or were not measured.
    pub unranked: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedPair {
    pub above: usize,
    pub below: usize,
    /// Operations per second of the lower relative to the higher one, with its simultaneous 95% interval.
    pub ratio: Estimate,
    /// `Slower` if the lower one is significantly slower, `Same` if the interval is within the threshold, otherwise
    /// `Undecided`.
    pub verdict: Verdict,
}

impl Ranking {
    /// The fastest first.
    pub fn systems(&self) -> impl Iterator<Item = usize> {
        self.groups.iter().flatten().copied()
    }

    /// In either order.
    pub fn pair(&self, one: usize, other: usize) -> Option<&RankedPair> {
        let is_it = |it: &&RankedPair| [(one, other), (other, one)].contains(&(it.above, it.below));
        self.pairs.iter().find(is_it)
    }

    pub fn tells_apart(&self, one: usize, other: usize) -> bool {
        self.pair(one, other).is_some_and(|pair| pair.verdict == Verdict::Slower)
    }

    pub fn rank(&self, system: usize) -> u32 {
        let faster = |it: &&RankedPair| it.below == system && it.verdict == Verdict::Slower;
        1 + self.pairs.iter().filter(faster).count() as u32
    }
}

/// Rankings of a study with at least [`RANKED_MIN`] systems besides the twin. `paced`: cells with rate limits, which do
/// not show a system's capacity.
pub(crate) fn rankings(
    record: &StudyRecord,
    samples: &Samples,
    paced: &BTreeSet<CellId>,
) -> Option<Rankings> {
    let systems: Vec<usize> =
        (0..record.systems.len()).filter(|&it| !record.systems[it].is_twin).collect();
    let pairs = pairs(&systems);
    let cells = &record.study.cells;
    let is_too_much = pairs.len().saturating_mul(cells.len()) > COMPARISONS_MAX;
    if systems.len() < RANKED_MIN || is_too_much || record.counts_only() {
        return None;
    }
    let (rates, decisions) = samples.compare(&pairs);
    let compared = RankingPairs { systems, pairs, rates, decisions, samples };
    let numbers = cells.iter().enumerate().filter(|(_, cell)| !paced.contains(&cell.id));
    let numbers: Vec<(usize, CellId)> = numbers.map(|(number, cell)| (number, cell.id)).collect();
    let tests: Vec<Ranking> =
        numbers.iter().filter_map(|(number, cell)| compared.of_cell(*number, *cell)).collect();
    let overall = match (&tests[..], record.study.experiment) {
        ([], _) | (_, Experiment::Stepwise | Experiment::Consecutive) => None,
        ([only], _) if numbers.len() == 1 => Some(Ranking { cell: None, ..only.clone() }),
        _ => compared.overall(&numbers),
    };
    (!tests.is_empty()).then_some(Rankings { overall, tests })
}

fn pairs(systems: &[usize]) -> Vec<(usize, usize)> {
    let later = |at: usize| systems.iter().skip(at + 1);
    systems
        .iter()
        .enumerate()
        .flat_map(|(at, one)| later(at).map(move |other| (*one, *other)))
        .collect()
}

struct RankingPairs<'a> {
    systems: Vec<usize>,
    pairs: Vec<(usize, usize)>,
    rates: QuantityEstimates,
    decisions: Vec<Decision>,
    samples: &'a Samples,
}

#[derive(Clone, Copy)]
struct PairComparison {
    pair: (usize, usize),
    effect: Effect,
    is_callable: bool,
}

impl RankingPairs<'_> {
    fn rules(&self) -> &Rules {
        self.samples.rules()
    }

    fn index(&self, number: usize, pair: usize) -> usize {
        number * self.pairs.len() + pair
    }

    fn effect(&self, number: usize, pair: usize) -> Option<Effect> {
        let index = self.index(number, pair);
        let has_failed = self.decisions[index].verdict == Verdict::Failed;
        self.rates.effects[index].filter(|_| !has_failed)
    }

    fn measured(&self, number: usize) -> Vec<usize> {
        let known = |pair: usize| self.effect(number, pair).is_some();
        let measured = largest_complete(&self.systems, |one, other| {
            self.pairs.iter().position(|pair| *pair == (one, other)).is_some_and(known)
        });
        if measured.len() < 2 { Vec::new() } else { measured }
    }

    fn of_cell(&self, number: usize, cell: CellId) -> Option<Ranking> {
        let ranked = self.measured(number);
        let comparisons = self.pairs.iter().enumerate().filter_map(|(at, &pair)| {
            let decision = &self.decisions[self.index(number, at)];
            let is_callable = matches!(decision.verdict, Verdict::Faster | Verdict::Slower);
            Some(PairComparison { pair, effect: self.effect(number, at)?, is_callable })
        });
        let comparisons = comparisons.collect();
        self.ranking(ranked, comparisons).map(|it| Ranking { cell: Some(cell), tests: 1, ..it })
    }

    fn overall(&self, numbers: &[(usize, CellId)]) -> Option<Ranking> {
        let measured: Vec<Vec<usize>> =
            numbers.iter().map(|(number, _)| self.measured(*number)).collect();
        let count = |system: &usize| measured.iter().filter(|it| it.contains(system)).count();
        let most = self.systems.iter().map(count).max().unwrap_or(0);
        let ranked: Vec<usize> =
            self.systems.iter().copied().filter(|it| 2 * count(it) > most).collect();
        let common: Vec<usize> = (numbers.iter().zip(&measured))
            .filter(|(_, measured)| ranked.iter().all(|system| measured.contains(system)))
            .map(|((number, _), _)| *number)
            .collect();
        let comparisons = self.pairs.iter().enumerate().filter_map(|(at, &pair)| {
            let cells: Option<Vec<(&BlockCentres, Effect)>> = common
                .iter()
                .map(|&number| {
                    let reduced = self.rates.reduced[self.index(number, at)].as_ref()?;
                    Some((reduced, self.effect(number, at)?))
                })
                .collect();
            let effect = mean_over_tests(&cells?, self.samples.assumed())?;
            let is_callable = !self.is_of_busy_blocks(&common, at);
            Some(PairComparison { pair, effect, is_callable })
        });
        let comparisons = comparisons.collect();
        let (tests, left_out) = (common.len(), numbers.len() - common.len());
        let ranking = self.ranking(ranked, comparisons)?;
        Some(Ranking { tests: tests as u32, left_out: left_out as u32, ..ranking })
    }

    /// Whether a pair is known of single blocks on a busy machine in most of these cells.
    fn is_of_busy_blocks(&self, cells: &[usize], pair: usize) -> bool {
        let doubt = |&&number: &&usize| self.decisions[self.index(number, pair)].doubt;
        let doubted = cells.iter().filter(|it| doubt(it) == Some(VerdictDoubt::OneBusyBlock));
        2 * doubted.count() > cells.len()
    }

    fn ranking(&self, ranked: Vec<usize>, comparisons: Vec<PairComparison>) -> Option<Ranking> {
        let is_ranked =
            |it: &PairComparison| ranked.contains(&it.pair.0) && ranked.contains(&it.pair.1);
        let comparisons: Vec<PairComparison> =
            comparisons.into_iter().filter(|it| is_ranked(it)).collect();
        let all = ranked.len() * ranked.len().saturating_sub(1) / 2;
        if ranked.len() < 2 || comparisons.len() < all {
            return None;
        }
        let order = order(&ranked, &comparisons);
        let place = |system: usize| order.iter().position(|it| *it == system);
        let mut pairs: Vec<RankedPair> =
            comparisons.iter().map(|it| self.ranked_pair(it, all, &place)).collect();
        pairs.sort_by_key(|pair| (place(pair.above), place(pair.below)));
        let mut ranking = Ranking {
            cell: None,
            tests: 0,
            left_out: 0,
            groups: Vec::new(),
            pairs,
            unranked: self.systems.iter().copied().filter(|it| !ranked.contains(it)).collect(),
        };
        ranking.groups = groups(&order, |one, other| ranking.tells_apart(one, other));
        Some(ranking)
    }

    fn ranked_pair(
        &self,
        comparison: &PairComparison,
        pairs: usize,
        place: &dyn Fn(usize) -> Option<usize>,
    ) -> RankedPair {
        let PairComparison { pair: (from, to), effect, is_callable } = comparison;
        let (mut effect, is_in_order) = (*effect, place(*from) < place(*to));
        let (above, below) = if is_in_order { (*from, *to) } else { (*to, *from) };
        effect.log = if is_in_order { effect.log } else { -effect.log };
        let level = self.rules().level(&effect) / pairs as f64;
        let verdict = self.rules().simultaneous(&effect, level);
        let is_called = verdict == Verdict::Slower && *is_callable;
        RankedPair {
            above,
            below,
            ratio: effect.interval(level),
            verdict: match verdict {
                Verdict::Same => Verdict::Same,
                _ if is_called => Verdict::Slower,
                _ => Verdict::Undecided,
            },
        }
    }
}

/// Removes systems without most of their comparisons one by one, until each has one with every other. `is_known` takes
/// the earlier system first.
fn largest_complete(systems: &[usize], is_known: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut left = systems.to_vec();
    loop {
        let missing = |one: usize| {
            let others = left.iter().filter(|&&other| other != one);
            others.filter(|&&other| !is_known(one.min(other), one.max(other))).count()
        };
        let worst = left.iter().copied().max_by_key(|&it| missing(it));
        match worst {
            Some(worst) if missing(worst) > 0 => left.retain(|it| *it != worst),
            _ => return left,
        }
    }
}

/// Systems by mean log ratio to all others, the fastest first. Ties go to the first.
fn order(ranked: &[usize], comparisons: &[PairComparison]) -> Vec<usize> {
    let score = |system: usize| -> f64 {
        let logs = comparisons.iter().map(|PairComparison { pair: (from, to), effect, .. }| {
            f64::from(u8::from(*to == system)) * effect.log
                - f64::from(u8::from(*from == system)) * effect.log
        });
        logs.sum()
    };
    let mut order = ranked.to_vec();
    order.sort_by(|one, other| score(*other).total_cmp(&score(*one)));
    order
}

/// Groups, the fastest first: a system distinguishable from any of the group begins the next one.
fn groups(order: &[usize], tells_apart: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &system in order {
        match groups.last_mut() {
            Some(group) if !group.iter().any(|other| tells_apart(*other, system)) => {
                group.push(system);
            }
            _ => groups.push(vec![system]),
        }
    }
    groups
}

/// Mean log ratio over tests that share instances, i.e. the log of the geometric mean ratio; `None` without tests.
///
/// The common part of a block's tests does not shrink with the number of tests; the rest of each test's variance is
/// independent. Tests measured by several machines may share all of it.
fn mean_over_tests(cells: &[(&BlockCentres, Effect)], assumed: PriorVariance) -> Option<Effect> {
    let count = cells.len() as f64;
    let (_, first) = cells.first()?;
    let reduced: Vec<&BlockCentres> = cells.iter().map(|(reduced, _)| *reduced).collect();
    let measured = common_variance(&reduced);
    let (common, common_df) = assumed.fill(COMMON * assumed.between(), measured, DESIGN_DF);
    let of_common = common * block_share(&reduced);
    let squares = |(reduced, effect): &(&BlockCentres, Effect)| {
        let own = common / reduced.blocks.len().max(1) as f64;
        ((effect.se * effect.se - own).max(0.0), effect.df)
    };
    let has_nodes =
        reduced.iter().any(|it| it.nodes.iter().any(|node| Some(node) != it.nodes.first()));
    let parts = if has_nodes { count } else { count * count };
    let rest: f64 = cells.iter().map(|it| squares(it).0).sum::<f64>() / parts;
    let variance = of_common + rest;
    // Satterthwaite. If nothing is known of the common part, the degrees of freedom are those of a single test.
    let least = cells.iter().map(|(_, effect)| effect.df).fold(f64::INFINITY, f64::min);
    let of_rest = if has_nodes { least } else { least * count };
    let spent = satterthwaite_part(of_common, common_df) + satterthwaite_part(rest, of_rest);
    let df = if common_df > 0.0 && spent > 0.0 { variance * variance / spent } else { least };
    let mut mean = *first;
    mean.log = cells.iter().map(|(_, effect)| effect.log).sum::<f64>() / count;
    mean.se = variance.sqrt();
    mean.df = df;
    mean.blocks = cells.iter().map(|(_, effect)| effect.blocks).min().unwrap_or(0);
    mean.last = cells.iter().map(|(_, effect)| effect.last).max().unwrap_or(0);
    (mean.log.is_finite() && mean.se.is_finite() && df > 0.0).then_some(mean)
}

/// Contribution of a variance to the denominator of Satterthwaite's degrees of freedom.
fn satterthwaite_part(variance: f64, df: f64) -> f64 {
    if variance > 0.0 { variance * variance / df } else { 0.0 }
}

/// Sum over blocks of the squared weight of each block in the mean: 1 divided by the number of blocks, if all tests
/// were measured in all of them.
fn block_share(cells: &[&BlockCentres]) -> f64 {
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    for cell in cells {
        let weight = 1.0 / (cell.blocks.len().max(1) * cells.len()) as f64;
        for (block, _) in &cell.blocks {
            *weights.entry(*block).or_default() += weight;
        }
    }
    weights.values().map(|weight| weight * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::tests::effect;

    fn comparison(pair: (usize, usize), log: f64) -> PairComparison {
        PairComparison { pair, effect: effect(log, 0.01, 30.0), is_callable: true }
    }

    #[test]
    fn systems_are_ordered_by_their_mean_ratio() {
        let all = [comparison((0, 1), 0.1), comparison((0, 2), -0.2), comparison((1, 2), -0.3)];
        assert_eq!(order(&[0, 1, 2], &all), [1, 0, 2]);
    }

    #[test]
    fn a_group_has_only_systems_that_are_not_told_apart() {
        let apart = |one, other| (one, other) == (0, 2);
        assert_eq!(groups(&[0, 1, 2], apart), [vec![0, 1], vec![2]]);
        assert_eq!(groups(&[0, 1, 2], |_, _| false), [vec![0, 1, 2]]);
        assert_eq!(groups(&[], |_, _| true), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_system_without_rates_takes_no_other_out_of_the_ranking() {
        let known = |one, other| one != 1 && other != 1;
        assert_eq!(largest_complete(&[0, 1, 2, 3], known), [0, 2, 3]);
        assert_eq!(largest_complete(&[0, 1], |_, _| false).len(), 1);
    }
}
