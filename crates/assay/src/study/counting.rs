//! Counts the instructions that operations take, on instances of their own under valgrind.
//!
//! Counts do not depend on what else the machine does, so the systems are counted at the same time, and nothing waits
//! for a quiet machine. All of them carry out the same events, by one client, in batches of N and of three times as
//! many: what an event takes is the difference of two batches, without what a batch takes besides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_load::{Bound, Session, Work};
use assay_model::{
    CALLS_PART, CellCount, CellId, Class, Count, CountBatch, CountedBy, EventKind, PlannedCell,
    Setup, Slice, System, WorkCounters, counted,
};
use assay_profile::callgrind::{self, Costs};
use assay_servers::{Counting, Server, Valgrind};
use assay_study::Phase;
use assay_wire::{ConnectOptions, Connection};

use super::executor::StudyExecutor;
use super::profiling::told;
use super::starting::together;
use crate::systems::{DATABASE, StudyTables, fetch_valgrind, start_counted};

/// Fresh instances of each system.
const INSTANCES: usize = 2;

/// Pairs of batches of an instance, of N and of 3 N events.
const PAIRS: u64 = 3;

/// About how long a batch of N events takes, and events of a batch at most.
const BATCH: Duration = Duration::from_millis(250);
const EVENTS_MOST: u64 = 3000;

/// How many times N events are carried out before any is counted.
const WARM: u64 = 2;

/// The longest wait for an event under valgrind, and for background work to end.
const EVENT_LIMIT: Duration = Duration::from_secs(300);
const DRAIN_LIMIT: Duration = Duration::from_secs(120);

/// Where the events of counts begin in a client's stream. Their instances are fresh, so only the events that aged the
/// data must be others.
const FIRST: u64 = 1 << 62;

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
        let mut phases: BTreeMap<Phase, Vec<PlannedCell>> = BTreeMap::new();
        for cell in self.cells_to_count()? {
            phases.entry(Phase::of(cell.id)).or_default().push(cell);
        }
        let cells = phases.values().map(Vec::len).sum::<usize>() as u64;
        if cells == 0 {
            return Ok(());
        }
        self.env.progress.note(&format!("counting instructions of {}", counted(cells, "test")));
        let (held, version) = match fetch_valgrind(self.env) {
            Ok(found) => found,
            Err(error) => {
                return phases
                    .values()
                    .flatten()
                    .try_for_each(|cell| self.not_counted(cell, &error));
            }
        };
        if self.templates.is_empty() {
            self.load()?;
        }
        for (phase, cells) in phases {
            let begun = cells.iter().map(|cell| CountedCell::new(cell, self.participants.len()));
            let counted = self.count_phase(phase, begun.collect(), &held.valgrind)?;
            for cell in counted.into_iter().filter(|cell| !cell.is_failed) {
                let count = |(system, counts): (usize, Counts)| CellCount {
                    system,
                    cell: cell.planned.id,
                    count: counts.document(&version, self.module(system)),
                };
                let all: Vec<CellCount> = cell.systems.into_iter().enumerate().map(count).collect();
                self.recorder.counts(&all)?;
            }
        }
        Ok(())
    }

    /// Notes why a cell has no count, unless the user asked to stop.
    fn not_counted(&mut self, cell: &PlannedCell, error: &anyhow::Error) -> Result<()> {
        self.env.interrupt.check()?;
        let (test, why) = (cell.id.test.name.clone(), told(error));
        self.note(None, EventKind::NotCounted { test, why })
    }

    /// The cells without a count on every system, each test on its data once: a count has one client.
    fn cells_to_count(&mut self) -> Result<Vec<PlannedCell>> {
        if !self.request.count {
            return Ok(Vec::new());
        }
        self.recorder.forget_not_counted()?;
        let known = self.recorder.counted()?;
        let mut chosen: BTreeSet<_> = BTreeSet::new();
        let mut cells = Vec::new();
        for cell in &self.recorder.study().cells {
            let CellId { test, setup } = cell.id;
            let is_new = test.ibench().is_none() && chosen.insert((test, setup.data()));
            if is_new && !known.contains(&cell.id) {
                cells.push(cell.clone());
            }
        }
        // Writes come last: what they leave behind would be counted with reads.
        cells.sort_by_key(|cell| cell.id.test.class == Class::Write);
        Ok(cells)
    }

    /// Counts cells on fresh instances. One that a system cannot count is left out on all of them.
    fn count_phase<'c>(
        &mut self,
        phase: Phase,
        mut cells: Vec<CountedCell<'c>>,
        valgrind: &Valgrind,
    ) -> Result<Vec<CountedCell<'c>>> {
        for instance in 1..=INSTANCES {
            let servers = self.start_counted_all(phase, valgrind);
            for cell in cells.iter_mut().filter(|cell| !cell.is_failed) {
                self.env.interrupt.check()?;
                let name = &cell.planned.id.test.name;
                let what = format!("counting {name}, instance {instance} of {INSTANCES}");
                self.env.progress.update(&what);
                let counted = match &servers {
                    Ok(servers) => self.count_cell(cell, servers, valgrind),
                    Err(error) => {
                        cell.is_failed = true;
                        self.not_counted(cell.planned, error)?;
                        continue;
                    }
                };
                match counted {
                    Ok(batches) => {
                        for (all, (batches, costs)) in cell.systems.iter_mut().zip(batches) {
                            // The files that the servers run may go with them.
                            all.add((batches, costs.named(&mut self.symbols)));
                        }
                    }
                    Err(error) => {
                        cell.is_failed = true;
                        self.not_counted(cell.planned, &error)?;
                    }
                }
            }
        }
        Ok(cells)
    }

    /// The module of a server's own code.
    fn module(&self, system: usize) -> String {
        let participant = self.participants.get(system);
        let prefix = participant.and_then(|participant| participant.prefix().ok());
        let program = prefix.and_then(|prefix| prefix.layout.server.file_name());
        program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// An instance of each system that assay starts, under valgrind, with filled caches.
    fn start_counted_all(&self, phase: Phase, valgrind: &Valgrind) -> Result<Vec<Server>> {
        let (study, site) = (self.recorder.study(), &self.local.site);
        self.env.progress.update("starting servers under valgrind");
        let all = self.participants.iter().enumerate().map(|(system, participant)| {
            let template = self.templates.of(system, phase.data);
            move || -> Result<Server> {
                let server = start_counted(participant, template?, phase, valgrind, site)?;
                let tables = StudyTables::of(study, &participant.system.spec, phase.data);
                tables.fill_cache(&patient(&server))?;
                Ok(server)
            }
        });
        together(all).into_iter().collect()
    }

    /// The batches of a cell on all systems, which carry out the same events. How many that are is found on the first
    /// instance of the base.
    fn count_cell(
        &self,
        cell: &mut CountedCell<'_>,
        servers: &[Server],
        valgrind: &Valgrind,
    ) -> Result<Vec<(Vec<CountBatch>, Costs)>> {
        let (study, id) = (self.recorder.study(), cell.planned.id);
        let mut counters = Vec::with_capacity(servers.len());
        for (server, participant) in servers.iter().zip(self.participants) {
            let system = &participant.system;
            let work = Work {
                dialect: system.spec.product.dialect(),
                test: id.test,
                setup: Setup { clients: 1, ..id.setup },
                statements: study.statements,
                seed: study.seed,
            };
            counters.push(Counter { server, valgrind, system, work });
        }
        let opened = together(counters.iter().map(|counter| move || counter.open()));
        let mut opened: Vec<Opened<'_>> = opened.into_iter().collect::<Result<_>>()?;
        let number = match cell.events {
            Some(number) => number,
            None => {
                let base = counters.first().zip(opened.first_mut()).context("no system")?;
                *cell.events.insert(base.0.events(base.1)?)
            }
        };
        let count = counters.iter().zip(&mut opened);
        let all = together(count.map(|(counter, opened)| move || counter.batches(opened, number)));
        all.into_iter().collect()
    }
}

/// What was counted so far in a cell.
struct CountedCell<'c> {
    planned: &'c PlannedCell,
    /// Events of a batch, once they are known.
    events: Option<u64>,
    systems: Vec<Counts>,
    is_failed: bool,
}

impl<'c> CountedCell<'c> {
    fn new(planned: &'c PlannedCell, systems: usize) -> Self {
        Self { planned, events: None, systems: vec![Counts::default(); systems], is_failed: false }
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

    fn document(self, version: &str, server: String) -> Count {
        let ops: f64 = self.instances.iter().flatten().map(|batch| batch.ops).sum();
        Count {
            by: CountedBy::Callgrind,
            version: Some(version.to_owned()),
            functions: self.costs.functions(),
            calls: self.costs.tree().without_small(CALLS_PART),
            ops: ops.round() as u64,
            server,
            stripped: self.costs.stripped(),
            instances: self.instances,
        }
    }
}

impl<'a> Counter<'a> {
    /// Connects the client and finds the thread that serves it.
    fn open(&self) -> Result<Opened<'a>> {
        let name = &self.system.name;
        let open = || -> Result<Opened<'a>> {
            let options = patient(self.server);
            if self.work.test.class == Class::Write {
                // What was written before would be counted with this test.
                let mut control = Connection::connect(&options)?;
                assay_servers::drain(&mut control, DRAIN_LIMIT)?;
            }
            let session = Session::open(&options, &self.work, &[])?;
            let ids = session.connection_ids();
            let round_trips =
                |client, count| session.round_trips(client, count).map_err(anyhow::Error::from);
            let tids = self.server.connection_tids(&ids, round_trips)?;
            let tid = tids.and_then(|tids| tids.first().copied());
            let tid = tid.context("connections share threads, so theirs cannot be counted")?;
            let counting = self.server.counting(self.valgrind);
            let serving = counting.place(tid)?.context("valgrind does not know the thread")?;
            let costs = Costs::default();
            let cell = CellId { test: self.work.test, setup: self.work.setup };
            Ok(Opened { session, cell, counting, serving, next: FIRST, costs })
        };
        open().with_context(|| format!("`{name}`"))
    }

    /// How many events of the test a batch has: as many as take a quarter of a second while they are counted.
    fn events(&self, opened: &mut Opened<'a>) -> Result<u64> {
        opened.run(1)?;
        opened.counting.count(true)?;
        // The first events of a kind take long, because valgrind translates their code.
        let (mut events, mut before) = (1, f64::INFINITY);
        let each = loop {
            let began = Instant::now();
            opened.run(events)?;
            let took = began.elapsed();
            let each = took.as_secs_f64() / events as f64;
            if events >= EVENTS_MOST || (took >= BATCH / 2 && each > 0.5 * before) {
                break each.min(before);
            }
            before = each;
            events *= 4;
        };
        opened.counting.count(false)?;
        Ok(((BATCH.as_secs_f64() / each) as u64).clamp(1, EVENTS_MOST))
    }

    fn batches(&self, opened: &mut Opened<'a>, events: u64) -> Result<(Vec<CountBatch>, Costs)> {
        let mut count = || -> Result<(Vec<CountBatch>, Costs)> {
            // The same events on all systems, whatever was carried out to find their number.
            opened.next = FIRST + (1 << 32);
            opened.run(WARM * events)?;
            opened.counting.count(true)?;
            opened.batch(events)?;
            opened.costs = Costs::default();
            let mut batches = Vec::new();
            for pair in 0..PAIRS {
                // The order changes, so that a drift takes no side.
                let sizes = if pair % 2 == 0 { [1, 3] } else { [3, 1] };
                for times in sizes {
                    batches.push(opened.batch(times * events)?);
                }
            }
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
