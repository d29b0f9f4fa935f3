//! Short slices of all systems alternately, on fresh instances per block, until every cell is decided or time is up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{ControlFlow, Range};

use assay_model::{
    CellId, Class, EventKind, PlannedBlock, PlannedCell, Study, StudyRecord, Verdict,
};
use assay_plan::{Fitting, ROUNDS_MIN, connect_order, round_order, start_order};
use assay_verdict::{Fitness, Samples, SliceSample};

use crate::block::{
    BlockState, CellState, PhaseState, RoundsLeft, RoundsTaken, SystemsLeft, phases,
};
use crate::budget::{BlocksLeft, Budget, Forecast, NextBlock, RoundsWish};
use crate::sizing::{event_rate, is_unsized, is_untimed, rounds_for, turn_length, write_events};
use crate::{Outcome, Phase, Shard, SilentEvent, StudyAction, StudyEnd, TurnLength, TurnTrace};

/// Factor by which a block may be late, as durations of rounds are approximate.
const LATE: f64 = 1.05;

/// Failures after which a study without any measurement ends with its budget. Each costs the time to start all servers
/// anew.
const FAILURES: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) struct Interleaved {
    study: Study,
    systems: usize,
    shard: Shard,
    samples: Samples,
    so_far: Vec<Verdict>,
    left: SystemsLeft,
    budget: Budget,
    blocks_max: u32,
    /// Number of the next block after those begun.
    blocks_done: u32,
    /// Last block of an earlier run, which is completed first.
    begun: Option<PlannedBlock>,
    taken: BTreeMap<usize, RoundsTaken>,
    rates: Vec<f64>,
    /// Seconds used when the current block must end.
    ends_s: f64,
    /// Seconds used when it should end to leave later blocks their share.
    until_s: f64,
    used_s: f64,
    is_over: bool,
    has_measured: bool,
    failures: u32,
    is_unfinished: bool,
    state: InterleavedState,
}

#[derive(Debug, Clone)]
enum InterleavedState {
    /// This action outside any block.
    Next(StudyAction),
    InBlock(BlockState),
    Ended(StudyEnd),
}

impl Interleaved {
    pub(crate) fn new(record: &StudyRecord, shard: Shard) -> Self {
        let study = record.study.clone();
        let systems = record.systems.len();
        let blocks = record.blocks.iter().map(|block| block.number);
        let seen = record.slices.iter().map(|slice| slice.block);
        let done = blocks.chain(seen).filter(|block| shard.has(*block)).max();
        let ended_after = record.events.iter().rev().find_map(|event| match event.what {
            EventKind::Extended { ended_after, .. } => Some(ended_after),
            _ => None,
        });
        // The look after a block with which the study had ended was its last.
        let is_open =
            |block: &&PlannedBlock| ended_after.flatten().is_none_or(|last| block.number > last);
        let begun = record.blocks.iter().rfind(|block| shard.has(block.number));
        let begun = begun.filter(is_open).cloned();
        let mut new = Self {
            samples: Samples::with_blocks(record),
            so_far: Vec::new(),
            left: SystemsLeft::new(&record.systems),
            budget: Budget::new(record),
            blocks_max: record.blocks_max(),
            blocks_done: done.map_or(0, |last| last.saturating_add(1)),
            taken: BTreeMap::new(),
            rates: Vec::new(),
            ends_s: f64::INFINITY,
            until_s: f64::INFINITY,
            used_s: 0.0,
            is_over: false,
            has_measured: false,
            failures: 0,
            is_unfinished: false,
            state: InterleavedState::Next(StudyAction::Load),
            study,
            systems,
            shard,
            begun,
        };
        let indices: BTreeMap<CellId, usize> = new.cells().map(|(cell, id)| (id, cell)).collect();
        let current = new.begun.as_ref().map(|block| block.number);
        for slice in &record.slices {
            if let Some(&cell) = indices.get(&slice.cell) {
                new.add(cell, current, &SliceSample::from_slice(slice));
            }
        }
        new
    }

    fn cells(&self) -> impl Iterator<Item = (usize, CellId)> {
        self.study.cells.iter().enumerate().map(|(index, cell)| (index, cell.id))
    }

    fn add(&mut self, cell: usize, current: Option<u32>, sample: &SliceSample) {
        self.samples.add(sample);
        if Some(sample.block) == current {
            self.taken.entry(cell).or_default().add(sample.round, sample.system, sample.fitness);
        }
        match sample.fitness {
            Fitness::Failed => self.left.failed(cell, sample.system),
            Fitness::Unanswered => self.left.is_silent(cell, sample.system),
            _ => self.has_measured = true,
        }
    }

    pub(crate) fn next(&self) -> ControlFlow<StudyEnd, StudyAction> {
        match &self.state {
            InterleavedState::Next(action) => ControlFlow::Continue(action.clone()),
            InterleavedState::InBlock(block) => ControlFlow::Continue(self.next_in_block(block)),
            InterleavedState::Ended(end) => ControlFlow::Break(end.clone()),
        }
    }

    fn next_in_block(&self, block: &BlockState) -> StudyAction {
        let phase = &block.phase;
        if let Some(action) = phase.pending.front() {
            return action.clone();
        }
        if let Some(cell) = &phase.cell {
            return self.next_in_cell(block.number, cell);
        }
        if phase.cells.is_empty() {
            return StudyAction::EndPhase;
        }
        let (seed, start_from) = (self.study.seed, phase.phase.start_from as u32);
        let order = start_order(seed, block.number, start_from, self.systems);
        StudyAction::StartAll { block: block.number, phase: phase.phase, order }
    }

    /// Connect, size, then measure in pairs of rounds: an order of the systems and its reverse.
    fn next_in_cell(&self, block: u32, state: &CellState) -> StudyAction {
        let CellState { cell, left, is_connected } = *state;
        if !is_connected {
            let order = connect_order(self.study.seed, block, cell, self.systems);
            return StudyAction::Connect { cell, block, order: self.left.systems(cell, order) };
        }
        let planned = &self.study.cells[cell];
        if is_unsized(planned) {
            let events = write_events(&self.study, planned, self.rate(cell));
            return StudyAction::Size { cell, events };
        }
        if is_untimed(planned) {
            return StudyAction::Trace { cell, block };
        }
        if left.next % ROUNDS_MIN == 0 && (left.are_none() || self.has_no_time(cell)) {
            return StudyAction::Disconnect;
        }
        let order = round_order(self.study.seed, block, cell, left.next, self.systems);
        StudyAction::Round { cell, block, round: left.next, order: self.left.systems(cell, order) }
    }

    /// Processes an outcome; `false` if it is impossible for the action.
    pub(crate) fn receive(&mut self, asked: &StudyAction, outcome: &Outcome, used_s: f64) -> bool {
        // Failures, and the addition of a clock jump to a round, take time that no other block needs.
        let usual_s = match (asked, outcome) {
            (StudyAction::RecordFailure { .. } | StudyAction::RecordSilence { .. }, _)
            | (_, Outcome::Failed { .. }) => 0.0,
            (_, Outcome::Measured { seconds, .. }) => *seconds,
            _ => f64::INFINITY,
        };
        self.budget.only_now((used_s - self.used_s - usual_s).max(0.0));
        self.used_s = used_s;
        self.is_over = used_s >= self.ends_s && !self.owes_measurement();
        match (asked, outcome) {
            (StudyAction::Load, Outcome::Loaded { rates }) => {
                self.rates.clone_from(rates);
                self.calibrate_from(0, used_s);
            }
            (&StudyAction::Calibrate { cell, events }, Outcome::Done) => {
                self.calibrated(cell, events, used_s);
            }
            (&StudyAction::Begin { block, left, ref cells, .. }, Outcome::Done) => {
                self.samples.begin(block, left);
                let indices: Vec<usize> = cells.iter().map(|(cell, _)| *cell).collect();
                let rounds = cells.iter().copied().collect();
                self.enter_phase(block, rounds, phases(&self.study, &indices), used_s);
            }
            (StudyAction::StartAll { .. }, Outcome::Done) => self.enter_cell(),
            (StudyAction::StartAll { .. }, Outcome::Failed { system, why, .. }) => {
                self.did_not_start(*system, why);
            }
            (StudyAction::Connect { .. }, Outcome::Done) => {
                if let Some(cell) = self.cell_mut() {
                    cell.is_connected = true;
                }
            }
            (&StudyAction::Size { cell, .. }, &Outcome::Sized { rate }) => self.sized(cell, rate),
            (&StudyAction::Trace { cell, .. }, Outcome::Traced { systems, seconds }) => {
                self.traced(cell, systems, *seconds);
            }
            (&StudyAction::SetTurn { cell, length }, Outcome::Done) => self.turn_set(cell, length),
            (
                &(StudyAction::Connect { cell, .. }
                | StudyAction::Size { cell, .. }
                | StudyAction::Trace { cell, .. }),
                Outcome::Failed { system, why, also },
            ) => self.could_not_begin(cell, (*system, why), also),
            (
                &(StudyAction::Size { cell, .. } | StudyAction::Trace { cell, .. }),
                Outcome::Silent { system, silence },
            ) => self.is_silent(cell, *system, silence),
            (StudyAction::Round { .. }, Outcome::Measured { samples, seconds }) => {
                return self.measured(asked, samples, *seconds);
            }
            (&StudyAction::RecordFailure { cell, system, block, round, .. }, Outcome::Done) => {
                self.pending_done();
                self.recorded_failure(cell, system, block, round);
            }
            (
                &StudyAction::RecordSilence { cell, system, block, round, ref silence },
                Outcome::Done,
            ) => {
                self.pending_done();
                self.recorded_silence(cell, system, (block, round), silence);
            }
            (StudyAction::Note { .. } | StudyAction::Stop, Outcome::Done) => self.pending_done(),
            (StudyAction::Disconnect, Outcome::Done) => self.disconnected(),
            (StudyAction::Disconnect, Outcome::Failed { system, why, also }) => {
                self.became_inconsistent((*system, why), also);
            }
            (StudyAction::EndPhase, Outcome::Done) => self.leave_phase(used_s),
            _ => return false,
        }
        true
    }

    /// Sizes write slices of one client by the rates at which the data were aged, to take about the planned time. Those
    /// of several clients, and of tests that age no data, are sized at their first measurement.
    fn calibrate_from(&mut self, first: usize, used_s: f64) {
        let mut cells = self.study.cells.iter().enumerate().skip(first);
        let is_known = |cell: usize, planned: &PlannedCell| {
            planned.id.setup.clients == 1 && self.rate(cell) > 0.0
        };
        match cells.find(|(cell, planned)| is_unsized(planned) && is_known(*cell, planned)) {
            Some((cell, planned)) => {
                let events = write_events(&self.study, planned, self.rate(cell));
                self.state = InterleavedState::Next(StudyAction::Calibrate { cell, events });
            }
            None => self.plan_block(used_s),
        }
    }

    fn has_no_time(&self, cell: usize) -> bool {
        let ends_s = self.used_s + f64::from(ROUNDS_MIN) * self.budget.round_s(cell);
        !self.owes_measurement() && (self.is_over || ends_s > LATE * self.ends_s)
    }

    /// Something is measured even beyond the budget, unless every attempt fails, within the budget or after it.
    fn owes_measurement(&self) -> bool {
        !self.has_measured && self.failures < FAILURES
    }

    fn rate(&self, cell: usize) -> f64 {
        self.rates.get(cell).copied().unwrap_or(0.0)
    }

    fn calibrated(&mut self, cell: usize, events: u64, used_s: f64) {
        self.study.cells[cell].events = Some(events);
        let InterleavedState::InBlock(block) = &self.state else {
            return self.calibrate_from(cell + 1, used_s);
        };
        // A cell's rounds may depend on its events.
        let left = self.fitted(cell, block);
        self.pending_done();
        let state = self.cell_mut().filter(|state| state.cell == cell);
        if let Some((state, left)) = state.zip(left) {
            state.left = left;
        }
    }

    fn sized(&mut self, cell: usize, rate: f64) {
        let events = write_events(&self.study, &self.study.cells[cell], rate);
        if let Some(phase) = self.phase_mut() {
            phase.pending.push_back(StudyAction::Calibrate { cell, events });
        }
    }

    fn traced(&mut self, cell: usize, systems: &[Vec<TurnTrace>], seconds: f64) {
        self.budget.traced(seconds);
        let planned = &self.study.cells[cell];
        let length = turn_length(planned.turn_ms, planned.slice_ms, systems);
        // Until now, writes were sized by the rate of aging, where everything was done first.
        let rate = planned.events.and_then(|_| event_rate(systems));
        let events = rate.map(|rate| write_events(&self.study, planned, rate));
        if let Some(phase) = self.phase_mut() {
            // If assay is killed between the two, the turns are traced again.
            let sized = events.map(|events| StudyAction::Calibrate { cell, events });
            phase.pending.extend(sized);
            phase.pending.push_back(StudyAction::SetTurn { cell, length });
        }
    }

    fn turn_set(&mut self, cell: usize, length: TurnLength) {
        let planned = &mut self.study.cells[cell];
        (planned.turn_ms, planned.warm_us) = (length.turn_ms, Some(length.warm_us));
        self.budget.planned_anew(cell, planned, self.systems);
        self.pending_done();
    }

    fn plan_block(&mut self, used_s: f64) {
        self.budget.between_blocks(used_s);
        self.ends_s = self.budget.ends_s(self.owes_measurement(), used_s);
        self.is_over = used_s >= self.ends_s && !self.owes_measurement();
        let begin = if let Some(begun) = self.begun.take() {
            self.budget.resume_block();
            let (left, cells) = (begun.left, self.rounds_of(&begun));
            let until_s = used_s + (self.ends_s - used_s) / f64::from(left.max(1));
            let next = NextBlock { left, cells, until_s, fitting: left };
            Some((begun.number, next, true))
        } else {
            self.next_block(used_s).map(|(block, next)| (block, next, false))
        };
        self.state = match begin {
            Some((block, NextBlock { left, cells, until_s, .. }, is_recorded)) => {
                self.until_s = until_s.min(self.ends_s);
                let so_far = self.so_far.clone();
                InterleavedState::Next(StudyAction::Begin {
                    block,
                    left,
                    cells,
                    is_recorded,
                    so_far,
                })
            }
            None if self.is_unfinished => InterleavedState::Ended(StudyEnd::Unfinished),
            None => InterleavedState::Ended(StudyEnd::Complete),
        };
    }

    fn enter_phase(
        &mut self,
        number: u32,
        rounds: BTreeMap<usize, u32>,
        mut phases: VecDeque<(Phase, Vec<usize>)>,
        used_s: f64,
    ) {
        while let Some((phase, cells)) = phases.pop_front().filter(|_| !self.is_over) {
            let is_left = |cell: &usize| self.is_left(*cell, &rounds);
            let cells: VecDeque<usize> = cells.into_iter().filter(is_left).collect();
            if cells.is_empty() {
                continue;
            }
            let (cell, pending) = (None, VecDeque::new());
            let phase = PhaseState { phase, cells, has_failed_to_start: false, cell, pending };
            self.state = InterleavedState::InBlock(BlockState { number, rounds, phases, phase });
            return;
        }
        self.plan_block(used_s);
    }

    fn leave_phase(&mut self, used_s: f64) {
        if let InterleavedState::InBlock(block) = &mut self.state {
            let (number, rounds) = (block.number, std::mem::take(&mut block.rounds));
            let phases = std::mem::take(&mut block.phases);
            self.enter_phase(number, rounds, phases, used_s);
        }
    }

    fn enter_cell(&mut self) {
        let InterleavedState::InBlock(block) = &self.state else { return };
        let first = block.phase.cells.front().filter(|_| !self.is_over);
        let next = first.and_then(|&cell| {
            let left = self.fitted(cell, block)?;
            Some(CellState { cell, left, is_connected: false })
        });
        let is_over = self.is_over;
        if let Some(phase) = self.phase_mut() {
            phase.has_failed_to_start = false;
            phase.cell = next;
            if is_over {
                phase.cells.clear();
            }
        }
    }

    fn is_left(&self, cell: usize, rounds: &BTreeMap<usize, u32>) -> bool {
        let left = self.rounds_left(cell, rounds);
        !self.left.is_closed(cell) && !left.is_none_or(RoundsLeft::are_none)
    }

    fn rounds_left(&self, cell: usize, rounds: &BTreeMap<usize, u32>) -> Option<RoundsLeft> {
        let affordable = *rounds.get(&cell)?;
        let (wanted, most) = rounds_for(&self.study, &self.study.cells[cell], affordable);
        let taken = self.taken.get(&cell);
        let systems = self.left.systems(cell, (0..self.systems).collect());
        Some(RoundsLeft {
            good: taken.map_or(0, |taken| taken.complete(&systems)),
            next: taken.map_or(0, RoundsTaken::next),
            wanted,
            most,
        })
    }

    fn fitted(&self, cell: usize, block: &BlockState) -> Option<RoundsLeft> {
        let seconds = [self.until_s, self.ends_s].map(|end| end - self.used_s);
        // A test that uses up its rows takes fewer rounds than would fit.
        let wanted = |(cell, _)| Some((cell, self.rounds_left(cell, &block.rounds)?.wanted));
        let to_come: Vec<_> = block.to_come().into_iter().filter_map(wanted).collect();
        let cells = block.rounds.len();
        let mut left = self.rounds_left(cell, &block.rounds)?;
        if self.is_last(block) {
            let stretch = self.budget.stretch(&to_come, cells, seconds[0]);
            let more = (f64::from(left.wanted) * stretch) as u32 / ROUNDS_MIN * ROUNDS_MIN;
            let more = more.min(self.study.rounds);
            if more > left.wanted {
                left = self.rounds_left(cell, &BTreeMap::from([(cell, more)]))?;
                // No time remains to repeat spoiled rounds.
                left.most = left.wanted;
            }
        }
        Some(self.budget.fitted(left, &to_come, cells, seconds))
    }

    fn is_last(&self, block: &BlockState) -> bool {
        let next = block.number.saturating_add(1);
        self.blocks_left(next).left == 0
            || !self.budget.has_time(block.rounds.keys().copied(), self.until_s)
    }

    fn phase_mut(&mut self) -> Option<&mut PhaseState> {
        match &mut self.state {
            InterleavedState::InBlock(block) => Some(&mut block.phase),
            _ => None,
        }
    }

    fn cell_mut(&mut self) -> Option<&mut CellState> {
        self.phase_mut()?.cell.as_mut()
    }

    fn pending_done(&mut self) {
        if let Some(phase) = self.phase_mut() {
            phase.pending.pop_front();
        }
    }

    fn measured(&mut self, asked: &StudyAction, samples: &[SliceSample], seconds: f64) -> bool {
        let &StudyAction::Round { cell, block, round, ref order } = asked else { return false };
        let id = self.study.cells[cell].id;
        let has = |fitness| samples.iter().any(|sample| sample.fitness == fitness);
        let is_of_round = |sample: &SliceSample| {
            (sample.cell, sample.block, sample.round) == (id, block, round)
                && order.contains(&sample.system)
        };
        let is_broken_off = has(Fitness::Failed) || has(Fitness::Unanswered);
        // Such a round may lack slices.
        let is_whole = is_broken_off || samples.iter().map(|sample| &sample.system).eq(order);
        if !is_whole || !samples.iter().all(is_of_round) {
            return false;
        }
        samples.iter().for_each(|sample| self.add(cell, Some(block), sample));
        let is_usual = !is_broken_off && !has(Fitness::Mistimed);
        self.budget.round_took(cell, seconds, is_usual);
        if is_broken_off {
            self.leave_cell(cell);
            return true;
        }
        let is_good = samples.iter().all(|sample| sample.fitness == Fitness::Good);
        if let Some(state) = self.cell_mut() {
            state.left.good += u32::from(is_good);
            state.left.next = state.left.next.saturating_add(1);
        }
        true
    }

    /// The measurements of a cell left tables that contradict themselves.
    fn became_inconsistent(&mut self, first: (usize, &str), also: &[(usize, String)]) {
        match self.cell_mut().map(|state| state.cell) {
            Some(cell) => self.could_not_begin(cell, first, also),
            None => self.disconnected(),
        }
    }

    /// Records a failure before the cell began or after its last round. It takes an extra round, so earlier
    /// measurements stay unchanged.
    fn could_not_begin(&mut self, cell: usize, first: (usize, &str), also: &[(usize, String)]) {
        let also = also.iter().map(|(system, why)| (*system, why.as_str()));
        for (system, why) in std::iter::once(first).chain(also) {
            if let InterleavedState::InBlock(BlockState { number, phase, .. }) = &mut self.state {
                let (block, why) = (*number, why.to_owned());
                let round = phase.cell.as_ref().map_or(0, |state| state.left.next);
                let failure = StudyAction::RecordFailure { cell, system, block, round, why };
                phase.pending.push_back(failure);
            }
            self.left.failed(cell, system);
        }
        self.leave_cell(cell);
    }

    /// Records an event that took too long before the first round, in an extra round.
    fn is_silent(&mut self, cell: usize, system: usize, silence: &SilentEvent) {
        if let InterleavedState::InBlock(BlockState { number, phase, .. }) = &mut self.state {
            let (block, silence) = (*number, silence.clone());
            let round = phase.cell.as_ref().map_or(0, |state| state.left.next);
            let record = StudyAction::RecordSilence { cell, system, block, round, silence };
            phase.pending.push_back(record);
        }
    }

    fn recorded_silence(
        &mut self,
        cell: usize,
        system: usize,
        (block, round): (u32, u32),
        silence: &SilentEvent,
    ) {
        let id = self.study.cells[cell].id;
        let silent = SliceSample {
            events: silence.events,
            elapsed_s: silence.elapsed_ns as f64 / 1e9,
            ..SliceSample::without_rate(system, id, (block, round), Fitness::Unanswered)
        };
        self.budget.only_now(silent.elapsed_s);
        self.add(cell, Some(block), &silent);
        self.leave_cell(cell);
    }

    fn recorded_failure(&mut self, cell: usize, system: usize, block: u32, round: u32) {
        let id = self.study.cells[cell].id;
        let failed = SliceSample::without_rate(system, id, (block, round), Fitness::Failed);
        self.add(cell, Some(block), &failed);
    }

    /// Histories of the systems differ, or a server is gone: the rest gets new instances. That is the cell without the
    /// failed system, if a comparison remains, and later cells.
    fn leave_cell(&mut self, cell: usize) {
        self.failures = self.failures.saturating_add(1);
        self.is_over = self.used_s >= self.ends_s && !self.owes_measurement();
        let (is_closed, is_over) = (self.left.is_closed(cell), self.is_over);
        if let Some(phase) = self.phase_mut() {
            phase.cell = None;
            if is_over {
                phase.cells.clear();
            } else if is_closed {
                phase.cells.pop_front();
            }
            phase.pending.push_back(StudyAction::Stop);
        }
    }

    /// Continues with the next cell. A system without the writes of this one has another history, so the rest gets new
    /// instances.
    fn disconnected(&mut self) {
        let Some(cell) = self.phase_mut().and_then(|phase| phase.cells.pop_front()) else { return };
        let is_write = self.study.cells[cell].id.test.class == Class::Write;
        let is_unequal = is_write && self.left.lacks_a_system(cell);
        match self.phase_mut() {
            Some(phase) if is_unequal && !phase.cells.is_empty() => {
                phase.cell = None;
                phase.pending.push_back(StudyAction::Stop);
            }
            _ => self.enter_cell(),
        }
    }

    /// Retries after a first failure. After a second, the cells are left for a later block or a resumed study.
    fn did_not_start(&mut self, system: usize, why: &str) {
        let has_measured = self.has_measured;
        let error = why.to_owned();
        let Some(phase) = self.phase_mut() else { return };
        if !phase.has_failed_to_start {
            phase.has_failed_to_start = true;
            let what = EventKind::StartedAgain { error };
            phase.pending.push_back(StudyAction::Note { system: Some(system), what });
        } else if has_measured {
            let what = EventKind::NotMeasured { tests: phase.cells.len() as u32, error };
            phase.pending.push_back(StudyAction::Note { system: Some(system), what });
            phase.cells.clear();
            self.is_unfinished = true;
        } else {
            self.state = InterleavedState::Ended(StudyEnd::Abandoned);
        }
    }

    /// The next block and its number. It never exceeds the plan, so its number is valid in a ledger.
    fn next_block(&mut self, used_s: f64) -> Option<(u32, NextBlock)> {
        let wishes = self.wishes();
        let mut left = (self.blocks_done..self.blocks_max).filter(|block| self.shard.has(*block));
        let number = left.next()?;
        let blocks = self.blocks_left(number);
        let next = self.budget.rounds(&self.study, &wishes, blocks, used_s)?;
        self.blocks_done = number.saturating_add(1);
        self.taken.clear();
        Some((number, next))
    }

    fn blocks_left(&self, number: u32) -> BlocksLeft {
        let count =
            |blocks: Range<u32>| blocks.filter(|block| self.shard.has(*block)).count() as u32;
        BlocksLeft { done: count(0..number), left: count(number..self.blocks_max) }
    }

    /// Cells of a block of an earlier run, with their rounds.
    fn rounds_of<C: FromIterator<(usize, u32)>>(&self, begun: &PlannedBlock) -> C {
        let rounds: BTreeMap<CellId, u32> =
            begun.cells.iter().map(|cell| (cell.id, cell.rounds)).collect();
        self.cells().filter_map(|(cell, id)| Some((cell, *rounds.get(&id)?))).collect()
    }

    pub(crate) fn forecast(mut self, used_s: f64) -> Forecast {
        let rounds: BTreeMap<usize, u32> =
            self.begun.as_ref().map(|begun| self.rounds_of(begun)).unwrap_or_default();
        let is_begun = rounds.keys().any(|cell| self.is_left(*cell, &rounds));
        let wishes = self.wishes();
        let cells: Vec<usize> = wishes.iter().map(|(cell, _)| *cell).collect();
        let blocks = self.blocks_left(self.blocks_done);
        let next = self.budget.rounds(&self.study, &wishes, blocks, used_s);
        let rounds = next.iter().flat_map(|next| next.cells.iter().map(|(_, rounds)| *rounds));
        let count = cells.len().max(1) as f64;
        let fitting = Fitting {
            systems: self.systems,
            start_s: self.budget.start_s(),
            once_s: self.budget.once_s(cells.iter().copied()),
            left_s: self.budget.left_s(used_s),
            blocks: next.as_ref().map_or(0, |next| next.fitting),
            rounds: rounds.map(f64::from).sum::<f64>() / count,
        };
        Forecast { cells, is_begun, fitting }
    }

    fn wishes(&mut self) -> Vec<(usize, RoundsWish)> {
        let mut open: BTreeMap<CellId, RoundsWish> = BTreeMap::new();
        if self.blocks_done == 0 {
            open.extend(self.cells().map(|(_, id)| (id, RoundsWish::Share)));
        } else {
            let standings = self.samples.standings();
            let compared = standings.iter().filter(|standing| self.left.compares(standing.system));
            self.so_far = compared.map(|standing| standing.verdict).collect();
            for standing in standings.iter().filter(|standing| standing.is_open) {
                let wish = RoundsWish::new(self.blocks_done, standing);
                let known = open.entry(standing.cell).or_insert(wish);
                *known = known.larger(wish);
            }
            // Limits are other questions to decide.
            if let Some(limits) = self.samples.limits() {
                open =
                    limits.open_cells().into_iter().map(|cell| (cell, RoundsWish::Share)).collect();
            }
        }
        let is_open =
            |&(cell, id): &(usize, CellId)| open.contains_key(&id) && !self.left.is_closed(cell);
        // A write test must find the data left by earlier writes, so all on the same instances continue while one is
        // open.
        let is_write = |id: CellId| id.test.class == Class::Write;
        let writes = self.cells().filter(is_open).map(|(_, id)| id).filter(|id| is_write(*id));
        let writing: BTreeSet<Phase> = writes.map(Phase::new).collect();
        let takes_part = |entry: &(usize, CellId)| {
            let (cell, id) = *entry;
            let is_of_writes = is_write(id) && writing.contains(&Phase::new(id));
            is_open(entry) || (is_of_writes && !self.left.is_closed(cell))
        };
        let wish = |(cell, id)| (cell, open.get(&id).copied().unwrap_or(RoundsWish::Nothing));
        self.cells().filter(takes_part).map(wish).collect()
    }
}
