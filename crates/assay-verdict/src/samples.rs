//! Samples of a study and the decisions based on them.
//!
//! A study decides after every block. [`Samples`] caches results per cell, so a decision reads only samples of cells
//! that changed since the last one.

use std::collections::BTreeMap;

use assay_model::{CellId, EventKind, Experiment, Slice, Study, StudyRecord, System, Verdict};

use crate::Doubt;
use crate::assumed::Assumed;
use crate::bound::Bound;
use crate::cell::CellSamples;
use crate::effect::{Class, Effect, Reduced, estimate};
use crate::gate::{self, Claim, GateJudgement};
use crate::nodes::nodes;
use crate::rules::{Decision, Rules, is_of_one_busy_block};
use crate::sample::Sample;
use crate::uneven::Surplus;

/// One quantity in all cells and systems, estimated together: by cell in the study's order, then by system.
pub(crate) struct Quantity {
    pub(crate) reduced: Vec<Option<Reduced>>,
    pub(crate) effects: Vec<Option<Effect>>,
}

#[derive(Debug, Clone)]
pub struct Samples {
    cells: Vec<CellSamples>,
    indices: BTreeMap<CellId, usize>,
    systems: usize,
    base: usize,
    /// Whether a system's verdicts keep the study going.
    counts: Vec<bool>,
    rules: Rules,
    margins: Option<Vec<f64>>,
    assumed: Assumed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub cell: CellId,
    pub system: usize,
    pub verdict: Verdict,
    /// Whether further blocks should measure it, because it is undecided or its interval is wide.
    pub is_open: bool,
    /// Further rounds until it would be neither, if the estimate is right; infinite if rounds alone never decide it,
    /// `None` without an estimate.
    pub rounds_to_go: Option<f64>,
}

/// Judgement on a study's samples. All lists are by cell in the study's order, then by system.
pub(crate) struct Decided {
    pub(crate) rates: Quantity,
    pub(crate) rate_decisions: Vec<Decision>,
    /// Changes of relative rates known [of one busy block](is_of_one_busy_block) only.
    pub(crate) is_of_one: Vec<bool>,
    pub(crate) bounds: Vec<Option<Bound>>,
    pub(crate) surplus: Vec<Option<Surplus>>,
    pub(crate) cpu: Quantity,
    pub(crate) cpu_decisions: Vec<Decision>,
}

impl Samples {
    #[must_use]
    pub fn new(study: &Study, systems: &[System]) -> Self {
        let has_others = systems.iter().any(|system| !system.is_base && !system.is_twin);
        let cells: Vec<_> =
            study.cells.iter().map(|cell| CellSamples::new(cell.id, systems.len())).collect();
        Self {
            indices: cells.iter().enumerate().map(|(index, cell)| (cell.id, index)).collect(),
            cells,
            systems: systems.len(),
            base: systems.iter().position(|system| system.is_base).unwrap_or(0),
            // Nobody waits for the twin to be the same as the base, unless nothing else is compared.
            counts: systems.iter().map(|it| !(it.is_base || has_others && it.is_twin)).collect(),
            rules: Rules::new(study),
            margins: study.gate.as_ref().map(|gate| gate.margins.clone()),
            assumed: match study.experiment {
                Experiment::Interleaved => Assumed::Design,
                Experiment::Sequential | Experiment::Stepwise | Experiment::Counted => {
                    Assumed::Nothing
                }
            },
        }
    }

    #[must_use]
    pub fn of(record: &StudyRecord) -> Self {
        let mut samples = Self::with_blocks(record);
        let nodes = nodes(record);
        let node = |slice: &Slice| nodes.get(slice.run).copied().unwrap_or(0);
        let of = |slice| Sample { node: node(slice), ..Sample::of(slice) };
        record.slices_that_count().for_each(|slice| samples.add(&of(slice)));
        samples
    }

    #[must_use]
    pub fn with_blocks(record: &StudyRecord) -> Self {
        let mut samples = Self::new(&record.study, &record.systems);
        let reopened = record.events.iter().filter_map(|event| match event.what {
            EventKind::Extended { ended_after, .. } => ended_after,
            _ => None,
        });
        let mut reopened = reopened.peekable();
        for block in &record.blocks {
            while let Some(last) = reopened.next_if(|last| *last < block.number) {
                samples.rules.looks().reopen_after(last);
            }
            samples.begin(block.number, block.left);
        }
        reopened.for_each(|last| samples.rules.looks().reopen_after(last));
        if record.finished {
            samples.rules.looks().end();
        }
        samples
    }

    /// Begins a block, where `left` blocks, itself included, are expected to fit the remaining time.
    pub fn begin(&mut self, block: u32, left: u32) {
        self.rules.looks().begin(block, left);
    }

    pub fn add(&mut self, sample: &Sample) {
        let index = self.indices.get(&sample.cell);
        let Some(cell) = index.and_then(|&index| self.cells.get_mut(index)) else { return };
        if sample.system < self.systems {
            self.rules.looks().see(sample.block);
            cell.add(sample);
        }
    }

    #[must_use]
    pub fn standings(&mut self) -> Vec<Standing> {
        let decisions = self.decide().rate_decisions;
        let standing = |((cell, system), it): ((&CellSamples, usize), Decision)| Standing {
            cell: cell.id,
            system,
            verdict: it.verdict,
            is_open: (it.verdict == Verdict::Undecided || !it.is_precise)
                && it.verdict != Verdict::Failed
                && !it.is_bounded
                && self.counts.get(system).copied().unwrap_or(false),
            rounds_to_go: it.rounds_to_go,
        };
        self.keys().zip(decisions).map(standing).collect()
    }

    #[must_use]
    pub fn gate(&mut self) -> Option<GateJudgement> {
        let margins = self.margins.clone()?;
        let Decided { rates, rate_decisions: decisions, is_of_one, bounds, surplus, .. } =
            self.decide();
        let margins = margins.iter().flat_map(|margin| (0..self.systems).map(move |_| *margin));
        let known = decisions.into_iter().zip(is_of_one).zip(bounds);
        let estimates = rates.effects.iter().zip(&rates.reduced).zip(known).zip(surplus);
        let mut claims = Vec::new();
        for (
            ((cell, system), margin),
            (((effect, reduced), ((decision, is_of_one), bound)), surplus),
        ) in self.keys().zip(margins).zip(estimates)
        {
            let is_uneven = decision.verdict == Verdict::Uneven
                || matches!(decision.doubt, Some(Doubt::PerhapsUneven { .. }));
            let total = effect.zip(surplus).map(|(effect, more)| (effect.log + more.log).exp());
            if self.counts.get(system) == Some(&true) {
                claims.push(Claim {
                    cell: cell.id,
                    system,
                    margin,
                    effect: *effect,
                    is_measured: reduced.is_some(),
                    has_failed: decision.verdict == Verdict::Failed,
                    bound,
                    is_of_one,
                    stalled: total.filter(|total| is_uneven && *total < 1.0 - margin),
                });
            }
        }
        Some(gate::judge(&claims, &self.rules))
    }

    pub(crate) fn decide(&mut self) -> Decided {
        let base = self.base;
        self.cells.iter_mut().for_each(|cell| cell.update(base));
        let rates = self.relative(|cell, system| cell.relative_rate(system));
        let cpu = self.relative(|cell, system| cell.relative_cpu(system));
        let has_failed: Vec<bool> = self
            .keys()
            .map(|(cell, system)| cell.has_failed(system) || cell.has_failed(base))
            .collect();
        // Failures are no discoveries.
        let judged = |effects: &[Option<Effect>]| -> Vec<Option<Effect>> {
            let all = effects.iter().zip(&has_failed);
            all.map(|(effect, failed)| effect.filter(|_| !failed)).collect()
        };
        let [mut rate_decisions, mut cpu_decisions] =
            self.rules.decisions([&judged(&rates.effects), &judged(&cpu.effects)]);
        let surplus: Vec<Option<Surplus>> =
            self.keys().map(|(cell, system)| cell.surplus(system)).collect();
        self.rules.see_uneven(&mut rate_decisions, &rates.effects, &surplus);
        let both = rates.effects.iter().zip(&cpu.effects);
        let is_of_one: Vec<bool> = (self.keys().zip(both))
            .map(|((cell, system), (rate, cpu))| {
                let waits = || cell.waits_share(system, base);
                is_of_one_busy_block(cell.is_disturbed(), (rate.as_ref(), cpu.as_ref()), waits)
            })
            .collect();
        let of_one = rate_decisions.iter_mut().zip(&is_of_one).filter(|(_, is_of_one)| **is_of_one);
        of_one.for_each(|(decision, _)| decision.wait_for_a_block());
        for (((_, system), decision), has_failed) in
            self.keys().zip(&mut rate_decisions).zip(&has_failed)
        {
            decision.verdict = match decision.verdict {
                _ if *has_failed => Verdict::Failed,
                _ if system == base => Verdict::Same,
                verdict => verdict,
            };
        }
        let failed = cpu_decisions.iter_mut().zip(&has_failed).filter(|(_, failed)| **failed);
        failed.for_each(|(decision, _)| decision.verdict = Verdict::Failed);
        let bounds: Vec<Option<Bound>> = (self.keys().zip(&has_failed))
            .map(|((cell, system), failed)| {
                cell.bound(system, base).filter(|_| !failed && system != base)
            })
            .collect();
        for (decision, bound) in rate_decisions.iter_mut().zip(&bounds) {
            decision.bound_by(*bound, self.rules.threshold());
        }
        Decided { rates, rate_decisions, is_of_one, bounds, surplus, cpu, cpu_decisions }
    }

    /// Rate of the second system of each pair relative to the first, as of the last decision, with decisions: by cell
    /// in the study's order, then by pair. They are a separate family of tests.
    pub(crate) fn compare(&self, pairs: &[(usize, usize)]) -> (Quantity, Vec<Decision>) {
        let keys =
            || self.cells.iter().flat_map(|cell| pairs.iter().map(move |pair| (cell, *pair)));
        let bounds = || keys().map(|(cell, (from, to))| cell.bound(to, from));
        let rate =
            |((cell, (from, to)), bound): ((&CellSamples, (usize, usize)), Option<Bound>)| {
                bound.map_or_else(|| cell.rate_to(to, from), |_| (None, None))
            };
        let (reduced, surplus): (Vec<_>, Vec<_>) = keys().zip(bounds()).map(rate).unzip();
        let rates = self.estimated(reduced, pairs.len(), self.assumed);
        let cpu = keys().map(|(cell, (from, to))| cell.cpu_to(to, from)).collect();
        let cpu = self.estimated(cpu, pairs.len(), self.assumed);
        let [mut decisions] = self.rules.decisions([&rates.effects]);
        self.rules.see_uneven(&mut decisions, &rates.effects, &surplus);
        let both = rates.effects.iter().zip(&cpu.effects);
        for (((cell, (from, to)), (rate, cpu)), decision) in keys().zip(both).zip(&mut decisions) {
            let waits = || cell.waits_share(to, from);
            if is_of_one_busy_block(cell.is_disturbed(), (rate.as_ref(), cpu.as_ref()), waits) {
                decision.wait_for_a_block();
            }
            if cell.has_failed(from) || cell.has_failed(to) {
                decision.verdict = Verdict::Failed;
            }
        }
        (rates, decisions)
    }

    pub(crate) fn rates(&self) -> Quantity {
        let assumed = match self.assumed {
            Assumed::Nothing => Assumed::Nothing,
            Assumed::Design | Assumed::Level => Assumed::Level,
        };
        self.quantity(|cell, system| cell.rate(system), assumed)
    }

    pub(crate) fn is_disturbed(&self, cell: CellId) -> bool {
        let index = self.indices.get(&cell);
        index.and_then(|&index| self.cells.get(index)).is_some_and(CellSamples::is_disturbed)
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn assumed(&self) -> Assumed {
        self.assumed
    }

    pub(crate) fn base(&self) -> usize {
        self.base
    }

    fn keys(&self) -> impl Iterator<Item = (&CellSamples, usize)> {
        self.cells.iter().flat_map(|cell| (0..self.systems).map(move |system| (cell, system)))
    }

    fn relative(&self, of: impl Fn(&CellSamples, usize) -> Option<Reduced>) -> Quantity {
        self.quantity(of, self.assumed)
    }

    fn quantity(
        &self,
        of: impl Fn(&CellSamples, usize) -> Option<Reduced>,
        assumed: Assumed,
    ) -> Quantity {
        let reduced = self.keys().map(|(cell, system)| of(cell, system)).collect();
        self.estimated(reduced, self.systems, assumed)
    }

    /// Estimates all cells, each with the same number of columns. Each column is estimated together.
    fn estimated(
        &self,
        reduced: Vec<Option<Reduced>>,
        columns: usize,
        assumed: Assumed,
    ) -> Quantity {
        let classes: Vec<Class> =
            self.cells.iter().map(|cell| (cell.id.test.class, cell.id.setup)).collect();
        let mut effects = vec![None; reduced.len()];
        for column in 0..columns {
            let cells: Vec<_> = reduced.iter().skip(column).step_by(columns).collect();
            let of_column = effects.iter_mut().skip(column).step_by(columns);
            for (effect, estimated) in of_column.zip(estimate(&cells, &classes, assumed)) {
                *effect = estimated;
            }
        }
        Quantity { reduced, effects }
    }
}
