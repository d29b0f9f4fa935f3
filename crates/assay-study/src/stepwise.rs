//! Systems in alternation, by segments of steps or by whole steps, or one after the other, on one instance each, for
//! steps that build on earlier ones.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;

use assay_model::{EventKind, Experiment, PlannedBlock, SliceOutcome, StepSegment, StudyRecord};
use assay_plan::{round_order, start_order};
use assay_verdict::Fitness;

use crate::sequential::rest_ms;
use crate::{Outcome, Phase, Shard, StudyAction, StudyEnd};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct StepStanding {
    /// Segments of all steps.
    measured: usize,
    /// Failed attempts at the current step.
    failed: u32,
}

/// State of a stepwise study. Each block executes all steps once on new instances.
#[derive(Debug, Clone)]
pub(crate) struct Stepwise {
    seed: u64,
    /// Whether a system does all steps before the next one starts.
    is_consecutive: bool,
    rest_ms: u64,
    has_started: bool,
    /// The segments of all steps in order, each with the cell of its step.
    segments: Vec<(usize, StepSegment)>,
    phase: Option<Phase>,
    systems: usize,
    blocks: u32,
    shard: Shard,
    begun: BTreeSet<u32>,
    /// By block and system.
    standing: BTreeMap<(u32, usize), StepStanding>,
    block: u32,
    /// Remaining actions of the current block; empty at the end of the study.
    left: VecDeque<StudyAction>,
    end: StudyEnd,
}

impl Stepwise {
    pub(crate) fn new(record: &StudyRecord, shard: Shard) -> Self {
        let cells = &record.study.cells;
        let segments = cells.iter().enumerate().flat_map(|(cell, planned)| {
            let count = record.study.segments_of(planned.id.test);
            (0..count).map(move |index| (cell, StepSegment { index, count }))
        });
        let mut policy = Self {
            seed: record.study.seed,
            is_consecutive: record.study.experiment == Experiment::Consecutive,
            rest_ms: rest_ms(cells),
            has_started: false,
            segments: segments.collect(),
            phase: cells.first().map(|cell| Phase::new(cell.id)),
            systems: record.systems.len(),
            blocks: record.blocks_max(),
            shard,
            begun: record.blocks.iter().map(|PlannedBlock { number, .. }| *number).collect(),
            standing: BTreeMap::new(),
            block: 0,
            left: VecDeque::new(),
            end: StudyEnd::Complete,
        };
        for slice in &record.slices {
            let has_failed = matches!(slice.outcome, SliceOutcome::Failed(_));
            policy.note(slice.block, slice.system, has_failed);
        }
        if (0..policy.blocks).any(|block| policy.has_work(block)) {
            policy.left.push_back(StudyAction::Load);
            // Otherwise all of them are started, and audited, before the first step.
            if let Some(Phase { data, .. }) = policy.phase.filter(|_| policy.is_consecutive) {
                let audits = (0..policy.systems).map(|system| StudyAction::Audit { system, data });
                policy.left.extend(audits);
            }
        }
        policy
    }

    pub(crate) fn next(&self) -> ControlFlow<StudyEnd, StudyAction> {
        match self.left.front() {
            Some(action) => ControlFlow::Continue(action.clone()),
            None => ControlFlow::Break(self.end.clone()),
        }
    }

    /// Processes an outcome; `false` if it is impossible for the action.
    pub(crate) fn receive(&mut self, asked: &StudyAction, outcome: &Outcome) -> bool {
        self.left.pop_front();
        match (asked, outcome) {
            (
                &StudyAction::Step { block, system, is_recorded, .. },
                Outcome::Measured { samples, .. },
            ) => {
                let [sample] = samples.as_slice() else { return false };
                if sample.system != system {
                    return false;
                }
                let has_failed = sample.fitness == Fitness::Failed;
                if is_recorded {
                    self.note(block, system, has_failed);
                }
                if has_failed {
                    // Later steps would find other data than on other systems.
                    self.give_up(system);
                }
            }
            (StudyAction::StartAll { block, .. }, Outcome::Failed { system, why, .. }) => {
                self.give_up(*system);
                if !self.is_consecutive {
                    // A block without one of its systems compares nothing.
                    self.left.clear();
                    self.block = block.saturating_add(1);
                }
                let steps = self.segments.iter().filter(|(_, segment)| segment.is_first());
                let tests = u32::try_from(steps.count()).unwrap_or(u32::MAX);
                let what = EventKind::NotMeasured { tests, error: why.clone() };
                self.left.push_front(StudyAction::Note { system: Some(*system), what });
            }
            (StudyAction::Load, Outcome::Loaded { .. }) => {}
            (StudyAction::Load | StudyAction::Step { .. }, _) => return false,
            (_, Outcome::Done) => {}
            _ => return false,
        }
        while self.left.is_empty() && self.block < self.blocks {
            self.plan_block(self.block);
            self.block += 1;
        }
        true
    }

    fn note(&mut self, block: u32, system: usize, has_failed: bool) {
        let StepStanding { measured, failed } = self.standing(block, system);
        let standing = if has_failed {
            StepStanding { measured, failed: failed + 1 }
        } else {
            let is_same_step = self.step_at(measured) == self.step_at(measured + 1);
            let failed = if is_same_step { failed } else { 0 };
            StepStanding { measured: measured + 1, failed }
        };
        self.standing.insert((block, system), standing);
    }

    /// The cell of a segment's step.
    fn step_at(&self, segment: usize) -> Option<usize> {
        self.segments.get(segment).map(|(cell, _)| *cell)
    }

    fn give_up(&mut self, failed: usize) {
        self.end = StudyEnd::Unfinished;
        self.left.retain(|action| match action {
            StudyAction::Step { system, .. } | StudyAction::Note { system: Some(system), .. } => {
                *system != failed
            }
            _ => true,
        });
    }

    fn standing(&self, block: u32, system: usize) -> StepStanding {
        self.standing.get(&(block, system)).copied().unwrap_or_default()
    }

    fn has_work(&self, block: u32) -> bool {
        let is_left = |system| self.standing(block, system).measured < self.segments.len();
        self.shard.has(block) && (0..self.systems).any(is_left)
    }

    /// Plans the rest of a block. Segments measured by an earlier run are repeated, unrecorded, to restore the data for
    /// later ones. Complete systems are not restarted.
    fn plan_block(&mut self, block: u32) {
        let Some(phase) = self.phase else { return };
        if !self.has_work(block) {
            return;
        }
        let first = self.segments.iter().filter(|(_, segment)| segment.is_first());
        let cells = first.map(|(cell, segment)| (*cell, segment.count)).collect();
        let is_recorded = self.begun.contains(&block);
        let left = self.blocks.saturating_sub(block).max(1);
        self.left.push_back(StudyAction::Begin {
            block,
            left,
            cells,
            is_recorded,
            so_far: Vec::new(),
        });
        let is_left = |system: &usize| self.standing(block, *system).measured < self.segments.len();
        let mut order = if self.is_consecutive {
            // Every second block has the reverse order, so that drift widens intervals instead of shifting all ratios.
            round_order(self.seed, 0, 0, block, self.systems)
        } else {
            start_order(self.seed, block, 0, self.systems)
        };
        order.retain(is_left);
        if self.is_consecutive {
            for system in order {
                if std::mem::replace(&mut self.has_started, true) {
                    self.left.push_back(StudyAction::Rest { ms: self.rest_ms });
                }
                self.plan_steps(block, phase, &[system]);
            }
        } else {
            self.plan_steps(block, phase, &order);
        }
    }

    /// Plans the steps of systems that run at the same time, in alternation.
    fn plan_steps(&mut self, block: u32, phase: Phase, order: &[usize]) {
        let repeats = order.iter().any(|&system| self.standing(block, system).measured > 0);
        self.left.push_back(StudyAction::StartAll { block, phase, order: order.to_vec() });
        if repeats {
            let system = order.first().copied().filter(|_| self.is_consecutive);
            self.left.push_back(StudyAction::Note { system, what: EventKind::WritesRepeated });
        }
        for (number, &(cell, segment)) in self.segments.iter().enumerate() {
            // The first system of a segment is the last in the next.
            let in_order = round_order(self.seed, block, 0, number as u32, self.systems);
            let in_order = in_order.into_iter().filter(|system| order.contains(system));
            for (system, position) in in_order.zip(0..) {
                let StepStanding { measured, failed } = self.standing(block, system);
                let attempt = if self.step_at(measured) == Some(cell) { failed } else { 0 };
                self.left.push_back(StudyAction::Step {
                    cell,
                    system,
                    block,
                    round: attempt.saturating_mul(segment.count).saturating_add(segment.index),
                    segment,
                    position,
                    is_recorded: number >= measured,
                });
            }
        }
        self.left.push_back(StudyAction::EndPhase);
    }
}
