//! Executor of a simulated study. Checks the driver's contract: servers run before they are measured, their histories
//! are equal, nothing is recorded twice, and events are noted when they happen.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    BlockCell, CellId, Class, EventKind, PlannedBlock, PlannedCell, Slice, SliceOutcome,
    StudyEvent, StudyRecord, Trouble, Verdict, WorkCounters,
};
use assay_study::{
    Executor, Outcome, Phase, Shard, SilentEvent, StudyAction, TurnLength, TurnTrace,
};
use assay_verdict::{Samples, SliceSample};

use crate::speed::{Speed, Turns};
use crate::{NoiseSource, Scenario, Strike};

const OPS: u64 = 1_000_000;

const RATE: f64 = 10_000.0;

/// CPU time of an operation of the base, nanoseconds, and the part that other threads of the server add to it.
const CPU_NS: f64 = 50_000.0;
const BACKGROUND: f64 = 0.1;

/// Seconds to load the data of all systems, and to start an instance.
const LOAD_S: f64 = 5.0;
const START_S: f64 = 0.7;

/// Seconds of a slice outside its warm and measured parts.
const OVERHEAD_S: f64 = 0.008;

const HANG_S: f64 = 60.0;

const JUMP_S: f64 = 300.0;

/// Seconds in which a system's turns are traced.
const TRACE_S: f64 = 0.14;

type SliceKey = (usize, usize, u32, u32);

#[derive(Debug, Clone, Copy)]
struct SimServer {
    phase: Option<Phase>,
    /// Hash of its work so far.
    history: u64,
    is_alive: bool,
}

#[derive(Debug)]
pub struct SimMachine {
    scenario: Scenario,
    shard: Shard,
    noise: NoiseSource,
    used_s: f64,
    servers: BTreeMap<usize, SimServer>,
    connected: Option<usize>,
    /// A system that does not start, from this block on.
    down: Option<(usize, u32)>,
    block: u32,
    /// Log rate of each running instance relative to its system.
    shifts: BTreeMap<usize, f64>,
    /// Log CPU time per operation of each running instance relative to its system, if it is simulated.
    cpu_shifts: BTreeMap<usize, f64>,
    /// Speed of machine and servers, if it varies between turns.
    speed: Option<Speed>,
    /// Decisions so far: time, seconds used, and verdicts on the compared systems.
    pub(crate) looks: Vec<(f64, Vec<Verdict>)>,
    recorded: BTreeSet<(usize, CellId, u32, u32)>,
    /// Systems missing from a cell because they failed or did not answer.
    absent: BTreeMap<CellId, BTreeSet<usize>>,
    left_out: BTreeSet<u32>,
    begun_s: BTreeMap<u32, f64>,
    is_restarted: bool,
    failed_starts: u32,
    noted_starts: u32,
    has_left_out: bool,
}

impl SimMachine {
    pub fn new(scenario: Scenario, shard: Shard) -> Self {
        let mut noise = NoiseSource::new(scenario.seed ^ 0x5eed);
        let down = noise.strikes(scenario.faults.stays_down).then(|| {
            let block = noise.below(scenario.record.study.blocks.max(1) as usize);
            (noise.below(scenario.record.systems.len()), block as u32)
        });
        let speed = scenario.truth.speed.map(|model| Speed::new(model, scenario.seed));
        Self {
            scenario,
            shard,
            noise,
            speed,
            looks: Vec::new(),
            used_s: 0.0,
            servers: BTreeMap::new(),
            connected: None,
            down,
            block: 0,
            shifts: BTreeMap::new(),
            cpu_shifts: BTreeMap::new(),
            recorded: BTreeSet::new(),
            absent: BTreeMap::new(),
            left_out: BTreeSet::new(),
            begun_s: BTreeMap::new(),
            is_restarted: false,
            failed_starts: 0,
            noted_starts: 0,
            has_left_out: false,
        }
    }

    /// Restarts assay; no server survives.
    pub fn restart(&mut self) {
        self.servers.clear();
        self.connected = None;
        self.is_restarted = true;
        (self.failed_starts, self.noted_starts) = (0, 0);
        self.has_left_out = false;
    }

    pub fn mend(&mut self) {
        self.down = None;
        self.used_s += 1.0;
    }

    pub(crate) fn finish(&mut self) {
        self.scenario.record.finished = true;
    }

    pub fn record(&self) -> &StudyRecord {
        &self.scenario.record
    }

    pub fn into_record(self) -> StudyRecord {
        self.scenario.record
    }

    pub(crate) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    pub(crate) fn left_out(&self) -> &BTreeSet<u32> {
        &self.left_out
    }

    pub(crate) fn begun_s(&self) -> &BTreeMap<u32, f64> {
        &self.begun_s
    }

    pub(crate) fn is_restarted(&self) -> bool {
        self.is_restarted
    }

    pub(crate) fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    /// A study may be abandoned only if nothing is lost.
    pub(crate) fn check_abandoned(&self) -> Result<(), String> {
        let is_whole = |slice: &Slice| !matches!(slice.outcome, SliceOutcome::Failed(_));
        if self.scenario.is_sequential() || !self.record().slices.iter().any(is_whole) {
            return Ok(());
        }
        Err("abandoned a study of which something was measured".to_owned())
    }

    fn ensure(&self, holds: bool, what: &str) -> Result<(), Strike> {
        if holds { Ok(()) } else { Err(Strike::Broken(what.to_owned())) }
    }

    fn commit(&mut self) -> Result<(), Strike> {
        if self.noise.strikes(self.scenario.faults.full) { Err(Strike::LedgerFull) } else { Ok(()) }
    }

    fn cell(&self, cell: usize) -> Result<PlannedCell, Strike> {
        let planned = self.record().study.cells.get(cell).cloned();
        planned.ok_or_else(|| Strike::Broken(format!("there is no cell {cell}")))
    }

    /// All systems except failed and silent ones take part in a cell.
    fn ensure_those_left(&self, cell: usize, order: &[usize]) -> Result<(), Strike> {
        let absent = self.absent.get(&self.cell(cell)?.id);
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        let is_left = |system: &usize| !absent.is_some_and(|absent| absent.contains(system));
        let left = (0..self.record().systems.len()).filter(is_left);
        self.ensure(left.eq(sorted), "an order has not each system once that is left")
    }

    fn ensure_all(&self, order: &[usize]) -> Result<(), Strike> {
        let all: BTreeSet<usize> = order.iter().copied().collect();
        let is_all = all.len() == order.len() && all.into_iter().eq(0..self.record().systems.len());
        self.ensure(is_all, "an order has not each system once")
    }

    fn starts(&mut self, system: usize) -> bool {
        self.used_s += START_S;
        let is_down = self.down.is_some_and(|(down, from)| down == system && self.block >= from);
        !is_down && !self.noise.strikes(self.scenario.faults.start)
    }

    fn started(&mut self, system: usize, phase: Option<Phase>) {
        let shift = self.noise.normal() * self.scenario.truth.block_sd;
        self.shifts.insert(system, shift);
        if let Some(cpu) = self.scenario.truth.cpu {
            self.cpu_shifts.insert(system, self.noise.normal() * cpu.block_sd);
        }
        self.servers.insert(system, SimServer { phase, history: 0, is_alive: true });
        if let Some(speed) = &mut self.speed {
            speed.started(system);
        }
    }

    fn begin(
        &mut self,
        block: PlannedBlock,
        is_recorded: bool,
        so_far: &[Verdict],
    ) -> Result<(), Strike> {
        let last = self.record().blocks.last();
        if is_recorded {
            self.ensure(last == Some(&block), "resumes a block that is not the last")?;
        } else {
            let is_new = last.is_none_or(|last| last.number < block.number);
            self.ensure(is_new, "begins a block twice")?;
            let study = &self.record().study;
            self.ensure(
                block.number < self.record().blocks_max(),
                "begins a block that is not planned",
            )?;
            let fits = |cell: &BlockCell| (2..=study.rounds.max(2)).contains(&cell.rounds);
            let is_fitting = block.cells.iter().all(fits);
            self.ensure(is_fitting && !block.cells.is_empty(), "plans an odd block")?;
            let cells: Vec<CellId> = block.cells.iter().map(|cell| cell.id).collect();
            self.ensure_decided(&cells, so_far)?;
            self.commit()?;
            self.looks.push((self.used_s, so_far.to_vec()));
            self.begun_s.insert(block.number, self.used_s);
            self.scenario.record.blocks.push(block.clone());
        }
        self.block = block.number;
        Ok(())
    }

    /// Receiving samples one by one leads to the same decisions as receiving the whole record.
    fn ensure_decided(&self, cells: &[CellId], so_far: &[Verdict]) -> Result<(), Strike> {
        let record = self.record();
        if record.blocks.is_empty() || !self.scenario.has_costly_checks() {
            return Ok(());
        }
        let standings = Samples::from_record(record).standings();
        let is_compared = |system: usize| {
            let system = &record.systems[system];
            !system.is_base && !system.is_twin
        };
        let compared = standings.iter().filter(|standing| is_compared(standing.system));
        let verdicts = compared.map(|standing| &standing.verdict);
        self.ensure(verdicts.eq(so_far), "decides otherwise than its record")?;
        if record.study.limits.is_some() {
            return Ok(());
        }
        let closed = closed(record);
        let open = standings.iter().filter(|standing| standing.is_open);
        let open = open.map(|standing| standing.cell);
        let mut open = open.filter(|cell| !closed.contains(cell));
        self.ensure(open.all(|cell| cells.contains(&cell)), "leaves out a cell that is open")
    }

    fn start_all(&mut self, phase: Phase, order: &[usize]) -> Result<Outcome, Strike> {
        self.ensure(self.servers.is_empty(), "starts servers beside others")?;
        self.ensure_all(order)?;
        let is_noted = self.failed_starts == self.noted_starts;
        self.ensure(is_noted && self.failed_starts < 2, "starts servers without end")?;
        for &system in order {
            if !self.starts(system) {
                self.servers.clear();
                self.failed_starts += 1;
                return Ok(failed(&[system]));
            }
            self.started(system, Some(phase));
        }
        (self.failed_starts, self.noted_starts) = (0, 0);
        Ok(Outcome::Done)
    }

    fn connect(&mut self, cell: usize, order: &[usize]) -> Result<Outcome, Strike> {
        self.ensure(self.connected.is_none(), "connects a cell beside another")?;
        let phase = Phase::new(self.cell(cell)?.id);
        let fits = |server: &SimServer| server.phase == Some(phase);
        let mut systems = 0..self.record().systems.len();
        let is_up = systems.all(|system| self.servers.get(&system).is_some_and(fits));
        self.ensure(is_up, "connects to servers that do not run on these data")?;
        self.ensure_those_left(cell, order)?;
        let mut struck = order.to_vec();
        struck.retain(|_| self.noise.strikes(self.scenario.faults.connect));
        if !struck.is_empty() {
            return Ok(failed(&struck));
        }
        self.connected = Some(cell);
        Ok(Outcome::Done)
    }

    /// Adds a slice to a server's history. Reads leave no trace.
    fn works(&mut self, system: usize, (cell, round): (usize, u64)) {
        if self.cell(cell).is_ok_and(|planned| planned.id.test.class == Class::Read) {
            return;
        }
        if let Some(server) = self.servers.get_mut(&system) {
            let mixed = server.history ^ (cell as u64) << 32 ^ round;
            server.history = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }

    fn round(
        &mut self,
        cell: usize,
        block: u32,
        round: u32,
        order: &[usize],
    ) -> Result<Outcome, Strike> {
        let began_s = self.used_s;
        let planned = self.cell(cell)?;
        self.ensure(self.connected == Some(cell), "measures a cell that is not connected")?;
        self.ensure(block == self.block && self.shard.has(block), "measures another block")?;
        self.ensure_those_left(cell, order)?;
        let is_sized = planned.events.is_some() || planned.id.test.class == Class::Read;
        self.ensure(is_sized, "measures a write that is not sized")?;
        let servers = order.iter().filter_map(|system| self.servers.get(system));
        let mut histories: Vec<u64> = servers.map(|server| server.history).collect();
        histories.dedup();
        self.ensure(histories.len() == 1, "measures servers of unequal histories")?;
        let mut samples = Vec::new();
        let systems = 0..self.record().systems.len();
        let changes = systems.map(|system| self.scenario.change(system, cell)).collect();
        let turns = Turns { seed: self.record().study.seed, block, round, cell, order, changes };
        let mut parts = BTreeMap::new();
        if let Some(speed) = &mut self.speed {
            parts = speed.measure(&planned, &turns);
            self.used_s += speed.late_s();
        }
        for (position, &system) in order.iter().enumerate() {
            let mut slice = self.slice(cell, system, (block, round, position as u32))?;
            if let Some(part) = parts.remove(&system) {
                (slice.turns, slice.work, slice.counters) = (part.turns, part.work, part.counters);
            }
            samples.push(SliceSample::from_slice(&slice));
            let has_failed = matches!(slice.outcome, SliceOutcome::Failed(_));
            self.add(slice)?;
            if has_failed {
                break;
            }
            if self.noise.strikes(self.scenario.faults.kill) {
                return Err(Strike::Killed);
            }
        }
        Ok(Outcome::Measured { samples, seconds: self.used_s - began_s })
    }

    fn slice(
        &mut self,
        cell: usize,
        system: usize,
        (block, round, position): (u32, u32, u32),
    ) -> Result<Slice, Strike> {
        let planned = self.cell(cell)?;
        self.works(system, (cell, u64::from(round)));
        let shift = self.shifts.get(&system).copied().unwrap_or(0.0);
        let noise = self.scenario.truth.slice_sd * self.noise.normal();
        let rate = RATE * (self.scenario.change(system, cell) + shift + noise).exp();
        let elapsed_ns = (OPS as f64 / rate * 1e9) as u64;
        let warm_ms = f64::from(planned.turns()) * planned.warm_time_us() as f64 / 1000.0;
        self.used_s += (warm_ms + f64::from(planned.slice_ms)) / 1000.0 + OVERHEAD_S;
        let mut slice = Slice {
            block,
            round,
            position,
            started_ms: (self.used_s * 1000.0) as i64,
            work: WorkCounters {
                events: OPS,
                read: OPS,
                elapsed_ns,
                event_ns_sum: elapsed_ns,
                ..WorkCounters::default()
            },
            ..Slice::new(system, planned.id)
        };
        if let Some(cpu) = self.scenario.truth.cpu {
            let shift = self.cpu_shifts.get(&system).copied().unwrap_or(0.0);
            let log =
                shift + cpu.slice_sd * self.noise.normal() - self.scenario.change(system, cell);
            let cpu_ns = OPS as f64 * CPU_NS * log.exp();
            let (serving, background) = (cpu_ns as u64, (BACKGROUND * cpu_ns) as u64);
            let counters = [("connection_cpu_ns", serving), ("background_cpu_ns", background)];
            slice.counters.extend(counters);
        }
        let faults = self.scenario.faults;
        if self.noise.strikes(faults.slice) {
            if self.noise.strikes(faults.hang) {
                self.used_s += HANG_S;
            }
            slice.outcome = SliceOutcome::Failed("struck".to_owned());
            slice.work = WorkCounters::default();
        } else if self.noise.strikes(faults.clock) {
            self.used_s += JUMP_S;
            slice.outcome = SliceOutcome::Troubled;
            slice.trouble = vec![Trouble::ClockJump];
            // The measured time is wrong.
            slice.work.elapsed_ns = 1;
        } else if self.noise.strikes(faults.trouble) {
            slice.outcome = SliceOutcome::Troubled;
            slice.trouble = vec![Trouble::Steal];
        }
        Ok(slice)
    }

    fn add(&mut self, slice: Slice) -> Result<(), Strike> {
        let key = (slice.system, slice.cell, slice.block, slice.round);
        self.ensure(!self.recorded.contains(&key), "measures a slice twice")?;
        self.commit()?;
        self.recorded.insert(key);
        if matches!(slice.outcome, SliceOutcome::Failed(_) | SliceOutcome::Unanswered(_)) {
            self.absent.entry(slice.cell).or_default().insert(slice.system);
        }
        self.scenario.record.slices.push(slice);
        Ok(())
    }

    fn once(&mut self, cell: usize, system: usize, is_recorded: bool) -> Result<Outcome, Strike> {
        let began_s = self.used_s;
        self.ensure_alive(system)?;
        let slice = self.slice(cell, system, (0, 0, system as u32))?;
        let has_failed = matches!(slice.outcome, SliceOutcome::Failed(_));
        let dies = has_failed && self.noise.strikes(0.5);
        if let Some(server) = self.servers.get_mut(&system).filter(|_| dies) {
            server.is_alive = false;
        }
        let samples = vec![SliceSample::from_slice(&slice)];
        if is_recorded {
            self.add(slice)?;
        }
        Ok(Outcome::Measured { samples, seconds: self.used_s - began_s })
    }

    fn start_one(&mut self, system: usize) -> Result<Outcome, Strike> {
        self.ensure(self.servers.is_empty(), "starts a server beside another")?;
        if !self.starts(system) {
            return Ok(failed(&[system]));
        }
        self.started(system, None);
        Ok(Outcome::Done)
    }

    fn ensure_alive(&self, system: usize) -> Result<(), Strike> {
        let is_alive = self.servers.get(&system).is_some_and(|server| server.is_alive);
        self.ensure(is_alive, "uses a server that does not run")
    }

    fn note(&mut self, system: Option<usize>, what: EventKind) -> Result<(), Strike> {
        let starts = (self.failed_starts, self.noted_starts);
        let has_slices = |system| self.record().slices.iter().any(|slice| slice.system == system);
        let has_happened = match &what {
            EventKind::StartedAgain { .. } => system.is_some() && starts == (1, 0),
            EventKind::NotMeasured { tests, .. } => {
                let cells = self.record().blocks.last().map_or(0, |block| block.cells.len());
                system.is_some() && starts == (2, 1) && (1..=cells).contains(&(*tests as usize))
            }
            EventKind::WritesRepeated => {
                self.scenario.is_sequential() && system.is_some_and(has_slices)
            }
            _ => false,
        };
        self.ensure(has_happened, "notes an event that did not happen")?;
        self.commit()?;
        match what {
            EventKind::StartedAgain { .. } => self.noted_starts += 1,
            EventKind::NotMeasured { .. } => {
                self.noted_starts += 1;
                self.left_out.insert(self.block);
                self.has_left_out = true;
            }
            _ => {}
        }
        let when_ms = (self.used_s * 1000.0) as i64;
        self.scenario.record.events.push(StudyEvent { when_ms, system, what });
        Ok(())
    }

    fn end_phase(&mut self) -> Result<(), Strike> {
        let is_noted = self.failed_starts == self.noted_starts;
        self.ensure(is_noted, "ends a phase without a note that servers did not start")?;
        (self.failed_starts, self.noted_starts) = (0, 0);
        self.servers.clear();
        self.connected = None;
        Ok(())
    }

    fn failed(
        &mut self,
        (cell, system, block, round): SliceKey,
        why: String,
    ) -> Result<(), Strike> {
        let slice = self.slice(cell, system, (block, round, 0))?;
        let (outcome, work) = (SliceOutcome::Failed(why), WorkCounters::default());
        self.add(Slice { outcome, work, ..slice })
    }

    fn silent(
        &mut self,
        (cell, system, block, round): SliceKey,
        silence: SilentEvent,
    ) -> Result<(), Strike> {
        let slice = self.slice(cell, system, (block, round, 0))?;
        let SilentEvent { why, events, elapsed_ns } = silence;
        let work = WorkCounters { events, elapsed_ns, ..WorkCounters::default() };
        self.add(Slice { outcome: SliceOutcome::Unanswered(why), work, ..slice })
    }

    fn calibrate(&mut self, cell: usize, events: u64) -> Result<(), Strike> {
        let planned = self.cell(cell)?;
        self.ensure(planned.id.test.class == Class::Write, "sizes a read")?;
        self.ensure(events > 0, "sizes an empty slice")?;
        let is_measured = self.record().slices.iter().any(|slice| {
            slice.cell == planned.id
                && !matches!(slice.outcome, SliceOutcome::Failed(_) | SliceOutcome::Unanswered(_))
        });
        self.ensure(!is_measured, "sizes a slice after others of the cell")?;
        self.commit()?;
        self.scenario.record.study.cells[cell].events = Some(events);
        Ok(())
    }

    fn size(&mut self, cell: usize, events: u64) -> Result<Outcome, Strike> {
        let planned = self.cell(cell)?;
        self.ensure(self.connected == Some(cell), "sizes a cell that is not connected")?;
        self.ensure(planned.events.is_none(), "sizes a slice twice")?;
        for system in 0..self.record().systems.len() {
            self.works(system, (cell, u64::MAX));
            self.used_s += events as f64 / RATE;
            if self.noise.strikes(self.scenario.faults.slice) {
                return Ok(failed(&[system]));
            }
        }
        Ok(Outcome::Sized { rate: RATE / 4.0 })
    }

    fn trace(&mut self, cell: usize) -> Result<Outcome, Strike> {
        let planned = self.cell(cell)?;
        self.ensure(self.connected == Some(cell), "traces a cell that is not connected")?;
        self.ensure(planned.warm_us.is_none(), "traces a cell twice")?;
        let began_s = self.used_s;
        for system in 0..self.record().systems.len() {
            self.works(system, (cell, u64::MAX - 1));
            self.used_s += TRACE_S;
            if self.noise.strikes(self.scenario.faults.slice) {
                return Ok(failed(&[system]));
            }
        }
        let event_us = (1e6 / RATE) as u32;
        let ends: TurnTrace =
            (1..=20_000 / event_us.max(1)).map(|event| event * event_us).collect();
        let systems = vec![vec![ends; 4]; self.record().systems.len()];
        Ok(Outcome::Traced { systems, seconds: self.used_s - began_s })
    }

    fn set_turn(&mut self, cell: usize, length: TurnLength) -> Result<(), Strike> {
        let planned = self.cell(cell)?;
        self.ensure(planned.warm_us.is_none(), "sets the length of turns twice")?;
        self.commit()?;
        let planned = &mut self.scenario.record.study.cells[cell];
        (planned.turn_ms, planned.warm_us) = (length.turn_ms, Some(length.warm_us));
        Ok(())
    }

    fn perform(&mut self, action: StudyAction) -> Result<Outcome, Strike> {
        match action {
            StudyAction::Load => {
                self.used_s += LOAD_S.min(0.1 * self.record().study.budget_s);
                let rates = vec![RATE / 4.0; self.record().study.cells.len()];
                return Ok(Outcome::Loaded { rates });
            }
            StudyAction::StartAll { phase, order, .. } => return self.start_all(phase, &order),
            StudyAction::StartOne { system, .. } => return self.start_one(system),
            StudyAction::Connect { cell, order, .. } => return self.connect(cell, &order),
            StudyAction::Size { cell, events } => return self.size(cell, events),
            StudyAction::Round { cell, block, round, order } => {
                return self.round(cell, block, round, &order);
            }
            StudyAction::Once { cell, system, is_recorded } => {
                return self.once(cell, system, is_recorded);
            }
            StudyAction::Step { .. } => {
                self.ensure(false, "asks for a step, which is not simulated")?;
            }
            StudyAction::Calibrate { cell, events } => self.calibrate(cell, events)?,
            StudyAction::Trace { cell, .. } => return self.trace(cell),
            StudyAction::SetTurn { cell, length } => self.set_turn(cell, length)?,
            StudyAction::Begin { block, left, cells, is_recorded, so_far } => {
                let cells = cells.into_iter().map(|(cell, rounds)| {
                    let id = self.cell(cell)?.id;
                    Ok(BlockCell { id, rounds })
                });
                let cells = cells.collect::<Result<_, Strike>>()?;
                let block = PlannedBlock { number: block, run: 0, left, cells };
                self.begin(block, is_recorded, &so_far)?;
            }
            StudyAction::Disconnect => self.connected = None,
            StudyAction::RecordFailure { cell, system, block, round, why } => {
                self.failed((cell, system, block, round), why)?;
            }
            StudyAction::RecordSilence { cell, system, block, round, silence } => {
                self.silent((cell, system, block, round), silence)?;
            }
            StudyAction::Note { system, what } => self.note(system, what)?,
            StudyAction::CheckAlive { system, .. } => {
                let server = self.servers.get(&system).filter(|server| server.is_alive);
                server.ok_or(Strike::ServerGone)?;
            }
            StudyAction::Audit { .. } => {
                self.ensure(self.servers.is_empty(), "audits beside servers that run")?;
                self.used_s += 1.0;
            }
            StudyAction::Warm { system, cell } => {
                self.ensure_alive(system)?;
                self.used_s += f64::from(cell.slice_ms) / 1000.0;
            }
            StudyAction::Maintain { system, seconds, .. } => {
                self.ensure_alive(system)?;
                self.used_s += f64::from(seconds);
            }
            StudyAction::Rest { ms } => {
                self.ensure(self.servers.is_empty(), "rests with servers running")?;
                self.used_s += ms as f64 / 1000.0;
            }
            StudyAction::Shutdown { system } => {
                self.ensure_alive(system)?;
                self.servers.remove(&system);
            }
            StudyAction::Stop => {
                self.servers.clear();
                self.connected = None;
            }
            StudyAction::EndPhase => self.end_phase()?,
        }
        Ok(Outcome::Done)
    }
}

impl Executor for SimMachine {
    type Error = Strike;

    fn used_s(&self) -> f64 {
        self.used_s
    }

    fn act(&mut self, action: StudyAction) -> Result<Outcome, Strike> {
        let faults = self.scenario.faults;
        if self.noise.strikes(0.5 * faults.kill) {
            return Err(Strike::Killed);
        }
        if self.noise.strikes(faults.interrupt) {
            return Err(Strike::Interrupted);
        }
        let outcome = self.perform(action)?;
        if self.noise.strikes(0.5 * faults.kill) {
            return Err(Strike::Killed);
        }
        Ok(outcome)
    }
}

pub(crate) fn failed_systems(record: &StudyRecord) -> BTreeMap<CellId, BTreeSet<usize>> {
    let mut failed: BTreeMap<CellId, BTreeSet<usize>> = BTreeMap::new();
    for slice in
        record.slices.iter().filter(|slice| matches!(slice.outcome, SliceOutcome::Failed(_)))
    {
        failed.entry(slice.cell).or_default().insert(slice.system);
    }
    failed
}

/// Cells without a comparison left: the base failed, or all others did.
pub(crate) fn closed(record: &StudyRecord) -> BTreeSet<CellId> {
    let compares_any = record.systems.iter().any(|system| !system.is_base && !system.is_twin);
    let failed = failed_systems(record);
    let is_closed = |cell: &CellId| {
        let has_failed = |system| failed.get(cell).is_some_and(|all| all.contains(&system));
        let is_left = |(index, _): &(usize, _)| !has_failed(*index);
        let mut left = record.systems.iter().enumerate().filter(is_left);
        let has_base = left.clone().any(|(_, system)| system.is_base);
        !has_base || left.all(|(_, system)| system.is_base || compares_any && system.is_twin)
    };
    record.study.cells.iter().map(|cell| cell.id).filter(is_closed).collect()
}

fn failed(struck: &[usize]) -> Outcome {
    let mut all = struck.iter().map(|system| (*system, "struck".to_owned()));
    let (system, why) = all.next().unwrap_or_default();
    Outcome::Failed { system, why, also: all.collect() }
}
