//! One system after the other, each test once and long, on one instance from load to end, as in the posts.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use assay_model::{
    CellId, Class, DataSet, EventKind, PlannedCell, Setup, SliceOutcome, StudyRecord,
};
use assay_plan::{SequenceStep, sequence};
use assay_verdict::Fitness;

use crate::{Outcome, Shard, StudyAction, StudyEnd};

/// Longest rest between two systems: that of the published harness.
const REST_MAX_MS: u32 = 600_000;

/// State of a sequential study, with one instance per data set and system. An instance's actions are planned when its
/// turn comes, as a study may have many.
#[derive(Debug, Clone)]
pub(crate) struct Sequential {
    cells: Vec<PlannedCell>,
    data_sets: Vec<(DataSet, Vec<usize>)>,
    systems: usize,
    /// Slices of earlier runs by system and cell: whether each failed.
    measured: BTreeMap<(usize, usize), bool>,
    rest_ms: u64,
    audited: usize,
    /// Instances whose measurement has begun or was complete.
    begun: usize,
    has_started: bool,
    /// Remaining actions of the current instance; empty at the end of the study.
    left: VecDeque<StudyAction>,
    end: StudyEnd,
}

impl Sequential {
    /// A sequential study is a single block, so only the shard with block 0 has work.
    pub(crate) fn new(record: &StudyRecord, shard: Shard) -> Self {
        let cells = record.study.cells.clone();
        let indices: BTreeMap<CellId, usize> =
            cells.iter().enumerate().map(|(index, cell)| (cell.id, index)).collect();
        let mut measured = BTreeMap::new();
        for slice in &record.slices {
            if let Some(&cell) = indices.get(&slice.cell) {
                let has_failed =
                    matches!(slice.outcome, SliceOutcome::Failed(_) | SliceOutcome::Unanswered(_));
                measured.entry((slice.system, cell)).or_insert(has_failed);
            }
        }
        Self {
            data_sets: data_sets(record),
            rest_ms: rest_ms(&cells),
            cells,
            systems: record.systems.len(),
            measured,
            audited: 0,
            begun: 0,
            has_started: false,
            left: shard.has(0).then_some(StudyAction::Load).into_iter().collect(),
            end: StudyEnd::Complete,
        }
    }

    /// Loads the data and compares the settings, without measuring.
    pub(crate) fn without_tests(record: &StudyRecord, shard: Shard) -> Self {
        Self { begun: usize::MAX, ..Self::new(record, shard) }
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
            (&StudyAction::Once { cell, system, .. }, Outcome::Measured { samples, .. }) => {
                let [sample] = samples.as_slice() else { return false };
                if sample.system != system {
                    return false;
                }
                // Nothing more is recorded of a server that is gone: a resumed study continues with the next test.
                if matches!(sample.fitness, Fitness::Failed | Fitness::Unanswered) {
                    self.left.push_front(StudyAction::CheckAlive { system, cell });
                }
            }
            (StudyAction::StartOne { .. }, Outcome::Failed { .. }) => {
                self.left.clear();
                self.end = StudyEnd::Abandoned;
                return true;
            }
            (StudyAction::Load, Outcome::Loaded { .. }) => {}
            (StudyAction::Load | StudyAction::Once { .. }, _) => return false,
            (_, Outcome::Done) => {}
            _ => return false,
        }
        while self.left.is_empty() && self.plan_next() {}
        true
    }

    /// Plans the next audit or measurement of an instance; `false` if none is left.
    fn plan_next(&mut self) -> bool {
        if let Some((system, data, _)) = self.instance(self.audited) {
            // A system measured before an interruption is not restarted, but its settings are compared.
            self.left.push_back(StudyAction::Audit { system, data });
            self.audited += 1;
            return true;
        }
        let Some((system, data, cells)) = self.instance(self.begun) else { return false };
        let is_complete = cells.iter().all(|&cell| self.measured.contains_key(&(system, cell)));
        if !is_complete {
            let actions = self.actions(system, data, cells);
            self.left.extend(self.has_started.then_some(StudyAction::Rest { ms: self.rest_ms }));
            self.left.extend(actions);
            self.has_started = true;
        }
        self.begun += 1;
        true
    }

    /// System, data set and cells of an instance: all systems on one data set, then all on the next.
    fn instance(&self, number: usize) -> Option<(usize, DataSet, &[usize])> {
        let (data, cells) = self.data_sets.get(number.checked_div(self.systems)?)?;
        Some((number % self.systems, *data, cells))
    }

    /// The whole sequence on a new instance. Writes measured by an earlier run are repeated, unrecorded, to restore the
    /// data for later tests.
    fn actions(&self, system: usize, data: DataSet, cells: &[usize]) -> Vec<StudyAction> {
        let mut actions = vec![StudyAction::StartOne { system, data }];
        if cells.iter().any(|&cell| self.measured.contains_key(&(system, cell))) {
            let what = EventKind::WritesRepeated;
            actions.push(StudyAction::Note { system: Some(system), what });
        }
        let planned: Vec<PlannedCell> =
            cells.iter().map(|&cell| self.cells[cell].clone()).collect();
        let steps = sequence(&planned).into_iter();
        actions.extend(steps.filter_map(|step| match step {
            SequenceStep::Warm { test, clients, seconds } => {
                let DataSet { tables, rows } = data;
                let cell = PlannedCell {
                    id: CellId { test, setup: Setup { clients, tables, rows } },
                    warm_ms: 0,
                    warm_us: Some(0),
                    turn_ms: seconds.saturating_mul(1000),
                    slice_ms: seconds.saturating_mul(1000),
                    events: None,
                    ..planned.first()?.clone()
                };
                Some(StudyAction::Warm { system, cell: Box::new(cell) })
            }
            SequenceStep::Maintain { seconds } => {
                Some(StudyAction::Maintain { system, data, seconds })
            }
            SequenceStep::Measure(index) => self.once(system, cells[index]),
        }));
        actions.push(StudyAction::Shutdown { system });
        actions
    }

    fn once(&self, system: usize, cell: usize) -> Option<StudyAction> {
        let is_write = self.cells[cell].id.test.class == Class::Write;
        match self.measured.get(&(system, cell)) {
            None => Some(StudyAction::Once { cell, system, is_recorded: true }),
            Some(has_failed) => (is_write && !has_failed).then_some(StudyAction::Once {
                cell,
                system,
                is_recorded: false,
            }),
        }
    }
}

/// Rest between two systems that run one after the other, milliseconds.
pub(crate) fn rest_ms(cells: &[PlannedCell]) -> u64 {
    let longest_ms = cells.iter().map(|cell| cell.slice_ms).max().unwrap_or(0);
    longest_ms.min(REST_MAX_MS).into()
}

fn data_sets(record: &StudyRecord) -> Vec<(DataSet, Vec<usize>)> {
    let mut sets: Vec<(DataSet, Vec<usize>)> = Vec::new();
    for data in record.study.setups.iter().map(|setup| setup.data()) {
        if sets.iter().all(|(known, _)| *known != data) {
            let cells = record.study.cells.iter().enumerate();
            let cells = cells.filter(|(_, cell)| cell.id.setup.data() == data);
            sets.push((data, cells.map(|(index, _)| index).collect()));
        }
    }
    sets
}
