//! One block: fresh instances of all systems, and rounds in which they take turns while the others are frozen.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use assay_model::{DataSet, EventKind, PlannedCell, Slice, SliceOutcome, Study, StudyRecord, Test};
use assay_plan::{round_order, start_order};
use assay_servers::audit::Facts;

use super::calibrate::{self, ROUNDS_MIN};
use super::inspect::{self, Questions};
use super::instance::Instance;
use super::others::Others;
use super::participant::{Participant, Stage};
use super::recorder::{Recorder, now_ms};
use super::schedule::{BlockPlan, Phase, Schedule};
use super::station::{self, Place, Station};
use super::template::{self, Templates};
use crate::progress::Standing;
use crate::study::Environment;

/// The systems and what they run on: the same in every block.
pub(crate) struct Field<'a> {
    pub(crate) participants: &'a [Participant],
    pub(crate) templates: &'a Templates,
    pub(crate) stage: &'a Stage,
    pub(crate) env: &'a Environment<'a>,
}

/// Measures what is still to be measured of the cells of a block that start from the same data.
pub(crate) fn measure(
    plan: &BlockPlan,
    phase: Phase,
    field: &Field,
    recorder: &mut Recorder,
    schedule: &mut Schedule,
) -> Result<()> {
    let left = |cell: &&PlannedCell| {
        let rounds = Rounds::of(recorder.record(), cell, plan);
        Phase::of(cell.id) == phase && !schedule.is_closed(cell.id) && !rounds.are_complete()
    };
    let cells: Vec<_> = plan.cells.iter().filter(left).collect();
    if cells.is_empty() {
        return Ok(());
    }
    let mut others = Others::watch(recorder);
    let mut servers = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        if servers.is_empty() {
            servers = match start(plan.number, phase, field, recorder)? {
                Ok(servers) => servers,
                Err(failure) => {
                    return give_up(&cells[index..], failure, field, recorder, schedule);
                }
            };
            others.know(&servers);
        }
        field.env.progress.measuring(&Standing {
            used_s: recorder.used_s(),
            budget_s: recorder.study().budget_s,
            what: &format!(
                "block {} of {}, {}",
                plan.number + 1,
                recorder.study().blocks,
                cell.id.test
            ),
            so_far: schedule.so_far(),
        });
        let mut turns = Turns { plan, cell: (*cell).clone(), field, servers: &mut servers };
        if !turns.take(recorder, schedule)? {
            schedule.close(cell.id);
            // The histories of the systems are no longer equal, or a server is gone: the rest gets new instances.
            servers.clear();
        }
    }
    others.tell(recorder)
}

/// A system that did not start, and why.
struct Unstarted {
    system: usize,
    error: anyhow::Error,
}

/// Starts the instances of a phase; what fails once is noted and tried once more.
fn start(
    block: u32,
    phase: Phase,
    field: &Field,
    recorder: &mut Recorder,
) -> Result<Result<Vec<Instance>, Unstarted>> {
    match start_all(block, phase, field, recorder) {
        Ok(servers) => Ok(Ok(servers)),
        Err(Unstarted { error, .. }) => {
            note_second_try(&error, field, recorder)?;
            Ok(start_all(block, phase, field, recorder))
        }
    }
}

fn note_second_try(error: &anyhow::Error, field: &Field, recorder: &mut Recorder) -> Result<()> {
    field.env.interrupt.check()?;
    let what = EventKind::StartedAgain { error: format!("{error:#}") };
    field.env.progress.failed("servers", &what.to_string());
    recorder.event(None, what)
}

/// Starts an instance of every system in random order.
fn start_all(
    block: u32,
    phase: Phase,
    field: &Field,
    recorder: &mut Recorder,
) -> Result<Vec<Instance>, Unstarted> {
    let seed = recorder.study().seed;
    let order = start_order(seed, block, phase.start_from as u32, field.participants.len());
    let mut servers = BTreeMap::new();
    for system in order {
        let server = start_frozen(system, block, phase, field, recorder);
        servers.insert(system, server.map_err(|error| Unstarted { system, error })?);
    }
    Ok(servers.into_values().collect())
}

/// Starts an instance of one system, fills its caches, and freezes it.
fn start_frozen(
    system: usize,
    block: u32,
    phase: Phase,
    field: &Field,
    recorder: &mut Recorder,
) -> Result<Instance> {
    let mut server = start_one(system, block, phase, field, recorder)?;
    let product = field.participants[system].system.spec.product;
    let key = recorder.study().id_key;
    assay_load::fill_cache(&server.connect_options(), product, key, phase.data)?;
    server.freeze()?;
    Ok(server)
}

/// Leaves cells for which a system does not start: what was measured of them stays as it is, the next block tries them
/// again, and the study can be resumed for them.
fn give_up(
    cells: &[&PlannedCell],
    Unstarted { system, error }: Unstarted,
    field: &Field,
    recorder: &mut Recorder,
    schedule: &mut Schedule,
) -> Result<()> {
    field.env.interrupt.check()?;
    let is_whole = |slice: &Slice| !matches!(slice.outcome, SliceOutcome::Failed(_));
    if !recorder.record().slices.iter().any(is_whole) {
        return Err(error);
    }
    let name = &field.participants[system].system.name;
    let (tests, error_text) = (cells.len() as u32, format!("{error:#}"));
    let what = EventKind::NotMeasured { tests, error: error_text };
    field.env.progress.failed(name, &what.to_string());
    recorder.event(Some(system), what)?;
    schedule.leave_unfinished(error);
    Ok(())
}

/// Starts an instance of one system; the first one tells the system's settings.
pub(crate) fn start_one(
    system: usize,
    block: u32,
    phase: Phase,
    field: &Field,
    recorder: &mut Recorder,
) -> Result<Instance> {
    field.env.interrupt.check()?;
    let participant = &field.participants[system];
    field.env.progress.update(&format!("starting {}", participant.system.name));
    let template = field.templates.of(system, phase.data)?;
    let began = Instant::now();
    let study = recorder.study();
    let server = template::start(participant, template, phase, study, field)?;
    recorder.instance(assay_model::Instance {
        system,
        run: 0, // which one, the recorder says
        block,
        data: phase.data,
        start_from: phase.start_from,
        started_ms: now_ms(),
        start_took_ms: began.elapsed().as_millis() as u64,
    })?;
    if !recorder.is_audited(system, phase.data) {
        let facts = audit(system, &server, phase.data, field, recorder)?;
        recorder.facts(system, phase.data, facts)?;
    }
    Ok(server)
}

/// Asks a server that holds the data for what the audit compares.
pub(crate) fn audit(
    system: usize,
    server: &Instance,
    data: DataSet,
    field: &Field,
    recorder: &Recorder,
) -> Result<Facts> {
    let study = recorder.study();
    let mut tests: Vec<Test> = Vec::new();
    for cell in &study.cells {
        if !tests.contains(&cell.id.test) {
            tests.push(cell.id.test);
        }
    }
    let questions =
        Questions { data, tests: &tests, statements: study.statements, seed: study.seed };
    inspect::facts(server, &field.participants[system].system, &questions)
}

/// How far a cell is in a block.
struct Rounds {
    /// Good rounds so far.
    good: u32,
    /// Number of the next round.
    next: u32,
    /// Good rounds wanted.
    wanted: u32,
    /// Rounds that may be taken in all.
    most: u32,
}

impl Rounds {
    /// What the ledger has of it: a round that was broken off halfway stays there, and counts as taken.
    fn of(record: &StudyRecord, cell: &PlannedCell, plan: &BlockPlan) -> Self {
        let (wanted, most) = calibrate::rounds_for(&record.study, cell, plan.rounds);
        let mut good: BTreeMap<u32, usize> = BTreeMap::new();
        for slice in &record.slices {
            if slice.cell == cell.id && slice.block == plan.number {
                *good.entry(slice.round).or_default() +=
                    usize::from(slice.outcome == SliceOutcome::Good);
            }
        }
        let complete = good.values().filter(|count| **count == record.systems.len()).count();
        // Rounds come in twos: the rest of one that was broken off is left out with it.
        let next = good.keys().next_back().map_or(0, |last| last.saturating_add(1));
        let next = next.checked_next_multiple_of(ROUNDS_MIN).unwrap_or(next);
        Self { good: complete as u32, next, wanted, most }
    }

    fn are_complete(&self) -> bool {
        self.good >= self.wanted || self.next >= self.most
    }
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
    cell: PlannedCell,
    field: &'a Field<'a>,
    servers: &'a mut [Instance],
}

impl Turns<'_> {
    /// Measures the rounds of the cell; false when a system could not do it.
    fn take(&mut self, recorder: &mut Recorder, schedule: &mut Schedule) -> Result<bool> {
        let Some(mut stations) = self.connect(recorder)? else { return Ok(false) };
        if calibrate::is_unsized(&self.cell) && !self.size_slices(&mut stations, recorder)? {
            return Ok(false);
        }
        let seed = recorder.study().seed;
        let cells = &recorder.study().cells;
        let number = cells.iter().position(|it| it.id == self.cell.id).context("unplanned cell")?;
        let mut rounds = Rounds::of(recorder.record(), &self.cell, self.plan);
        while !rounds.are_complete() {
            // Two by two: an order of the systems and its reverse.
            for _ in 0..ROUNDS_MIN {
                let began = Instant::now();
                let order =
                    round_order(seed, self.plan.number, number, rounds.next, stations.len());
                match self.round(rounds.next, &order, &mut stations, recorder)? {
                    Round::Good => rounds.good += 1,
                    Round::Troubled => {}
                    Round::Failed => return Ok(false),
                }
                schedule.round_took(self.cell.id, began.elapsed().as_secs_f64());
                rounds.next += 1;
            }
        }
        self.disconnect(stations);
        Ok(true)
    }

    /// One slice of one system, for which its server wakes up.
    fn turn(&mut self, system: usize, place: Place, station: &mut Station) -> Slice {
        let server = &mut self.servers[system];
        let mut slice = match server.thaw() {
            Ok(()) => station.measure(&self.cell, place),
            Err(error) => station::failed(self.cell.id, place, error.to_string()),
        };
        // A server that has ended says so, whatever its clients saw of it.
        if let Err(error) = server.freeze() {
            slice.outcome = SliceOutcome::Failed(match slice.outcome {
                SliceOutcome::Failed(why) => format!("{why}; {error}"),
                _ => error.to_string(),
            });
        }
        slice
    }

    /// One slice of every system.
    fn round(
        &mut self,
        round: u32,
        order: &[usize],
        stations: &mut [Station],
        recorder: &mut Recorder,
    ) -> Result<Round> {
        let seconds = f64::from(self.cell.slice_ms) / 1000.0;
        let mut is_troubled = false;
        for (position, &system) in order.iter().enumerate() {
            let place = self.place(system, round, position);
            let interrupt = &self.field.env.interrupt;
            let slice =
                interrupt.finish(seconds, || self.turn(system, place, &mut stations[system]))?;
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
        let mut stations = Vec::with_capacity(self.servers.len());
        for system in 0..self.servers.len() {
            match self.connect_one(system, recorder.study()) {
                Ok(station) => {
                    recorder.unprepared(system, station.session.unprepared())?;
                    stations.push(station);
                }
                Err(error) => {
                    self.broken_off(system, &error, recorder)?;
                    return Ok(None);
                }
            }
        }
        Ok(Some(stations))
    }

    /// Fixes the events of a write slice by what the systems do of them in a second: all the same number, thrown away,
    /// so that their histories stay equal. False when a system could not do it.
    fn size_slices(&mut self, stations: &mut [Station], recorder: &mut Recorder) -> Result<bool> {
        let few = calibrate::events(
            recorder.study(),
            &self.cell,
            self.field.templates.rate(self.cell.id),
        );
        let mut rates = Vec::with_capacity(stations.len());
        for (system, station) in stations.iter_mut().enumerate() {
            let thawed = self.servers[system].thaw().map_err(anyhow::Error::from);
            let rate = thawed.and_then(|()| station.rate(&self.cell, few));
            let frozen = self.servers[system].freeze().map_err(anyhow::Error::from);
            match rate.and_then(|rate| frozen.map(|()| rate)) {
                Ok(rate) => rates.push(rate),
                Err(error) => {
                    self.broken_off(system, &error, recorder)?;
                    return Ok(false);
                }
            }
        }
        let rate = calibrate::mean_rate(rates.into_iter());
        let events = calibrate::events(recorder.study(), &self.cell, rate);
        recorder.calibrated(self.cell.id, events)?;
        self.cell.events = Some(events);
        Ok(true)
    }

    /// Notes that the cell could not even begin on a system.
    fn broken_off(
        &self,
        system: usize,
        error: &anyhow::Error,
        recorder: &mut Recorder,
    ) -> Result<()> {
        self.field.env.interrupt.check()?;
        let why = format!("{error:#}");
        // A place of its own: what was measured before stays as it is.
        let next = Rounds::of(recorder.record(), &self.cell, self.plan).next;
        recorder.slice(station::failed(self.cell.id, self.place(system, next, 0), why.clone()))?;
        self.tell_failure(system, &why, recorder)
    }

    fn connect_one(&mut self, system: usize, study: &Study) -> Result<Station> {
        let described = &self.field.participants[system].system;
        let server = &mut self.servers[system];
        server.thaw()?;
        let station = station::connect(server, described, &self.cell, study, self.field.stage)?;
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
        let test = self.cell.id.test.name.clone();
        let what = EventKind::TestFailed { test, why: why.to_owned() };
        self.field.env.progress.failed(name, &what.to_string());
        recorder.event(Some(system), what)
    }

    fn place(&self, system: usize, round: u32, position: usize) -> Place {
        Place { system, block: self.plan.number, round, position: position as u32 }
    }
}
