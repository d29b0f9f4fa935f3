//! Short slices of all systems in turn, on fresh instances block by block, until every cell is decided or the time is
//! up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;

use assay_model::{Block, CellId, Class, EventKind, PlannedCell, Study, StudyRecord, Verdict};
use assay_plan::{ROUNDS_MIN, round_order, start_order};
use assay_verdict::{Fitness, Sample, Samples};

use crate::budget::{BlocksLeft, Budget};
use crate::phase::phases;
use crate::rounds::{RoundsLeft, RoundsTaken};
use crate::sizing::{is_unsized, rounds_for, write_events};
use crate::{Action, End, Outcome, Phase, Shard};

/// The state of an interleaved study.
#[derive(Debug)]
pub(crate) struct Interleaved {
    study: Study,
    /// The run that measures now, by its place among those of the study.
    run: usize,
    systems: usize,
    /// Whether a system is compared with the base: neither the base nor its twin.
    is_compared: Vec<bool>,
    shard: Shard,
    samples: Samples,
    /// The verdicts of the last decision on what is compared.
    so_far: Vec<Verdict>,
    /// Cells that are measured no further: they failed on some system, and there is nothing left to compare.
    closed: BTreeSet<usize>,
    budget: Budget,
    /// Number of the block after the last one that was begun.
    blocks_done: u32,
    /// The last block of an earlier run, which is completed first.
    begun: Option<Block>,
    /// Rounds of each cell in the block in progress.
    taken: BTreeMap<usize, RoundsTaken>,
    /// Events per second of one client, for each cell.
    rates: Vec<f64>,
    /// Whether a slice has been measured to its end.
    has_measured: bool,
    is_unfinished: bool,
    place: Place,
}

/// Where the study is.
#[derive(Debug)]
enum Place {
    Loading,
    Sizing,
    BetweenBlocks,
    Block(BlockPlace),
    Ended(End),
}

/// Where a block is.
#[derive(Debug)]
struct BlockPlace {
    number: u32,
    rounds: u32,
    cells: Vec<usize>,
    /// Phases that are still to come.
    phases: VecDeque<Phase>,
    phase: Option<PhasePlace>,
}

/// Where a phase is.
#[derive(Debug)]
struct PhasePlace {
    phase: Phase,
    /// Cells that are still to be measured; the first one is next.
    cells: VecDeque<usize>,
    servers: Servers,
    turns: Option<Turns>,
    /// Actions that come before anything else.
    pending: VecDeque<Action>,
}

/// The instances of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Servers {
    Down,
    /// They did not start, and are started once more.
    StartedInVain,
    Up,
}

/// The systems taking turns in one cell.
#[derive(Debug)]
struct Turns {
    cell: usize,
    left: RoundsLeft,
    is_connected: bool,
}

impl Interleaved {
    pub(crate) fn new(record: &StudyRecord, shard: Shard) -> Self {
        let study = record.study.clone();
        let systems = record.systems.len();
        let blocks = record.blocks.iter().map(|block| block.number);
        let seen = record.slices.iter().map(|slice| slice.block);
        let done = blocks.chain(seen).filter(|block| shard.has(*block)).max();
        let begun = record.blocks.iter().rfind(|block| shard.has(block.number)).cloned();
        let mut new = Self {
            samples: Samples::new(&study, &record.systems),
            is_compared: record.systems.iter().map(|it| !it.is_base && !it.is_twin).collect(),
            so_far: Vec::new(),
            closed: BTreeSet::new(),
            budget: Budget::new(&study, systems),
            blocks_done: done.map_or(0, |last| last.saturating_add(1)),
            taken: BTreeMap::new(),
            rates: Vec::new(),
            has_measured: false,
            is_unfinished: false,
            place: Place::Loading,
            run: record.runs.len().saturating_sub(1),
            study,
            systems,
            shard,
            begun,
        };
        let places: BTreeMap<CellId, usize> = new.places().collect();
        let current = new.begun.as_ref().map(|block| block.number);
        for slice in &record.slices {
            if let Some(&cell) = places.get(&slice.cell) {
                new.add(cell, current, &Sample::of(slice));
            }
        }
        new
    }

    fn places(&self) -> impl Iterator<Item = (CellId, usize)> {
        self.study.cells.iter().enumerate().map(|(place, cell)| (cell.id, place))
    }

    /// Takes a slice in, measured just now or by an earlier run.
    fn add(&mut self, cell: usize, current: Option<u32>, sample: &Sample) {
        self.samples.add(*sample);
        if Some(sample.block) == current {
            self.taken.entry(cell).or_default().add(sample.round, sample.fitness);
        }
        if sample.fitness == Fitness::Failed {
            self.closed.insert(cell);
        } else {
            self.has_measured = true;
        }
    }

    pub(crate) fn verdicts(&mut self) -> Vec<(CellId, usize, Verdict)> {
        self.samples.verdicts()
    }

    pub(crate) fn next(&mut self, used_s: f64) -> ControlFlow<End, Action> {
        loop {
            let next = match &mut self.place {
                Place::Loading => Some(Action::Load),
                Place::Sizing => self.next_size(),
                Place::BetweenBlocks => self.next_block(used_s),
                Place::Block(_) => self.next_in_block(),
                Place::Ended(end) => return ControlFlow::Break(*end),
            };
            if let Some(action) = next {
                return ControlFlow::Continue(action);
            }
        }
    }

    /// Sizes the write slices of one client by the rates at which the data were aged, so that they take about the
    /// planned time. Those of several clients are sized when they are first measured.
    fn next_size(&mut self) -> Option<Action> {
        let is_next = |cell: &PlannedCell| is_unsized(cell) && cell.id.setup.clients == 1;
        let Some(cell) = self.study.cells.iter().position(is_next) else {
            self.place = Place::BetweenBlocks;
            return None;
        };
        let planned = self.study.cells.get(cell)?;
        Some(Action::Fix { cell, events: write_events(&self.study, planned, self.rate(cell)) })
    }

    fn rate(&self, cell: usize) -> f64 {
        self.rates.get(cell).copied().unwrap_or(0.0)
    }

    fn next_block(&mut self, used_s: f64) -> Option<Action> {
        self.budget.between_blocks(used_s);
        if let Some(begun) = self.begun.take() {
            self.budget.goes_on();
            return Some(self.begin(begun, true));
        }
        let Some(block) = self.plan_block(used_s) else {
            let end = if self.is_unfinished { End::Unfinished } else { End::Complete };
            self.place = Place::Ended(end);
            return None;
        };
        self.blocks_done = block.number.saturating_add(1);
        self.taken.clear();
        Some(self.begin(block, false))
    }

    fn begin(&mut self, block: Block, is_recorded: bool) -> Action {
        let cells: Vec<usize> = self
            .places()
            .filter(|(id, _)| block.cells.contains(id))
            .map(|(_, place)| place)
            .collect();
        let planned = cells.iter().filter_map(|&cell| self.study.cells.get(cell));
        self.place = Place::Block(BlockPlace {
            number: block.number,
            rounds: block.rounds,
            phases: phases(planned).into(),
            cells,
            phase: None,
        });
        Action::Begin { block, is_recorded, so_far: self.so_far.clone() }
    }

    /// The next block; none beyond those that were planned, so that its number is one that a ledger takes.
    fn plan_block(&mut self, used_s: f64) -> Option<Block> {
        let cells = self.open_cells();
        let mut left = (self.blocks_done..self.study.blocks).filter(|block| self.shard.has(*block));
        let number = left.next()?;
        let blocks = BlocksLeft {
            done: (0..number).filter(|block| self.shard.has(*block)).count() as u32,
            left: 1 + left.count() as u32,
        };
        let rounds = self.budget.rounds(&self.study, &cells, blocks, used_s)?;
        let cells = cells.iter().filter_map(|&cell| self.study.cells.get(cell));
        let cells = cells.map(|cell| cell.id).collect();
        Some(Block { number, run: self.run, rounds, cells })
    }

    /// The cells that take part in the next block, in order.
    fn open_cells(&mut self) -> Vec<usize> {
        let undecided: BTreeSet<CellId> = if self.blocks_done == 0 {
            self.study.cells.iter().map(|cell| cell.id).collect()
        } else {
            let verdicts = self.samples.verdicts();
            let compared = verdicts.iter().filter(|it| self.is_compared.get(it.1) == Some(&true));
            self.so_far = compared.map(|(_, _, verdict)| *verdict).collect();
            self.samples.open_cells(&verdicts).into_iter().collect()
        };
        let is_open = |&(id, place): &(CellId, usize)| {
            undecided.contains(&id) && !self.closed.contains(&place)
        };
        // A write test must find the data as the writes before it leave them, so all on the same instances go on
        // while one is open.
        let is_write = |id: CellId| id.test.class == Class::Write;
        let open = self.places().filter(is_open).map(|(id, _)| id);
        let writing: Vec<Phase> = open.filter(|id| is_write(*id)).map(Phase::of).collect();
        let goes_on = |it: &(CellId, usize)| {
            let (id, place) = *it;
            let is_of_writes = is_write(id) && writing.contains(&Phase::of(id));
            is_open(it) || (is_of_writes && !self.closed.contains(&place))
        };
        self.places().filter(goes_on).map(|(_, place)| place).collect()
    }

    fn next_in_block(&mut self) -> Option<Action> {
        let Place::Block(block) = &self.place else { return None };
        if block.phase.is_none() {
            let entered = self.next_phase();
            let Place::Block(block) = &mut self.place else { return None };
            match entered {
                Some(phase) => block.phase = Some(phase),
                None => self.place = Place::BetweenBlocks,
            }
            return None;
        }
        self.next_in_phase()
    }

    /// The next phase of the block that has something left to measure.
    fn next_phase(&mut self) -> Option<PhasePlace> {
        loop {
            let Place::Block(block) = &mut self.place else { return None };
            let phase = block.phases.pop_front()?;
            let Place::Block(block) = &self.place else { return None };
            let is_left = |&cell: &usize| {
                let is_here =
                    self.study.cells.get(cell).is_some_and(|it| Phase::of(it.id) == phase);
                let left = self.rounds_left(cell, block.rounds);
                is_here && !self.closed.contains(&cell) && !left.is_none_or(RoundsLeft::are_none)
            };
            let cells: VecDeque<usize> = block.cells.iter().copied().filter(is_left).collect();
            if !cells.is_empty() {
                let (turns, pending) = (None, VecDeque::new());
                return Some(PhasePlace { phase, cells, servers: Servers::Down, turns, pending });
            }
        }
    }

    fn rounds_left(&self, cell: usize, affordable: u32) -> Option<RoundsLeft> {
        let (wanted, most) = rounds_for(&self.study, self.study.cells.get(cell)?, affordable);
        let taken = self.taken.get(&cell);
        Some(RoundsLeft {
            good: taken.map_or(0, |taken| taken.complete(self.systems)),
            next: taken.map_or(0, RoundsTaken::next),
            wanted,
            most,
        })
    }

    fn next_in_phase(&mut self) -> Option<Action> {
        let seed = self.study.seed;
        let Place::Block(block) = &self.place else { return None };
        let (number, rounds) = (block.number, block.rounds);
        let phase = block.phase.as_ref()?;
        if let Some(turns) = &phase.turns {
            if phase.pending.is_empty() {
                return Some(self.next_in_cell(number, turns));
            }
        } else if phase.pending.is_empty() && phase.servers == Servers::Up {
            let turns = phase.cells.front().and_then(|&cell| {
                let left = self.rounds_left(cell, rounds)?;
                Some(Turns { cell, left, is_connected: false })
            });
            let has_turns = turns.is_some();
            self.phase_mut()?.turns = turns;
            if has_turns {
                return None;
            }
        }
        let systems = self.systems;
        let Place::Block(block) = &mut self.place else { return None };
        let phase = block.phase.as_mut()?;
        if let Some(action) = phase.pending.pop_front() {
            return Some(action);
        }
        if phase.cells.is_empty() {
            block.phase = None;
            return Some(Action::EndPhase);
        }
        let order = start_order(seed, number, phase.phase.start_from as u32, systems);
        Some(Action::StartAll { block: number, phase: phase.phase, order })
    }

    /// Connect, size, measure two by two: an order of the systems and its reverse.
    fn next_in_cell(&self, block: u32, turns: &Turns) -> Action {
        let Turns { cell, left, is_connected } = *turns;
        let planned = self.study.cells.get(cell);
        if !is_connected {
            return Action::Connect { cell, block };
        }
        if let Some(planned) = planned.filter(|cell| is_unsized(cell)) {
            let events = write_events(&self.study, planned, self.rate(cell));
            return Action::Size { cell, events };
        }
        if left.next % ROUNDS_MIN == 0 && left.are_none() {
            return Action::Disconnect;
        }
        let order = round_order(self.study.seed, block, cell, left.next, self.systems);
        Action::Round { cell, block, round: left.next, order }
    }

    fn phase_mut(&mut self) -> Option<&mut PhasePlace> {
        match &mut self.place {
            Place::Block(block) => block.phase.as_mut(),
            _ => None,
        }
    }

    pub(crate) fn came(&mut self, asked: &Action, outcome: &Outcome) {
        match (asked, outcome) {
            (Action::Load, Outcome::Loaded { rates }) => {
                self.rates.clone_from(rates);
                self.place = Place::Sizing;
            }
            (&Action::Fix { cell, events }, Outcome::Done) => self.fix(cell, events),
            (Action::StartAll { .. }, Outcome::Done) => {
                if let Some(phase) = self.phase_mut() {
                    phase.servers = Servers::Up;
                }
            }
            (Action::StartAll { .. }, Outcome::Failed { system, why }) => {
                self.did_not_start(*system, why);
            }
            (Action::Connect { .. }, Outcome::Done) => {
                if let Some(turns) = self.phase_mut().and_then(|phase| phase.turns.as_mut()) {
                    turns.is_connected = true;
                }
            }
            (&Action::Size { cell, .. }, Outcome::Sized { rate }) => {
                let planned = self.study.cells.get(cell);
                let events = planned.map(|planned| write_events(&self.study, planned, *rate));
                if let Some((phase, events)) = self.phase_mut().zip(events) {
                    phase.pending.push_back(Action::Fix { cell, events });
                }
            }
            (
                &(Action::Connect { cell, .. } | Action::Size { cell, .. }),
                Outcome::Failed { system, why },
            ) => self.could_not_begin(cell, *system, why),
            (&Action::Round { cell, block, .. }, Outcome::Measured { samples, seconds }) => {
                self.measured(cell, block, samples, *seconds);
            }
            (Action::Disconnect, Outcome::Done) => {
                if let Some(phase) = self.phase_mut() {
                    phase.turns = None;
                    phase.cells.pop_front();
                }
            }
            (_, Outcome::Failed { .. }) => self.place = Place::Ended(End::Abandoned),
            _ => {}
        }
    }

    fn fix(&mut self, cell: usize, events: u64) {
        if let Some(planned) = self.study.cells.get_mut(cell) {
            planned.events = Some(events);
        }
        // How many rounds a cell may take can depend on its events.
        let Place::Block(block) = &self.place else { return };
        let left = self.rounds_left(cell, block.rounds);
        let turns = self.phase_mut().and_then(|phase| phase.turns.as_mut());
        if let Some((turns, left)) = turns.filter(|turns| turns.cell == cell).zip(left) {
            turns.left = left;
        }
    }

    fn measured(&mut self, cell: usize, block: u32, samples: &[Sample], seconds: f64) {
        samples.iter().for_each(|sample| self.add(cell, Some(block), sample));
        let has = |fitness| samples.iter().any(|sample| sample.fitness == fitness);
        let has_failed = has(Fitness::Failed);
        self.budget.round_took(cell, seconds, !has_failed && !has(Fitness::Mistimed));
        if has_failed {
            return self.leave_cell();
        }
        let is_good = samples.iter().all(|sample| sample.fitness == Fitness::Good);
        if let Some(turns) = self.phase_mut().and_then(|phase| phase.turns.as_mut()) {
            turns.left.good += u32::from(is_good);
            turns.left.next = turns.left.next.saturating_add(1);
        }
    }

    /// The cell has failed on a system before it began. The failure takes a round of its own: what was measured before
    /// stays as it is.
    fn could_not_begin(&mut self, cell: usize, system: usize, why: &str) {
        self.closed.insert(cell);
        let Place::Block(block) = &mut self.place else { return };
        let number = block.number;
        let Some(phase) = block.phase.as_mut() else { return };
        let round = phase.turns.as_ref().map_or(0, |turns| turns.left.next);
        let why = why.to_owned();
        phase.pending.push_back(Action::RecordFailure { cell, system, block: number, round, why });
        let failed = Sample {
            system,
            cell: match self.study.cells.get(cell) {
                Some(planned) => planned.id,
                None => return,
            },
            block: number,
            round,
            fitness: Fitness::Failed,
            rate: None,
            cpu_per_op: None,
        };
        self.add(cell, Some(number), &failed);
        self.leave_cell();
    }

    /// The histories of the systems are no longer equal, or a server is gone: the rest gets new instances.
    fn leave_cell(&mut self) {
        if let Some(phase) = self.phase_mut() {
            phase.turns = None;
            phase.cells.pop_front();
            phase.servers = Servers::Down;
            phase.pending.push_back(Action::Stop);
        }
    }

    /// Tries once more after a first failure. After a second, the cells are left for a later block or a resumed study.
    fn did_not_start(&mut self, system: usize, why: &str) {
        let has_measured = self.has_measured;
        let error = why.to_owned();
        let Some(phase) = self.phase_mut() else { return };
        if phase.servers == Servers::Down {
            phase.servers = Servers::StartedInVain;
            let what = EventKind::StartedAgain { error };
            phase.pending.push_back(Action::Note { system: None, what });
        } else if has_measured {
            let what = EventKind::NotMeasured { tests: phase.cells.len() as u32, error };
            phase.pending.push_back(Action::Note { system: Some(system), what });
            phase.cells.clear();
            self.is_unfinished = true;
        } else {
            self.place = Place::Ended(End::Abandoned);
        }
    }
}
