//! Progress of an interleaved study within a block: its phases, the rounds of each cell, and the systems on which a
//! cell is still measured.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use assay_model::{DataSet, StartFrom, Study, System};
use assay_plan::ROUNDS_MIN;
use assay_verdict::Fitness;

use crate::{Phase, StudyAction};

#[derive(Debug, Clone)]
pub(crate) struct BlockState {
    pub(crate) number: u32,
    /// Wanted good rounds per cell.
    pub(crate) rounds: BTreeMap<usize, u32>,
    pub(crate) phases: VecDeque<(Phase, Vec<usize>)>,
    pub(crate) phase: PhaseState,
}

impl BlockState {
    pub(crate) fn to_come(&self) -> Vec<(usize, u32)> {
        let later = self.phases.iter().flat_map(|(_, cells)| cells);
        let cells = self.phase.cells.iter().chain(later);
        cells.filter_map(|cell| Some((*cell, *self.rounds.get(cell)?))).collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct PhaseState {
    pub(crate) phase: Phase,
    pub(crate) cells: VecDeque<usize>,
    pub(crate) has_failed_to_start: bool,
    /// The first cell, while the instances run.
    pub(crate) cell: Option<CellState>,
    /// Actions that come before anything else.
    pub(crate) pending: VecDeque<StudyAction>,
}

#[derive(Debug, Clone)]
pub(crate) struct CellState {
    pub(crate) cell: usize,
    pub(crate) left: RoundsLeft,
    pub(crate) is_connected: bool,
}

/// Phases of some cells, each with its cells: data sets in the order of their first cells; on each, fresh before aged.
pub(crate) fn phases(study: &Study, cells: &[usize]) -> VecDeque<(Phase, Vec<usize>)> {
    let mut data_sets: BTreeMap<DataSet, usize> = BTreeMap::new();
    let mut phases: BTreeMap<(usize, StartFrom), (Phase, Vec<usize>)> = BTreeMap::new();
    for &cell in cells {
        let phase = Phase::new(study.cells[cell].id);
        let next = data_sets.len();
        let data_set = *data_sets.entry(phase.data).or_insert(next);
        let entry = phases.entry((data_set, phase.start_from));
        entry.or_insert_with(|| (phase, Vec::new())).1.push(cell);
    }
    phases.into_values().collect()
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoundsTaken {
    /// Systems with a good slice in each round.
    good: BTreeMap<u32, BTreeSet<usize>>,
}

impl RoundsTaken {
    /// Counts a slice. An incomplete round counts as taken.
    pub(crate) fn add(&mut self, round: u32, system: usize, fitness: Fitness) {
        let good = self.good.entry(round).or_default();
        if fitness == Fitness::Good {
            good.insert(system);
        }
    }

    /// Number of rounds that are good on all these systems.
    pub(crate) fn complete(&self, systems: &[usize]) -> u32 {
        let is_complete =
            |good: &&BTreeSet<usize>| systems.iter().all(|system| good.contains(system));
        self.good.values().filter(is_complete).count() as u32
    }

    /// Number of the next round. Rounds come in pairs, so if the first was broken off, the second is skipped.
    pub(crate) fn next(&self) -> u32 {
        let next = self.good.keys().next_back().map_or(0, |last| last.saturating_add(1));
        next.checked_next_multiple_of(ROUNDS_MIN).unwrap_or(next)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundsLeft {
    pub(crate) good: u32,
    pub(crate) next: u32,
    pub(crate) wanted: u32,
    pub(crate) most: u32,
}

impl RoundsLeft {
    pub(crate) fn are_none(self) -> bool {
        self.good >= self.wanted || self.next >= self.most
    }
}

/// Systems of each cell: a test that fails on one of them is measured on the others.
#[derive(Debug, Clone)]
pub(crate) struct SystemsLeft {
    /// Whether a system is compared: neither the base nor its twin.
    is_compared: Vec<bool>,
    base: usize,
    /// Failed cells and systems; the cell is measured on the others.
    failed: BTreeSet<(usize, usize)>,
    /// Cells and systems with a hanging event. The cell is measured on the others, which are compared with the
    /// resulting bound.
    silent: BTreeSet<(usize, usize)>,
}

impl SystemsLeft {
    pub(crate) fn new(systems: &[System]) -> Self {
        Self {
            is_compared: systems.iter().map(|system| !system.is_base && !system.is_twin).collect(),
            base: systems.iter().position(|system| system.is_base).unwrap_or(0),
            failed: BTreeSet::new(),
            silent: BTreeSet::new(),
        }
    }

    pub(crate) fn failed(&mut self, cell: usize, system: usize) {
        self.failed.insert((cell, system));
    }

    pub(crate) fn is_silent(&mut self, cell: usize, system: usize) {
        self.silent.insert((cell, system));
    }

    pub(crate) fn compares(&self, system: usize) -> bool {
        self.is_compared.get(system) == Some(&true)
    }

    /// Filters systems to those without failure or silence in a cell.
    pub(crate) fn systems(&self, cell: usize, mut systems: Vec<usize>) -> Vec<usize> {
        let is_gone = |pair| self.failed.contains(&pair) || self.silent.contains(&pair);
        systems.retain(|&system| !is_gone((cell, system)));
        systems
    }

    pub(crate) fn is_closed(&self, cell: usize) -> bool {
        let systems = 0..self.is_compared.len();
        if self.systems(cell, systems.clone().collect()).is_empty() {
            return true;
        }
        let can_be_compared = |system: usize| !self.failed.contains(&(cell, system));
        let compares_any = self.is_compared.contains(&true);
        let is_other =
            |system: usize| if compares_any { self.compares(system) } else { system != self.base };
        let mut others = systems.filter(|system| is_other(*system));
        !can_be_compared(self.base) || !others.any(can_be_compared)
    }

    pub(crate) fn lacks_a_system(&self, cell: usize) -> bool {
        let of_cell = (cell, 0)..=(cell, usize::MAX);
        let mut absent = self.failed.range(of_cell.clone()).chain(self.silent.range(of_cell));
        absent.next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The set of systems with good slices matters, not its size, as a system may have dropped out.
    #[test]
    fn a_round_is_complete_if_it_is_good_on_all_systems_that_are_left() {
        let mut taken = RoundsTaken::default();
        for (system, fitness) in [(0, Fitness::Good), (1, Fitness::Good), (2, Fitness::Troubled)] {
            taken.add(0, system, fitness);
        }
        taken.add(1, 1, Fitness::Failed);
        assert_eq!(taken.complete(&[0, 1, 2]), 0);
        assert_eq!(taken.complete(&[0, 2]), 0);
        assert_eq!(taken.complete(&[0, 1]), 1);
        // The next one begins a pair.
        assert_eq!(taken.next(), 2);
    }
}
