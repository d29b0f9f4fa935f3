//! Shares out the budget over blocks.

use assay_model::{PlannedCell, Study};
use assay_plan::{ROUNDS_MIN, round_s, start_s};

/// Number of blocks that run even if the budget is too small: without a second block, nothing is known of the spread
/// between instances.
const BLOCKS_MUST: u32 = 2;

/// The time that blocks and rounds take, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// Seconds that a round of each cell takes, all systems together.
    round_s: Vec<f64>,
    /// Seconds that a block takes besides its rounds.
    start_s: f64,
    /// When the block in progress began, seconds used; `None` if an earlier run began it.
    began_s: Option<f64>,
    /// Seconds of its rounds so far.
    rounds_s: f64,
}

/// The blocks of a study that are still to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlocksLeft {
    /// Blocks begun so far.
    pub(crate) done: u32,
    /// Blocks planned beyond those.
    pub(crate) left: u32,
}

impl Budget {
    /// The costs as planned, before anything was measured.
    pub(crate) fn new(study: &Study, systems: usize) -> Self {
        Self {
            round_s: study.cells.iter().map(|cell| round_s(cell, systems)).collect(),
            start_s: start_s(&study.cells, systems),
            began_s: None,
            rounds_s: 0.0,
        }
    }

    /// A round of a cell took this long, all systems together. One that failed, or in which the clock jumped, is not
    /// usual and does not show how long the next one takes.
    pub(crate) fn round_took(&mut self, cell: usize, seconds: f64, is_usual: bool) {
        self.rounds_s += seconds;
        if let Some(known) = self.round_s.get_mut(cell).filter(|_| is_usual) {
            *known = 0.5 * *known + 0.5 * seconds;
        }
    }

    /// The block in progress took this time for something that no other block needs.
    pub(crate) fn only_now(&mut self, seconds: f64) {
        self.rounds_s += seconds;
    }

    /// The rounds of a cell take another time than was planned, and none has been measured yet.
    pub(crate) fn planned_anew(&mut self, cell: usize, planned: &PlannedCell, systems: usize) {
        if let Some(known) = self.round_s.get_mut(cell) {
            *known = round_s(planned, systems);
        }
    }

    /// A block has ended, if one was begun, and the next one begins.
    pub(crate) fn between_blocks(&mut self, used_s: f64) {
        if let Some(began_s) = self.began_s {
            self.start_s = (used_s - began_s - self.rounds_s).max(0.0);
        }
        self.began_s = Some(used_s);
        self.rounds_s = 0.0;
    }

    /// The next block was begun by an earlier run, so the rest of it does not show how long a block takes to start.
    pub(crate) fn resume_block(&mut self) {
        self.began_s = None;
    }

    /// Rounds of each of `cells` that the next block has time for; `None` if no further block fits.
    pub(crate) fn rounds(
        &self,
        study: &Study,
        cells: &[usize],
        blocks: BlocksLeft,
        used_s: f64,
    ) -> Option<u32> {
        if cells.is_empty() || blocks.left == 0 {
            return None;
        }
        let once_s: f64 = cells.iter().filter_map(|&cell| self.round_s.get(cell)).sum();
        let left_s = study.budget_s - used_s;
        // Plans fewer blocks if the time left is too short for all planned blocks at their smallest.
        let least_s = self.start_s + f64::from(ROUNDS_MIN) * once_s;
        let fitting = (left_s / least_s).max(0.0) as u32;
        let blocks_left = blocks.left.min(fitting).max(1);
        let share_s = left_s / f64::from(blocks_left) - self.start_s;
        let affordable = (share_s / once_s) as u32 / 2 * 2;
        // The first blocks run even when the budget is too small: a study without a verdict helps nobody.
        let must_run = blocks.done < BLOCKS_MUST.min(study.blocks);
        if affordable < ROUNDS_MIN && !must_run {
            return None;
        }
        Some(affordable.clamp(ROUNDS_MIN, study.rounds.max(ROUNDS_MIN)))
    }
}
