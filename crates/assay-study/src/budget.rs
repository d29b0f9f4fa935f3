//! Divides the budget among blocks.

use std::collections::BTreeMap;

use assay_model::{CellId, PlannedCell, Slice, Study, StudyRecord};
use assay_plan::{Fitting, ROUNDS_MIN, round_s, start_s};
use assay_verdict::{CellStanding, Fitness, SliceSample};

use crate::block::RoundsLeft;

/// Share of the budget that the first block may take after preparations that took nearly all of it, or more.
const FIRST: f64 = 0.25;

/// Factor by which a study may exceed its budget for that, unless the preparations alone exceed it.
const EXCEEDED: f64 = 1.1;

/// Cap on the ratio of a round's actual to its planned duration.
const PACE_MOST: f64 = 4.0;

#[derive(Debug, Clone)]
pub(crate) struct Budget {
    cells: Vec<CellTime>,
    /// Actual and planned seconds of all rounds so far: a shared machine is slower.
    pace: (f64, f64),
    traces: (f64, f64),
    /// Seconds of a block outside its rounds.
    start_s: f64,
    /// The same for each block so far, ascending.
    starts_s: Vec<f64>,
    /// Seconds used when the current block began; `None` if an earlier run began it.
    began_s: Option<f64>,
    rounds_s: f64,
    budget_s: f64,
}

#[derive(Debug, Clone, Copy)]
struct CellTime {
    /// Seconds of a round, all systems together.
    round_s: f64,
    /// The same as planned, before the cell was measured.
    planned_s: f64,
    is_known: bool,
    /// Rounds after which a few spoiled turns do not determine the estimate.
    robust: u32,
}

impl CellTime {
    fn planned(cell: &PlannedCell, systems: usize) -> Self {
        let planned_s = round_s(cell, systems);
        Self { round_s: planned_s, planned_s, is_known: false, robust: rounds_robust(cell) }
    }
}

/// The blocks that fit, computed before a study continues.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// Indices of the cells that are measured further.
    pub cells: Vec<usize>,
    /// Whether a block begun by an earlier run continues first, however short the time.
    pub is_begun: bool,
    pub fitting: Fitting,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NextBlock {
    pub(crate) left: u32,
    /// Its cells in the order of the wishes, with their rounds.
    pub(crate) cells: Vec<(usize, u32)>,
    /// Seconds used when it should end to leave later blocks their share.
    pub(crate) until_s: f64,
    /// Blocks with enough time, as far as known, this one included.
    pub(crate) fitting: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BlocksLeft {
    pub(crate) done: u32,
    pub(crate) left: u32,
}

impl Budget {
    pub(crate) fn new(record: &StudyRecord) -> Self {
        let (study, systems) = (&record.study, record.systems.len());
        let mut budget = Self {
            budget_s: record.budget_s(),
            cells: study.cells.iter().map(|cell| CellTime::planned(cell, systems)).collect(),
            pace: (0.0, 0.0),
            traces: (0.0, 0.0),
            starts_s: Vec::new(),
            start_s: start_s(&study.cells, systems),
            began_s: None,
            rounds_s: 0.0,
        };
        for (cell, seconds) in round_times(record) {
            budget.cells[cell].round_s = seconds;
            budget.is_measured(cell, seconds);
        }
        budget
    }

    pub(crate) fn round_s(&self, cell: usize) -> f64 {
        let CellTime { round_s, is_known, .. } = self.cells[cell];
        if is_known { round_s } else { round_s * self.pace() }
    }

    fn pace(&self) -> f64 {
        let (took_s, planned_s) = self.pace;
        if planned_s > 0.0 { took_s / planned_s } else { 1.0 }
    }

    /// Records the duration of a round, all systems together. A failed round or one with a clock jump is unusual and
    /// does not predict the next one.
    pub(crate) fn round_took(&mut self, cell: usize, seconds: f64, is_usual: bool) {
        self.rounds_s += seconds;
        if is_usual {
            self.cells[cell].round_s = 0.5 * self.round_s(cell) + 0.5 * seconds;
            self.is_measured(cell, seconds);
        }
    }

    fn is_measured(&mut self, cell: usize, seconds: f64) {
        let CellTime { planned_s, is_known, .. } = &mut self.cells[cell];
        *is_known = true;
        // A single slow test does not predict the others.
        self.pace.0 += seconds.min(PACE_MOST * *planned_s);
        self.pace.1 += *planned_s;
    }

    /// Records the time for the turn length of a cell, which no other block needs.
    pub(crate) fn traced(&mut self, seconds: f64) {
        self.traces.0 += seconds;
        self.traces.1 += 1.0;
        self.only_now(seconds);
    }

    /// Records time in the current block that no other block needs.
    pub(crate) fn only_now(&mut self, seconds: f64) {
        self.rounds_s += seconds;
    }

    pub(crate) fn planned_anew(&mut self, cell: usize, planned: &PlannedCell, systems: usize) {
        self.cells[cell] = CellTime::planned(planned, systems);
    }

    /// Ends the current block, if any, and begins the next.
    pub(crate) fn between_blocks(&mut self, used_s: f64) {
        if let Some(began_s) = self.began_s {
            let start_s = (used_s - began_s - self.rounds_s).max(0.0);
            let at = self.starts_s.partition_point(|known| *known < start_s);
            self.starts_s.insert(at, start_s);
            // The lower median, as a disk busy once need not be busy again.
            self.start_s = self.starts_s[(self.starts_s.len() - 1) / 2];
        }
        self.began_s = Some(used_s);
        self.rounds_s = 0.0;
    }

    /// Continues a block of an earlier run, whose remainder does not show the start time of blocks.
    pub(crate) fn resume_block(&mut self) {
        self.began_s = None;
    }

    /// Seconds used when a block must end. The first one gets a part of the budget even if preparing the data took
    /// longer than the rest: data alone are useless.
    pub(crate) fn ends_s(&self, is_first: bool, used_s: f64) -> f64 {
        if !is_first {
            return self.budget_s;
        }
        let most_s = if used_s < self.budget_s { EXCEEDED * self.budget_s } else { f64::INFINITY };
        self.budget_s.max((used_s + FIRST * self.budget_s).min(most_s))
    }

    fn robust(&self, cell: usize, wish: RoundsWish) -> u32 {
        match wish {
            RoundsWish::Share | RoundsWish::Rounds(_) => self.cells[cell].robust,
            RoundsWish::Nothing | RoundsWish::Precision(_) => ROUNDS_MIN,
        }
    }

    /// Rounds of each cell for which the next block has time; `None` if no further block fits.
    pub(crate) fn rounds(
        &self,
        study: &Study,
        wishes: &[(usize, RoundsWish)],
        blocks: BlocksLeft,
        used_s: f64,
    ) -> Option<NextBlock> {
        if wishes.is_empty() || blocks.left == 0 {
            return None;
        }
        let once_s = self.once_s(wishes.iter().map(|(cell, _)| *cell));
        let left_s = self.left_s(used_s);
        let least_s = self.start_s + f64::from(ROUNDS_MIN) * once_s;
        let most = study.rounds.max(ROUNDS_MIN);
        let robust = |&(cell, wish): &(usize, RoundsWish)| self.robust(cell, wish).min(most);
        let robust_rounds_s =
            wishes.iter().map(|entry| self.round_s(entry.0) * f64::from(robust(entry)));
        let robust_s = self.start_s + robust_rounds_s.sum::<f64>();
        // A second block is worth more than further rounds of the first.
        let is_robust = left_s >= robust_s && (left_s >= 2.0 * robust_s || left_s < 2.0 * least_s);
        let least =
            |entry: &(usize, RoundsWish)| if is_robust { robust(entry) } else { ROUNDS_MIN };
        let block_s = if is_robust { robust_s } else { least_s };
        // Plans fewer blocks if the remaining time is too short for all planned blocks at their smallest.
        let fitting = (left_s / block_s).max(0.0) as u32;
        let blocks_left = blocks.left.min(fitting).max(1);
        let share_s = left_s / f64::from(blocks_left) - self.start_s;
        let equal = share_s / once_s;
        // The first block begins even if the budget is too small: a study without results is of no use.
        if left_s < least_s && blocks.done > 0 {
            return None;
        }
        // Needs beyond the minimum share the time beyond the minimum.
        let beyond = |entry: &(usize, RoundsWish)| {
            (entry.1.rounds(equal, blocks_left) - f64::from(least(entry))).max(0.0)
        };
        let beyond_s: f64 = wishes.iter().map(|entry| self.round_s(entry.0) * beyond(entry)).sum();
        let free_s = (share_s - (block_s - self.start_s)).max(0.0);
        let part = if beyond_s > free_s { free_s / beyond_s } else { 1.0 };
        let rounds = |entry: &(usize, RoundsWish)| {
            let affordable = f64::from(least(entry)) + part * beyond(entry);
            (affordable as u32 / ROUNDS_MIN * ROUNDS_MIN).clamp(ROUNDS_MIN, most)
        };
        Some(NextBlock {
            // Before any measurement, an estimate may be far too long. Expecting too many blocks does no harm: the last
            // look of the study spends the rest.
            left: if blocks.done == 0 { blocks.left } else { blocks_left },
            cells: wishes.iter().map(|entry| (entry.0, rounds(entry))).collect(),
            until_s: used_s + left_s / f64::from(blocks_left),
            fitting: if left_s < least_s { 0 } else { blocks_left },
        })
    }

    pub(crate) fn start_s(&self) -> f64 {
        self.start_s
    }

    pub(crate) fn left_s(&self, used_s: f64) -> f64 {
        self.budget_s - used_s
    }

    pub(crate) fn once_s(&self, cells: impl Iterator<Item = usize>) -> f64 {
        cells.map(|cell| self.round_s(cell)).sum()
    }

    /// Seconds of some cells of a block, including instances yet to start for them. `cells` is the number of all cells
    /// of the block.
    fn takes_s(&self, to_come: &[(usize, u32)], cells: usize, rounds: impl Fn(u32) -> u32) -> f64 {
        let slower = if self.starts_s.is_empty() { self.pace().max(1.0) } else { 1.0 };
        let starts_s = slower * self.start_s * to_come.len() as f64 / cells.max(1) as f64;
        let new = to_come.iter().filter(|(cell, _)| !self.cells[*cell].is_known).count();
        let traces_s = new as f64 * self.traces.0 / self.traces.1.max(1.0);
        let rounds_s: f64 = to_come
            .iter()
            .map(|(cell, wanted)| self.round_s(*cell) * f64::from(rounds(*wanted)))
            .sum();
        starts_s + traces_s + rounds_s
    }

    pub(crate) fn has_time(&self, cells: impl Iterator<Item = usize>, used_s: f64) -> bool {
        self.left_s(used_s) >= self.start_s + f64::from(ROUNDS_MIN) * self.once_s(cells)
    }

    /// How many times the planned rounds fit into the remaining time of the last block, which no other block needs.
    pub(crate) fn stretch(&self, to_come: &[(usize, u32)], cells: usize, left_s: f64) -> f64 {
        let rounds_s = self.takes_s(to_come, cells, |rounds| rounds);
        let besides_s = self.takes_s(to_come, cells, |_| 0);
        ((left_s - besides_s) / (rounds_s - besides_s).max(f64::MIN_POSITIVE)).max(1.0)
    }

    /// Adapts a cell's wanted and maximum rounds to the time left for the remaining cells of its block, itself
    /// included, each with its rounds. `cells` is the number of all cells of the block; `block_s` remains of the
    /// block's share, `study_s` until its latest end.
    pub(crate) fn fitted(
        &self,
        rounds: RoundsLeft,
        to_come: &[(usize, u32)],
        cells: usize,
        [block_s, study_s]: [f64; 2],
    ) -> RoundsLeft {
        let RoundsLeft { wanted, most, .. } = rounds;
        let planned_s = self.takes_s(to_come, cells, |rounds| rounds);
        let least_s = self.takes_s(to_come, cells, |rounds| rounds.min(ROUNDS_MIN));
        let in_twos = |rounds: f64| (rounds as u32 / ROUNDS_MIN * ROUNDS_MIN).max(ROUNDS_MIN);
        // A cell whose rounds were all spoiled takes two more: a killed event may have used up the time of the block,
        // and bounds nothing before the other systems are measured.
        let is_unmeasured = rounds.good < ROUNDS_MIN && least_s <= study_s;
        let again = if is_unmeasured { rounds.next.saturating_add(ROUNDS_MIN) } else { 0 };
        if planned_s > study_s {
            // No measurement of a test is worse than a brief one.
            let part = (study_s - least_s).max(0.0) / (planned_s - least_s).max(f64::MIN_POSITIVE);
            let beyond = f64::from(wanted.saturating_sub(ROUNDS_MIN));
            let wanted = in_twos(f64::from(ROUNDS_MIN) + part.min(1.0) * beyond).min(wanted);
            return RoundsLeft { wanted, most: wanted.max(again).min(most), ..rounds };
        }
        // Spoiled rounds are repeated where others lose nothing.
        let repeated = in_twos(f64::from(wanted) * (block_s / planned_s).max(1.0));
        RoundsLeft { most: most.min(repeated.max(wanted).max(again)), ..rounds }
    }
}

/// Values of a cell in a block of which six may be spoiled: the fifth that is winsorized.
const VALUES_ROBUST: u32 = 30;

/// Rounds that give as many values: two turns make one, as does a slice with a single turn.
fn rounds_robust(cell: &PlannedCell) -> u32 {
    let rounds = VALUES_ROBUST.div_ceil((cell.turns() / 2).max(1));
    rounds.next_multiple_of(ROUNDS_MIN).clamp(ROUNDS_MIN, ROUNDS_ROBUST as u32)
}

/// Seconds of a usual round in earlier runs, all systems together, by cell, so that a resumed study repeats no wrong
/// estimate. A round lasts until the next one of the same cell began.
fn round_times(record: &StudyRecord) -> Vec<(usize, f64)> {
    let cells = record.study.cells.iter().enumerate();
    let indices: BTreeMap<CellId, usize> = cells.map(|(index, cell)| (cell.id, index)).collect();
    // Start of each round, and whether all its slices are representative.
    let mut rounds: BTreeMap<(usize, u32, usize, u32), (i64, bool)> = BTreeMap::new();
    for slice in &record.slices {
        let Some(&cell) = indices.get(&slice.cell) else { continue };
        let key = (slice.run, slice.block, cell, slice.round);
        let round = rounds.entry(key).or_insert((slice.started_ms, true));
        round.0 = round.0.min(slice.started_ms);
        round.1 &= is_usual(slice);
    }
    let pairs = rounds.iter().zip(rounds.iter().skip(1));
    let mut times: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for ((one, &(began_ms, is_usual)), (next, &(ended_ms, _))) in pairs {
        let &(run, block, cell, round) = one;
        let is_next = *next == (run, block, cell, round.saturating_add(1));
        let seconds = ended_ms.saturating_sub(began_ms) as f64 / 1000.0;
        if is_next && is_usual && seconds > 0.0 {
            times.entry(cell).or_default().push(seconds);
        }
    }
    let middle = |(cell, mut times): (usize, Vec<f64>)| {
        times.sort_unstable_by(f64::total_cmp);
        // The lower median: the machine may have been busy, or its clock set.
        (cell, times[(times.len() - 1) / 2])
    };
    times.into_iter().map(middle).collect()
}

fn is_usual(slice: &Slice) -> bool {
    matches!(SliceSample::from_slice(slice).fitness, Fitness::Good | Fitness::Troubled)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RoundsWish {
    /// Takes part only because other cells' writes build on its writes.
    Nothing,
    /// An equal share: too little is known, or no feasible number of rounds suffices.
    Share,
    /// Rounds in all remaining blocks together until a decision.
    Rounds(f64),
    /// Rounds for a narrow interval, after a decision.
    Precision(f64),
}

const BLOCKS_KNOWN: u32 = 2;

/// Rounds of a cell in a block that always suffice to recognise outliers.
const ROUNDS_ROBUST: f64 = 6.0;

/// Maximum multiple of a cell's equal share, as its estimate may be wrong.
const SHARE_MAX: f64 = 3.0;

/// Safety factor on estimated needs.
const MARGIN: f64 = 1.3;

impl RoundsWish {
    pub(crate) fn new(blocks: u32, standing: &CellStanding) -> Self {
        match standing.rounds_to_go.filter(|rounds| rounds.is_finite()) {
            Some(rounds) if standing.is_decided => Self::Precision(rounds),
            Some(rounds) if blocks >= BLOCKS_KNOWN => Self::Rounds(rounds),
            _ => Self::Share,
        }
    }

    pub(crate) fn larger(self, other: Self) -> Self {
        match (self, other) {
            (Self::Share, _) | (_, Self::Share) => Self::Share,
            (Self::Rounds(one), Self::Rounds(other)) => Self::Rounds(one.max(other)),
            (rounds @ Self::Rounds(_), _) | (_, rounds @ Self::Rounds(_)) => rounds,
            (Self::Precision(one), Self::Precision(other)) => Self::Precision(one.max(other)),
            (rounds @ Self::Precision(_), _) | (_, rounds @ Self::Precision(_)) => rounds,
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }

    /// Rounds in the next block, given `equal` rounds as equal share.
    fn rounds(self, equal: f64, blocks_left: u32) -> f64 {
        // Time left after the last block is useless.
        let least = if blocks_left > 1 { equal.min(ROUNDS_ROBUST) } else { equal };
        let per_block = |rounds: f64| MARGIN * rounds / f64::from(blocks_left);
        match self {
            Self::Nothing => 0.0,
            Self::Share => equal,
            Self::Rounds(rounds) => per_block(rounds).min(SHARE_MAX * equal).max(least),
            Self::Precision(rounds) => per_block(rounds).max(ROUNDS_ROBUST).min(equal),
        }
    }
}
