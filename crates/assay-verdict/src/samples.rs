//! Samples of a study and the decisions based on them.
//!
//! A study decides after every block. [`Samples`] caches results per cell, so a decision reads only samples of cells
//! that changed since the last one.

use std::collections::BTreeMap;

use assay_model::{CellId, EventKind, Experiment, Slice, Study, StudyRecord, System, Verdict};

use crate::VerdictDoubt;
use crate::bound::RatioBound;
use crate::cell::CellSamples;
use crate::effect::{BlockCentres, Effect, EffectClass, estimate};
use crate::ibench_step::missed_steps;
use crate::judged_figure::{CpuJudgement, JudgedFigure, cost_verdict};
use crate::looks::ALPHA;
use crate::nodes::nodes;
use crate::prior_variance::PriorVariance;
use crate::regression_limits::{self, LimitedCase, LimitsJudgement};
use crate::rules::{Decision, Rules, is_of_one_busy_block};
use crate::sample::{Fitness, SliceSample};
use crate::uneven::Surplus;

/// CPU's part of [`ALPHA`], the rate of false discoveries. Time and CPU have a part each, so that neither borrows from
/// the changes of the other. A small part suffices for CPU, because its intervals are several times as narrow.
const CPU_ALPHA: f64 = 0.0025;

/// The same in a study on a machine that is too noisy to decide by time, as its plan found.
const NOISY_CPU_ALPHA: f64 = 0.04;

/// Share of the part of time that the tail of latencies gets, in studies that judge it. Its intervals are wide, so less
/// would call little.
const TAIL_SHARE: f64 = 0.2;

/// Smallest change of a tail that is called. The intervals of a percentile are several times as wide as those of rates,
/// so with the threshold of rates hardly any tail would be called the same.
const TAIL_THRESHOLD: f64 = 0.10;

/// One quantity in all cells and systems, estimated together: by cell in the study's order, then by system.
pub(crate) struct QuantityEstimates {
    pub(crate) reduced: Vec<Option<BlockCentres>>,
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
    /// The figure that decides limits, and when enough is measured.
    figure: JudgedFigure,
    /// Whether CPU decides which tests need more rounds, although time is judged too.
    is_noisy: bool,
    assumed: PriorVariance,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellStanding {
    pub cell: CellId,
    pub system: usize,
    pub verdict: Verdict,
    /// Whether further blocks should measure it, because it is undecided or its interval is wide.
    pub is_open: bool,
    /// Whether the figure that its rounds are for is decided.
    pub is_decided: bool,
    /// Further rounds until that figure would be decided and precise, if the estimate is right; infinite if rounds
    /// alone never decide it, `None` without an estimate.
    pub rounds_to_go: Option<f64>,
}

/// Judgement on a study's samples. All lists are by cell in the study's order, then by system.
pub(crate) struct StudyDecisions {
    pub(crate) rates: QuantityEstimates,
    pub(crate) rate_decisions: Vec<Decision>,
    /// Changes of relative rates known [of one busy block](is_of_one_busy_block) only.
    pub(crate) is_of_one: Vec<bool>,
    pub(crate) bounds: Vec<Option<RatioBound>>,
    pub(crate) surplus: Vec<Option<Surplus>>,
    pub(crate) cpu: QuantityEstimates,
    pub(crate) cpu_decisions: Vec<Decision>,
    /// CPU of the threads that serve connections.
    pub(crate) serving_cpu: QuantityEstimates,
    pub(crate) serving_cpu_decisions: Vec<Decision>,
    pub(crate) tails: TailJudgements,
}

/// The 99th percentile of latencies, and its ratio to the median.
pub(crate) type TailJudgements = [Vec<Option<CpuJudgement>>; 2];

impl Samples {
    pub fn new(study: &Study, systems: &[System]) -> Self {
        let has_others = systems.iter().any(|system| !system.is_base && !system.is_twin);
        let cells: Vec<_> =
            study.cells.iter().map(|cell| CellSamples::new(cell.id, systems.len())).collect();
        Self {
            indices: cells.iter().enumerate().map(|(index, cell)| (cell.id, index)).collect(),
            cells,
            systems: systems.len(),
            base: systems.iter().position(|system| system.is_base).unwrap_or(0),
            // The twin need not be decided, unless nothing else is compared.
            counts: systems.iter().map(|it| !(it.is_base || has_others && it.is_twin)).collect(),
            rules: Rules::new(study),
            margins: study.limits.as_ref().map(|limits| limits.margins.clone()),
            figure: study.judge.into(),
            is_noisy: study.is_noisy,
            assumed: match study.experiment {
                Experiment::Interleaved => PriorVariance::Design,
                Experiment::Stepwise if study.segments > 0 => PriorVariance::Design,
                _ => PriorVariance::Nothing,
            },
        }
    }

    pub fn from_record(record: &StudyRecord) -> Self {
        let mut samples = Self::with_blocks(record);
        let nodes = nodes(record);
        let node = |slice: &Slice| nodes.get(slice.run).copied().unwrap_or(0);
        let missed = missed_steps(record);
        for slice in record.slices_that_count() {
            let mut sample = SliceSample { node: node(slice), ..SliceSample::from_slice(slice) };
            if sample.fitness != Fitness::Failed
                && missed.contains_key(&(slice.cell, slice.system, slice.block))
            {
                sample.fitness = Fitness::Missed;
            }
            samples.add(&sample);
        }
        samples
    }

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

    pub fn add(&mut self, sample: &SliceSample) {
        if let Some(&index) = self.indices.get(&sample.cell)
            && sample.system < self.systems
        {
            self.rules.looks().see(sample.block);
            self.cells[index].add(sample);
        }
    }

    pub fn standings(&mut self) -> Vec<CellStanding> {
        let StudyDecisions { rate_decisions, mut serving_cpu_decisions, .. } = self.decide();
        for (cpu, rate) in serving_cpu_decisions.iter_mut().zip(&rate_decisions) {
            cpu.verdict = match rate.verdict {
                Verdict::Failed => Verdict::Failed,
                _ => cost_verdict(cpu.verdict),
            };
            cpu.is_bounded = rate.is_bounded;
        }
        let is_open = |decision: &Decision| {
            (decision.verdict == Verdict::Undecided || !decision.is_precise) && !decision.is_bounded
        };
        let judged = match self.figure {
            JudgedFigure::Time => &rate_decisions,
            JudgedFigure::Cpu => &serving_cpu_decisions,
        };
        // The rounds that time needs do not fit into a study on a noisy machine.
        let wanted = if self.is_noisy { &serving_cpu_decisions } else { judged };
        let decisions = judged.iter().zip(wanted);
        let standings =
            self.keys().zip(decisions).map(|((cell, system), (judged, wanted))| CellStanding {
                cell: cell.id,
                system,
                verdict: judged.verdict,
                is_open: (is_open(judged) || is_open(wanted))
                    && judged.verdict != Verdict::Failed
                    && self.counts[system],
                is_decided: wanted.verdict != Verdict::Undecided,
                rounds_to_go: wanted.rounds_to_go,
            });
        standings.collect()
    }

    pub fn limits(&mut self) -> Option<LimitsJudgement> {
        let margins = self.margins.clone()?;
        let StudyDecisions {
            rates,
            rate_decisions: decisions,
            is_of_one,
            bounds,
            surplus,
            serving_cpu,
            ..
        } = self.decide();
        let is_cost = self.figure == JudgedFigure::Cpu;
        let effects = if is_cost { serving_cpu.effects } else { rates.effects };
        let case = |(index, (cell, system)): (usize, (&CellSamples, usize))| {
            let (margin, decision) = (margins[index / self.systems], decisions[index]);
            let effect = effects[index];
            // Waits and stalls are no CPU time.
            let is_uneven = !is_cost
                && (decision.verdict == Verdict::Uneven
                    || matches!(decision.doubt, Some(VerdictDoubt::PerhapsUneven { .. })));
            let total =
                effect.zip(surplus[index]).map(|(effect, more)| (effect.log + more.log).exp());
            LimitedCase {
                cell: cell.id,
                system,
                margin,
                is_cost,
                effect,
                is_measured: rates.reduced[index].is_some(),
                has_failed: decision.verdict == Verdict::Failed,
                bound: bounds[index],
                is_of_one: is_of_one[index] && !is_cost,
                stalled: total.filter(|total| is_uneven && *total < 1.0 - margin),
            }
        };
        let counted = self.keys().enumerate().filter(|(_, (_, system))| self.counts[*system]);
        let cases: Vec<LimitedCase> = counted.map(case).collect();
        Some(regression_limits::judge(&cases, &self.rules))
    }

    pub(crate) fn decide(&mut self) -> StudyDecisions {
        let base = self.base;
        self.cells.iter_mut().for_each(|cell| cell.update(base));
        let rates = self.quantity(|cell, system| cell.relative_rate(system), self.assumed);
        let cpu = self.quantity(|cell, system| cell.relative_cpu(system), self.assumed);
        let serving_cpu =
            self.quantity(|cell, system| cell.relative_serving_cpu(system), self.assumed);
        let has_failed: Vec<bool> = self
            .keys()
            .map(|(cell, system)| cell.has_failed(system) || cell.has_failed(base))
            .collect();
        // Failures are no discoveries.
        let judged = |effects: &[Option<Effect>]| -> Vec<Option<Effect>> {
            let all = effects.iter().zip(&has_failed);
            all.map(|(effect, failed)| effect.filter(|_| !failed)).collect()
        };
        // Both figures of CPU share a part: in reads, they agree so closely that the second costs nothing.
        let has_cpu = cpu.effects.iter().chain(&serving_cpu.effects).any(Option::is_some);
        let cpu_rate = if self.is_noisy { NOISY_CPU_ALPHA } else { CPU_ALPHA };
        let mut time_rate = if has_cpu { ALPHA - cpu_rate } else { ALPHA };
        let tails = self.tails(&has_failed, TAIL_SHARE * time_rate);
        if tails.iter().flatten().any(Option::is_some) {
            time_rate *= 1.0 - TAIL_SHARE;
        }
        let [mut rate_decisions] = self.rules.decisions([&judged(&rates.effects)], time_rate);
        let of_cpu = [judged(&cpu.effects), judged(&serving_cpu.effects)];
        let [mut cpu_decisions, mut serving_cpu_decisions] =
            self.rules.decisions([&of_cpu[0], &of_cpu[1]], cpu_rate);
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
        let bounds: Vec<Option<RatioBound>> = (self.keys().zip(&has_failed))
            .map(|((cell, system), failed)| {
                cell.bound(system, base).filter(|_| !failed && system != base)
            })
            .collect();
        for (index, (_, system)) in self.keys().enumerate() {
            let decision = &mut rate_decisions[index];
            if is_of_one[index] {
                decision.wait_for_a_block();
            }
            if has_failed[index] {
                decision.verdict = Verdict::Failed;
                cpu_decisions[index].verdict = Verdict::Failed;
                serving_cpu_decisions[index].verdict = Verdict::Failed;
            } else if system == base {
                decision.verdict = Verdict::Same;
            }
            decision.bound_by(bounds[index], self.rules.threshold());
        }
        StudyDecisions {
            rates,
            rate_decisions,
            is_of_one,
            bounds,
            surplus,
            cpu,
            cpu_decisions,
            serving_cpu,
            serving_cpu_decisions,
            tails,
        }
    }

    /// Of cells that did not fail.
    fn tails(&self, has_failed: &[bool], rate: f64) -> TailJudgements {
        let effects = [0, 1].map(|figure| {
            let relative = |cell: &CellSamples, system| {
                let [p99, dispersion] = cell.relative_tail(system);
                if figure == 0 { p99 } else { dispersion }
            };
            // Instances differ in their tails by more than in their rates.
            let QuantityEstimates { effects, .. } = self.quantity(relative, self.cautious());
            let all = effects.into_iter().zip(has_failed);
            all.map(|(effect, failed)| effect.filter(|_| !failed)).collect::<Vec<_>>()
        });
        let rules = self.rules.with_threshold(TAIL_THRESHOLD);
        let decisions = rules.decisions([&effects[0], &effects[1]], rate);
        let mut judged = TailJudgements::default();
        for ((tails, effects), decisions) in judged.iter_mut().zip(&effects).zip(&decisions) {
            let each = effects.iter().zip(decisions);
            let judgement = |(effect, decision): (&Option<Effect>, &Decision)| {
                CpuJudgement::new(effect.as_ref(), decision)
            };
            *tails = each.map(judgement).collect();
        }
        judged
    }

    /// Rate of the second system of each pair relative to the first, as of the last decision, with decisions: by cell
    /// in the study's order, then by pair. They are a separate family of tests.
    pub(crate) fn compare(&self, pairs: &[(usize, usize)]) -> (QuantityEstimates, Vec<Decision>) {
        let keys =
            || self.cells.iter().flat_map(|cell| pairs.iter().map(move |pair| (cell, *pair)));
        let bounds = || keys().map(|(cell, (from, to))| cell.bound(to, from));
        let rate =
            |((cell, (from, to)), bound): ((&CellSamples, (usize, usize)), Option<RatioBound>)| {
                bound.map_or_else(|| cell.rate_to(to, from), |_| (None, None))
            };
        let (reduced, surplus): (Vec<_>, Vec<_>) = keys().zip(bounds()).map(rate).unzip();
        let rates = self.estimated(reduced, pairs.len(), self.assumed);
        let cpu = keys().map(|(cell, (from, to))| cell.cpu_to(to, from)).collect();
        let cpu = self.estimated(cpu, pairs.len(), self.assumed);
        let [mut decisions] = self.rules.decisions([&rates.effects], ALPHA);
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

    pub(crate) fn rates(&self) -> QuantityEstimates {
        self.quantity(|cell, system| cell.rate(system), self.cautious())
    }

    /// For quantities of which instances differ by more than in relative rates.
    fn cautious(&self) -> PriorVariance {
        match self.assumed {
            PriorVariance::Nothing => PriorVariance::Nothing,
            PriorVariance::Design | PriorVariance::Level => PriorVariance::Level,
        }
    }

    pub(crate) fn is_disturbed(&self, cell: CellId) -> bool {
        self.indices.get(&cell).is_some_and(|&index| self.cells[index].is_disturbed())
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn assumed(&self) -> PriorVariance {
        self.assumed
    }

    pub(crate) fn base(&self) -> usize {
        self.base
    }

    fn keys(&self) -> impl Iterator<Item = (&CellSamples, usize)> {
        self.cells.iter().flat_map(|cell| (0..self.systems).map(move |system| (cell, system)))
    }

    fn quantity(
        &self,
        centres: impl Fn(&CellSamples, usize) -> Option<BlockCentres>,
        assumed: PriorVariance,
    ) -> QuantityEstimates {
        let reduced = self.keys().map(|(cell, system)| centres(cell, system)).collect();
        self.estimated(reduced, self.systems, assumed)
    }

    /// Estimates all cells, each with the same number of columns. Each column is estimated together.
    fn estimated(
        &self,
        reduced: Vec<Option<BlockCentres>>,
        columns: usize,
        assumed: PriorVariance,
    ) -> QuantityEstimates {
        let classes: Vec<EffectClass> =
            self.cells.iter().map(|cell| (cell.id.test.class, cell.id.setup)).collect();
        let mut effects = vec![None; reduced.len()];
        for column in 0..columns {
            let cells: Vec<_> = reduced.iter().skip(column).step_by(columns).collect();
            let of_column = effects.iter_mut().skip(column).step_by(columns);
            for (effect, estimated) in of_column.zip(estimate(&cells, &classes, assumed)) {
                *effect = estimated;
            }
        }
        QuantityEstimates { reduced, effects }
    }
}
