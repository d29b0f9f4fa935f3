//! Measures: all systems taking turns in a cell while the others are frozen, or one system once and long.

use std::time::Instant as Clock;

use anyhow::{Context, Result};
use assay_model::{PlannedCell, Slice, SliceOutcome};
use assay_study::{Outcome, mean_rate};
use assay_verdict::Sample;

use super::executor::StudyExecutor;
use crate::systems::{Clients, Turn, connect_clients, failed_slice};

impl StudyExecutor<'_, '_> {
    /// The clients of every system.
    pub(super) fn connect(&mut self, cell: usize, block: u32) -> Result<Outcome> {
        let planned = self.cell(cell)?;
        let blocks = self.recorder.study().blocks;
        self.tell_standing(&format!("block {} of {blocks}, {}", block + 1, planned.id.test));
        let systems: Vec<usize> = self.servers.keys().copied().collect();
        for system in systems {
            match self.connect_frozen(system, &planned) {
                Ok(clients) => {
                    self.recorder.unprepared(system, clients.session.unprepared())?;
                    self.clients.insert(system, clients);
                }
                Err(error) => return self.failed(system, error),
            }
        }
        Ok(Outcome::Done)
    }

    fn connect_frozen(&mut self, system: usize, cell: &PlannedCell) -> Result<Clients> {
        self.server(system)?.thaw()?;
        let clients = self.connect_one(system, cell)?;
        self.server(system)?.freeze()?;
        Ok(clients)
    }

    fn connect_one(&mut self, system: usize, cell: &PlannedCell) -> Result<Clients> {
        let described = &self.participants.get(system).context("no such system")?.system;
        let server = self.servers.get(&system).context("its server is not running")?;
        connect_clients(server, described, cell, self.recorder.study(), self.local)
    }

    /// Events per second of the systems, which all do the same number of events, thrown away, so that their histories
    /// stay equal.
    pub(super) fn size(&mut self, cell: usize, events: u64) -> Result<Outcome> {
        let planned = self.cell(cell)?;
        let mut rates = Vec::with_capacity(self.clients.len());
        let systems: Vec<usize> = self.clients.keys().copied().collect();
        for system in systems {
            match self.rate(system, &planned, events) {
                Ok(rate) => rates.push(rate),
                Err(error) => return self.failed(system, error),
            }
        }
        Ok(Outcome::Sized { rate: mean_rate(rates.into_iter()) })
    }

    fn rate(&mut self, system: usize, cell: &PlannedCell, events: u64) -> Result<f64> {
        let server = self.servers.get_mut(&system).context("its server is not running")?;
        let clients = self.clients.get_mut(&system).context("its clients are not connected")?;
        let thawed = server.thaw().map_err(anyhow::Error::from);
        let rate = thawed.and_then(|()| clients.rate(cell, events));
        let frozen = server.freeze().map_err(anyhow::Error::from);
        rate.and_then(|rate| frozen.map(|()| rate))
    }

    /// One slice of every system.
    pub(super) fn round(
        &mut self,
        cell: usize,
        block: u32,
        round: u32,
        order: &[usize],
    ) -> Result<Outcome> {
        let began = Clock::now();
        let planned = self.cell(cell)?;
        let seconds = f64::from(planned.slice_ms) / 1000.0;
        let mut samples = Vec::with_capacity(order.len());
        for (position, &system) in order.iter().enumerate() {
            let turn = Turn { system, block, round, position: position as u32 };
            let interrupt = &self.env.interrupt;
            let slice = interrupt.finish(seconds, || self.turn(&planned, turn))??;
            samples.push(Sample::of(&slice));
            let has_failed = matches!(slice.outcome, SliceOutcome::Failed(_));
            self.record(slice)?;
            if has_failed {
                break;
            }
        }
        Ok(Outcome::Measured { samples, seconds: began.elapsed().as_secs_f64() })
    }

    /// One slice of one system, for which its server wakes up.
    fn turn(&mut self, cell: &PlannedCell, turn: Turn) -> Result<Slice> {
        let server = self.servers.get_mut(&turn.system).context("its server is not running")?;
        let clients =
            self.clients.get_mut(&turn.system).context("its clients are not connected")?;
        let mut slice = match server.thaw() {
            Ok(()) => clients.measure(cell, turn),
            Err(error) => failed_slice(cell.id, turn, error.to_string()),
        };
        // If the server has ended, its error is added to what its clients reported.
        if let Err(error) = server.freeze() {
            slice.outcome = SliceOutcome::Failed(match slice.outcome {
                SliceOutcome::Failed(why) => format!("{why}; {error}"),
                _ => error.to_string(),
            });
        }
        Ok(slice)
    }

    /// Closes the connections while the servers can notice it.
    pub(super) fn disconnect(&mut self) {
        for (system, clients) in std::mem::take(&mut self.clients) {
            let Some(server) = self.servers.get_mut(&system) else { continue };
            // A server that has ended says so when the next cell connects to it.
            let thawed = server.thaw();
            drop(clients);
            if let Err(error) = thawed.and_then(|()| server.freeze()) {
                log::warn!("{error}");
            }
        }
    }

    /// One slice of one system, with connections of its own.
    pub(super) fn once(
        &mut self,
        cell: usize,
        system: usize,
        is_recorded: bool,
    ) -> Result<Outcome> {
        let began = Clock::now();
        let planned = self.cell(cell)?;
        self.tell_standing(&format!("{}, {}", self.name(system), planned.id.test));
        let turn = Turn { system, block: 0, round: 0, position: system as u32 };
        let interrupt = &self.env.interrupt;
        let seconds = f64::from(planned.slice_ms) / 1000.0;
        let slice = interrupt.finish(seconds, || match self.connect_noting(system, &planned) {
            Ok(mut clients) => clients.measure(&planned, turn),
            Err(error) => failed_slice(planned.id, turn, format!("{error:#}")),
        })?;
        let samples = vec![Sample::of(&slice)];
        if is_recorded {
            self.record(slice)?;
        }
        Ok(Outcome::Measured { samples, seconds: began.elapsed().as_secs_f64() })
    }

    fn connect_noting(&mut self, system: usize, cell: &PlannedCell) -> Result<Clients> {
        let clients = self.connect_one(system, cell)?;
        self.recorder.unprepared(system, clients.session.unprepared())?;
        Ok(clients)
    }

    /// Runs a test without recording it.
    pub(super) fn warm(&mut self, system: usize, cell: &PlannedCell) -> Result<()> {
        let (name, seconds) = (self.name(system), cell.slice_ms / 1000);
        self.env.progress.begin(&format!("{name}: warming with {}, {seconds} s", cell.id.test));
        self.connect_noting(system, cell)?.warm(cell)
    }
}
