//! How the budget is spent: blocks until every cell is decided or the time is up, rounds by the time that is left.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use assay_model::{CellId, Class, PlannedCell, Study, StudyRecord};

use super::calibrate::ROUNDS_MIN;
use crate::progress::minutes;

/// Part of a round that is neither warm nor measured part, before the first has been seen, milliseconds per system.
const OVERHEAD_MS: f64 = 8.0;

/// What starting the instances of a block takes, before the first has been seen, seconds per system.
const START_S: f64 = 2.0;

/// Hands out the blocks of a study.
pub(crate) struct Schedule {
    began: Instant,
    blocks_done: u32,
    /// Seconds that a round of a cell took, all systems together.
    round_s: BTreeMap<CellId, f64>,
    /// Seconds that a block took besides its rounds.
    start_s: f64,
    block_began_s: f64,
    rounds_s: f64,
    /// Cells that failed on some system: there is nothing left to compare.
    failed: BTreeSet<CellId>,
}

/// One block: its number, its cells in order, and how often each takes a turn.
#[derive(Debug, Clone)]
pub(crate) struct BlockPlan {
    pub(crate) number: u32,
    pub(crate) cells: Vec<PlannedCell>,
    pub(crate) rounds: u32,
}

impl Schedule {
    /// A schedule for a study that began, set-up included, at `began`.
    pub(crate) fn new(study: &Study, systems: usize, began: Instant) -> Self {
        let systems = systems as f64;
        let round_s = study
            .cells
            .iter()
            .map(|cell| {
                let slice_ms = f64::from(cell.warm_ms + cell.slice_ms) + OVERHEAD_MS;
                (cell.id, systems * slice_ms / 1000.0)
            })
            .collect();
        Self {
            began,
            blocks_done: 0,
            round_s,
            start_s: START_S * systems,
            block_began_s: 0.0,
            rounds_s: 0.0,
            failed: BTreeSet::new(),
        }
    }

    /// Seconds since the study began.
    pub(crate) fn used_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// A round of a cell took this long, all systems together.
    pub(crate) fn round_took(&mut self, cell: CellId, seconds: f64) {
        self.rounds_s += seconds;
        let known = self.round_s.entry(cell).or_insert(seconds);
        *known = 0.5 * *known + 0.5 * seconds;
    }

    /// The cell failed on some system.
    pub(crate) fn cell_failed(&mut self, cell: CellId) {
        self.failed.insert(cell);
    }

    /// The next block, or none when everything is decided or the time is up.
    pub(crate) fn next_block(&mut self, record: &StudyRecord) -> Option<BlockPlan> {
        self.learn_start();
        let study = &record.study;
        let open = if self.blocks_done == 0 {
            study.cells.iter().map(|cell| cell.id).collect()
        } else {
            assay_verdict::stop::open_cells(record)
        };
        // A write test must find the data as the writes before it leave them, so all go on while one is open.
        let is_write = |cell: CellId| cell.test.class() == Class::Write;
        let some_write_is_open =
            open.iter().any(|cell| is_write(*cell) && !self.failed.contains(cell));
        let takes_part = |cell: CellId| {
            let goes_on = open.contains(&cell) || (is_write(cell) && some_write_is_open);
            goes_on && !self.failed.contains(&cell)
        };
        let cells: Vec<PlannedCell> =
            study.cells.iter().filter(|cell| takes_part(cell.id)).cloned().collect();
        let planned_left = study.blocks.saturating_sub(self.blocks_done);
        if cells.is_empty() || planned_left == 0 {
            return None;
        }
        let once_s: f64 = cells.iter().filter_map(|cell| self.round_s.get(&cell.id)).sum();
        let left_s = study.budget_s - self.used_s();
        let share_s = left_s / f64::from(planned_left) - self.start_s;
        let affordable = (share_s / once_s) as u32 / 2 * 2;
        // The first blocks run even when the budget is too small: a study without a verdict helps nobody.
        let must_run = self.blocks_done < BLOCKS_MUST.min(study.blocks);
        if affordable < ROUNDS_MIN && !must_run {
            return None;
        }
        let number = self.blocks_done;
        self.blocks_done += 1;
        let rounds = affordable.clamp(ROUNDS_MIN, study.rounds.max(ROUNDS_MIN));
        Some(BlockPlan { number, cells, rounds })
    }

    /// A block in words, for the user who waits.
    pub(crate) fn announce(&self, block: &BlockPlan, study: &Study) -> String {
        format!(
            "measuring block {} of {}: {} tests, {} rounds each, at most {} left",
            block.number + 1,
            study.blocks,
            block.cells.len(),
            block.rounds,
            minutes((study.budget_s - self.used_s()).max(0.0))
        )
    }

    fn learn_start(&mut self) {
        let now = self.used_s();
        if self.blocks_done > 0 {
            self.start_s = (now - self.block_began_s - self.rounds_s).max(0.0);
        }
        self.block_began_s = now;
        self.rounds_s = 0.0;
    }
}

/// Blocks that run whatever the budget: without a second one nothing is known of the spread between instances.
const BLOCKS_MUST: u32 = 2;
