//! A client whose server is counted, batch by batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use assay_callgrind::Costs;
use assay_load::{ClientSession, ClientWork, RunBound};
use assay_model::{CellId, Class, CountBatch, Dialect, Slice, System, WorkCounters};
use assay_servers::{ServerInstance, wait_for_thread};
use assay_wire::{ConnectOptions, Connection, RequestDelay};

use crate::instrument::{Instrument, Meter};
use assay_run::systems::DATABASE;

const BATCHES: u64 = 6;

/// Uncounted warm-up, in batches. One more batch is counted and discarded.
const WARM: u64 = 2;

const SAMPLE: u64 = 4;

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
    costs: Costs,
    /// A connection that needs the rows as they were.
    _history: Option<Connection>,
}

impl<'a> Counter<'a> {
    pub(crate) fn open(&self) -> Result<OpenedCounter<'a>> {
        let name = &self.system.name;
        let open = || -> Result<OpenedCounter<'a>> {
            let options = patient(self.server);
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
            let costs = Costs::default();
            let cell = CellId { test: self.work.test, setup: self.work.setup };
            Ok(OpenedCounter { session, cell, meter, next: FIRST, costs, _history: history })
        };
        open().with_context(|| format!("`{name}`"))
    }

    pub(crate) fn events(&self, opened: &mut OpenedCounter<'a>) -> Result<u64> {
        let mut size = || -> Result<u64> {
            opened.run(SAMPLE)?;
            opened.meter.begin()?;
            let sample = opened.batch(SAMPLE)?;
            opened.meter.end()?;
            let each = sample.serving / sample.events.max(1);
            Ok(self.instrument.events(each))
        };
        size().with_context(|| format!("`{}`", self.system.name))
    }

    pub(crate) fn batches(
        &self,
        opened: &mut OpenedCounter<'a>,
        events: u64,
    ) -> Result<(Vec<CountBatch>, Costs)> {
        let mut count = || -> Result<(Vec<CountBatch>, Costs)> {
            // The same events on all systems, regardless of those spent on sizing.
            opened.next = FIRST + (1 << 32);
            opened.run(WARM * events)?;
            opened.meter.begin()?;
            opened.batch(events)?;
            opened.costs = Costs::default();
            let batches = (0..BATCHES).map(|_| opened.batch(events));
            let batches = batches.collect::<Result<_>>()?;
            opened.meter.end()?;
            Ok((batches, std::mem::take(&mut opened.costs)))
        };
        count().with_context(|| format!("`{}`", self.system.name))
    }
}

impl OpenedCounter<'_> {
    fn run(&mut self, events: u64) -> Result<WorkCounters> {
        let work = self.session.run(self.next, RunBound::Events(events))?;
        self.next += events;
        Ok(work)
    }

    fn batch(&mut self, events: u64) -> Result<CountBatch> {
        let work = self.run(events)?;
        let taken = self.meter.take()?;
        self.costs.add([&taken.costs]);
        let events = work.events;
        // The operations of a study's slices, so that all figures are per operation of the same kind.
        let ops = Slice { work, ..Slice::new(0, self.cell) }.ops();
        let (serving, kernel) = (taken.serving, taken.kernel);
        Ok(CountBatch { events, ops, serving, background: Some(taken.background), kernel })
    }
}

pub(crate) fn patient(server: &ServerInstance) -> ConnectOptions {
    let options = server.connect_options();
    ConnectOptions { database: Some(DATABASE.to_owned()), timeout: EVENT_LIMIT, ..options }
}
