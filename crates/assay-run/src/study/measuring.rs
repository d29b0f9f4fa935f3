//! Measures cells: all systems in turns, or one system once and long.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant as Clock};

use anyhow::{Context, Result};
use assay_model::{Class, Counting, PlannedCell, Priority, Slice, SliceOutcome};
use assay_plan::round_order;
use assay_study::{Outcome, TurnTrace, mean_rate};
use assay_verdict::{SHORT_LIVED_NS, SliceSample, waits_for_turns};

use super::executor::StudyExecutor;
use super::realtime::{ControlThread, at_priority, lower, monitor, raise};
use crate::interrupt::is_asked;
use crate::systems::{
    Clients, Instance, OpenSlice, SliceSlot, connect_clients, failed_slice, share_out, silence,
    silent_slice,
};

const TRACES: u32 = 7;
/// Minimum once they have taken [`TRACE_LIMIT`].
const TRACES_MIN: u32 = 4;
const TRACE_LIMIT: Duration = Duration::from_millis(300);

/// Mean duration of an event, nanoseconds. Each turn has the end times of its events, microseconds.
fn event_ns(turns: &[TurnTrace], clients: u32) -> u64 {
    let us: u64 = turns.iter().filter_map(|ends| ends.iter().max()).map(|it| u64::from(*it)).sum();
    let events = turns.iter().map(Vec::len).sum::<usize>().max(1) as u64;
    1000 * us * u64::from(clients) / events
}

impl StudyExecutor<'_, '_> {
    pub(super) fn connect(&mut self, cell: usize, block: u32, order: &[usize]) -> Result<Outcome> {
        let planned = self.cell(cell)?;
        let last = self.recorder.record().blocks.last();
        let blocks = last.map_or(1, |it| it.number.saturating_add(it.left));
        self.tell_standing(&format!("block {} of {blocks}, {}", block + 1, planned.id.test));
        let connect =
            |it: &mut Self, system| it.thawed(system, |it| it.connect_one(system, &planned));
        for (at, &system) in order.iter().enumerate() {
            match connect(self, system) {
                Ok(clients) => {
                    self.recorder.unprepared(system, clients.session.unprepared())?;
                    self.clients.insert(system, clients);
                }
                Err(error) => {
                    let failed = self.failed(system, error)?;
                    return self.failed_alike(failed, &order[at + 1..], connect);
                }
            }
        }
        self.count_in_slices()?;
        self.raise(&planned)?;
        Ok(Outcome::Done)
    }

    fn raise(&mut self, cell: &PlannedCell) -> Result<()> {
        if cell.priority == Priority::Normal {
            self.weight.iter().for_each(|weight| weight.set(true));
            return Ok(());
        }
        let monitor = Arc::new(monitor(cell, self.local)?);
        for (system, clients) in &mut self.clients {
            let server = self.servers.get(system).context("its server is not running")?;
            // Raised priorities are lowered again, even if the rest is refused.
            clients.monitor(Arc::clone(&monitor));
            raise(server, &clients.session.client_tids(), self.local)?;
        }
        Ok(())
    }

    /// Rests before the next turn if the kernel would otherwise stop threads of real-time priority in it.
    fn rest_before_turn(&mut self, cell: &PlannedCell) {
        if cell.priority == Priority::Realtime {
            let turn = Duration::from_millis(cell.turn_ms.into());
            let warm = Duration::from_micros(cell.warm_time_us());
            // Writes are bounded by events and may take longer than planned.
            sleep(self.rests.due(Clock::now(), (turn + warm).mul_f64(1.5)));
        }
    }

    /// Counts instructions in slices if the user asked for counts: on all systems or on none.
    fn count_in_slices(&mut self) -> Result<()> {
        if self.request.count == Counting::None {
            return Ok(());
        }
        let counted = self.clients.values_mut().map(Clients::count_instructions);
        if counted.collect::<Result<Vec<bool>>>()?.contains(&false) {
            self.clients.values_mut().for_each(Clients::stop_counting);
        }
        Ok(())
    }

    /// A cell could not begin on a system. Tries the systems whose turn had not come: a failure on all of them is not
    /// the fault of one.
    fn failed_alike<T>(
        &mut self,
        mut failed: Outcome,
        others: &[usize],
        begin: impl Fn(&mut Self, usize) -> Result<T>,
    ) -> Result<Outcome> {
        let Outcome::Failed { also, .. } = &mut failed else { return Ok(failed) };
        for &other in others {
            let tried = begin(self, other).map(drop);
            self.env.interrupt.check()?;
            let error = tried.err().filter(|error| silence(error).is_none());
            also.extend(error.map(|error| (other, self.why(&error))));
        }
        Ok(failed)
    }

    pub fn connect_one(&mut self, system: usize, cell: &PlannedCell) -> Result<Clients> {
        let described = &self.participants[system].system;
        let server = self.servers.get(&system).context("its server is not running")?;
        let test = self.carried_out(cell.id.test);
        connect_clients(server, described, (cell, test), self.recorder.study(), self.local)
    }

    /// Events per second of the systems, which all do the same number of unrecorded events, so that their histories
    /// stay equal.
    pub(super) fn size(&mut self, cell: usize, events: u64) -> Result<Outcome> {
        let planned = self.cell(cell)?;
        let mut rates = Vec::with_capacity(self.clients.len());
        let systems: Vec<usize> = self.clients.keys().copied().collect();
        let size = |it: &mut Self, system| {
            it.with_thawed_clients(system, |clients| clients.rate(&planned, events))
        };
        for (at, &system) in systems.iter().enumerate() {
            match size(self, system) {
                Ok(rate) => rates.push(rate),
                Err(error) => {
                    let cut_off = self.cut_off(system, error)?;
                    return self.failed_alike(cut_off, &systems[at + 1..], size);
                }
            }
        }
        Ok(Outcome::Sized { rate: mean_rate(rates.into_iter()) })
    }

    /// Unrecorded turns of every system. If they show that statements start threads which wait for each other's
    /// real-time turns, the cell gets normal priority, before anything of it is recorded.
    pub(super) fn trace(&mut self, cell: usize, block: u32) -> Result<Outcome> {
        let planned = self.cell(cell)?;
        // The machines that share a test could come to different priorities.
        let record = self.recorder.record();
        if planned.priority == Priority::Normal
            || record.shard().is_some()
            || record.slices.iter().any(|slice| slice.cell == planned.id)
        {
            return self.traced(cell, block, 0);
        }
        let mut open = Vec::with_capacity(self.clients.len());
        for (system, clients) in &mut self.clients {
            let slot = SliceSlot { system: *system, block, round: 0, position: 0 };
            open.push(clients.begin(&planned, slot)?);
        }
        let traced = self.traced(cell, block, 0)?;
        let Outcome::Traced { systems, .. } = &traced else { return Ok(traced) };
        let mut waits = false;
        for ((clients, open), turns) in self.clients.values_mut().zip(&open).zip(systems) {
            let threads_ns = clients.usage(open)?.counters.get(SHORT_LIVED_NS).unwrap_or(0);
            waits |= waits_for_turns(threads_ns, event_ns(turns, planned.id.setup.clients));
        }
        if !waits {
            return Ok(traced);
        }
        self.env.progress.note(&format!(
            "{} runs at normal priority: its statements start threads, which wait for each other's real-time turns",
            planned.id.test
        ));
        self.recorder.set_priority(planned.id, Priority::Normal)?;
        let order: Vec<usize> = self.clients.keys().copied().collect();
        // The CPUs of clients and of the threads that serve them are those of the priority at which they connect.
        let is_done = |outcome: &Outcome| matches!(outcome, Outcome::Done);
        let left = self.disconnect()?;
        let again = if is_done(&left) { self.connect(cell, block, &order)? } else { left };
        // The data is the same, so no event of the first turns may be sent again: its rows would exist already.
        if is_done(&again) { self.traced(cell, block, TRACES) } else { Ok(again) }
    }

    /// [`TRACES`] turns of every system from this one on, fewer if they take too long.
    fn traced(&mut self, cell: usize, block: u32, first: u32) -> Result<Outcome> {
        let began = Clock::now();
        let planned = self.cell(cell)?;
        let _control = ControlThread::for_cell(&planned, self.local)?;
        let freezes = planned.id.test.class == Class::Write;
        let seed = self.recorder.study().seed;
        let connected: Vec<usize> = self.clients.keys().copied().collect();
        let mut systems = vec![Vec::new(); connected.len()];
        let mut running = None;
        if !freezes && let Err((system, error)) = self.each_server(&connected, Instance::thaw) {
            return self.failed(system, error);
        }
        for turn in first..first + TRACES {
            if turn - first >= TRACES_MIN && began.elapsed() > TRACE_LIMIT {
                break;
            }
            let order = round_order(seed, block, cell, turn, connected.len());
            for (at, &index) in order.iter().enumerate() {
                let system = connected[index];
                if freezes && let Err((system, error)) = self.switch_to(&mut running, system) {
                    return self.failed(system, error);
                }
                self.rest_before_turn(&planned);
                match self.with_clients(system, |clients| clients.trace(&planned, turn)) {
                    Ok(ends) => systems[index].push(ends),
                    Err(error) => {
                        let cut_off = self.cut_off(system, error)?;
                        let others = order[at + 1..].iter();
                        let others: Vec<usize> = others.map(|index| connected[*index]).collect();
                        return self.failed_alike(cut_off, &others, |it, other| {
                            if freezes {
                                it.server(other)?.thaw()?;
                            }
                            it.with_clients(other, |clients| clients.trace(&planned, turn))
                        });
                    }
                }
            }
        }
        if let Err((system, error)) = self.each_server(&connected, Instance::freeze) {
            return self.failed(system, error);
        }
        Ok(Outcome::Traced { systems, seconds: began.elapsed().as_secs_f64() })
    }

    fn cut_off(&mut self, system: usize, error: anyhow::Error) -> Result<Outcome> {
        self.env.interrupt.check()?;
        match silence(&error) {
            Some(silence) => Ok(Outcome::Silent { system, silence }),
            None => self.failed(system, error),
        }
    }

    /// The server is frozen before and after.
    fn with_thawed_clients<T>(
        &mut self,
        system: usize,
        act: impl FnOnce(&mut Clients) -> Result<T>,
    ) -> Result<T> {
        self.thawed(system, |it| {
            act(it.clients.get_mut(&system).context("its clients are not connected")?)
        })
    }

    /// The server is running. After a failure, it is frozen.
    fn with_clients<T>(
        &mut self,
        system: usize,
        act: impl FnOnce(&mut Clients) -> Result<T>,
    ) -> Result<T> {
        let clients = self.clients.get_mut(&system).context("its clients are not connected")?;
        act(clients).map_err(|why| match self.servers.get_mut(&system) {
            Some(server) => server.explained(why),
            None => why,
        })
    }

    /// Switches the running server. One is frozen before the other is thawed: both at once takes longer, because their
    /// threads compete for CPUs.
    fn switch_to(
        &mut self,
        running: &mut Option<usize>,
        system: usize,
    ) -> Result<(), (usize, anyhow::Error)> {
        if *running == Some(system) {
            return Ok(());
        }
        self.each_server(running.replace(system).as_slice(), Instance::freeze)?;
        self.each_server(&[system], Instance::thaw)
    }

    pub(super) fn round(
        &mut self,
        cell: usize,
        block: u32,
        round: u32,
        order: &[usize],
    ) -> Result<Outcome> {
        let began = Clock::now();
        let planned = self.cell(cell)?;
        let warm_ms = f64::from(planned.turns()) * planned.warm_time_us() as f64 / 1000.0;
        let seconds = (f64::from(planned.slice_ms) + warm_ms) / 1000.0 * order.len() as f64;
        let slots = order.iter().zip(0..);
        let slots: Vec<SliceSlot> =
            slots.map(|(&system, position)| SliceSlot { system, block, round, position }).collect();
        let interrupt = &self.env.interrupt;
        let slices = interrupt.finish(seconds, || {
            let _control = ControlThread::for_cell(&planned, self.local)?;
            self.turns(cell, &planned, &slots)
        })??;
        let samples = slices.iter().map(SliceSample::from_slice).collect();
        self.record_round(slices)?;
        Ok(Outcome::Measured { samples, seconds: began.elapsed().as_secs_f64() })
    }

    /// The slices of a round; if a turn fails, only the slice of its system.
    fn turns(
        &mut self,
        cell: usize,
        planned: &PlannedCell,
        slots: &[SliceSlot],
    ) -> Result<Vec<Slice>> {
        // A server that waits for reads does nothing. To wake all its threads and stop them again takes as long as
        // dozens of queries.
        let freezes = planned.turns() == 1 || planned.id.test.class == Class::Write;
        for slot in slots {
            if self.clients.get(&slot.system).is_some_and(Clients::needs_status) {
                // A server that has ended fails its first turn.
                let _ = self.with_thawed_clients(slot.system, |clients| {
                    clients.begin_status();
                    Ok(())
                });
            }
        }
        let mut open = Vec::with_capacity(slots.len());
        for slot in slots {
            let clients = self.clients.get_mut(&slot.system).context("it has no clients")?;
            open.push((slot.system, clients.begin(planned, *slot)?));
        }
        if let Err((system, error)) = self.alternate(cell, planned, &mut open, freezes) {
            let slot = slots.iter().find(|slot| slot.system == system);
            let slot = slot.expect("only systems of the round have turns");
            for server in self.servers.values_mut() {
                // A server that has ended has failed its turn, or fails its next one.
                drop(server.freeze());
            }
            return match silence(&error) {
                Some(silence) => Ok(vec![silent_slice(planned.id, *slot, silence)]),
                None => self.failed_slices(planned, *slot, slots, &error),
            };
        }
        let mut usages = Vec::with_capacity(open.len());
        for (system, open) in &open {
            let clients = self.clients.get_mut(system).context("it has no clients")?;
            usages.push(clients.usage(open)?);
        }
        share_out(&mut usages);
        let ended = open.into_iter().zip(usages).map(|((system, open), usage)| {
            let clients = self.clients.get_mut(&system).context("it has no clients")?;
            let mut slice = clients.end(open, usage)?;
            // Its threads run meanwhile, so the counters of the round have been read before. A server that has ended
            // fails its next turn.
            let status = self.with_thawed_clients(system, |clients| Ok(clients.end_status()));
            slice.counters.add_status(status.ok().flatten().into_iter().flatten());
            Ok(slice)
        });
        ended.collect()
    }

    fn failed_slices(
        &mut self,
        planned: &PlannedCell,
        failed: SliceSlot,
        slots: &[SliceSlot],
        error: &anyhow::Error,
    ) -> Result<Vec<Slice>> {
        let system = failed.system;
        let others: Vec<usize> =
            slots.iter().map(|slot| slot.system).filter(|other| *other != system).collect();
        let outcome = Outcome::Failed { system, why: self.why(error), also: Vec::new() };
        let outcome = self.failed_alike(outcome, &others, |it, other| {
            it.with_thawed_clients(other, |clients| clients.trace(planned, 0))
        })?;
        let Outcome::Failed { why, also, .. } = outcome else { return Ok(Vec::new()) };
        let all = std::iter::once((system, why)).chain(also);
        let slices = all.map(|(system, why)| {
            let slot = slots.iter().find(|slot| slot.system == system);
            failed_slice(planned.id, *slot.expect("only systems of the round are tried"), why)
        });
        Ok(slices.collect())
    }

    /// The turns of a round: the systems in random order, then in the reverse order, and so on. A round with a single
    /// turn has the reverse of the order before it, or the next one has the reverse of its order.
    fn alternate(
        &mut self,
        cell: usize,
        planned: &PlannedCell,
        open: &mut [(usize, OpenSlice)],
        freezes: bool,
    ) -> Result<(), (usize, anyhow::Error)> {
        let seed = self.recorder.study().seed;
        let turns = planned.turns();
        let slot = open.first().map(|(_, open)| open.slot());
        let (block, round) = slot.map_or((0, 0), |slot| (slot.block, slot.round));
        let systems: Vec<usize> = open.iter().map(|(system, _)| *system).collect();
        let mut running = None;
        if !freezes {
            self.each_server(&systems, Instance::thaw)?;
        }
        for turn in 0..turns {
            let number = round.wrapping_mul(turns).wrapping_add(turn);
            // The first turns begin in the order of the round. A system that has failed has no turns.
            for system in round_order(seed, block, cell, number, self.participants.len()) {
                let found = open.iter_mut().find(|(of, _)| *of == system);
                let Some((_, open)) = found else { continue };
                if freezes {
                    self.switch_to(&mut running, system)?;
                }
                self.rest_before_turn(planned);
                let done = self.with_clients(system, |clients| clients.turn(planned, open, turn));
                done.map_err(|error| (system, error))?;
            }
        }
        self.each_server(&systems, Instance::freeze)
    }

    fn each_server(
        &mut self,
        systems: &[usize],
        change: impl Fn(&mut Instance) -> Result<(), assay_servers::ServersError>,
    ) -> Result<(), (usize, anyhow::Error)> {
        for &system in systems {
            let server = self.server(system).map_err(|error| (system, error))?;
            change(server).map_err(|error| (system, error.into()))?;
        }
        Ok(())
    }

    /// Closes the connections while the servers can notice it. The tables must then meet their conditions, if any.
    pub(super) fn disconnect(&mut self) -> Result<Outcome> {
        self.weight.iter().for_each(|weight| weight.set(false));
        let mut violation = None;
        for (system, clients) in std::mem::take(&mut self.clients) {
            let Ok(server) = self.server(system) else { continue };
            // A server that has ended fails when the next cell connects to it. A request to stop ends all of them.
            if clients.is_realtime()
                && let Err(error) = lower(server, &clients.session.client_tids())
            {
                log::warn!("{error:#}");
            }
            let thawed = server.thaw();
            drop(clients);
            if thawed.is_ok() {
                self.remove_binary_logs(system);
                if !is_asked()
                    && let Err(error) = self.consistent(system)
                {
                    violation.get_or_insert((system, error));
                }
            }
            let Ok(server) = self.server(system) else { continue };
            if let Err(error) = thawed.and_then(|()| server.freeze())
                && !is_asked()
            {
                log::warn!("{error}");
            }
        }
        match violation {
            Some((system, error)) => self.failed(system, error),
            None => Ok(Outcome::Done),
        }
    }

    /// Checks the conditions of the tables of a system, whose server must not be frozen.
    fn consistent(&mut self, system: usize) -> Result<()> {
        let options = self.server(system)?.connect_options();
        let setup = self.recorder.study().setups.first().context("a study without setups")?;
        self.tables(system, setup.data())?.consistent(&options)
    }

    pub(super) fn once(
        &mut self,
        cell: usize,
        system: usize,
        is_recorded: bool,
    ) -> Result<Outcome> {
        let began = Clock::now();
        let planned = self.cell(cell)?;
        self.tell_standing(&format!("{}, {}", self.name(system), planned.id.test));
        let slot = SliceSlot { system, block: 0, round: 0, position: system as u32 };
        let interrupt = &self.env.interrupt;
        let seconds = f64::from(planned.slice_ms) / 1000.0;
        let slice = interrupt.finish(seconds, || match self.connect_noting(system, &planned) {
            Ok(clients) => self.checked_once(&planned, slot, clients),
            Err(error) => failed_slice(planned.id, slot, self.why(&error)),
        })?;
        self.remove_binary_logs(system);
        let samples = vec![SliceSample::from_slice(&slice)];
        if is_recorded {
            self.record(slice)?;
        }
        Ok(Outcome::Measured { samples, seconds: began.elapsed().as_secs_f64() })
    }

    /// A slice of a system whose tables do not meet their conditions afterwards has failed.
    fn checked_once(&mut self, cell: &PlannedCell, slot: SliceSlot, mut clients: Clients) -> Slice {
        let slice = self.measured_once(cell, slot, &mut clients);
        drop(clients);
        let is_done = matches!(slice.outcome, SliceOutcome::Good | SliceOutcome::Troubled);
        match if is_done { self.consistent(slot.system) } else { Ok(()) } {
            Ok(()) => slice,
            Err(error) => failed_slice(cell.id, slot, self.why(&error)),
        }
    }

    fn measured_once(&self, cell: &PlannedCell, slot: SliceSlot, clients: &mut Clients) -> Slice {
        let server = self.servers.get(&slot.system).context("its server is not running");
        let measured = server.and_then(|server| {
            let monitor = at_priority(cell, server, &clients.session.client_tids(), self.local)?;
            let Some(monitor) = monitor else { return Ok(clients.measure(cell, slot)) };
            clients.monitor(Arc::new(monitor));
            let slice = clients.measure(cell, slot);
            lower(server, &clients.session.client_tids())?;
            Ok(slice)
        });
        measured.unwrap_or_else(|error| failed_slice(cell.id, slot, self.why(&error)))
    }

    fn connect_noting(&mut self, system: usize, cell: &PlannedCell) -> Result<Clients> {
        let clients = self.connect_one(system, cell)?;
        self.recorder.unprepared(system, clients.session.unprepared())?;
        Ok(clients)
    }

    pub(super) fn warm(&mut self, system: usize, cell: &PlannedCell) -> Result<()> {
        let (name, seconds) = (self.name(system), cell.slice_ms / 1000);
        self.env.progress.begin(&format!("{name}: warming with {}, {seconds} s", cell.id.test));
        self.connect_noting(system, cell)?.warm(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_event_follows_from_when_events_ended() {
        // A turn of two events, and one that ended after its first.
        assert_eq!(event_ns(&[vec![100_000, 200_000], vec![130_000]], 1), 110_000_000);
        assert_eq!(event_ns(&[vec![100_000, 100_000]], 2), 100_000_000);
        assert_eq!(event_ns(&[vec![], vec![]], 1), 0);
    }
}
