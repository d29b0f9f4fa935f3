//! How the budget is spent: blocks until every cell is decided or the time is up, rounds by the time that is left.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use assay_model::{
    Block, CellId, Class, DataSet, PlannedCell, Slice, SliceOutcome, StartFrom, Study, StudyRecord,
    counted,
};
use assay_plan::{round_s, start_s};

use super::Unfinished;
use super::calibrate::ROUNDS_MIN;
use super::recorder::Recorder;
use crate::progress::{Tally, minutes};

/// Hands out the blocks of a study.
pub(crate) struct Schedule {
    /// A block that was begun by an earlier run, and is to be completed.
    begun: Option<Block>,
    blocks_done: u32,
    /// Seconds that a round of a cell took, all systems together.
    round_s: BTreeMap<CellId, f64>,
    /// Seconds that a block took besides its rounds.
    start_s: f64,
    block_began_s: f64,
    rounds_s: f64,
    /// Cells that are measured no further: they failed on some system, and there is nothing left to compare, or a
    /// system does not start for them.
    closed: BTreeSet<CellId>,
    /// Why cells that had not failed were closed.
    unfinished: Option<anyhow::Error>,
    /// What the blocks so far say.
    so_far: Tally,
}

/// One block: its number, its cells in order, and how often each takes a turn.
#[derive(Debug, Clone)]
pub(crate) struct BlockPlan {
    pub(crate) number: u32,
    pub(crate) cells: Vec<PlannedCell>,
    pub(crate) rounds: u32,
}

/// The cells of a block that are measured on the same instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phase {
    pub(crate) data: DataSet,
    pub(crate) start_from: StartFrom,
}

impl Phase {
    /// The phase that a cell belongs to.
    pub(crate) fn of(cell: CellId) -> Self {
        Self { data: cell.setup.data(), start_from: cell.test.start_from }
    }
}

impl BlockPlan {
    /// Its phases, in the order of their first cells; of one data set, fresh before aged.
    pub(crate) fn phases(&self) -> Vec<Phase> {
        let mut phases: Vec<Phase> = Vec::new();
        for cell in &self.cells {
            let data = cell.id.setup.data();
            if !phases.iter().any(|phase| phase.data == data) {
                let both = [StartFrom::Fresh, StartFrom::Aged];
                phases.extend(both.map(|start_from| Phase { data, start_from }));
            }
        }
        phases
    }
}

impl Schedule {
    /// A schedule for what a study has still to do.
    pub(crate) fn new(record: &StudyRecord) -> Self {
        let systems = record.systems.len();
        let cells = &record.study.cells;
        let round_s = cells.iter().map(|cell| (cell.id, round_s(cell, systems))).collect();
        let is_failed = |slice: &&Slice| matches!(slice.outcome, SliceOutcome::Failed(_));
        let measured = record.slices.iter().map(|slice| slice.block + 1).max().unwrap_or(0);
        let planned = record.blocks.iter().map(|block| block.number + 1).max().unwrap_or(0);
        Self {
            begun: record.blocks.last().cloned(),
            blocks_done: measured.max(planned),
            round_s,
            start_s: start_s(cells, systems),
            block_began_s: 0.0,
            rounds_s: 0.0,
            closed: record.slices.iter().filter(is_failed).map(|slice| slice.cell).collect(),
            unfinished: None,
            so_far: Tally::default(),
        }
    }

    /// A round of a cell took this long, all systems together.
    pub(crate) fn round_took(&mut self, cell: CellId, seconds: f64) {
        self.rounds_s += seconds;
        let known = self.round_s.entry(cell).or_insert(seconds);
        *known = 0.5 * *known + 0.5 * seconds;
    }

    /// The cell is measured no further.
    pub(crate) fn close(&mut self, cell: CellId) {
        self.closed.insert(cell);
    }

    /// Whether the cell is measured no further.
    pub(crate) fn is_closed(&self, cell: CellId) -> bool {
        self.closed.contains(&cell)
    }

    /// Something could not be measured further for now: the study is not at its end, whatever comes.
    pub(crate) fn leave_unfinished(&mut self, why: anyhow::Error) {
        self.unfinished.get_or_insert(why);
    }

    /// Fails with [`Unfinished`] if something was left that the study may be resumed for.
    pub(crate) fn end(self) -> Result<()> {
        self.unfinished.map_or(Ok(()), |why| Err(why.context(Unfinished)))
    }

    /// The next block, noted in the ledger, or none when everything is decided or the time is up.
    pub(crate) fn next_block(&mut self, recorder: &mut Recorder) -> Result<Option<BlockPlan>> {
        self.learn_start(recorder.used_s());
        if let Some(begun) = self.begun.take() {
            // What is left of it tells nothing of what starting a block costs.
            self.block_began_s = 0.0;
            return Ok(Some(planned(recorder.study(), begun)));
        }
        let Some(block) = self.plan_block(recorder.record(), recorder.used_s()) else {
            return Ok(None);
        };
        recorder.block(block.clone())?;
        self.blocks_done += 1;
        Ok(Some(planned(recorder.study(), block)))
    }

    /// What the blocks so far say.
    pub(crate) fn so_far(&self) -> &Tally {
        &self.so_far
    }

    /// No block is beyond those that were planned, so its number is one that a ledger takes.
    fn plan_block(&mut self, record: &StudyRecord, used_s: f64) -> Option<Block> {
        let study = &record.study;
        let cells = self.open_cells(record);
        let planned_left = study.blocks.saturating_sub(self.blocks_done);
        if cells.is_empty() || planned_left == 0 {
            return None;
        }
        let once_s: f64 = cells.iter().filter_map(|cell| self.round_s.get(cell)).sum();
        let left_s = study.budget_s - used_s;
        // Fewer blocks where the time that is left would not do for the least of all that were planned.
        let least_s = self.start_s + f64::from(ROUNDS_MIN) * once_s;
        let fitting = (left_s / least_s).max(0.0) as u32;
        let blocks_left = planned_left.min(fitting).max(1);
        let share_s = left_s / f64::from(blocks_left) - self.start_s;
        let affordable = (share_s / once_s) as u32 / 2 * 2;
        // The first blocks run even when the budget is too small: a study without a verdict helps nobody.
        let must_run = self.blocks_done < BLOCKS_MUST.min(study.blocks);
        if affordable < ROUNDS_MIN && !must_run {
            return None;
        }
        let rounds = affordable.clamp(ROUNDS_MIN, study.rounds.max(ROUNDS_MIN));
        Some(Block { number: self.blocks_done, run: 0, rounds, cells })
    }

    /// The cells that take part in the next block, in order.
    fn open_cells(&mut self, record: &StudyRecord) -> Vec<CellId> {
        let all = record.study.cells.iter().map(|cell| cell.id);
        let undecided = if self.blocks_done == 0 {
            all.clone().collect()
        } else {
            let judgement = assay_verdict::judge(record);
            let is_compared = |system: usize| {
                record.systems.get(system).is_some_and(|it| !it.is_base && !it.is_twin)
            };
            self.so_far = Tally::of(&judgement, is_compared);
            assay_verdict::stop::open_cells(record, &judgement)
        };
        let open: BTreeSet<CellId> =
            undecided.into_iter().filter(|cell| !self.closed.contains(cell)).collect();
        // A write test must find the data as the writes before it leave them, so all on the same instances go on
        // while one is open.
        let is_write = |cell: CellId| cell.test.class == Class::Write;
        let writing: Vec<Phase> =
            open.iter().filter(|cell| is_write(**cell)).map(|cell| Phase::of(*cell)).collect();
        let goes_on = |cell: CellId| {
            open.contains(&cell) || (is_write(cell) && writing.contains(&Phase::of(cell)))
        };
        all.filter(|cell| goes_on(*cell) && !self.closed.contains(cell)).collect()
    }

    /// A block in words, for the user who waits.
    pub(crate) fn announce(&self, block: &BlockPlan, recorder: &Recorder) -> String {
        let study = recorder.study();
        let left = minutes((study.budget_s - recorder.used_s()).max(0.0));
        let known = self.so_far.words();
        let gap = if known.is_empty() { "" } else { "; so far " };
        format!(
            "measuring block {} of {}: {}, {} each, at most {left} left{gap}{known}",
            block.number + 1,
            study.blocks,
            counted(block.cells.len() as u64, "test"),
            counted(u64::from(block.rounds), "round"),
        )
    }

    fn learn_start(&mut self, now_s: f64) {
        if self.block_began_s > 0.0 {
            self.start_s = (now_s - self.block_began_s - self.rounds_s).max(0.0);
        }
        self.block_began_s = now_s;
        self.rounds_s = 0.0;
    }
}

fn planned(study: &Study, block: Block) -> BlockPlan {
    let of_block = |cell: &&PlannedCell| block.cells.contains(&cell.id);
    let cells = study.cells.iter().filter(of_block).cloned().collect();
    BlockPlan { number: block.number, cells, rounds: block.rounds }
}

/// Blocks that run whatever the budget: without a second one nothing is known of the spread between instances.
const BLOCKS_MUST: u32 = 2;

#[cfg(test)]
pub(crate) mod tests {
    use assay_model::limits::BLOCKS;
    use assay_model::{Host, System};
    use assay_plan::{MachineFacts, Request, plan};

    use super::*;

    /// A study of so many blocks that was broken off as one of them began.
    pub(crate) fn broken_off(blocks: u32, in_block: u32) -> StudyRecord {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let request = Request { blocks: Some(blocks), ..Request::of_systems(&words) };
        let machine = MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 50_000 };
        let plan = plan(&request, machine).unwrap();
        let artifact = serde_json::json!({
            "kind": "prefix",
            "path": "", "sha256": "", "product": "mariadb", "version": "", "packages": [],
            "build": { "source": "", "channel": "", "package_version": "", "released": true, "notes": [] },
            "layout": {
                "loader": null, "library_path": [], "server": "", "basedir": "", "share_dir": "",
                "charsets_dir": "", "plugin_dir": "",
            },
        });
        let system = |(number, planned): (usize, assay_plan::PlannedSystem)| System {
            name: planned.name,
            spec: planned.spec,
            artifact: serde_json::from_value(artifact.clone()).unwrap(),
            is_base: number == 0,
            is_twin: false,
            options: Vec::new(),
        };
        let systems = plan.systems.into_iter().enumerate().map(system).collect();
        let mut record = StudyRecord::new(plan.study, Host::default(), systems);
        let cells = record.study.cells.iter().map(|cell| cell.id).collect();
        record.blocks.push(Block { number: in_block, run: 0, rounds: ROUNDS_MIN, cells });
        record
    }

    fn next_number(record: &StudyRecord) -> Option<u32> {
        Schedule::new(record).plan_block(record, 0.0).map(|block| block.number)
    }

    #[test]
    fn a_study_ends_with_the_last_block_that_a_ledger_takes() {
        let last = *BLOCKS.end() - 1;
        assert_eq!(next_number(&broken_off(*BLOCKS.end(), last - 1)), Some(last));
        assert_eq!(next_number(&broken_off(*BLOCKS.end(), last)), None);
        // As a file may say.
        assert_eq!(next_number(&broken_off(4, last)), None);
    }
}
