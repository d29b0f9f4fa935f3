//! Preset published: one system after the other, each test once and long, on one instance from load to end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_model::{
    CellId, Class, DataSet, PlannedCell, Setup, Slice, SliceOutcome, StartFrom, Test,
};
use assay_plan::{Step, sequence};
use assay_wire::Connection;

use super::block::{self, Field, start_one};
use super::instance::Instance;
use super::participant;
use super::recorder::Recorder;
use super::schedule::Phase;
use super::station::{self, Place};
use super::template;
use crate::progress::{Standing, Tally};

/// Rest between two systems at most: what the published harness waits.
const REST_MAX: Duration = Duration::from_secs(600);

/// Between two looks at whether the user asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Measures what is still to be measured of every system on every data set.
pub(crate) fn measure(field: &Field, recorder: &mut Recorder) -> Result<()> {
    audit(field, recorder)?;
    let mut rests = false;
    for data in data_sets(recorder) {
        for system in 0..field.participants.len() {
            let mut run = Run { system, data, field };
            if run.is_complete(recorder) {
                continue;
            }
            if rests {
                field.env.progress.begin("resting before the next system");
                run.wait(REST_MAX.min(longest(recorder)))?;
            }
            run.take(recorder)?;
            rests = true;
        }
    }
    Ok(())
}

/// Asks every system for its settings first: one that was measured before an interruption is not started again.
fn audit(field: &Field, recorder: &mut Recorder) -> Result<()> {
    for data in data_sets(recorder) {
        let phase = Phase { data, start_from: StartFrom::Fresh };
        for (index, participant) in field.participants.iter().enumerate() {
            let template = field.templates.of(index, data)?;
            let server = template::start(participant, template, phase, recorder.study(), field)?;
            let facts = block::audit(index, &server, data, field, recorder)?;
            recorder.facts(index, data, facts)?;
            server.stop()?;
        }
    }
    Ok(())
}

fn data_sets(recorder: &Recorder) -> Vec<DataSet> {
    let mut sets: Vec<DataSet> = Vec::new();
    for setup in &recorder.study().setups {
        if !sets.contains(&setup.data()) {
            sets.push(setup.data());
        }
    }
    sets
}

/// The longest slice of the study.
fn longest(recorder: &Recorder) -> Duration {
    let most = recorder.study().cells.iter().map(|cell| cell.slice_ms).max().unwrap_or(0);
    Duration::from_millis(u64::from(most))
}

/// One system on one data set.
struct Run<'a> {
    system: usize,
    data: DataSet,
    field: &'a Field<'a>,
}

impl Run<'_> {
    fn cells(&self, recorder: &Recorder) -> Vec<PlannedCell> {
        let cells = recorder.study().cells.iter();
        cells.filter(|cell| cell.id.setup.data() == self.data).cloned().collect()
    }

    fn has(&self, cell: CellId, recorder: &Recorder) -> bool {
        let mine = |slice: &Slice| slice.cell == cell && slice.system == self.system;
        recorder.record().slices.iter().any(mine)
    }

    fn has_failed(&self, cell: CellId, recorder: &Recorder) -> bool {
        let mine = |slice: &&Slice| slice.cell == cell && slice.system == self.system;
        let mut slices = recorder.record().slices.iter().filter(mine);
        slices.any(|slice| matches!(slice.outcome, SliceOutcome::Failed(_)))
    }

    fn is_complete(&self, recorder: &Recorder) -> bool {
        self.cells(recorder).iter().all(|cell| self.has(cell.id, recorder))
    }

    /// The whole sequence on a new instance. Of what an earlier run measured the writes are done again, unrecorded, so
    /// that what follows finds the data as they leave them.
    fn take(&mut self, recorder: &mut Recorder) -> Result<()> {
        let phase = Phase { data: self.data, start_from: StartFrom::Fresh };
        let server = start_one(self.system, 0, phase, self.field, recorder)?;
        let cells = self.cells(recorder);
        if cells.iter().any(|cell| self.has(cell.id, recorder)) {
            let what = "the writes measured before the interruption are done again, unrecorded";
            recorder.event(Some(self.system), what.to_owned())?;
        }
        for step in sequence(&cells) {
            self.field.env.interrupt.check()?;
            match step {
                Step::Warm { test, clients, seconds } => {
                    self.warm(test, clients, seconds, &server, recorder)?;
                }
                Step::Maintain { seconds } => self.maintain(seconds, &server)?,
                Step::Measure(index) => self.measure(&cells[index], &server, recorder)?,
            }
        }
        server.stop()?;
        Ok(())
    }

    fn measure(
        &self,
        cell: &PlannedCell,
        server: &Instance,
        recorder: &mut Recorder,
    ) -> Result<()> {
        let is_done = self.has(cell.id, recorder);
        if is_done && (cell.id.test.class == Class::Read || self.has_failed(cell.id, recorder)) {
            return Ok(());
        }
        let (progress, study) = (self.field.env.progress, recorder.study());
        let name = &self.field.participants[self.system].system.name;
        progress.measuring(&Standing {
            used_s: recorder.used_s(),
            budget_s: study.budget_s,
            what: &format!("{name}, {}", cell.id.test),
            so_far: &Tally::default(),
        });
        let place = Place { system: self.system, block: 0, round: 0, position: self.system as u32 };
        let slice = || match self.connect(cell, server, recorder) {
            Ok(mut station) => station.measure(cell, place),
            Err(error) => station::failed(cell.id, place, format!("{error:#}")),
        };
        let seconds = f64::from(cell.slice_ms) / 1000.0;
        let slice = self.field.env.interrupt.finish(seconds, slice)?;
        if is_done {
            return Ok(());
        }
        if let SliceOutcome::Failed(why) = &slice.outcome {
            let what = format!("{} failed: {why}", cell.id.test);
            progress.failed(name, &what);
            recorder.event(Some(self.system), what)?;
            recorder.slice(slice)?;
            // Of a server that is gone nothing more is to be recorded: resumed, the study goes on with the next test.
            Connection::connect(&server.connect_options())
                .with_context(|| format!("`{name}` ended during {}", cell.id.test))?;
            return Ok(());
        }
        recorder.slice(slice)
    }

    fn connect(
        &self,
        cell: &PlannedCell,
        server: &Instance,
        recorder: &mut Recorder,
    ) -> Result<station::Station> {
        let system = &self.field.participants[self.system].system;
        let station = station::connect(server, system, cell, recorder.study(), self.field.stage)?;
        recorder.unprepared(self.system, station.session.unprepared())?;
        Ok(station)
    }

    /// Runs a test without recording it.
    fn warm(
        &self,
        test: Test,
        clients: u32,
        seconds: u32,
        server: &Instance,
        recorder: &mut Recorder,
    ) -> Result<()> {
        let DataSet { tables, rows } = self.data;
        let name = &self.field.participants[self.system].system.name;
        self.field.env.progress.begin(&format!("{name}: warming with {test}, {seconds} s"));
        let Some(like) = self.cells(recorder).into_iter().next() else { return Ok(()) };
        let cell = PlannedCell {
            id: CellId { test, setup: Setup { clients, tables, rows } },
            warm_ms: 0,
            slice_ms: seconds.saturating_mul(1000),
            events: None,
            ..like
        };
        let mut station = self.connect(&cell, server, recorder)?;
        station.warm(&cell)
    }

    /// Statistics and writing of pages, then rest until the time is over.
    fn maintain(&self, seconds: u32, server: &Instance) -> Result<()> {
        let began = Instant::now();
        let name = &self.field.participants[self.system].system.name;
        self.field.env.progress.begin(&format!("{name}: maintaining, {seconds} s"));
        let mut control = Connection::connect(&server.connect_options())?;
        let limit = Duration::from_secs(u64::from(seconds));
        assay_servers::maintain(&mut control, &participant::tables(self.data), limit)?;
        self.wait(limit.saturating_sub(began.elapsed()))
    }

    fn wait(&self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.field.env.interrupt.check()?;
            std::thread::sleep(LOOK_EVERY.min(end.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }
}
