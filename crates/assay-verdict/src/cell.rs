//! Samples of one cell and derived quantities.

use std::collections::BTreeMap;

use assay_model::CellId;

use crate::bound::{EventPace, RatioBound};
use crate::effect::BlockCentres;
use crate::robust::{Centres, RoundValue, centres};
use crate::sample::{Fitness, SliceSample};
use crate::uneven::{RoundTotals, Surplus, surplus};

/// If a smaller share of a cell's rounds is free of machine trouble, troubled rounds are judged too, and the cell is
/// marked: on an always busy machine, a marked answer is better than none.
pub const QUIET_SHARE: f64 = 0.25;

#[derive(Debug, Clone)]
pub(crate) struct CellSamples {
    pub(crate) id: CellId,
    blocks: BTreeMap<u32, BlockSamples>,
    nodes: BTreeMap<u32, u32>,
    failed: Vec<bool>,
    /// Best speed of each system over all slices.
    paces: Vec<EventPace>,
    has_changed: bool,
    is_disturbed: bool,
    relative: Vec<RelativeFigures>,
}

#[derive(Debug, Clone, Default)]
struct RelativeFigures {
    rate: Option<BlockCentres>,
    surplus: Option<Surplus>,
    /// Of all threads of the server, and of those that serve connections.
    cpu: Option<BlockCentres>,
    serving_cpu: Option<BlockCentres>,
    p99: Option<BlockCentres>,
    dispersion: Option<BlockCentres>,
}

#[derive(Debug, Clone, Default)]
struct BlockSamples {
    /// Judgeable samples, sorted by round and system as of the last decision; later ones follow in order of arrival.
    figures: Vec<Figures>,
    /// Log rates in every two turns, sample after sample.
    twos: Vec<f64>,
    has_changed: bool,
    /// Rounds with a sample of every remaining system.
    complete: u32,
    /// Complete rounds without machine trouble in any of them.
    quiet: u32,
}

/// Figures of one sample; NaN if unknown.
#[derive(Debug, Clone, Copy)]
struct Figures {
    round: u32,
    system: u32,
    is_good: bool,
    rate: f64,
    seconds: f64,
    cpu_per_op: f64,
    serving_cpu_per_op: f64,
    cpu_waits_per_op: f64,
    p99: f64,
    dispersion: f64,
    /// Range within [`BlockSamples::twos`].
    twos: (u32, u32),
}

#[derive(Debug, Default)]
struct RoundSums {
    ops: f64,
    seconds: f64,
    waits_ns: f64,
}

impl RoundSums {
    fn add(&mut self, figures: &Figures) {
        let ops = figures.rate * figures.seconds;
        self.ops += ops;
        self.seconds += figures.seconds;
        self.waits_ns += figures.cpu_waits_per_op * ops;
    }
}

struct Round<'a> {
    block: &'a BlockSamples,
    number: u32,
    figures: &'a [Figures],
    judges_troubled: bool,
}

impl CellSamples {
    pub(crate) fn new(id: CellId, systems: usize) -> Self {
        Self {
            id,
            blocks: BTreeMap::new(),
            nodes: BTreeMap::new(),
            failed: vec![false; systems],
            paces: vec![EventPace::default(); systems],
            has_changed: false,
            is_disturbed: false,
            relative: vec![RelativeFigures::default(); systems],
        }
    }

    pub(crate) fn add(&mut self, sample: &SliceSample) {
        let drops_out = match sample.fitness {
            Fitness::Failed | Fitness::Missed => {
                !std::mem::replace(&mut self.failed[sample.system], true)
            }
            Fitness::Unanswered => true,
            Fitness::Mistimed | Fitness::Good | Fitness::Troubled => false,
        };
        if drops_out {
            // A round is complete without it.
            self.blocks.values_mut().for_each(|block| block.has_changed = true);
            self.has_changed = true;
        }
        self.paces[sample.system].add(sample);
        if matches!(sample.fitness, Fitness::Good | Fitness::Troubled | Fitness::Missed) {
            self.nodes.insert(sample.block, sample.node);
            let block = self.blocks.entry(sample.block).or_default();
            block.add(sample);
            block.has_changed = true;
            self.has_changed = true;
        }
    }

    pub(crate) fn has_failed(&self, system: usize) -> bool {
        self.failed[system]
    }

    pub(crate) fn bound(&self, system: usize, other: usize) -> Option<RatioBound> {
        RatioBound::from_paces(&self.paces[system], &self.paces[other], self.id.setup.clients)
    }

    pub(crate) fn is_disturbed(&self) -> bool {
        self.is_disturbed
    }

    pub(crate) fn relative_rate(&self, system: usize) -> Option<BlockCentres> {
        self.relative[system].rate.clone()
    }

    pub(crate) fn relative_cpu(&self, system: usize) -> Option<BlockCentres> {
        self.relative[system].cpu.clone()
    }

    pub(crate) fn relative_serving_cpu(&self, system: usize) -> Option<BlockCentres> {
        self.relative[system].serving_cpu.clone()
    }

    /// Of the 99th percentile of latencies, and of its ratio to the median.
    pub(crate) fn relative_tail(&self, system: usize) -> [Option<BlockCentres>; 2] {
        let RelativeFigures { p99, dispersion, .. } = &self.relative[system];
        [p99.clone(), dispersion.clone()]
    }

    pub(crate) fn surplus(&self, system: usize) -> Option<Surplus> {
        self.relative[system].surplus
    }

    pub(crate) fn rate(&self, system: usize) -> Option<BlockCentres> {
        self.reduce(|round| Some(round.judged(system)?.rate.ln()))
    }

    pub(crate) fn update(&mut self, base: usize) {
        if !self.has_changed {
            return;
        }
        let systems = self.failed.len();
        // A failed or silent system does not hold up the others.
        let is_left = |(failed, pace): (&bool, &EventPace)| !failed && !pace.is_unanswered();
        let left: Vec<bool> = self.failed.iter().zip(&self.paces).map(is_left).collect();
        for block in self.blocks.values_mut().filter(|block| block.has_changed) {
            block.sort(&left);
        }
        let sum = |count: fn(&BlockSamples) -> u32| -> f64 {
            self.blocks.values().map(|block| f64::from(count(block))).sum()
        };
        self.is_disturbed = sum(|block| block.quiet) < QUIET_SHARE * sum(|block| block.complete);
        self.has_changed = false;
        self.relative = (0..systems)
            .map(|system| {
                if system == base {
                    RelativeFigures::default()
                } else {
                    self.relative_to(system, base)
                }
            })
            .collect();
    }

    fn relative_to(&self, system: usize, other: usize) -> RelativeFigures {
        if self.bound(system, other).is_some() {
            return RelativeFigures::default();
        }
        let (rate, surplus) = self.rate_to(system, other);
        let cpu = self.cpu_to(system, other);
        let serving_cpu = self.figure_to(system, other, |figures| figures.serving_cpu_per_op);
        let p99 = self.figure_to(system, other, |figures| figures.p99);
        let dispersion = self.figure_to(system, other, |figures| figures.dispersion);
        RelativeFigures { rate, surplus, cpu, serving_cpu, p99, dispersion }
    }

    pub(crate) fn cpu_to(&self, system: usize, other: usize) -> Option<BlockCentres> {
        self.figure_to(system, other, |figures| figures.cpu_per_op)
    }

    fn figure_to(
        &self,
        system: usize,
        other: usize,
        figure: impl Fn(&Figures) -> f64,
    ) -> Option<BlockCentres> {
        self.reduce(|round| {
            Some((figure(round.judged(system)?) / figure(round.judged(other)?)).ln())
        })
    }

    pub(crate) fn rate_to(
        &self,
        system: usize,
        other: usize,
    ) -> (Option<BlockCentres>, Option<Surplus>) {
        let (mut values, mut totals) = (Vec::new(), Vec::new());
        for round in self.rounds() {
            let Some((one, other)) = round.judged(system).zip(round.judged(other)) else {
                continue;
            };
            let before = values.len();
            round.ratios(one, other, &mut values);
            if values.len() > before {
                totals.push(RoundTotals {
                    block: round.number,
                    ops: [one.rate * one.seconds, other.rate * other.seconds],
                    seconds: [one.seconds, other.seconds],
                });
            }
        }
        let Some(centres) = self.centres(&values) else { return (None, None) };
        (Some(BlockCentres::new(&centres, &self.nodes)), surplus(&centres, &totals))
    }

    /// Share of waits for a CPU in the difference of two systems' time per operation, over all judged rounds; `None` if
    /// not measured. It may exceed 1, as waits between turns count too.
    pub(crate) fn waits_share(&self, system: usize, other: usize) -> Option<f64> {
        let (mut first, mut second) = (RoundSums::default(), RoundSums::default());
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

    fn reduce(&self, quantity: impl Fn(&Round) -> Option<f64>) -> Option<BlockCentres> {
        let values: Vec<RoundValue> = self
            .rounds()
            .filter_map(|round| Some(round.value(quantity(&round)?)))
            .filter(|it| it.value.is_finite())
            .collect();
        self.centres(&values).map(|centres| BlockCentres::new(&centres, &self.nodes))
    }

    fn centres(&self, values: &[RoundValue]) -> Option<Centres> {
        let found = centres(values)?;
        // Segments of a step follow each other. Rounds of other tests do not.
        Some(if self.is_step() { found.in_sequence() } else { found })
    }

    fn is_step(&self) -> bool {
        self.id.test.ibench().is_some()
    }

    fn rounds(&self) -> impl Iterator<Item = Round<'_>> {
        self.blocks.iter().flat_map(|(&number, block)| {
            let rounds = block.figures.chunk_by(|one, next| one.round == next.round);
            // No segment of a step can be repeated, so all of them are judged.
            let judges_troubled = self.is_disturbed || self.is_step();
            rounds.map(move |figures| Round { block, number, figures, judges_troubled })
        })
    }
}

impl BlockSamples {
    fn add(&mut self, sample: &SliceSample) {
        let first = self.twos.len() as u32;
        self.twos.extend(&sample.twos);
        self.figures.push(Figures::from_sample(sample, (first, self.twos.len() as u32)));
    }

    fn twos(&self, figures: &Figures) -> &[f64] {
        let (first, end) = figures.twos;
        &self.twos[first as usize..end as usize]
    }

    /// Sorts samples and counts rounds completed by all remaining systems. A later sample of the same round and system
    /// replaces an earlier one.
    fn sort(&mut self, left: &[bool]) {
        let key = |figures: &Figures| (figures.round, figures.system);
        // The sort keeps the order of samples with equal keys.
        self.figures.sort_by_key(key);
        self.figures.dedup_by(|later, earlier| {
            let is_same = key(later) == key(earlier);
            if is_same {
                *earlier = *later;
            }
            is_same
        });
        (self.complete, self.quiet) = (0, 0);
        let is_left = |figures: &&Figures| left[figures.system as usize];
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
    fn from_sample(sample: &SliceSample, twos: (u32, u32)) -> Self {
        Self {
            round: sample.round,
            twos,
            system: sample.system as u32,
            is_good: matches!(sample.fitness, Fitness::Good | Fitness::Missed),
            rate: sample.rate.unwrap_or(f64::NAN),
            seconds: sample.seconds,
            cpu_per_op: sample.cpu_per_op.unwrap_or(f64::NAN),
            serving_cpu_per_op: sample.serving_cpu_per_op.unwrap_or(f64::NAN),
            cpu_waits_per_op: sample.cpu_waits_per_op.unwrap_or(f64::NAN),
            p99: sample.p99.unwrap_or(f64::NAN),
            dispersion: sample.dispersion.unwrap_or(f64::NAN),
        }
    }
}

impl Round<'_> {
    /// Figures of a system, if it has a judged sample.
    fn judged(&self, system: usize) -> Option<&Figures> {
        let index = self.figures.binary_search_by_key(&system, |it| it.system as usize).ok()?;
        self.figures.get(index).filter(|figures| self.judges_troubled || figures.is_good)
    }

    fn value(&self, value: f64) -> RoundValue {
        RoundValue { block: self.number, round: self.figures[0].round, value }
    }

    /// Log ratios of two systems' rates: of every two turns, or of the whole if they did not alternate.
    fn ratios(&self, one: &Figures, other: &Figures, values: &mut Vec<RoundValue>) {
        let (twos, of_other) = (self.block.twos(one), self.block.twos(other));
        let mut ratios: Vec<f64> =
            twos.iter().zip(of_other).map(|(one, other)| one - other).collect();
        if twos.is_empty() || twos.len() != of_other.len() {
            ratios = vec![(one.rate / other.rate).ln()];
        }
        let finite = ratios.into_iter().filter(|ratio| ratio.is_finite());
        values.extend(finite.map(|ratio| self.value(ratio)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The middle one of three systems has dropped out: its past in a round does not matter to the others.
    #[test]
    fn rounds_are_those_of_the_systems_that_are_left() {
        let figures = |round, system, is_good| Figures {
            round,
            system,
            is_good,
            rate: 1.0,
            seconds: 1.0,
            cpu_per_op: 1.0,
            serving_cpu_per_op: 1.0,
            cpu_waits_per_op: 0.0,
            p99: 1.0,
            dispersion: 1.0,
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
