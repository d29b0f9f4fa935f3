//! One block: fresh instances of all systems, and rounds in which they take turns while the others are frozen.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use assay_model::{Instance, PlannedCell, SliceOutcome, StartFrom};
use assay_plan::{round_order, start_order};
use assay_servers::Server;
use assay_wire::mysql::Control;

use super::participant::{self, Participant, Stage};
use super::recorder::{Recorder, now_ms};
use super::schedule::{BlockPlan, Schedule};
use super::station::{self, Place, Station};
use super::template::Template;
use crate::study::Environment;

/// A cell may repeat one in this many of its rounds because of machine trouble.
const REPEATS_SHARE: u32 = 4;

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
    for cell in cells {
        let what = format!("block {}  {}", plan.number + 1, cell.id.test);
        field.env.progress.measuring(schedule.used_s(), recorder.study().budget_s, &what);
        let mut turns = Turns { plan, cell, field, servers: &mut servers };
        if !turns.take(recorder, schedule)? {
            schedule.cell_failed(cell.id);
            // The histories of the systems are no longer equal: these instances can tell nothing more.
            break;
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
        let began = Instant::now();
        let mut server = participant.start(field.stage, &field.templates[system], start_from)?;
        recorder.instance(Instance {
            system,
            block,
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
        let mut rounds = self.plan.rounds;
        let rounds_max = rounds + rounds.div_ceil(REPEATS_SHARE);
        let mut round = 0;
        while round < rounds {
            let began = Instant::now();
            let order = round_order(seed, self.plan.number, number, round, stations.len());
            let mut is_troubled = false;
            for (position, &system) in order.iter().enumerate() {
                self.field.env.interrupt.check()?;
                let place = self.place(system, round, position);
                self.servers[system].thaw()?;
                let slice = stations[system].measure(self.cell, place);
                let frozen = self.servers[system].freeze();
                let outcome = slice.outcome.clone();
                recorder.slice(slice)?;
                if let SliceOutcome::Failed(why) = outcome {
                    return self.failed(system, &why, recorder);
                }
                frozen?;
                is_troubled |= outcome == SliceOutcome::Troubled;
            }
            schedule.round_took(self.cell.id, began.elapsed().as_secs_f64());
            if is_troubled && rounds < rounds_max {
                rounds += 1;
            }
            round += 1;
        }
        self.disconnect(stations)?;
        Ok(true)
    }

    /// The clients of every system; none when a system would not have them.
    fn connect(&mut self, recorder: &mut Recorder) -> Result<Option<Vec<Station>>> {
        let seed = recorder.study().seed;
        let mut stations = Vec::with_capacity(self.servers.len());
        for (system, server) in self.servers.iter_mut().enumerate() {
            server.thaw()?;
            let described = &self.field.participants[system].system;
            let (cell, stage) = (self.cell, self.field.stage);
            match station::connect(server, described, cell.id, cell.placement, seed, stage) {
                Ok(station) => {
                    recorder.unprepared(system, station.session.unprepared())?;
                    stations.push(station);
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    let mut slice = station::unmeasured(cell.id, self.place(system, 0, 0));
                    slice.outcome = SliceOutcome::Failed(why.clone());
                    recorder.slice(slice)?;
                    self.failed(system, &why, recorder)?;
                    return Ok(None);
                }
            }
            server.freeze()?;
        }
        Ok(Some(stations))
    }

    /// Closes the connections while the servers can notice it.
    fn disconnect(&mut self, stations: Vec<Station>) -> Result<()> {
        for (server, station) in self.servers.iter_mut().zip(stations) {
            server.thaw()?;
            drop(station);
            server.freeze()?;
        }
        Ok(())
    }

    fn failed(&self, system: usize, why: &str, recorder: &mut Recorder) -> Result<bool> {
        let what = format!("{} failed: {why}", self.cell.id.test);
        self.field
            .env
            .progress
            .done(&format!("{}: {what}", self.field.participants[system].system.name));
        recorder.event(Some(system), what)?;
        Ok(false)
    }

    fn place(&self, system: usize, round: u32, position: usize) -> Place {
        Place { system, block: self.plan.number, round, position: position as u32 }
    }
}
