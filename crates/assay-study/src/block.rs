//! Progress of an interleaved study within a block.

use std::collections::{BTreeMap, VecDeque};

use crate::rounds::RoundsLeft;
use crate::{Action, Phase};

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
        let of_later = self.phases.iter().flat_map(|(_, cells)| cells);
        let cells = self.phase.cells.iter().chain(of_later);
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
    pub(crate) pending: VecDeque<Action>,
}

#[derive(Debug, Clone)]
pub(crate) struct CellState {
    pub(crate) cell: usize,
    pub(crate) left: RoundsLeft,
    pub(crate) is_connected: bool,
}
