//! Shares out the budget over blocks.

use assay_model::{PlannedCell, Study, StudyRecord, Verdict};
use assay_plan::{ROUNDS_MIN, round_s, start_s};
use assay_verdict::Standing;

use crate::learned::{RoundTime, round_times};
use crate::rounds::RoundsLeft;

/// The part of the budget that the first block may take after preparations that took nearly all of it, or more.
const FIRST: f64 = 0.25;

/// How far a study may exceed its budget for that, unless the preparations alone exceed it.
const EXCEEDED: f64 = 1.1;

/// A round that takes more than this many times as planned counts as that.
const PACE_MOST: f64 = 4.0;

/// The time that blocks and rounds take, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// Seconds that a round of each cell takes, all systems together.
    round_s: Vec<f64>,
    /// The same as planned, before the cell was measured.
    planned_s: Vec<f64>,
    /// Whether a round of each cell has been measured.
    is_known: Vec<bool>,
    /// Seconds that the rounds so far took, and that they were planned to take: a machine that others use is slower.
    pace: (f64, f64),
    /// Seconds that it took to find the length of turns, and the number of cells for which that was done.
    traces: (f64, f64),
    /// Rounds of each cell after which a few spoiled turns do not decide its estimate.
    robust: Vec<u32>,
    /// Seconds that a block takes besides its rounds.
    start_s: f64,
    /// The same of each block so far, ascending.
    starts_s: Vec<f64>,
    /// When the block in progress began, seconds used; `None` if an earlier run began it.
    began_s: Option<f64>,
    /// Seconds of its rounds so far.
    rounds_s: f64,
    /// Seconds that the study may take.
    budget_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NextBlock {
    /// Blocks that are expected to fit, this one included.
    pub(crate) left: u32,
    /// Its cells, in the order of the wishes, with their rounds.
    pub(crate) cells: Vec<(usize, u32)>,
    /// Seconds used at which it should end, for those after it to have their part.
    pub(crate) until_s: f64,
    /// Blocks for which there is time, as far as is known, this one included.
    pub(crate) fitting: u32,
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
    /// The costs as earlier runs measured them, else as planned.
    pub(crate) fn new(record: &StudyRecord) -> Self {
        let (study, systems) = (&record.study, record.systems.len());
        let planned_s: Vec<f64> = study.cells.iter().map(|cell| round_s(cell, systems)).collect();
        let mut new = Self {
            budget_s: record.budget_s(),
            is_known: vec![false; planned_s.len()],
            round_s: planned_s.clone(),
            planned_s,
            pace: (0.0, 0.0),
            traces: (0.0, 0.0),
            robust: study.cells.iter().map(rounds_robust).collect(),
            starts_s: Vec::new(),
            start_s: start_s(&study.cells, systems),
            began_s: None,
            rounds_s: 0.0,
        };
        for RoundTime { cell, seconds } in round_times(record) {
            new.knows(cell, seconds);
        }
        new
    }

    /// Seconds that a round of a cell takes, all systems together.
    pub(crate) fn round_s(&self, cell: usize) -> f64 {
        let known = self.round_s.get(cell).copied().unwrap_or(0.0);
        if self.is_new(cell) { known * self.pace() } else { known }
    }

    /// Whether no round of a cell has been measured.
    fn is_new(&self, cell: usize) -> bool {
        self.is_known.get(cell) == Some(&false)
    }

    /// How many times longer rounds take than was planned.
    fn pace(&self) -> f64 {
        let (took_s, planned_s) = self.pace;
        if planned_s > 0.0 { took_s / planned_s } else { 1.0 }
    }

    /// Rounds of a cell took this long in earlier runs.
    fn knows(&mut self, cell: usize, seconds: f64) {
        if let Some(known) = self.round_s.get_mut(cell) {
            *known = seconds;
        }
        self.is_measured(cell, seconds);
    }

    /// A round of a cell took this long, all systems together. One that failed, or in which the clock jumped, is not
    /// usual and does not show how long the next one takes.
    pub(crate) fn round_took(&mut self, cell: usize, seconds: f64, is_usual: bool) {
        self.rounds_s += seconds;
        if !is_usual {
            return;
        }
        let so_far_s = self.round_s(cell);
        if let Some(known) = self.round_s.get_mut(cell) {
            *known = 0.5 * so_far_s + 0.5 * seconds;
        }
        self.is_measured(cell, seconds);
    }

    /// The time of a cell is known, and shows how fast the machine is.
    fn is_measured(&mut self, cell: usize, seconds: f64) {
        if let Some(is_known) = self.is_known.get_mut(cell) {
            *is_known = true;
        }
        // A single test that takes long says nothing of the others.
        let planned_s = self.planned_s.get(cell).copied().unwrap_or(0.0);
        self.pace.0 += seconds.min(PACE_MOST * planned_s);
        self.pace.1 += planned_s;
    }

    /// To find the length of the turns of a cell took this long, which no other block needs.
    pub(crate) fn traced(&mut self, seconds: f64) {
        self.traces.0 += seconds;
        self.traces.1 += 1.0;
        self.only_now(seconds);
    }

    /// The block in progress took this time for something that no other block needs.
    pub(crate) fn only_now(&mut self, seconds: f64) {
        self.rounds_s += seconds;
    }

    /// The rounds of a cell take another time than was planned, and none has been measured yet.
    pub(crate) fn planned_anew(&mut self, cell: usize, planned: &PlannedCell, systems: usize) {
        for known in [&mut self.round_s, &mut self.planned_s] {
            if let Some(known) = known.get_mut(cell) {
                *known = round_s(planned, systems);
            }
        }
        if let Some(is_known) = self.is_known.get_mut(cell) {
            *is_known = false;
        }
        if let Some(known) = self.robust.get_mut(cell) {
            *known = rounds_robust(planned);
        }
    }

    /// A block has ended, if one was begun, and the next one begins.
    pub(crate) fn between_blocks(&mut self, used_s: f64) {
        if let Some(began_s) = self.began_s {
            let start_s = (used_s - began_s - self.rounds_s).max(0.0);
            let at = self.starts_s.partition_point(|known| *known < start_s);
            self.starts_s.insert(at, start_s);
            // A disk that was busy once need not be so again: the lower median.
            let middle = self.starts_s.get((self.starts_s.len() - 1) / 2);
            self.start_s = middle.copied().unwrap_or(start_s);
        }
        self.began_s = Some(used_s);
        self.rounds_s = 0.0;
    }

    /// The next block was begun by an earlier run, so the rest of it does not show how long a block takes to start.
    pub(crate) fn resume_block(&mut self) {
        self.began_s = None;
    }

    /// Seconds used at which a block ends, whatever is left of it to measure. The first one has a part of the budget
    /// even if preparing the data took longer than the rest: data alone are of no use.
    pub(crate) fn ends_s(&self, is_first: bool, used_s: f64) -> f64 {
        if !is_first {
            return self.budget_s;
        }
        let most_s = if used_s < self.budget_s { EXCEEDED * self.budget_s } else { f64::INFINITY };
        self.budget_s.max((used_s + FIRST * self.budget_s).min(most_s))
    }

    /// The fewest rounds of a cell in a block, if there is time for them.
    fn robust(&self, cell: usize, wish: Wish) -> u32 {
        match wish {
            Wish::Share | Wish::Rounds(_) => self.robust.get(cell).copied().unwrap_or(ROUNDS_MIN),
            Wish::Nothing | Wish::Precision(_) => ROUNDS_MIN,
        }
    }

    /// The rounds of each cell that the next block has time for; `None` if no further block fits.
    pub(crate) fn rounds(
        &self,
        study: &Study,
        wishes: &[(usize, Wish)],
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
        let robust = |&(cell, wish): &(usize, Wish)| self.robust(cell, wish).min(most);
        let of_robust = |it: &(usize, Wish)| self.round_s(it.0) * f64::from(robust(it));
        let robust_s = self.start_s + wishes.iter().map(of_robust).sum::<f64>();
        // A second block tells more than further rounds of the first one.
        let is_robust = left_s >= robust_s && (left_s >= 2.0 * robust_s || left_s < 2.0 * least_s);
        let least = |it: &(usize, Wish)| if is_robust { robust(it) } else { ROUNDS_MIN };
        let block_s = if is_robust { robust_s } else { least_s };
        // Plans fewer blocks if the time left is too short for all planned blocks at their smallest.
        let fitting = (left_s / block_s).max(0.0) as u32;
        let blocks_left = blocks.left.min(fitting).max(1);
        let share_s = left_s / f64::from(blocks_left) - self.start_s;
        let equal = share_s / once_s;
        // The first block begins even when the budget is too small: a study without any result helps nobody.
        if left_s < least_s && blocks.done > 0 {
            return None;
        }
        // What cells need beyond the least shares out the time beyond the least.
        let beyond =
            |it: &(usize, Wish)| (it.1.rounds(equal, blocks_left) - f64::from(least(it))).max(0.0);
        let beyond_s: f64 = wishes.iter().map(|it| self.round_s(it.0) * beyond(it)).sum();
        let free_s = (share_s - (block_s - self.start_s)).max(0.0);
        let part = if beyond_s > free_s { free_s / beyond_s } else { 1.0 };
        let rounds = |it: &(usize, Wish)| {
            let affordable = f64::from(least(it)) + part * beyond(it);
            (affordable as u32 / ROUNDS_MIN * ROUNDS_MIN).clamp(ROUNDS_MIN, most)
        };
        Some(NextBlock {
            // Before anything was measured, a guess may be far too long. Too many expected blocks do no harm: the last
            // look of the study spends what is left.
            left: if blocks.done == 0 { blocks.left } else { blocks_left },
            cells: wishes.iter().map(|it| (it.0, rounds(it))).collect(),
            until_s: used_s + left_s / f64::from(blocks_left),
            fitting: if left_s < least_s { 0 } else { blocks_left },
        })
    }

    /// Seconds that a block takes besides its rounds.
    pub(crate) fn start_s(&self) -> f64 {
        self.start_s
    }

    /// Seconds that are left once so many are used.
    pub(crate) fn left_s(&self, used_s: f64) -> f64 {
        self.budget_s - used_s
    }

    /// Seconds of one round of all of these cells.
    pub(crate) fn once_s(&self, cells: impl Iterator<Item = usize>) -> f64 {
        cells.map(|cell| self.round_s(cell)).sum()
    }

    /// Seconds that some cells of a block take, with the instances that are still to start for them. `cells` is the
    /// number of all cells of the block.
    fn takes_s(&self, to_come: &[(usize, u32)], cells: usize, rounds: impl Fn(u32) -> u32) -> f64 {
        let slower = if self.starts_s.is_empty() { self.pace().max(1.0) } else { 1.0 };
        let starts_s = slower * self.start_s * to_come.len() as f64 / cells.max(1) as f64;
        let new = to_come.iter().filter(|(cell, _)| self.is_new(*cell)).count();
        let traces_s = new as f64 * self.traces.0 / self.traces.1.max(1.0);
        let rounds_s: f64 = to_come
            .iter()
            .map(|(cell, wanted)| self.round_s(*cell) * f64::from(rounds(*wanted)))
            .sum();
        starts_s + traces_s + rounds_s
    }

    /// Whether a further block of these cells fits after this time used.
    pub(crate) fn has_time(&self, cells: impl Iterator<Item = usize>, used_s: f64) -> bool {
        self.left_s(used_s) >= self.start_s + f64::from(ROUNDS_MIN) * self.once_s(cells)
    }

    /// How many times the rounds that were planned for the rest of the last block fit in the time that is left of it:
    /// no other block needs it.
    pub(crate) fn stretch(&self, to_come: &[(usize, u32)], cells: usize, left_s: f64) -> f64 {
        let rounds_s = self.takes_s(to_come, cells, |rounds| rounds);
        let besides_s = self.takes_s(to_come, cells, |_| 0);
        ((left_s - besides_s) / (rounds_s - besides_s).max(f64::MIN_POSITIVE)).max(1.0)
    }

    /// Adapts the rounds that a cell wants and those that it may take at most to the time that is left for the cells of
    /// its block that are still to come, itself included, each with its rounds. `cells` is the number of all its cells,
    /// `block_s` is left of the part of the block, `study_s` until it has to end.
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
        // One whose rounds were all spoiled takes two more: an event that was ended may have used up the time of the
        // block, and says nothing before the other systems are measured.
        let is_unmeasured = rounds.good < ROUNDS_MIN && least_s <= study_s;
        let again = if is_unmeasured { rounds.next.saturating_add(ROUNDS_MIN) } else { 0 };
        if planned_s > study_s {
            // A test that is not measured at all is worse than one that is measured briefly.
            let part = (study_s - least_s).max(0.0) / (planned_s - least_s).max(f64::MIN_POSITIVE);
            let beyond = f64::from(wanted.saturating_sub(ROUNDS_MIN));
            let wanted = in_twos(f64::from(ROUNDS_MIN) + part.min(1.0) * beyond).min(wanted);
            return RoundsLeft { wanted, most: wanted.max(again).min(most), ..rounds };
        }
        // Rounds that are spoiled are repeated where that takes nothing from the others.
        let repeated = in_twos(f64::from(wanted) * (block_s / planned_s).max(1.0));
        RoundsLeft { most: most.min(repeated.max(wanted).max(again)), ..rounds }
    }
}

/// Values of a cell in a block among which six may be spoiled: they are the fifth that is pulled in.
const VALUES_ROBUST: u32 = 30;

/// Rounds with that many values. Two turns give one, and a slice that is a single turn gives one as well.
fn rounds_robust(cell: &PlannedCell) -> u32 {
    let rounds = VALUES_ROBUST.div_ceil((cell.turns() / 2).max(1));
    rounds.next_multiple_of(ROUNDS_MIN).clamp(ROUNDS_MIN, ROUNDS_ROBUST as u32)
}

/// What a cell needs of the blocks to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wish {
    /// It takes part only because the writes of other cells must find its writes.
    Nothing,
    /// Its equal share: too little was measured to say, or no number of rounds in the blocks to come is enough.
    Share,
    /// This many rounds in all of these blocks together, to be decided.
    Rounds(f64),
    /// It is decided, and this many would make its interval narrow.
    Precision(f64),
}

/// Blocks after which it is known how much measurements vary.
const BLOCKS_KNOWN: u32 = 2;

/// Rounds of a cell in a block that are always enough to recognise what is unusual.
const ROUNDS_ROBUST: f64 = 6.0;

/// A cell gets at most this many times its equal share, because its estimate may be wrong.
const SHARE_MAX: f64 = 3.0;

/// Estimates of what is needed may be too small.
const MARGIN: f64 = 1.3;

impl Wish {
    /// The wish of a cell that is measured further after so many blocks.
    pub(crate) fn of(blocks: u32, standing: &Standing) -> Self {
        match standing.rounds_to_go.filter(|rounds| rounds.is_finite()) {
            Some(rounds) if standing.verdict != Verdict::Undecided => Self::Precision(rounds),
            Some(rounds) if blocks >= BLOCKS_KNOWN => Self::Rounds(rounds),
            _ => Self::Share,
        }
    }

    /// The wish of a cell in which two systems have these.
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

    /// Rounds in the next block, if equal shares were `equal` rounds.
    fn rounds(self, equal: f64, blocks_left: u32) -> f64 {
        // After the last block, time that is left is of no use.
        let least = if blocks_left > 1 { equal.min(ROUNDS_ROBUST) } else { equal };
        let of_each = |rounds: f64| MARGIN * rounds / f64::from(blocks_left);
        match self {
            Self::Nothing => 0.0,
            Self::Share => equal,
            Self::Rounds(rounds) => of_each(rounds).min(SHARE_MAX * equal).max(least),
            Self::Precision(rounds) => of_each(rounds).max(ROUNDS_ROBUST).min(equal),
        }
    }
}
