//! The samples of one cell, and what follows from them.

use std::collections::BTreeMap;

use assay_model::CellId;

use crate::bound::{Bound, Pace};
use crate::effect::Reduced;
use crate::robust::{Value, centres};
use crate::sample::{Fitness, Sample};
use crate::uneven::{Surplus, Totals, surplus};

/// If a smaller share of a cell's rounds is free of machine trouble, the troubled rounds are judged too, and the cell
/// is marked: on a machine that is always busy, a marked answer is better than none.
pub const QUIET_SHARE: f64 = 0.25;

#[derive(Debug, Clone)]
pub(crate) struct CellSamples {
    pub(crate) id: CellId,
    blocks: BTreeMap<u32, BlockSamples>,
    /// The node of each block.
    nodes: BTreeMap<u32, u32>,
    /// Whether each system has failed.
    failed: Vec<bool>,
    /// How fast each system was at best, over all its slices.
    paces: Vec<Pace>,
    /// Whether a sample was added since the last decision.
    has_changed: bool,
    /// Whether troubled samples were judged in the last decision.
    is_disturbed: bool,
    /// What the last decision found, by system.
    relative: Vec<Relative>,
}

/// A system relative to the base.
#[derive(Debug, Clone, Default)]
struct Relative {
    rate: Option<Reduced>,
    surplus: Option<Surplus>,
    cpu: Option<Reduced>,
}

/// The samples of one cell in one block.
#[derive(Debug, Clone, Default)]
struct BlockSamples {
    /// The samples that may be judged. From the last decision on they are sorted by round and system; later ones follow
    /// in the order in which they came.
    figures: Vec<Figures>,
    /// Logarithms of rates in every two turns, those of one sample one after the other.
    twos: Vec<f64>,
    has_changed: bool,
    /// Rounds in which all systems that are left have a sample.
    complete: u32,
    /// Complete rounds in which none of them had machine trouble.
    quiet: u32,
}

/// The figures of one sample. An unknown figure is NaN.
#[derive(Debug, Clone, Copy)]
struct Figures {
    round: u32,
    system: u32,
    is_good: bool,
    rate: f64,
    seconds: f64,
    cpu_per_op: f64,
    cpu_waits_per_op: f64,
    /// Its part of [`BlockSamples::twos`].
    twos: (u32, u32),
}

/// Operations, their time and their waits for a CPU.
#[derive(Debug, Default)]
struct Spent {
    ops: f64,
    seconds: f64,
    waits_ns: f64,
}

impl Spent {
    fn add(&mut self, figures: &Figures) {
        let ops = figures.rate * figures.seconds;
        self.ops += ops;
        self.seconds += figures.seconds;
        self.waits_ns += figures.cpu_waits_per_op * ops;
    }
}

/// The samples of one round.
struct Round<'a> {
    block: &'a BlockSamples,
    /// Number of the block.
    number: u32,
    /// Sorted by system.
    figures: &'a [Figures],
    /// Whether troubled samples are judged too.
    is_disturbed: bool,
}

impl CellSamples {
    pub(crate) fn new(id: CellId, systems: usize) -> Self {
        Self {
            id,
            blocks: BTreeMap::new(),
            nodes: BTreeMap::new(),
            failed: vec![false; systems],
            paces: vec![Pace::default(); systems],
            has_changed: false,
            is_disturbed: false,
            relative: vec![Relative::default(); systems],
        }
    }

    pub(crate) fn add(&mut self, sample: &Sample) {
        match sample.fitness {
            Fitness::Failed | Fitness::Missed => {
                let failed = self.failed.get_mut(sample.system);
                if failed.is_some_and(|it| !std::mem::replace(it, true)) {
                    // A round is complete without it.
                    self.blocks.values_mut().for_each(|block| block.has_changed = true);
                    self.has_changed = true;
                }
            }
            Fitness::Mistimed | Fitness::Good | Fitness::Troubled | Fitness::Unanswered => {}
        }
        if let Some(pace) = self.paces.get_mut(sample.system) {
            pace.add(sample);
        }
        match sample.fitness {
            Fitness::Failed | Fitness::Mistimed => {}
            Fitness::Unanswered => {
                // A round is complete without it.
                self.blocks.values_mut().for_each(|block| block.has_changed = true);
                self.has_changed = true;
            }
            Fitness::Good | Fitness::Troubled | Fitness::Missed => {
                self.nodes.insert(sample.block, sample.node);
                let block = self.blocks.entry(sample.block).or_default();
                block.add(sample);
                block.has_changed = true;
                self.has_changed = true;
            }
        }
    }

    pub(crate) fn has_failed(&self, system: usize) -> bool {
        self.failed.get(system).copied().unwrap_or(false)
    }

    /// What is known of the rate of a system relative to another one, if an event of either took too long.
    pub(crate) fn bound(&self, system: usize, other: usize) -> Option<Bound> {
        let clients = self.id.setup.clients;
        Bound::of(self.paces.get(system)?, self.paces.get(other)?, clients)
    }

    /// Whether so few rounds were quiet that the last decision judged troubled samples too.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.is_disturbed
    }

    /// The rate of a system relative to the base, as of the last decision.
    pub(crate) fn relative_rate(&self, system: usize) -> Option<Reduced> {
        self.relative.get(system)?.rate.clone()
    }

    /// The server's CPU per operation relative to the base's, as of the last decision.
    pub(crate) fn relative_cpu(&self, system: usize) -> Option<Reduced> {
        self.relative.get(system)?.cpu.clone()
    }

    /// How far totals exceed the relative rate, as of the last decision.
    pub(crate) fn surplus(&self, system: usize) -> Option<Surplus> {
        self.relative.get(system)?.surplus
    }

    /// Operations per second.
    pub(crate) fn rate(&self, system: usize) -> Option<Reduced> {
        self.reduce(|round| Some(round.judged(system)?.rate.ln()))
    }

    /// Takes in what was added since the last decision.
    pub(crate) fn update(&mut self, base: usize) {
        if !self.has_changed {
            return;
        }
        let systems = self.failed.len();
        // The others are measured further without a system that failed or does not answer.
        let is_left = |(failed, pace): (&bool, &Pace)| !failed && !pace.is_unanswered();
        let left: Vec<bool> = self.failed.iter().zip(&self.paces).map(is_left).collect();
        for block in self.blocks.values_mut().filter(|block| block.has_changed) {
            block.sort(&left);
        }
        let sum = |count: fn(&BlockSamples) -> u32| -> f64 {
            self.blocks.values().map(|block| f64::from(count(block))).sum()
        };
        self.is_disturbed = sum(|block| block.quiet) < QUIET_SHARE * sum(|block| block.complete);
        self.has_changed = false;
        self.relative =
            (0..systems)
                .map(|system| {
                    if system == base {
                        Relative::default()
                    } else {
                        self.relative_to(system, base)
                    }
                })
                .collect();
    }

    /// A system relative to another one.
    fn relative_to(&self, system: usize, other: usize) -> Relative {
        if self.bound(system, other).is_some() {
            return Relative::default();
        }
        let (rate, surplus) = self.rate_to(system, other);
        Relative { rate, surplus, cpu: self.cpu_to(system, other) }
    }

    /// The server's CPU per operation relative to that of another system.
    pub(crate) fn cpu_to(&self, system: usize, other: usize) -> Option<Reduced> {
        self.reduce(|round| {
            Some((round.judged(system)?.cpu_per_op / round.judged(other)?.cpu_per_op).ln())
        })
    }

    /// The rate of a system relative to another one, and how far totals exceed it.
    pub(crate) fn rate_to(
        &self,
        system: usize,
        other: usize,
    ) -> (Option<Reduced>, Option<Surplus>) {
        let (mut values, mut totals) = (Vec::new(), Vec::new());
        for round in self.rounds() {
            let Some((one, other)) = round.judged(system).zip(round.judged(other)) else {
                continue;
            };
            let before = values.len();
            round.ratios(one, other, &mut values);
            if values.len() > before {
                totals.push(Totals {
                    block: round.number,
                    ops: [one.rate * one.seconds, other.rate * other.seconds],
                    seconds: [one.seconds, other.seconds],
                });
            }
        }
        match centres(&values) {
            Some(centres) => {
                (Some(Reduced::new(&centres, &self.nodes)), surplus(&centres, &totals))
            }
            None => (None, None),
        }
    }

    /// The part of the difference in the time per operation of two systems that waits for a CPU make up, over all
    /// judged rounds; `None` if it was not measured. Waits between turns count too, so it may exceed 1.
    pub(crate) fn waits_share(&self, system: usize, other: usize) -> Option<f64> {
        let (mut first, mut second) = (Spent::default(), Spent::default());
        for round in self.rounds() {
            if let Some((one, other)) = round.judged(system).zip(round.judged(other)) {
                first.add(one);
                second.add(other);
            }
        }
        let clients = f64::from(self.id.setup.clients);
        let time_ns = 1e9 * clients * (first.seconds / first.ops - second.seconds / second.ops);
        let share = (first.waits_ns / first.ops - second.waits_ns / second.ops) / time_ns;
        share.is_finite().then_some(share)
    }

    /// A quantity of every round, reduced to blocks.
    fn reduce(&self, quantity: impl Fn(&Round) -> Option<f64>) -> Option<Reduced> {
        let values: Vec<Value> = self
            .rounds()
            .filter_map(|round| Some(round.value(quantity(&round)?)))
            .filter(|it| it.value.is_finite())
            .collect();
        centres(&values).map(|centres| Reduced::new(&centres, &self.nodes))
    }

    /// The rounds, in order of blocks.
    fn rounds(&self) -> impl Iterator<Item = Round<'_>> {
        self.blocks.iter().flat_map(|(&number, block)| {
            let rounds = block.figures.chunk_by(|one, next| one.round == next.round);
            let is_disturbed = self.is_disturbed;
            rounds.map(move |figures| Round { block, number, figures, is_disturbed })
        })
    }
}

impl BlockSamples {
    fn add(&mut self, sample: &Sample) {
        let first = self.twos.len() as u32;
        self.twos.extend(&sample.twos);
        self.figures.push(Figures::of(sample, (first, self.twos.len() as u32)));
    }

    /// Rates in every two turns of a sample.
    fn twos(&self, figures: &Figures) -> &[f64] {
        let (first, end) = figures.twos;
        self.twos.get(first as usize..end as usize).unwrap_or_default()
    }

    /// Sorts the samples and counts the rounds that all systems that are left completed. A later sample of the same
    /// round and system replaces an earlier one.
    fn sort(&mut self, left: &[bool]) {
        let key = |figures: &Figures| (figures.round, figures.system);
        // The sort keeps the order of samples with the same key.
        self.figures.sort_by_key(key);
        self.figures.dedup_by(|later, earlier| {
            let is_same = key(later) == key(earlier);
            if is_same {
                *earlier = *later;
            }
            is_same
        });
        (self.complete, self.quiet) = (0, 0);
        let is_left = |figures: &&Figures| left.get(figures.system as usize) == Some(&true);
        let all = left.iter().filter(|it| **it).count();
        for round in self.figures.chunk_by(|one, next| one.round == next.round) {
            let of_left = || round.iter().filter(is_left);
            if of_left().count() == all {
                self.complete += 1;
                self.quiet += u32::from(of_left().all(|figures| figures.is_good));
            }
        }
        self.has_changed = false;
    }
}

impl Figures {
    fn of(sample: &Sample, twos: (u32, u32)) -> Self {
        Self {
            round: sample.round,
            twos,
            system: sample.system as u32,
            is_good: matches!(sample.fitness, Fitness::Good | Fitness::Missed),
            rate: sample.rate.unwrap_or(f64::NAN),
            seconds: sample.seconds,
            cpu_per_op: sample.cpu_per_op.unwrap_or(f64::NAN),
            cpu_waits_per_op: sample.cpu_waits_per_op.unwrap_or(f64::NAN),
        }
    }
}

impl Round<'_> {
    /// The figures of a system, if it has a sample that is judged.
    fn judged(&self, system: usize) -> Option<&Figures> {
        let index = self.figures.binary_search_by_key(&system, |it| it.system as usize).ok()?;
        self.figures.get(index).filter(|figures| self.is_disturbed || figures.is_good)
    }

    fn value(&self, value: f64) -> Value {
        let round = self.figures.first().map_or(0, |it| it.round);
        Value { block: self.number, round, value }
    }

    /// Logarithms of the ratio of the rates of two systems: of every two turns, or of the whole where they did not
    /// alternate.
    fn ratios(&self, one: &Figures, other: &Figures, values: &mut Vec<Value>) {
        let (twos, of_other) = (self.block.twos(one), self.block.twos(other));
        let whole = [(one.rate / other.rate).ln()];
        let in_turns = !twos.is_empty() && twos.len() == of_other.len();
        let each = twos.iter().zip(of_other).map(|(one, other)| one - other).filter(|_| in_turns);
        let whole = whole.into_iter().filter(|_| !in_turns);
        values.extend(each.chain(whole).filter(|it| it.is_finite()).map(|it| self.value(it)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of three systems, the last but one takes no part any more: what it did in a round says nothing of the others.
    #[test]
    fn rounds_are_those_of_the_systems_that_are_left() {
        let figures = |round, system, is_good| Figures {
            round,
            system,
            is_good,
            rate: 1.0,
            seconds: 1.0,
            cpu_per_op: 1.0,
            cpu_waits_per_op: 0.0,
            twos: (0, 0),
        };
        let figures = vec![
            figures(0, 0, true),
            figures(0, 1, true),
            figures(1, 0, true),
            figures(1, 1, false),
            figures(1, 2, true),
        ];
        let mut block = BlockSamples { figures, ..BlockSamples::default() };
        for (left, counts) in [([true; 3], (1, 0)), ([true, false, true], (1, 1))] {
            block.sort(&left);
            assert_eq!((block.complete, block.quiet), counts, "{left:?}");
        }
    }
}
