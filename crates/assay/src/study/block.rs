//! One block: fresh instances of all systems, and rounds in which they take turns while the others are frozen.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use assay_model::{Instance, PlannedCell, SliceOutcome, StartFrom};
use assay_plan::{round_order, start_order};
use assay_servers::Server;
use assay_wire::mysql::Control;

use super::calibrate::{self, ROUNDS_MIN};
use super::participant::{self, Participant, Stage};
use super::recorder::{Recorder, now_ms};
use super::schedule::{BlockPlan, Schedule};
use super::station::{self, Place, Station};
use super::template::Template;
use crate::study::Environment;

/// The systems and what they run on: the same in every block.
pub(crate) struct Field<'a> {
    pub(crate) participants: &'a [Participant],
    pub(crate) templates: &'a [Template],
    pub(crate) stage: &'a Stage,
    pub(crate) env: &'a Environment<'a>,
}

/// Measures the cells of a block that start from the same data.
pub(crate) fn measure(
    plan: &BlockPlan,
    start_from: StartFrom,
    field: &Field,
    recorder: &mut Recorder,
    schedule: &mut Schedule,
) -> Result<()> {
    let cells: Vec<_> =
        plan.cells.iter().filter(|cell| cell.id.test.start_from() == start_from).collect();
    if cells.is_empty() {
        return Ok(());
    }
    let mut servers = start(plan.number, start_from, field, recorder)?;
    for (index, cell) in cells.iter().enumerate() {
        let what = format!("block {}, {}", plan.number + 1, cell.id.test);
        field.env.progress.measuring(schedule.used_s(), recorder.study().budget_s, &what);
        let mut turns = Turns { plan, cell, field, servers: &mut servers };
        if !turns.take(recorder, schedule)? {
            schedule.cell_failed(cell.id);
            // The histories of the systems are no longer equal, or a server is gone: the rest gets new instances.
            drop(std::mem::take(&mut servers));
            if index + 1 < cells.len() {
                servers = start(plan.number, start_from, field, recorder)?;
            }
        }
    }
    Ok(())
}

/// Starts an instance of every system in random order, fills its caches, and freezes it.
fn start(
    block: u32,
    start_from: StartFrom,
    field: &Field,
    recorder: &mut Recorder,
) -> Result<Vec<Server>> {
    let setup = recorder.study().cells[0].id.setup;
    let order =
        start_order(recorder.study().seed, block, start_from as u32, field.participants.len());
    let mut servers = BTreeMap::new();
    for system in order {
        field.env.interrupt.check()?;
        let participant = &field.participants[system];
        field.env.progress.update(&format!("starting {}", participant.system.name));
        let began = Instant::now();
        let mut server = participant.start(field.stage, &field.templates[system], start_from)?;
        recorder.instance(Instance {
            system,
            block,
            data: setup.data(),
            start_from,
            started_ms: now_ms(),
            start_took_ms: began.elapsed().as_millis() as u64,
        })?;
        participant::fill_caches(&server, setup)?;
        if !recorder.is_audited(system) {
            let mut control = Control::connect(&participant::connect_options(&server))?;
            recorder.settings(system, assay_servers::effective_settings(&mut control)?)?;
        }
        server.freeze()?;
        servers.insert(system, server);
    }
    Ok(servers.into_values().collect())
}

/// How a round ended.
enum Round {
    Good,
    Troubled,
    Failed,
}

/// All systems taking turns in one cell.
struct Turns<'a> {
    plan: &'a BlockPlan,
    cell: &'a PlannedCell,
    field: &'a Field<'a>,
    servers: &'a mut [Server],
}

impl Turns<'_> {
    /// Measures the rounds of the cell; false when a system could not do it.
    fn take(&mut self, recorder: &mut Recorder, schedule: &mut Schedule) -> Result<bool> {
        let Some(mut stations) = self.connect(recorder)? else { return Ok(false) };
        let seed = recorder.study().seed;
        let cells = &recorder.study().cells;
        let number = cells.iter().position(|it| it.id == self.cell.id).context("unplanned cell")?;
        let (wanted, most) = calibrate::rounds_for(recorder.study(), self.cell, self.plan.rounds);
        let (mut good, mut round) = (0, 0);
        // Two by two: an order of the systems and its reverse.
        while good < wanted && round < most {
            for _ in 0..ROUNDS_MIN {
                let began = Instant::now();
                let order = round_order(seed, self.plan.number, number, round, stations.len());
                match self.round(round, &order, &mut stations, recorder)? {
                    Round::Good => good += 1,
                    Round::Troubled => {}
                    Round::Failed => return Ok(false),
                }
                schedule.round_took(self.cell.id, began.elapsed().as_secs_f64());
                round += 1;
            }
        }
        self.disconnect(stations);
        Ok(true)
    }

    /// One slice of every system.
    fn round(
        &mut self,
        round: u32,
        order: &[usize],
        stations: &mut [Station],
        recorder: &mut Recorder,
    ) -> Result<Round> {
        let mut is_troubled = false;
        for (position, &system) in order.iter().enumerate() {
            self.field.env.interrupt.check()?;
            let place = self.place(system, round, position);
            let mut slice = match self.servers[system].thaw() {
                Ok(()) => stations[system].measure(self.cell, place),
                Err(error) => station::failed(self.cell.id, place, error.to_string()),
            };
            if let (Err(error), false) =
                (self.servers[system].freeze(), matches!(slice.outcome, SliceOutcome::Failed(_)))
            {
                slice.outcome = SliceOutcome::Failed(error.to_string());
            }
            let outcome = slice.outcome.clone();
            recorder.slice(slice)?;
            if let SliceOutcome::Failed(why) = outcome {
                self.tell_failure(system, &why, recorder)?;
                return Ok(Round::Failed);
            }
            is_troubled |= outcome == SliceOutcome::Troubled;
        }
        Ok(if is_troubled { Round::Troubled } else { Round::Good })
    }

    /// The clients of every system; none when a system would not have them.
    fn connect(&mut self, recorder: &mut Recorder) -> Result<Option<Vec<Station>>> {
        let seed = recorder.study().seed;
        let mut stations = Vec::with_capacity(self.servers.len());
        for system in 0..self.servers.len() {
            match self.connect_one(system, seed) {
                Ok(station) => {
                    recorder.unprepared(system, station.session.unprepared())?;
                    stations.push(station);
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    let place = self.place(system, 0, 0);
                    recorder.slice(station::failed(self.cell.id, place, why.clone()))?;
                    self.tell_failure(system, &why, recorder)?;
                    return Ok(None);
                }
            }
        }
        Ok(Some(stations))
    }

    fn connect_one(&mut self, system: usize, seed: u64) -> Result<Station> {
        let described = &self.field.participants[system].system;
        let (cell, stage) = (self.cell, self.field.stage);
        let server = &mut self.servers[system];
        server.thaw()?;
        let station = station::connect(server, described, cell.id, cell.placement, seed, stage)?;
        server.freeze()?;
        Ok(station)
    }

    /// Closes the connections while the servers can notice it.
    fn disconnect(&mut self, stations: Vec<Station>) {
        for (server, station) in self.servers.iter_mut().zip(stations) {
            // A server that has ended says so when the next cell connects to it.
            let thawed = server.thaw();
            drop(station);
            if let Err(error) = thawed.and_then(|()| server.freeze()) {
                log::warn!("{error}");
            }
        }
    }

    fn tell_failure(&self, system: usize, why: &str, recorder: &mut Recorder) -> Result<()> {
        let name = &self.field.participants[system].system.name;
        let what = format!("{} failed: {why}", self.cell.id.test);
        self.field.env.progress.done(&format!("{name}: {what}"));
        recorder.event(Some(system), what)
    }

    fn place(&self, system: usize, round: u32, position: usize) -> Place {
        Place { system, block: self.plan.number, round, position: position as u32 }
    }
}
