//! Short slices of all systems alternately, on fresh instances per block, until every cell is decided or time is up.

mod next_block;

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use assay_model::{Block, CellId, Class, EventKind, PlannedCell, Study, StudyRecord, Verdict};
use assay_plan::{ROUNDS_MIN, connect_order, round_order, start_order};
use assay_verdict::{Fitness, Sample, Samples};

use crate::block::{BlockState, CellState, PhaseState};
use crate::budget::{Budget, NextBlock};
use crate::left::Left;
use crate::phase::phases;
use crate::rounds::{RoundsLeft, RoundsTaken};
use crate::sizing::{is_unsized, is_untimed, rounds_for, write_events};
use crate::turn_length::{event_rate, turn_length};
use crate::{Action, End, Outcome, Phase, Shard, Silence, TurnLength, TurnTrace};

/// Factor by which a block may be late, as durations of rounds are approximate.
const LATE: f64 = 1.05;

#[derive(Debug, Clone)]
pub(crate) struct Interleaved {
    study: Study,
    systems: usize,
    shard: Shard,
    samples: Samples,
    so_far: Vec<Verdict>,
    left: Left,
    budget: Budget,
    blocks_max: u32,
    /// Number of the next block after those begun.
    blocks_done: u32,
    /// Last block of an earlier run, which is completed first.
    begun: Option<Block>,
    taken: BTreeMap<usize, RoundsTaken>,
    rates: Vec<f64>,
    /// Seconds used when the current block must end.
    ends_s: f64,
    /// Seconds used when it should end to leave later blocks their share.
    until_s: f64,
    used_s: f64,
    is_over: bool,
    has_measured: bool,
    is_unfinished: bool,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// This action outside any block.
    Next(Action),
    InBlock(BlockState),
    Ended(End),
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
        let is_open = |block: &&Block| ended_after.flatten().is_none_or(|it| block.number > it);
        let begun = record.blocks.iter().rfind(|block| shard.has(block.number));
        let begun = begun.filter(is_open).cloned();
        let mut new = Self {
            samples: Samples::with_blocks(record),
            so_far: Vec::new(),
            left: Left::new(&record.systems),
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
            is_unfinished: false,
            state: State::Next(Action::Load),
            study,
            systems,
            shard,
            begun,
        };
        let indices: BTreeMap<CellId, usize> = new.cells().map(|(cell, id)| (id, cell)).collect();
        let current = new.begun.as_ref().map(|block| block.number);
        for slice in &record.slices {
            if let Some(&cell) = indices.get(&slice.cell) {
                new.add(cell, current, &Sample::of(slice));
            }
        }
        new
    }

    fn cells(&self) -> impl Iterator<Item = (usize, CellId)> {
        self.study.cells.iter().enumerate().map(|(index, cell)| (index, cell.id))
    }

    fn add(&mut self, cell: usize, current: Option<u32>, sample: &Sample) {
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

    pub(crate) fn next(&self) -> ControlFlow<End, Action> {
        match &self.state {
            State::Next(action) => ControlFlow::Continue(action.clone()),
            State::InBlock(block) => ControlFlow::Continue(self.next_in_block(block)),
            State::Ended(end) => ControlFlow::Break(end.clone()),
        }
    }

    fn next_in_block(&self, block: &BlockState) -> Action {
        let phase = &block.phase;
        if let Some(action) = phase.pending.front() {
            return action.clone();
        }
        if let Some(cell) = &phase.cell {
            return self.next_in_cell(block.number, cell);
        }
        if phase.cells.is_empty() {
            return Action::EndPhase;
        }
        let (seed, start_from) = (self.study.seed, phase.phase.start_from as u32);
        let order = start_order(seed, block.number, start_from, self.systems);
        Action::StartAll { block: block.number, phase: phase.phase, order }
    }

    /// Connect, size, then measure in pairs of rounds: an order of the systems and its reverse.
    fn next_in_cell(&self, block: u32, state: &CellState) -> Action {
        let CellState { cell, left, is_connected } = *state;
        if !is_connected {
            let order = connect_order(self.study.seed, block, cell, self.systems);
            return Action::Connect { cell, block, order: self.left.of(cell, order) };
        }
        if let Some(planned) = self.study.cells.get(cell).filter(|cell| is_unsized(cell)) {
            let events = write_events(&self.study, planned, self.rate(cell));
            return Action::Size { cell, events };
        }
        if self.study.cells.get(cell).is_some_and(is_untimed) {
            return Action::Trace { cell, block };
        }
        if left.next % ROUNDS_MIN == 0 && (left.are_none() || self.has_no_time(cell)) {
            return Action::Disconnect;
        }
        let order = round_order(self.study.seed, block, cell, left.next, self.systems);
        Action::Round { cell, block, round: left.next, order: self.left.of(cell, order) }
    }

    /// Processes an outcome; `false` if it is impossible for the action.
    pub(crate) fn came(&mut self, asked: &Action, outcome: &Outcome, used_s: f64) -> bool {
        // Failures, and the addition of a clock jump to a round, take time that no other block needs.
        let usual_s = match (asked, outcome) {
            (Action::RecordFailure { .. } | Action::RecordSilence { .. }, _)
            | (_, Outcome::Failed { .. }) => 0.0,
            (_, Outcome::Measured { seconds, .. }) => *seconds,
            _ => f64::INFINITY,
        };
        self.budget.only_now((used_s - self.used_s - usual_s).max(0.0));
        self.used_s = used_s;
        // Something is measured in any case.
        self.is_over = used_s >= self.ends_s && self.has_measured;
        match (asked, outcome) {
            (Action::Load, Outcome::Loaded { rates }) => {
                self.rates.clone_from(rates);
                self.calibrate_from(0, used_s);
            }
            (&Action::Calibrate { cell, events }, Outcome::Done) => {
                self.calibrated(cell, events, used_s);
            }
            (&Action::Begin { block, left, ref cells, .. }, Outcome::Done) => {
                self.samples.begin(block, left);
                let indices: Vec<usize> = cells.iter().map(|(cell, _)| *cell).collect();
                let rounds = cells.iter().copied().collect();
                self.enter_phase(block, rounds, phases(&self.study, &indices), used_s);
            }
            (Action::StartAll { .. }, Outcome::Done) => self.enter_cell(),
            (Action::StartAll { .. }, Outcome::Failed { system, why, .. }) => {
                self.did_not_start(*system, why);
            }
            (Action::Connect { .. }, Outcome::Done) => {
                if let Some(cell) = self.phase_mut().and_then(|phase| phase.cell.as_mut()) {
                    cell.is_connected = true;
                }
            }
            (&Action::Size { cell, .. }, &Outcome::Sized { rate }) => self.sized(cell, rate),
            (&Action::Trace { cell, .. }, Outcome::Traced { systems, seconds }) => {
                self.traced(cell, systems, *seconds);
            }
            (&Action::SetTurn { cell, length }, Outcome::Done) => self.turn_set(cell, length),
            (
                &(Action::Connect { cell, .. }
                | Action::Size { cell, .. }
                | Action::Trace { cell, .. }),
                Outcome::Failed { system, why, also },
            ) => self.could_not_begin(cell, (*system, why), also),
            (
                &(Action::Size { cell, .. } | Action::Trace { cell, .. }),
                Outcome::Silent { system, silence },
            ) => self.is_silent(cell, *system, silence),
            (Action::Round { .. }, Outcome::Measured { samples, seconds }) => {
                return self.measured(asked, samples, *seconds);
            }
            (&Action::RecordFailure { cell, system, block, round, .. }, Outcome::Done) => {
                self.pending_done();
                self.recorded_failure(cell, system, block, round);
            }
            (&Action::RecordSilence { cell, system, block, round, ref silence }, Outcome::Done) => {
                self.pending_done();
                self.recorded_silence(cell, system, (block, round), silence);
            }
            (Action::Note { .. } | Action::Stop, Outcome::Done) => self.pending_done(),
            (Action::Disconnect, Outcome::Done) => self.disconnected(),
            // The measurements left inconsistent tables.
            (Action::Disconnect, Outcome::Failed { system, why, also }) => {
                match self.phase_mut().and_then(|phase| phase.cell.as_ref()).map(|it| it.cell) {
                    Some(cell) => self.could_not_begin(cell, (*system, why), also),
                    None => self.disconnected(),
                }
            }
            (Action::EndPhase, Outcome::Done) => self.leave_phase(used_s),
            _ => return false,
        }
        true
    }

    /// Sizes write slices of one client by the rates at which the data were aged, to take about the planned time. Those
    /// of several clients, and of tests that age no data, are sized at their first measurement.
    fn calibrate_from(&mut self, first: usize, used_s: f64) {
        let mut cells = self.study.cells.iter().enumerate().skip(first);
        let is_known =
            |cell: usize, it: &PlannedCell| it.id.setup.clients == 1 && self.rate(cell) > 0.0;
        let next = cells.find(|(cell, it)| is_unsized(it) && is_known(*cell, it));
        match next {
            Some((cell, planned)) => {
                let events = write_events(&self.study, planned, self.rate(cell));
                self.state = State::Next(Action::Calibrate { cell, events });
            }
            None => self.plan_block(used_s),
        }
    }

    fn has_no_time(&self, cell: usize) -> bool {
        let ends_s = self.used_s + f64::from(ROUNDS_MIN) * self.budget.round_s(cell);
        self.has_measured && (self.is_over || ends_s > LATE * self.ends_s)
    }

    fn rate(&self, cell: usize) -> f64 {
        self.rates.get(cell).copied().unwrap_or(0.0)
    }

    fn calibrated(&mut self, cell: usize, events: u64, used_s: f64) {
        if let Some(planned) = self.study.cells.get_mut(cell) {
            planned.events = Some(events);
        }
        let State::InBlock(block) = &self.state else {
            return self.calibrate_from(cell + 1, used_s);
        };
        // A cell's rounds may depend on its events.
        let left = self.fitted(cell, block);
        self.pending_done();
        let state = self.phase_mut().and_then(|phase| phase.cell.as_mut());
        if let Some((state, left)) = state.filter(|state| state.cell == cell).zip(left) {
            state.left = left;
        }
    }

    fn sized(&mut self, cell: usize, rate: f64) {
        let planned = self.study.cells.get(cell);
        let events = planned.map(|planned| write_events(&self.study, planned, rate));
        if let Some((phase, events)) = self.phase_mut().zip(events) {
            phase.pending.push_back(Action::Calibrate { cell, events });
        }
    }

    fn traced(&mut self, cell: usize, systems: &[Vec<TurnTrace>], seconds: f64) {
        self.budget.traced(seconds);
        let Some(planned) = self.study.cells.get(cell) else { return };
        let length = turn_length(planned.turn_ms, planned.slice_ms, systems);
        // Until now, writes were sized by the rate of aging, where everything was done first.
        let rate = planned.events.and_then(|_| event_rate(systems));
        let events = rate.map(|rate| write_events(&self.study, planned, rate));
        if let Some(phase) = self.phase_mut() {
            // If assay is killed between the two, the turns are traced again.
            let sized = events.map(|events| Action::Calibrate { cell, events });
            phase.pending.extend(sized);
            phase.pending.push_back(Action::SetTurn { cell, length });
        }
    }

    fn turn_set(&mut self, cell: usize, length: TurnLength) {
        if let Some(planned) = self.study.cells.get_mut(cell) {
            (planned.turn_ms, planned.warm_us) = (length.turn_ms, Some(length.warm_us));
            self.budget.planned_anew(cell, planned, self.systems);
        }
        self.pending_done();
    }

    fn plan_block(&mut self, used_s: f64) {
        self.budget.between_blocks(used_s);
        self.ends_s = self.budget.ends_s(!self.has_measured, used_s);
        self.is_over = used_s >= self.ends_s && self.has_measured;
        let begin = if let Some(begun) = self.begun.take() {
            self.budget.resume_block();
            let rounds: BTreeMap<CellId, u32> =
                begun.cells.iter().map(|cell| (cell.id, cell.rounds)).collect();
            let cells = self.cells().filter_map(|(cell, id)| Some((cell, *rounds.get(&id)?)));
            let (left, cells) = (begun.left, cells.collect());
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
                State::Next(Action::Begin { block, left, cells, is_recorded, so_far })
            }
            None if self.is_unfinished => State::Ended(End::Unfinished),
            None => State::Ended(End::Complete),
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
            self.state = State::InBlock(BlockState { number, rounds, phases, phase });
            return;
        }
        self.plan_block(used_s);
    }

    fn leave_phase(&mut self, used_s: f64) {
        if let State::InBlock(block) = &mut self.state {
            let (number, rounds) = (block.number, std::mem::take(&mut block.rounds));
            let phases = std::mem::take(&mut block.phases);
            self.enter_phase(number, rounds, phases, used_s);
        }
    }

    fn enter_cell(&mut self) {
        let State::InBlock(block) = &self.state else { return };
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
        let (wanted, most) = rounds_for(&self.study, self.study.cells.get(cell)?, affordable);
        let taken = self.taken.get(&cell);
        let systems = self.left.of(cell, (0..self.systems).collect());
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
            State::InBlock(block) => Some(&mut block.phase),
            _ => None,
        }
    }

    fn pending_done(&mut self) {
        if let Some(phase) = self.phase_mut() {
            phase.pending.pop_front();
        }
    }

    fn measured(&mut self, asked: &Action, samples: &[Sample], seconds: f64) -> bool {
        let &Action::Round { cell, block, round, ref order } = asked else { return false };
        let Some(id) = self.study.cells.get(cell).map(|planned| planned.id) else { return false };
        let has = |fitness| samples.iter().any(|sample| sample.fitness == fitness);
        let has_failed = has(Fitness::Failed);
        let is_of_round = |it: &Sample| {
            (it.cell, it.block, it.round) == (id, block, round) && order.contains(&it.system)
        };
        let is_silent = has(Fitness::Unanswered);
        // A failed slice ends the round, which may then lack others.
        let is_whole =
            has_failed || is_silent || samples.iter().map(|it| it.system).eq(order.iter().copied());
        if !is_whole || !samples.iter().all(is_of_round) {
            return false;
        }
        samples.iter().for_each(|sample| self.add(cell, Some(block), sample));
        let is_usual = !has_failed && !is_silent && !has(Fitness::Mistimed);
        self.budget.round_took(cell, seconds, is_usual);
        if has_failed || is_silent {
            self.leave_cell(cell);
            return true;
        }
        let is_good = samples.iter().all(|sample| sample.fitness == Fitness::Good);
        if let Some(state) = self.phase_mut().and_then(|phase| phase.cell.as_mut()) {
            state.left.good += u32::from(is_good);
            state.left.next = state.left.next.saturating_add(1);
        }
        true
    }

    /// Records a failure before the cell began or after its last round. It takes an extra round, so earlier
    /// measurements stay unchanged.
    fn could_not_begin(&mut self, cell: usize, of: (usize, &str), also: &[(usize, String)]) {
        let also = also.iter().map(|(system, why)| (*system, why.as_str()));
        for (system, why) in std::iter::once(of).chain(also) {
            if let State::InBlock(BlockState { number, phase, .. }) = &mut self.state {
                let (block, why) = (*number, why.to_owned());
                let round = phase.cell.as_ref().map_or(0, |state| state.left.next);
                let failure = Action::RecordFailure { cell, system, block, round, why };
                phase.pending.push_back(failure);
            }
            self.left.failed(cell, system);
        }
        self.leave_cell(cell);
    }

    /// Records an event that took too long before the first round, in an extra round.
    fn is_silent(&mut self, cell: usize, system: usize, silence: &Silence) {
        if let State::InBlock(BlockState { number, phase, .. }) = &mut self.state {
            let (block, silence) = (*number, silence.clone());
            let round = phase.cell.as_ref().map_or(0, |state| state.left.next);
            let record = Action::RecordSilence { cell, system, block, round, silence };
            phase.pending.push_back(record);
        }
    }

    fn recorded_silence(
        &mut self,
        cell: usize,
        system: usize,
        (block, round): (u32, u32),
        silence: &Silence,
    ) {
        let Some(id) = self.study.cells.get(cell).map(|planned| planned.id) else { return };
        let silent = Sample {
            events: silence.events,
            elapsed_s: silence.elapsed_ns as f64 / 1e9,
            ..Sample::without_rate(system, id, (block, round), Fitness::Unanswered)
        };
        self.budget.only_now(silent.elapsed_s);
        self.add(cell, Some(block), &silent);
        self.leave_cell(cell);
    }

    fn recorded_failure(&mut self, cell: usize, system: usize, block: u32, round: u32) {
        let Some(id) = self.study.cells.get(cell).map(|planned| planned.id) else { return };
        let failed = Sample::without_rate(system, id, (block, round), Fitness::Failed);
        self.add(cell, Some(block), &failed);
    }

    /// Histories of the systems differ, or a server is gone: the rest gets new instances. That is the cell without the
    /// failed system, if a comparison remains, and later cells.
    fn leave_cell(&mut self, cell: usize) {
        let (is_closed, is_over) = (self.left.is_closed(cell), self.is_over);
        if let Some(phase) = self.phase_mut() {
            phase.cell = None;
            if is_over {
                phase.cells.clear();
            } else if is_closed {
                phase.cells.pop_front();
            }
            phase.pending.push_back(Action::Stop);
        }
    }

    /// Continues with the next cell. A system without the writes of this one has another history, so the rest gets new
    /// instances.
    fn disconnected(&mut self) {
        let Some(phase) = self.phase_mut() else { return };
        let Some(cell) = phase.cells.pop_front() else { return };
        let writes = |it: &PlannedCell| it.id.test.class == Class::Write;
        let is_unequal =
            self.left.lacks_a_system(cell) && self.study.cells.get(cell).is_some_and(writes);
        match self.phase_mut() {
            Some(phase) if is_unequal && !phase.cells.is_empty() => {
                phase.cell = None;
                phase.pending.push_back(Action::Stop);
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
            phase.pending.push_back(Action::Note { system: Some(system), what });
        } else if has_measured {
            let what = EventKind::NotMeasured { tests: phase.cells.len() as u32, error };
            phase.pending.push_back(Action::Note { system: Some(system), what });
            phase.cells.clear();
            self.is_unfinished = true;
        } else {
            self.state = State::Ended(End::Abandoned);
        }
    }
}
