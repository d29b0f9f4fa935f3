//! A record judged: cells, then groups, then systems.

use std::collections::BTreeMap;

use assay_model::{CellId, Estimate, Preset, SliceOutcome, StudyRecord, Verdict};

use crate::account::{latency, operations, per_op, server_cpu_per_op};
use crate::effect::{Effect, Reduced, estimate, reduce};
use crate::robust::median;
use crate::sequential::{ALPHA, benjamini_hochberg, levels, look_level};
use crate::series::{CellSlices, sort};
use crate::{CellJudgement, Judgement, SystemSummary, group, why};

/// In preset smoke no smaller change is called, whatever the threshold.
pub const SMOKE_GROSS: f64 = 0.10;

/// Probability of being called that [`CellJudgement::detectable`] stands for.
const POWER: f64 = 0.8;

/// Looks beyond this one keep its level.
const LOOKS_MAX: u32 = 32;

/// One quantity in all cells and systems, estimated together; indexed as the judgement's cells.
struct Quantity {
    reduced: Vec<Option<Reduced>>,
    effects: Vec<Option<Effect>>,
}

impl Quantity {
    /// Takes the cells in order, in each the `systems` in theirs.
    fn new(reduced: Vec<Option<Reduced>>, systems: usize) -> Self {
        let mut effects = vec![None; reduced.len()];
        for system in 0..systems {
            let cells: Vec<_> = reduced.iter().skip(system).step_by(systems).cloned().collect();
            let places = effects.iter_mut().skip(system).step_by(systems);
            for (place, effect) in places.zip(estimate(&cells)) {
                *place = effect;
            }
        }
        Self { reduced, effects }
    }
}

impl Quantity {
    /// The estimate with its interval; without one where a single measurement tells nothing of its uncertainty.
    fn shown(&self, index: usize) -> Option<Estimate> {
        match (&self.effects[index], &self.reduced[index]) {
            (Some(effect), _) => Some(effect.shown()),
            (None, Some(reduced)) => Some(Estimate::without_interval(reduced.log().exp())),
            (None, None) => None,
        }
    }
}

/// Judges everything a record holds, finished or not.
#[must_use]
pub fn judge(record: &StudyRecord) -> Judgement {
    let sorted = sort(record);
    let base = record.systems.iter().position(|system| system.is_base).unwrap_or(0);
    let keys: Vec<(CellId, usize)> = record
        .study
        .cells
        .iter()
        .flat_map(|cell| (0..record.systems.len()).map(|system| (cell.id, system)))
        .collect();
    let ratio = |quantity: fn(&assay_model::Slice) -> Option<f64>| {
        Quantity::new(
            keys.iter()
                .map(|(cell, system)| {
                    let slices = sorted.get(cell).filter(|_| *system != base)?;
                    reduce(&slices.log_ratios(*system, base, quantity))
                })
                .collect(),
            record.systems.len(),
        )
    };
    let qps = Quantity::new(
        keys.iter()
            .map(|(cell, system)| {
                reduce(&sorted.get(cell)?.logs(*system, assay_model::Slice::ops_per_second))
            })
            .collect(),
        record.systems.len(),
    );
    let rqps = ratio(assay_model::Slice::ops_per_second);
    let cpu = ratio(server_cpu_per_op);
    let rules = Rules::new(record);
    let verdicts = rules.verdicts(&keys, &rqps.effects);
    let cpu_verdicts = rules.verdicts_of_cost(&keys, &cpu.effects);
    let failures = failures(record);
    let mut cells = Vec::with_capacity(keys.len());
    for (index, &(cell, system)) in keys.iter().enumerate() {
        let failure = failures.get(&(cell, system)).cloned();
        let base_failed = failures.contains_key(&(cell, base));
        let verdict = match verdicts[index] {
            _ if failure.is_some() || base_failed => Verdict::Failed,
            _ if system == base => Verdict::Same,
            verdict => verdict,
        };
        let mut judged = measured(record, sorted.get(&cell), cell, system);
        judged.qps = qps.shown(index);
        judged.rqps = rqps.shown(index);
        judged.cpu_ratio = cpu.shown(index);
        judged.cpu_verdict = cpu.effects[index].map(|_| cpu_verdicts[index]);
        judged.detectable = rqps.effects[index]
            .map(|effect| effect.detectable(rules.level(&effect), POWER).max(rules.threshold));
        judged.verdict = verdict;
        judged.failure = failure;
        cells.push(judged);
    }
    why::explain(&mut cells, base);
    let groups = group::summaries(record, &cells, &rqps.reduced, base);
    let systems = (0..record.systems.len())
        .filter(|&system| system != base)
        .map(|system| summary(&cells, system))
        .collect();
    Judgement { cells, groups, systems }
}

/// What needs no statistics.
fn measured(
    record: &StudyRecord,
    slices: Option<&CellSlices<'_>>,
    cell: CellId,
    system: usize,
) -> CellJudgement {
    let mine = || record.slices.iter().filter(|s| s.cell == cell && s.system == system);
    let judged = || slices.into_iter().flat_map(|slices| slices.of(system));
    let mut blocks: Vec<u32> = judged().map(|slice| slice.block).collect();
    blocks.dedup();
    CellJudgement {
        cell,
        group: cell.test.group(record.study.set),
        system,
        qps: None,
        rqps: None,
        verdict: Verdict::Undecided,
        cpu_ratio: None,
        cpu_verdict: None,
        is_disturbed: slices.is_some_and(|slices| slices.is_disturbed),
        slices: judged().count() as u32,
        troubled: mine().filter(|s| s.outcome == SliceOutcome::Troubled).count() as u32,
        blocks: blocks.len() as u32,
        ops: judged().map(operations).sum(),
        errors: mine().map(|slice| slice.work.error_count()).sum(),
        failure: None,
        latency: latency(judged()),
        per_op: per_op(judged(), &record.host),
        detectable: None,
        why: None,
    }
}

/// The first reason for which a slice of a cell and system was broken off.
fn failures(record: &StudyRecord) -> BTreeMap<(CellId, usize), String> {
    let mut failures = BTreeMap::new();
    for slice in &record.slices {
        if let SliceOutcome::Failed(reason) = &slice.outcome {
            failures.entry((slice.cell, slice.system)).or_insert_with(|| reason.clone());
        }
    }
    failures
}

/// Blocks that a verdict needs, unless the study is planned with fewer: the largest claims shall not be those with the
/// least replication.
pub const BLOCKS_MIN: u32 = 4;

/// How verdicts are reached in a study.
struct Rules {
    systems: usize,
    /// Nominal level by number of blocks: every block is a look.
    levels: Vec<f64>,
    /// Blocks that a verdict needs.
    blocks_min: u32,
    threshold: f64,
    smoke: bool,
}

impl Rules {
    fn new(record: &StudyRecord) -> Self {
        let planned = record.study.blocks;
        let seen = record.slices.iter().map(|slice| slice.block + 1).max().unwrap_or(0);
        let smoke = record.study.preset == Preset::Smoke;
        let threshold = record.study.threshold;
        let mut levels = levels(planned.max(1));
        let overrun = planned.max(1) + 1..=seen.min(LOOKS_MAX);
        levels.extend(overrun.map(|look| look_level(look, planned)));
        Self {
            systems: record.systems.len(),
            levels,
            blocks_min: BLOCKS_MIN.min(planned.max(1)),
            threshold: if smoke { threshold.max(SMOKE_GROSS) } else { threshold },
            smoke,
        }
    }

    fn level(&self, effect: &Effect) -> f64 {
        let look = effect.blocks.max(1) as usize - 1;
        self.levels.get(look).or(self.levels.last()).copied().unwrap_or(ALPHA)
    }

    /// Verdicts on ratios of which more is better. The false discovery rate is kept within each system's cells.
    fn verdicts(&self, keys: &[(CellId, usize)], effects: &[Option<Effect>]) -> Vec<Verdict> {
        let mut verdicts = vec![Verdict::Undecided; keys.len()];
        for system in 0..self.systems {
            let judged: Vec<(usize, Effect)> = keys
                .iter()
                .zip(effects)
                .enumerate()
                .filter(|(_, ((_, of), _))| *of == system)
                .filter_map(|(index, (_, effect))| effect.map(|effect| (index, effect)))
                .collect();
            // A p-value is measured against what this look may spend.
            let p_values: Vec<f64> = judged
                .iter()
                .map(|(_, effect)| (effect.p_value() * ALPHA / self.level(effect)).min(1.0))
                .collect();
            let changed = benjamini_hochberg(&p_values, ALPHA);
            for ((index, effect), changed) in judged.into_iter().zip(changed) {
                verdicts[index] = self.decide(&effect, changed);
            }
        }
        verdicts
    }

    fn decide(&self, effect: &Effect, changed: bool) -> Verdict {
        let wide = effect.interval(self.level(effect));
        let (least, most) = (1.0 - self.threshold, 1.0 + self.threshold);
        if effect.blocks < self.blocks_min {
            Verdict::Undecided
        } else if changed && wide.value > most {
            Verdict::Faster
        } else if changed && wide.value < least {
            Verdict::Slower
        } else if !self.smoke && wide.low >= least && wide.high <= most {
            Verdict::Same
        } else {
            Verdict::Undecided
        }
    }

    /// Verdicts on ratios of which less is better.
    fn verdicts_of_cost(
        &self,
        keys: &[(CellId, usize)],
        effects: &[Option<Effect>],
    ) -> Vec<Verdict> {
        let turned = |verdict| match verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            other => other,
        };
        self.verdicts(keys, effects).into_iter().map(turned).collect()
    }
}

fn summary(cells: &[CellJudgement], system: usize) -> SystemSummary {
    let mine: Vec<&CellJudgement> = cells.iter().filter(|cell| cell.system == system).collect();
    let count = |verdict| mine.iter().filter(|cell| cell.verdict == verdict).count() as u32;
    let middle = |of: fn(&CellJudgement) -> Option<f64>| {
        median(&mine.iter().filter_map(|cell| of(cell)).collect::<Vec<_>>())
    };
    SystemSummary {
        system,
        slower: count(Verdict::Slower),
        faster: count(Verdict::Faster),
        same: count(Verdict::Same),
        undecided: count(Verdict::Undecided),
        failed: count(Verdict::Failed),
        median: middle(|cell| cell.rqps.map(|rqps| rqps.value)),
        detectable: middle(|cell| cell.detectable),
    }
}
