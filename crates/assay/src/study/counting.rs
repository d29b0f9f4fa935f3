//! Counts the instructions that operations take, on instances of their own under valgrind.
//!
//! Counts do not depend on what else the machine does, so all instances of all systems are counted at the same time,
//! and nothing waits for a quiet machine. All of them carry out the same batches of events, by one client: a batch on
//! one system has its counterpart on every other. The client connects before anything is counted. Cells whose counts do
//! not decide are counted on further instances.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use assay_load::{Bound, Session, Work};
use assay_model::{
    CALLS_PART, CellCount, CellId, Class, Count, CountBatch, CountedBy, Counting as Asked, Dialect,
    EventKind, Experiment, PlannedCell, Setup, Slice, System, WorkCounters, counted,
};
use assay_plan::COUNTED_INSTANCES;
use assay_profile::callgrind::{self, Costs};
use assay_servers::{Counting, Server, Valgrind, shows_waits, wait_for_thread};
use assay_study::Phase;
use assay_verdict::COUNT_LOOKS;
use assay_wire::{ConnectOptions, Connection, Pace};

use super::checking::{Agreement, is_wrong_answer};
use super::executor::StudyExecutor;
use super::give_way;
use super::profiling::told;
use super::starting::together;
use crate::systems::{DATABASE, StudyTables, fetch_valgrind, start_counted};

/// Batches of an instance.
const BATCHES: u64 = 6;

/// About how many instructions a batch has, and how many events at most. With fewer, what background threads happen to
/// do meanwhile counts for more; with more, counting takes longer.
const INSTRUCTIONS: u64 = 20_000_000;
const EVENTS_MOST: u64 = 3000;

/// How many times as many events as a batch has are carried out before any is counted, and then once more.
const WARM: u64 = 2;

/// Events from which the size of a batch follows.
const SAMPLE: u64 = 4;

/// The longest wait for an event under valgrind, and for background work to end.
const EVENT_LIMIT: Duration = Duration::from_secs(300);
const DRAIN_LIMIT: Duration = Duration::from_secs(120);

/// Where the events of counts begin in a client's stream. Their instances are fresh, so only the events that aged the
/// data must be others.
const FIRST: u64 = 1 << 62;

/// What keeps purging from removing old rows meanwhile: what it has removed when a row is added decides whether the
/// thread that serves the client splits a page of an index.
const SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

/// Told where the kernel hides what threads wait for.
const NO_WAITS: &str = "the kernel does not show what a server's threads wait for (/proc/PID/syscall), so counts vary \
                        by some 1% with what else the machine does";

/// A cell to be counted on fresh instances.
struct Uncounted {
    id: CellId,
    /// The events of a batch, if earlier instances have counts already.
    events: Option<u64>,
}

/// What is counted next, in words.
fn purpose<'a>(cells: impl Iterator<Item = &'a Uncounted> + Clone) -> String {
    let tests = counted(cells.clone().count() as u64, "test");
    match cells.clone().any(|cell| cell.events.is_none()) {
        true => format!("counting instructions of {tests}"),
        false => format!("counting {tests} on further instances, because they are undecided"),
    }
}

/// How a system counts a cell.
struct Counter<'a> {
    server: &'a Server,
    valgrind: &'a Valgrind,
    system: &'a System,
    work: Work,
}

impl StudyExecutor<'_, '_> {
    /// Counts the cells that the user asked for and that the study does not have yet. What prevents a count is noted,
    /// and the study is as good without it.
    ///
    /// # Errors
    /// The user asked to stop, the data cannot be loaded, or the ledger cannot be written.
    pub(crate) fn count(&mut self) -> Result<()> {
        if self.request.count == Asked::None {
            return Ok(());
        }
        self.recorder.forget_not_counted()?;
        let mut held = None;
        let mut failed: BTreeSet<CellId> = BTreeSet::new();
        loop {
            let mut phases: BTreeMap<Phase, Vec<Uncounted>> = BTreeMap::new();
            for cell in self.cells_to_count()? {
                if !failed.contains(&cell.id) {
                    phases.entry(Phase::of(cell.id)).or_default().push(cell);
                }
            }
            let all = || phases.values().flatten();
            if all().next().is_none() {
                return Ok(());
            }
            self.env.progress.note(&purpose(all()));
            if held.is_none() {
                match fetch_valgrind(self.env) {
                    Ok(found) => held = Some(found),
                    Err(error) => return all().try_for_each(|it| self.not_counted(it, &error)),
                }
                if self.templates.is_empty() {
                    self.load()?;
                }
            }
            let (held, version) = held.as_ref().context("no valgrind")?;
            let document = |server: &str, counts| document(server, version, counts);
            for (phase, cells) in phases {
                failed.extend(self.count_phase(phase, &cells, &held.valgrind, &document)?);
            }
        }
    }

    /// Notes why a cell has no count, or none on further instances, unless the user asked to stop.
    fn not_counted(&mut self, cell: &Uncounted, error: &anyhow::Error) -> Result<()> {
        self.env.interrupt.check()?;
        let (test, why) = (cell.id.test.name.clone(), told(error));
        if cell.events.is_some() {
            let what = format!("the instructions of {test} were not counted again: {why}");
            self.env.progress.note(&what);
            return Ok(());
        }
        let data = cell.id.setup.data();
        self.note(None, EventKind::NotCounted { test, data, why })
    }

    /// The cells without a count on every system, or with counts that do not decide yet, each test on its data once: a
    /// count has one client.
    fn cells_to_count(&self) -> Result<Vec<Uncounted>> {
        let (study, known) = (self.recorder.study(), self.recorder.counted()?);
        let mut chosen: BTreeSet<_> = BTreeSet::new();
        let mut cells = Vec::new();
        for PlannedCell { id, .. } in &study.cells {
            if id.test.ibench().is_some() || !chosen.insert((id.test, id.setup.data())) {
                continue;
            }
            let of = |system: usize| known.iter().find(|it| (it.system, it.cell) == (system, *id));
            let counts = (0..self.participants.len()).map(|system| Some(&of(system)?.count));
            let Some(counts) = counts.collect::<Option<Vec<&Count>>>() else {
                cells.push(Uncounted { id: *id, events: None });
                continue;
            };
            let Some((base, others)) = counts.split_first() else { continue };
            let is_open =
                |other: &&Count| assay_verdict::is_open(study, *id, counts.len(), [base, other]);
            let more = base.instances.len() < COUNT_LOOKS * COUNTED_INSTANCES;
            if more && others.iter().any(is_open) {
                let first = base.instances.first().and_then(|it| it.first());
                cells.push(Uncounted { id: *id, events: first.map(|batch| batch.events) });
            }
        }
        // Writes come last: what they leave behind would be counted with reads.
        cells.sort_by_key(|cell| cell.id.test.class == Class::Write);
        Ok(cells)
    }

    /// Counts cells on fresh instances and returns those that could not be counted. One that a system cannot count is
    /// left out on all of them: nothing would be equal to it.
    fn count_phase(
        &mut self,
        phase: Phase,
        cells: &[Uncounted],
        valgrind: &Valgrind,
        document: &impl Fn(&str, Counts) -> Count,
    ) -> Result<Vec<CellId>> {
        let mut failed = Vec::new();
        let mut started = self.start_counted_all(phase, valgrind)?;
        let servers = started.as_ref().ok().into_iter().flatten().flatten();
        if servers.map(Server::pid).any(|pid| !shows_waits(pid)) {
            self.env.progress.note(NO_WAITS);
        }
        for (number, cell) in cells.iter().enumerate() {
            self.env.interrupt.check()?;
            let of = format!("{} of {}", number + 1, cells.len());
            self.env.progress.update(&format!("counting {} ({of})", cell.id.test.name));
            let counted = match &mut started {
                Ok(instances) => {
                    self.give_way(instances);
                    let counted = self.count_cell(cell, instances, valgrind);
                    counted.map_err(|error| self.ending(instances).unwrap_or(error))
                }
                Err(error) => {
                    self.not_counted(cell, error)?;
                    failed.push(cell.id);
                    continue;
                }
            };
            match counted {
                Ok(systems) => self.keep(cell.id, systems, document)?,
                Err(error) => {
                    self.not_counted(cell, &error)?;
                    failed.push(cell.id);
                    // An instance may have ended, or be left behind in the middle of a batch. All of them start again,
                    // so that their histories stay equal.
                    if number + 1 < cells.len() {
                        drop(started);
                        started = self.start_counted_all(phase, valgrind)?;
                    }
                }
            }
        }
        Ok(failed)
    }

    /// Keeps the counts of a cell, with those that it has of earlier instances.
    fn keep(
        &mut self,
        cell: CellId,
        systems: Vec<Counts>,
        document: &impl Fn(&str, Counts) -> Count,
    ) -> Result<()> {
        let known = self.recorder.counted()?;
        let mut counts = Vec::with_capacity(systems.len());
        for (system, Counts { instances, costs }) in systems.into_iter().enumerate() {
            let costs = costs.named(&mut self.symbols);
            let new = document(&self.module(system), Counts { instances, costs });
            let earlier = known.iter().find(|it| (it.system, it.cell) == (system, cell));
            let count = match earlier {
                Some(earlier) => {
                    let mut sum = earlier.count.clone();
                    sum.add(new);
                    sum
                }
                None => new,
            };
            counts.push(CellCount { system, cell, count });
        }
        self.recorder.counts(&counts)
    }

    /// Gives servers that are only counted, and this thread, the lowest priority if another assay measures.
    fn give_way(&self, instances: &[Vec<Server>]) {
        if self.recorder.study().experiment == Experiment::Counted && give_way() {
            instances.iter().flatten().for_each(Server::give_way);
        }
    }

    /// Which server has ended and how, if any has.
    fn ending(&self, instances: &mut [Vec<Server>]) -> Option<anyhow::Error> {
        let servers = instances.iter_mut().flat_map(|servers| servers.iter_mut().enumerate());
        // One that runs goes on.
        let mut ended = servers.filter_map(|(system, server)| Some((system, server.thaw().err()?)));
        let (system, ending) = ended.next()?;
        let name = self.name(system);
        Some(anyhow::Error::from(ending).context(format!("`{name}` under valgrind")))
    }

    /// Checks every server under valgrind.
    ///
    /// # Errors
    /// One holds other rows or gives other answers than expected, or has ended.
    fn check_counted(&mut self, phase: Phase, instances: &[Vec<Server>]) -> Result<()> {
        let mut all = Agreement::default();
        for servers in instances {
            for (system, server) in servers.iter().enumerate() {
                let checked = self.checked(system, &patient(server), phase)?;
                all.add(self.name(system), checked)?;
            }
        }
        Ok(())
    }

    /// The module of a server's own code.
    fn module(&self, system: usize) -> String {
        let participant = self.participants.get(system);
        let prefix = participant.and_then(|participant| participant.prefix().ok());
        let program = prefix.and_then(|prefix| prefix.layout.server.file_name());
        program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The instances, each with a server of every system under valgrind, with filled caches; or why they cannot be
    /// counted.
    ///
    /// # Errors
    /// A server gives wrong answers.
    fn start_counted_all(
        &mut self,
        phase: Phase,
        valgrind: &Valgrind,
    ) -> Result<Result<Vec<Vec<Server>>>> {
        let mut started = self.started_counted(phase, valgrind);
        if let Ok(instances) = &mut started
            && self.request.check
            && let Err(error) = self.check_counted(phase, instances)
        {
            if is_wrong_answer(&error) {
                return Err(error);
            }
            started = Err(self.ending(instances).unwrap_or(error));
        }
        Ok(started)
    }

    fn started_counted(&self, phase: Phase, valgrind: &Valgrind) -> Result<Vec<Vec<Server>>> {
        let (study, site) = (self.recorder.study(), &self.local.site);
        self.env.progress.update("starting servers under valgrind");
        let all = (0..COUNTED_INSTANCES).flat_map(|_| self.participants.iter().enumerate());
        let all = all.map(|(system, participant)| {
            let template = self.templates.of(system, phase.data);
            move || -> Result<Server> {
                let server = start_counted(participant, template?, phase, valgrind, site)?;
                let tables = StudyTables::of(study, &participant.system.spec, phase.data);
                tables.fill_cache(&patient(&server))?;
                Ok(server)
            }
        });
        let mut all = together(all).into_iter();
        let systems = self.participants.len();
        (0..COUNTED_INSTANCES).map(|_| all.by_ref().take(systems).collect()).collect()
    }

    /// The batches of a cell on all systems. How many events they have is what fits the first instance of the base.
    fn count_cell(
        &self,
        cell: &Uncounted,
        instances: &[Vec<Server>],
        valgrind: &Valgrind,
    ) -> Result<Vec<Counts>> {
        let (study, systems) = (self.recorder.study(), self.participants);
        let servers = || instances.iter().flat_map(|servers| servers.iter().zip(systems));
        let counters: Vec<Counter<'_>> = servers()
            .map(|(server, participant)| {
                let system = &participant.system;
                let work = Work {
                    dialect: system.spec.product.dialect(),
                    test: cell.id.test,
                    setup: Setup { clients: 1, ..cell.id.setup },
                    statements: study.statements,
                    seed: study.seed,
                };
                Counter { server, valgrind, system, work }
            })
            .collect();
        let opened = together(counters.iter().map(|counter| move || counter.open()));
        let mut opened: Vec<Opened<'_>> = opened.into_iter().collect::<Result<_>>()?;
        // All of them carry out the same, so that their data stay equal.
        let sized = counters.iter().zip(&mut opened);
        let sized = together(sized.map(|(counter, opened)| move || counter.events(opened)));
        let sized: Vec<u64> = sized.into_iter().collect::<Result<_>>()?;
        let events = cell.events.or(sized.first().copied()).context("no system")?;
        let count = counters.iter().zip(&mut opened);
        let all = together(count.map(|(counter, opened)| move || counter.batches(opened, events)));
        let mut counts = vec![Counts::default(); systems.len()];
        for (number, counted) in all.into_iter().enumerate() {
            let of_system = counts.get_mut(number % systems.len()).context("no system")?;
            of_system.add(counted?);
        }
        Ok(counts)
    }
}

/// A client, and where its thread counts.
struct Opened<'a> {
    session: Session,
    cell: CellId,
    counting: Counting<'a>,
    /// Process and thread.
    serving: (i32, u32),
    /// The next event.
    next: u64,
    /// What the thread counted, function by function.
    costs: Costs,
    /// A connection that needs the rows as they were.
    _history: Option<Connection>,
}

/// What was counted of a system in a cell.
#[derive(Debug, Clone, Default)]
struct Counts {
    instances: Vec<Vec<CountBatch>>,
    costs: Costs,
}

impl Counts {
    /// Adds the batches of another instance.
    fn add(&mut self, (batches, costs): (Vec<CountBatch>, Costs)) {
        self.instances.push(batches);
        self.costs.add([&costs]);
    }
}

/// What the ledger keeps of counts by a version of valgrind. `server` is the module of the server's own code.
fn document(server: &str, version: &str, Counts { instances, costs }: Counts) -> Count {
    let ops: f64 = instances.iter().flatten().map(|batch| batch.ops).sum();
    Count {
        by: CountedBy::Callgrind,
        version: Some(version.to_owned()),
        functions: costs.functions(),
        calls: costs.tree().without_small(CALLS_PART),
        ops: ops.round() as u64,
        server: server.to_owned(),
        stripped: costs.stripped(),
        instances,
    }
}

impl<'a> Counter<'a> {
    /// Connects the client and finds the thread that serves it.
    fn open(&self) -> Result<Opened<'a>> {
        let name = &self.system.name;
        let open = || -> Result<Opened<'a>> {
            let options = patient(self.server);
            let mut history = None;
            if self.work.test.class == Class::Write {
                // What was written before would be counted with this test.
                let mut control = Connection::connect(&options)?;
                assay_servers::drain(&mut control, DRAIN_LIMIT)?;
                if self.work.dialect == Dialect::MySql {
                    control.query(SNAPSHOT)?;
                    history = Some(control);
                }
            }
            // None, until the thread that serves the client is known.
            let served = Arc::new(AtomicI32::new(0));
            let pace = Pace::of({
                let served = Arc::clone(&served);
                move || match served.load(Ordering::Relaxed) {
                    0 => {}
                    tid => wait_for_thread(tid),
                }
            });
            let paced = ConnectOptions { pace, ..options };
            let session = Session::open(&paced, &self.work, &[])?;
            let ids = session.connection_ids();
            let round_trips =
                |client, count| session.round_trips(client, count).map_err(anyhow::Error::from);
            let tids = self.server.connection_tids(&ids, round_trips)?;
            let tid = tids.and_then(|tids| tids.first().copied());
            let tid = tid.context("connections share threads, so theirs cannot be counted")?;
            served.store(tid, Ordering::Relaxed);
            let counting = self.server.counting(self.valgrind);
            let serving = counting.place(tid)?.context("valgrind does not know the thread")?;
            let costs = Costs::default();
            let cell = CellId { test: self.work.test, setup: self.work.setup };
            Ok(Opened { session, cell, counting, serving, next: FIRST, costs, _history: history })
        };
        open().with_context(|| format!("`{name}`"))
    }

    /// How many events of the test a batch has.
    fn events(&self, opened: &mut Opened<'a>) -> Result<u64> {
        let mut size = || -> Result<u64> {
            opened.run(SAMPLE)?;
            opened.counting.count(true)?;
            let sample = opened.batch(SAMPLE)?;
            opened.counting.count(false)?;
            let each = sample.serving / sample.events.max(1);
            Ok((INSTRUCTIONS / each.max(1)).clamp(1, EVENTS_MOST))
        };
        size().with_context(|| format!("`{}`", self.system.name))
    }

    fn batches(&self, opened: &mut Opened<'a>, events: u64) -> Result<(Vec<CountBatch>, Costs)> {
        let mut count = || -> Result<(Vec<CountBatch>, Costs)> {
            // The same events on all systems, whatever was carried out to find their number.
            opened.next = FIRST + (1 << 32);
            opened.run(WARM * events)?;
            opened.counting.count(true)?;
            opened.batch(events)?;
            opened.costs = Costs::default();
            let batches = (0..BATCHES).map(|_| opened.batch(events));
            let batches = batches.collect::<Result<_>>()?;
            opened.counting.count(false)?;
            Ok((batches, std::mem::take(&mut opened.costs)))
        };
        count().with_context(|| format!("`{}`", self.system.name))
    }
}

impl Opened<'_> {
    fn run(&mut self, events: u64) -> Result<WorkCounters> {
        let work = self.session.run(self.next, Bound::Events(events))?;
        self.next += events;
        Ok(work)
    }

    /// Carries out so many events and takes what was counted meanwhile.
    fn batch(&mut self, events: u64) -> Result<CountBatch> {
        let work = self.run(events)?;
        let taken = self.counting.take(None)?;
        let (mut serving, mut background) = (0, 0);
        for counts in &taken {
            let instructions = counts.instructions().context("valgrind tells no total")?;
            if (counts.pid, counts.thread) != self.serving {
                background += instructions;
                continue;
            }
            serving += instructions;
            let parts = callgrind::read(&counts.report)?;
            self.costs.add(parts.iter().map(|part| &part.costs));
        }
        let events = work.events;
        // The operations of a study's slices, so that all figures are per operation of the same kind.
        let ops = Slice { work, ..Slice::of(0, self.cell) }.ops();
        Ok(CountBatch { events, ops, serving, background: Some(background) })
    }
}

/// How to connect to a server that answers slowly.
fn patient(server: &Server) -> ConnectOptions {
    let options = server.connect_options();
    ConnectOptions { database: Some(DATABASE.to_owned()), timeout: EVENT_LIMIT, ..options }
}
