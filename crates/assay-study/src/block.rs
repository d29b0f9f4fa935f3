//! Where an interleaved study is in a block.

use std::collections::{BTreeMap, VecDeque};

use crate::rounds::RoundsLeft;
use crate::{Action, Phase};

#[derive(Debug, Clone)]
pub(crate) struct BlockState {
    pub(crate) number: u32,
    /// Good rounds wanted of each cell.
    pub(crate) rounds: BTreeMap<usize, u32>,
    /// Phases that are still to come, with their cells.
    pub(crate) phases: VecDeque<(Phase, Vec<usize>)>,
    pub(crate) phase: PhaseState,
}

impl BlockState {
    /// The cells that are still to be measured, each with the rounds that are wanted of it.
    pub(crate) fn to_come(&self) -> Vec<(usize, u32)> {
        let of_later = self.phases.iter().flat_map(|(_, cells)| cells);
        let cells = self.phase.cells.iter().chain(of_later);
        cells.filter_map(|cell| Some((*cell, *self.rounds.get(cell)?))).collect()
    }
}

/// The state of the phase in progress.
#[derive(Debug, Clone)]
pub(crate) struct PhaseState {
    pub(crate) phase: Phase,
    /// Cells that are still to be measured; the first one is next.
    pub(crate) cells: VecDeque<usize>,
    /// Whether the last attempt to start the instances failed.
    pub(crate) has_failed_to_start: bool,
    /// The first of the cells, while the instances run.
    pub(crate) cell: Option<CellState>,
    /// Actions that come before anything else.
    pub(crate) pending: VecDeque<Action>,
}

/// The state of the cell in progress.
#[derive(Debug, Clone)]
pub(crate) struct CellState {
    pub(crate) cell: usize,
    pub(crate) left: RoundsLeft,
    pub(crate) is_connected: bool,
}
