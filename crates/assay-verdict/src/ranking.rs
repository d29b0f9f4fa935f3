//! Ranks systems: every system against every other, in each test and over all tests.
//!
//! The interval of a pair has the level of its last look divided by the number of pairs (Bonferroni), so all intervals
//! of a ranking hold simultaneously with 95% probability. Two systems are told apart if that interval excludes 1 and
//! the difference exceeds the study's threshold. In a test, the false discovery rate over all pairs and tests must
//! allow it too.

use std::collections::BTreeSet;

use assay_model::{CellId, Estimate, Experiment, StudyRecord, Verdict};

use crate::Doubt;
use crate::effect::{Effect, Reduced};
use crate::over_tests::mean_over_tests;
use crate::rules::{Decision, Rules};
use crate::samples::{Quantity, Samples};

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
    #[must_use]
    pub fn pair(&self, one: usize, other: usize) -> Option<&RankedPair> {
        let is_it = |it: &&RankedPair| [(one, other), (other, one)].contains(&(it.above, it.below));
        self.pairs.iter().find(is_it)
    }

    #[must_use]
    pub fn tells_apart(&self, one: usize, other: usize) -> bool {
        self.pair(one, other).is_some_and(|pair| pair.verdict == Verdict::Slower)
    }

    #[must_use]
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
    let compared = Compared { systems, pairs, rates, decisions, samples };
    let numbers = cells.iter().enumerate().filter(|(_, cell)| !paced.contains(&cell.id));
    let numbers: Vec<(usize, CellId)> = numbers.map(|(number, cell)| (number, cell.id)).collect();
    let tests: Vec<Ranking> =
        numbers.iter().filter_map(|(number, cell)| compared.of_cell(*number, *cell)).collect();
    let overall = match (&tests[..], record.study.experiment) {
        ([], _) | (_, Experiment::Stepwise) => None,
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

struct Compared<'a> {
    systems: Vec<usize>,
    pairs: Vec<(usize, usize)>,
    rates: Quantity,
    decisions: Vec<Decision>,
    samples: &'a Samples,
}

#[derive(Clone, Copy)]
struct Comparison {
    pair: (usize, usize),
    effect: Effect,
    is_callable: bool,
}

impl Compared<'_> {
    fn rules(&self) -> &Rules {
        self.samples.rules()
    }

    fn index(&self, number: usize, pair: usize) -> usize {
        number * self.pairs.len() + pair
    }

    fn effect(&self, number: usize, pair: usize) -> Option<Effect> {
        let index = self.index(number, pair);
        let has_failed = self.decisions.get(index)?.verdict == Verdict::Failed;
        self.rates.effects.get(index)?.filter(|_| !has_failed)
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
            let decision = self.decisions.get(self.index(number, at))?;
            let is_callable = matches!(decision.verdict, Verdict::Faster | Verdict::Slower);
            Some(Comparison { pair, effect: self.effect(number, at)?, is_callable })
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
            let cells: Option<Vec<(&Reduced, Effect)>> = common
                .iter()
                .map(|&number| {
                    let reduced = self.rates.reduced.get(self.index(number, at))?.as_ref()?;
                    Some((reduced, self.effect(number, at)?))
                })
                .collect();
            let effect = mean_over_tests(&cells?, self.samples.assumed())?;
            let is_callable = !self.is_of_busy_blocks(&common, at);
            Some(Comparison { pair, effect, is_callable })
        });
        let comparisons = comparisons.collect();
        let (tests, left_out) = (common.len(), numbers.len() - common.len());
        let ranking = self.ranking(ranked, comparisons)?;
        Some(Ranking { tests: tests as u32, left_out: left_out as u32, ..ranking })
    }

    /// Whether a pair is known of single blocks on a busy machine in most of these cells.
    fn is_of_busy_blocks(&self, cells: &[usize], pair: usize) -> bool {
        let doubts = cells.iter().filter_map(|&number| {
            let decision = self.decisions.get(self.index(number, pair))?;
            (decision.doubt == Some(Doubt::OneBusyBlock)).then_some(())
        });
        2 * doubts.count() > cells.len()
    }

    fn ranking(&self, ranked: Vec<usize>, comparisons: Vec<Comparison>) -> Option<Ranking> {
        let is_ranked =
            |it: &Comparison| ranked.contains(&it.pair.0) && ranked.contains(&it.pair.1);
        let comparisons: Vec<Comparison> =
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
        comparison: &Comparison,
        pairs: usize,
        place: &dyn Fn(usize) -> Option<usize>,
    ) -> RankedPair {
        let Comparison { pair: (from, to), effect, is_callable } = comparison;
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
fn order(ranked: &[usize], comparisons: &[Comparison]) -> Vec<usize> {
    let score = |system: usize| -> f64 {
        let logs = comparisons.iter().map(|Comparison { pair: (from, to), effect, .. }| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::tests::effect;

    fn comparison(pair: (usize, usize), log: f64) -> Comparison {
        Comparison { pair, effect: effect(log, 0.01, 30.0), is_callable: true }
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
