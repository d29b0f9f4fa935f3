//! One system after the other, each test once and long, on one instance from load to end: as the posts ran it.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use assay_model::{
    CellId, Class, DataSet, EventKind, PlannedCell, Setup, Slice, SliceOutcome, StudyRecord,
};
use assay_plan::{Step, sequence};
use assay_verdict::Fitness;

use crate::{Action, End, Outcome};

/// Rest between two systems at most, milliseconds: what the published harness waits.
const REST_MAX_MS: u32 = 600_000;

/// The state of a sequential study: all of it is known beforehand.
#[derive(Debug)]
pub(crate) struct Sequential {
    left: VecDeque<Action>,
    is_abandoned: bool,
}

impl Sequential {
    pub(crate) fn new(record: &StudyRecord) -> Self {
        let systems = 0..record.systems.len();
        let data_sets = data_sets(record);
        let mut left = VecDeque::from([Action::Load]);
        // A system that was measured before an interruption is not started again, but its settings are compared.
        for &data in &data_sets {
            left.extend(systems.clone().map(|system| Action::Audit { system, data }));
        }
        let rest = Action::Rest { ms: longest_ms(record).min(REST_MAX_MS).into() };
        let mut rests = false;
        for &data in &data_sets {
            for system in systems.clone() {
                let run = Run::new(record, system, data);
                if run.is_complete() {
                    continue;
                }
                left.extend(rests.then(|| rest.clone()));
                left.extend(run.actions());
                rests = true;
            }
        }
        Self { left, is_abandoned: false }
    }

    pub(crate) fn next(&mut self) -> ControlFlow<End, Action> {
        if self.is_abandoned {
            return ControlFlow::Break(End::Abandoned);
        }
        self.left.pop_front().map_or(ControlFlow::Break(End::Complete), ControlFlow::Continue)
    }

    pub(crate) fn came(&mut self, asked: &Action, outcome: &Outcome) {
        match (asked, outcome) {
            (_, Outcome::Failed { .. }) => self.is_abandoned = true,
            // Once a server is gone, nothing more is recorded of it: a resumed study continues with the next test.
            (
                &Action::Once { cell, system, is_recorded: true },
                Outcome::Measured { samples, .. },
            ) if samples.iter().any(|sample| sample.fitness == Fitness::Failed) => {
                self.left.push_front(Action::CheckAlive { system, cell });
            }
            _ => {}
        }
    }
}

/// The data sets in the order in which they are measured.
fn data_sets(record: &StudyRecord) -> Vec<DataSet> {
    let mut sets: Vec<DataSet> = Vec::new();
    for setup in &record.study.setups {
        if !sets.contains(&setup.data()) {
            sets.push(setup.data());
        }
    }
    sets
}

/// The longest slice of the study, milliseconds.
fn longest_ms(record: &StudyRecord) -> u32 {
    record.study.cells.iter().map(|cell| cell.slice_ms).max().unwrap_or(0)
}

/// One system on one data set.
struct Run<'a> {
    system: usize,
    data: DataSet,
    /// Its cells with their places in the study.
    cells: Vec<(usize, &'a PlannedCell)>,
    /// Its slices that were measured already.
    slices: Vec<&'a Slice>,
}

impl<'a> Run<'a> {
    fn new(record: &'a StudyRecord, system: usize, data: DataSet) -> Self {
        let cells = record.study.cells.iter().enumerate();
        let slices = record.slices.iter().filter(|slice| slice.system == system);
        Self {
            system,
            data,
            cells: cells.filter(|(_, cell)| cell.id.setup.data() == data).collect(),
            slices: slices.collect(),
        }
    }

    fn slice(&self, cell: CellId) -> Option<&Slice> {
        self.slices.iter().copied().find(|slice| slice.cell == cell)
    }

    fn is_complete(&self) -> bool {
        self.cells.iter().all(|(_, cell)| self.slice(cell.id).is_some())
    }

    /// The whole sequence on a new instance. Writes that an earlier run measured are done again, unrecorded, so that
    /// what follows finds the data as they leave them.
    fn actions(&self) -> Vec<Action> {
        let system = self.system;
        let mut actions = vec![Action::StartOne { system, data: self.data }];
        if self.cells.iter().any(|(_, cell)| self.slice(cell.id).is_some()) {
            let what = EventKind::WritesRepeated;
            actions.push(Action::Note { system: Some(system), what });
        }
        let cells: Vec<PlannedCell> = self.cells.iter().map(|(_, cell)| (*cell).clone()).collect();
        actions.extend(sequence(&cells).into_iter().filter_map(|step| self.action(step)));
        actions.push(Action::Shutdown { system });
        actions
    }

    fn action(&self, step: Step) -> Option<Action> {
        let system = self.system;
        match step {
            Step::Warm { test, clients, seconds } => {
                let (_, like) = self.cells.first()?;
                let DataSet { tables, rows } = self.data;
                let cell = PlannedCell {
                    id: CellId { test, setup: Setup { clients, tables, rows } },
                    warm_ms: 0,
                    slice_ms: seconds.saturating_mul(1000),
                    events: None,
                    ..(*like).clone()
                };
                Some(Action::Warm { system, cell: Box::new(cell) })
            }
            Step::Maintain { seconds } => {
                Some(Action::Maintain { system, data: self.data, seconds })
            }
            Step::Measure(index) => {
                let &(cell, planned) = self.cells.get(index)?;
                let is_repeated = match self.slice(planned.id).map(|slice| &slice.outcome) {
                    None => return Some(Action::Once { cell, system, is_recorded: true }),
                    Some(SliceOutcome::Failed(_)) => false,
                    Some(_) => planned.id.test.class == Class::Write,
                };
                is_repeated.then_some(Action::Once { cell, system, is_recorded: false })
            }
        }
    }
}
