//! A client whose server is counted, batch by batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_callgrind::Costs;
use assay_load::{ClientSession, ClientWork, RunBound};
use assay_model::{CellId, Class, CountBatch, Dialect, Slice, System, WorkCounters};
use assay_servers::{ServerInstance, wait_for_thread};
use assay_wire::{ConnectOptions, Connection, RequestDelay};

use crate::instrument::{CountReading, Instrument, Meter};
use assay_run::systems::DATABASE;

/// Events by which batches are sized, after as many uncounted ones. Reads of one test are alike, and some read a whole
/// table; writes may differ.
const READS_SAMPLED: u64 = 1;
const WRITES_SAMPLED: u64 = 4;

/// Postgres plans a prepared statement anew in its first five executions, and then chooses the plan of later ones.
const POSTGRES_PLANS: u64 = 6;

/// How long idle servers are counted. Most of their threads look for work once a second.
const IDLE: Duration = Duration::from_secs(3);

/// Limit of an event under valgrind, and of background work.
const EVENT_LIMIT: Duration = Duration::from_secs(300);
const DRAIN_LIMIT: Duration = Duration::from_secs(120);

/// First sequence number of counted events. Their instances are fresh, so they must only differ from the events that
/// aged the data.
const FIRST: u64 = 1 << 62;

/// Keeps purging from removing old rows meanwhile: what it has removed when a row is added decides whether the thread
/// that serves the client splits a page of an index.
const SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

pub(crate) struct Counter<'a> {
    pub(crate) server: &'a ServerInstance,
    pub(crate) instrument: &'a Instrument,
    pub(crate) system: &'a System,
    pub(crate) work: ClientWork,
}

pub(crate) struct OpenedCounter<'a> {
    session: ClientSession,
    cell: CellId,
    meter: Meter<'a>,
    next: u64,
    pub(crate) batches: Vec<CountBatch>,
    costs: Costs,
    /// Beginning of the present count.
    since: Instant,
    /// Instructions per second of the other threads of an idle server.
    pub(crate) idle_rate: f64,
    /// A connection that needs the rows as they were.
    _history: Option<Connection>,
}

impl<'a> Counter<'a> {
    pub(crate) fn open(&self) -> Result<OpenedCounter<'a>> {
        self.named(|| {
            let options = patient(self.server);
            self.instrument.switch_on(self.server)?;
            let mut history = None;
            if self.work.test.class == Class::Write {
                // Earlier writes would be counted with this test.
                let mut control = Connection::control(&options)?;
                assay_servers::drain(&mut control, DRAIN_LIMIT)?;
                if self.work.dialect == Dialect::MySql {
                    control.query(SNAPSHOT)?;
                    history = Some(control);
                }
            }
            // 0 until the thread that serves the client is known.
            let served = Arc::new(AtomicI32::new(0));
            let pace = RequestDelay::new({
                let served = Arc::clone(&served);
                move || match served.load(Ordering::Relaxed) {
                    0 => {}
                    tid => wait_for_thread(tid),
                }
            });
            let paced = ConnectOptions { pace, ..options };
            let session = ClientSession::open(&paced, &self.work, &[])?;
            let ids = session.connection_ids();
            let round_trips =
                |client, count| session.round_trips(client, count).map_err(anyhow::Error::from);
            let tids = self.server.connection_tids(&ids, round_trips)?;
            let tid = tids.and_then(|tids| tids.first().copied());
            let tid = tid.context("connections share threads, so theirs cannot be counted")?;
            served.store(tid, Ordering::Relaxed);
            let meter = self.instrument.meter(self.server, tid)?;
            Ok(OpenedCounter {
                session,
                cell: CellId { test: self.work.test, setup: self.work.setup },
                meter,
                next: FIRST,
                batches: Vec::new(),
                costs: Costs::default(),
                since: Instant::now(),
                idle_rate: 0.0,
                _history: history,
            })
        })
    }

    /// Events of a batch, if this system alone decided.
    pub(crate) fn size(&self, opened: &mut OpenedCounter<'a>) -> Result<u64> {
        self.named(|| {
            let sampled = match self.work.test.class {
                Class::Read => READS_SAMPLED,
                Class::Write => WRITES_SAMPLED,
            };
            opened.run(sampled)?;
            opened.discard()?;
            let sample = opened.batch(sampled)?;
            let each = sample.serving / sample.events.max(1);
            Ok(self.instrument.events(each))
        })
    }

    /// Runs as many events as a batch has, at least those of which a server learns, and discards their counts.
    pub(crate) fn warm(&self, opened: &mut OpenedCounter<'a>, events: u64) -> Result<()> {
        self.named(|| {
            // The same events on all systems, regardless of those spent on sizing.
            opened.next = FIRST + (1 << 32);
            opened.run(match self.work.dialect {
                Dialect::Postgres => events.max(POSTGRES_PLANS),
                Dialect::MySql => events,
            })?;
            opened.discard()
        })
    }

    /// Instructions per second of the server's other threads while no client sends anything.
    pub(crate) fn idle_rate(&self, opened: &mut OpenedCounter<'a>) -> Result<f64> {
        self.named(|| {
            opened.discard()?;
            thread::sleep(IDLE);
            let elapsed = opened.since.elapsed();
            Ok(opened.take()?.background as f64 / elapsed.as_secs_f64())
        })
    }

    /// Counts a batch and keeps it.
    pub(crate) fn batch(&self, opened: &mut OpenedCounter<'a>, events: u64) -> Result<()> {
        self.named(|| {
            let batch = opened.batch(events)?;
            opened.batches.push(batch);
            Ok(())
        })
    }

    /// Adds the name of the system to an error.
    fn named<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        act().with_context(|| format!("`{}`", self.system.name))
    }
}

impl OpenedCounter<'_> {
    /// Closes the connection. Returns the batches, and the costs of all of them.
    pub(crate) fn end(self) -> (Vec<CountBatch>, Costs) {
        (self.batches, self.costs)
    }

    fn run(&mut self, events: u64) -> Result<WorkCounters> {
        let work = self.session.run(self.next, RunBound::Events(events))?;
        self.next += events;
        Ok(work)
    }

    fn take(&mut self) -> Result<CountReading> {
        let taken = self.meter.take()?;
        self.since = Instant::now();
        Ok(taken)
    }

    /// Discards the counts so far. Callgrind's command `zero` would do so without files, but keeps the numbers of
    /// calls, and the instructions of jumps into libraries.
    fn discard(&mut self) -> Result<()> {
        self.take()?;
        self.costs = Costs::default();
        Ok(())
    }

    fn batch(&mut self, events: u64) -> Result<CountBatch> {
        let work = self.run(events)?;
        let elapsed = self.since.elapsed();
        let taken = self.take()?;
        self.costs.add([&taken.costs]);
        let events = work.events;
        // The operations of a study's slices, so that all figures are per operation of the same kind.
        let ops = Slice { work, ..Slice::new(0, self.cell) }.ops();
        Ok(CountBatch {
            events,
            ops,
            serving: taken.serving,
            background: Some(taken.background),
            idle: Some((self.idle_rate * elapsed.as_secs_f64()) as u64),
            kernel: taken.kernel,
        })
    }
}

pub(crate) fn patient(server: &ServerInstance) -> ConnectOptions {
    let options = server.connect_options();
    ConnectOptions { database: Some(DATABASE.to_owned()), timeout: EVENT_LIMIT, ..options }
}
