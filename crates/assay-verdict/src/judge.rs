//! A record judged: cells, then groups, then systems.

use std::collections::BTreeMap;

use assay_model::{
    CellId, Estimate, PlannedCell, Slice, SliceOutcome, StudyRecord, Trouble, Verdict,
};

use crate::account::{latency, operations, per_op, server_cpu_per_op};
use crate::effect::{Effect, Reduced, estimate, reduce};
use crate::rules::Rules;
use crate::series::{CellSlices, sort};
use crate::{CellJudgement, Doubt, Judgement, SystemSummary, TroubledBy, group, robust, why};

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
    /// The estimate with its interval; a single measurement has none, since its uncertainty is unknown.
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
    let keys: Vec<(&PlannedCell, usize)> = record
        .study
        .cells
        .iter()
        .flat_map(|cell| (0..record.systems.len()).map(move |system| (cell, system)))
        .collect();
    let ratio = |quantity: fn(&Slice) -> Option<f64>| {
        Quantity::new(
            keys.iter()
                .map(|(cell, system)| {
                    let slices = sorted.get(&cell.id).filter(|_| *system != base)?;
                    reduce(&slices.log_ratios(*system, base, quantity))
                })
                .collect(),
            record.systems.len(),
        )
    };
    let qps = Quantity::new(
        keys.iter()
            .map(|(cell, system)| {
                reduce(&sorted.get(&cell.id)?.logs(*system, Slice::ops_per_second))
            })
            .collect(),
        record.systems.len(),
    );
    let rqps = ratio(Slice::ops_per_second);
    let cpu = ratio(server_cpu_per_op);
    let rules = Rules::new(record);
    let decisions = rules.decisions(&keys, &rqps.effects);
    let cpu_decisions = rules.decisions(&keys, &cpu.effects);
    let counts = counts(record);
    let nothing = Counts::default();
    let mut cells = Vec::with_capacity(keys.len());
    for (index, &(cell, system)) in keys.iter().enumerate() {
        let counts_of = |system| counts.get(&(cell.id, system)).unwrap_or(&nothing);
        let mine = counts_of(system);
        let base_failed = counts_of(base).failure.is_some();
        let decision = decisions[index];
        let verdict = match decision.verdict {
            _ if mine.failure.is_some() || base_failed => Verdict::Failed,
            _ if system == base => Verdict::Same,
            verdict => verdict,
        };
        let mut judged = measured(record, sorted.get(&cell.id), cell, system, mine);
        judged.qps = qps.shown(index);
        judged.rqps = rqps.shown(index);
        judged.cpu_ratio = cpu.shown(index);
        judged.cpu_verdict = cpu.effects[index].map(|_| of_cost(cpu_decisions[index].verdict));
        judged.detectable = decision.detectable;
        judged.doubt = match decision.doubt {
            _ if verdict != Verdict::Undecided => None,
            None if judged.rqps.is_none() => Some(Doubt::Unmeasured),
            None => Some(Doubt::SinglePair),
            doubt => doubt,
        };
        judged.verdict = verdict;
        cells.push(judged);
    }
    why::explain(&mut cells, base);
    let groups = group::summaries(record, &cells, &rqps.reduced, base);
    let systems = (0..record.systems.len())
        .filter(|&system| system != base)
        .map(|system| {
            let median = group::median_of_system(record, &cells, &rqps.reduced, system);
            summary(&cells, system, median)
        })
        .collect();
    Judgement { cells, groups, systems }
}

/// The verdict on a ratio for which less is better.
fn of_cost(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}

/// Counts over all slices of a cell and system, judged or not.
#[derive(Default)]
struct Counts {
    troubled: u32,
    troubled_by: TroubledBy,
    errors: u64,
    /// The first reason why a slice was broken off.
    failure: Option<String>,
}

impl Counts {
    fn add(&mut self, slice: &Slice) {
        self.errors += slice.work.error_count();
        match &slice.outcome {
            SliceOutcome::Good => {}
            SliceOutcome::Troubled => {
                let has = |trouble| u32::from(slice.trouble.contains(&trouble));
                self.troubled += 1;
                self.troubled_by.steal += has(Trouble::Steal);
                self.troubled_by.other_process += has(Trouble::OtherProcess);
                self.troubled_by.clock_jump += has(Trouble::ClockJump);
            }
            SliceOutcome::Failed(reason) => {
                self.failure.get_or_insert_with(|| reason.clone());
            }
        }
    }
}

fn counts(record: &StudyRecord) -> BTreeMap<(CellId, usize), Counts> {
    let mut counts: BTreeMap<(CellId, usize), Counts> = BTreeMap::new();
    for slice in &record.slices {
        counts.entry((slice.cell, slice.system)).or_default().add(slice);
    }
    counts
}

/// The parts of a judgement that need no statistics.
fn measured(
    record: &StudyRecord,
    slices: Option<&CellSlices<'_>>,
    planned: &PlannedCell,
    system: usize,
    counts: &Counts,
) -> CellJudgement {
    let judged = || slices.into_iter().flat_map(|slices| slices.of(system));
    let mut blocks: Vec<u32> = judged().map(|slice| slice.block).collect();
    blocks.dedup();
    CellJudgement {
        cell: planned.id,
        group: planned.id.test.group(record.study.set),
        system,
        qps: None,
        rqps: None,
        verdict: Verdict::Undecided,
        cpu_ratio: None,
        cpu_verdict: None,
        is_disturbed: slices.is_some_and(|slices| slices.is_disturbed),
        slices: judged().count() as u32,
        troubled: counts.troubled,
        troubled_by: counts.troubled_by,
        blocks: blocks.len() as u32,
        ops: judged().map(operations).sum(),
        errors: counts.errors,
        failure: counts.failure.clone(),
        latency: latency(judged()),
        per_op: per_op(judged(), &record.host, planned.placement),
        detectable: None,
        doubt: None,
        why: None,
    }
}

fn summary(cells: &[CellJudgement], system: usize, median: Option<Estimate>) -> SystemSummary {
    let mine: Vec<&CellJudgement> = cells.iter().filter(|cell| cell.system == system).collect();
    let count = |verdict| mine.iter().filter(|cell| cell.verdict == verdict).count() as u32;
    let detectable: Vec<f64> = mine.iter().filter_map(|cell| cell.detectable).collect();
    SystemSummary {
        system,
        slower: count(Verdict::Slower),
        faster: count(Verdict::Faster),
        same: count(Verdict::Same),
        undecided: count(Verdict::Undecided),
        failed: count(Verdict::Failed),
        median,
        detectable: robust::median(&detectable),
    }
}
