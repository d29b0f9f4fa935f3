//! The roles of a client's threads.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use assay_model::{IbenchQuery, IbenchStep, LowestQueries};
use assay_wire::{Connection, Reply};
use assay_workloads::{IbenchQueryText, IbenchRows, IbenchTable, Ids};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::client::{Client, number};
use super::generator::Generator;
use super::tally::IbenchTally;
use crate::error::{Error, Result, sqlstate};
use crate::worker::EMPTY;

/// Errors after which a statement is retried. MySQL and MariaDB: lock wait timeout, deadlock. Postgres: deadlock,
/// serialization failure.
const RETRIED: [u32; 4] = [1205, 1213, sqlstate("40P01"), sqlstate("40001")];

const RETRIES: u32 = 100;

/// Queries after which the highest key is read again, as in the published client.
const READ_HIGHEST_EVERY: u64 = 100;

const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) enum Role {
    Inserter(Box<Inserter>),
    Deleter(Deleter),
    Querier(Querier),
    Generator(Generator),
    Holder(Holder),
}

#[derive(Debug)]
pub(super) struct Done {
    pub(super) end: Instant,
    pub(super) counted: Counted,
}

#[derive(Debug)]
pub(super) enum Counted {
    Inserts { tally: IbenchTally, indexes: Option<Duration> },
    Deletes(IbenchTally),
    Queries(IbenchTally),
    Lowest(LowestQueries),
    Nothing,
}

impl Role {
    pub(super) fn wires(&self) -> impl Iterator<Item = &Connection> {
        let (wire, other) = match self {
            Self::Inserter(it) => (&it.wire, it.indexes.as_ref().map(|(wire, _)| wire)),
            Self::Deleter(it) => (&it.wire, None),
            Self::Querier(it) => (&it.wire, None),
            Self::Generator(it) => (&it.wire, None),
            Self::Holder(it) => (&it.wire, None),
        };
        [wire].into_iter().chain(other)
    }

    pub(super) fn round_trips(&mut self, connection: usize, count: u32) -> Result<()> {
        let wire = match self {
            Self::Inserter(it) if connection == 1 => it.indexes.as_mut().map(|(wire, _)| wire),
            Self::Inserter(it) => Some(&mut it.wire),
            Self::Deleter(it) => Some(&mut it.wire),
            Self::Querier(it) => Some(&mut it.wire),
            Self::Generator(it) => Some(&mut it.wire),
            Self::Holder(it) => Some(&mut it.wire),
        };
        let wire = wire.ok_or(Error::ClientLost)?;
        for _ in 0..count {
            wire.execute_text(EMPTY).map_err(|cause| Error::query(EMPTY, cause))?;
        }
        Ok(())
    }

    pub(super) fn into_wires(self) -> (Connection, Option<Connection>) {
        match self {
            Self::Inserter(it) => {
                let Inserter { wire, indexes, .. } = *it;
                (wire, indexes.map(|(wire, _)| wire))
            }
            Self::Deleter(it) => (it.wire, None),
            Self::Querier(it) => (it.wire, None),
            Self::Generator(it) => (it.wire, None),
            Self::Holder(it) => (it.wire, None),
        }
    }

    /// Works until the step is over for this thread. On failure, all threads of the step end.
    pub(super) fn work(&mut self, start: Instant) -> Result<Done> {
        let shared = Arc::clone(match self {
            Self::Inserter(it) => &it.client.shared,
            Self::Deleter(it) => &it.client.shared,
            Self::Querier(it) => &it.client.shared,
            Self::Generator(it) => &it.client.shared,
            Self::Holder(it) => &it.client.shared,
        });
        let done = self.carry_out(start);
        if matches!(self, Self::Inserter(_) | Self::Deleter(_)) {
            shared.writer_ended();
        }
        if done.is_err() {
            shared.common.is_stopped.store(true, Ordering::Relaxed);
        }
        done
    }

    fn carry_out(&mut self, start: Instant) -> Result<Done> {
        let counted = match self {
            Self::Inserter(it) => {
                let tally = it.work(start)?;
                Counted::Inserts { tally, indexes: it.build_indexes()? }
            }
            Self::Deleter(it) => Counted::Deletes(it.work(start)?),
            Self::Querier(it) => Counted::Queries(it.work(start)?),
            Self::Generator(it) => {
                it.work(start)?;
                Counted::Lowest(it.lowest)
            }
            Self::Holder(it) => {
                it.work()?;
                Counted::Nothing
            }
        };
        Ok(Done { end: Instant::now(), counted })
    }
}

/// Inserts rows, then creates the secondary indexes.
pub(super) struct Inserter {
    pub(super) client: Client,
    pub(super) wire: Connection,
    pub(super) rows: IbenchRows,
    /// Statement numbers from the generator; `None` if it inserts without one.
    pub(super) numbers: Option<Receiver<u64>>,
    /// A separate connection, and the statements that create the secondary indexes.
    pub(super) indexes: Option<(Connection, Vec<String>)>,
    pub(super) second: WholeSecond,
    pub(super) text: Vec<u8>,
}

impl Inserter {
    fn work(&mut self, start: Instant) -> Result<IbenchTally> {
        let mut tally = IbenchTally::new(true)?;
        let numbers = self.numbers.take();
        // Dropping the receiver at the end, or on an error, ends the generator.
        match &numbers {
            None => (0..self.client.step.statements())
                .try_for_each(|number| self.insert(number, start, &mut tally).map(drop))?,
            Some(numbers) => {
                for number in numbers {
                    if !self.insert(number, start, &mut tally)? {
                        break;
                    }
                }
            }
        }
        Ok(tally)
    }

    /// Returns `false` if the step was stopped.
    fn insert(&mut self, number: u64, start: Instant, tally: &mut IbenchTally) -> Result<bool> {
        let Self { client, wire, rows, second, text, .. } = self;
        if client.shared.is_stopped() {
            return Ok(false);
        }
        rows.write(number, client.step.rows_per_statement(), second.now(), text);
        let affected = send(wire, text, start, tally, |reply| reply.affected)?;
        client.shared.common.inserted.fetch_add(affected, Ordering::Relaxed);
        Ok(true)
    }

    fn build_indexes(&mut self) -> Result<Option<Duration>> {
        let Some((wire, statements)) = &mut self.indexes else { return Ok(None) };
        if self.client.shared.is_stopped() {
            return Ok(None);
        }
        let began = Instant::now();
        for statement in statements {
            wire.query(statement).map_err(|cause| Error::query(statement.as_bytes(), cause))?;
        }
        Ok(Some(began.elapsed()))
    }
}

pub(super) struct Deleter {
    pub(super) client: Client,
    pub(super) wire: Connection,
    pub(super) table: IbenchTable,
    /// Keys at which deletes begin to look.
    pub(super) keys: Option<Receiver<u64>>,
}

impl Deleter {
    fn work(&mut self, start: Instant) -> Result<IbenchTally> {
        let mut tally = IbenchTally::new(true)?;
        let mut text = Vec::new();
        let rows = self.client.step.rows_per_statement();
        for lowest in self.keys.take().into_iter().flatten() {
            let shared = &self.client.shared;
            if shared.is_stopped() {
                break;
            }
            self.table.delete(lowest, rows, &mut text);
            let affected = send(&mut self.wire, &text, start, &mut tally, |reply| reply.affected)?;
            shared.common.deleted.fetch_add(affected, Ordering::Relaxed);
        }
        Ok(tally)
    }
}

/// Queries as fast as it can until the writers have ended.
pub(super) struct Querier {
    pub(super) client: Client,
    pub(super) wire: Connection,
    pub(super) table: IbenchTable,
    pub(super) queries: IbenchQueryText,
}

impl Querier {
    fn work(&mut self, start: Instant) -> Result<IbenchTally> {
        let mut tally = IbenchTally::new(false)?;
        let mut text = Vec::new();
        let draws_keys =
            self.client.step.queries.is_some_and(|queries| queries.kind == IbenchQuery::Point);
        let mut highest = 0;
        let mut number_of_query = 0;
        while !self.client.shared.is_over() {
            if draws_keys && number_of_query % READ_HIGHEST_EVERY == 0 {
                highest = number(&mut self.wire, &self.table.highest())?;
            }
            let lowest = self.client.shared.lowest();
            self.queries.write(number_of_query, Ids { lowest, highest }, &mut text);
            send(&mut self.wire, &text, start, &mut tally, |reply| reply.rows)?;
            number_of_query += 1;
            self.client.shared.common.queries.fetch_add(1, Ordering::Relaxed);
        }
        Ok(tally)
    }
}

/// Keeps transactions open, each for the same time.
pub(super) struct Holder {
    pub(super) client: Client,
    pub(super) wire: Connection,
    pub(super) table: IbenchTable,
    pub(super) time: Duration,
}

impl Holder {
    fn work(&mut self) -> Result<()> {
        let read = self.table.read_one();
        while !self.client.shared.is_over() {
            for statement in [self.table.begin(), read.as_str()] {
                let sent = self.wire.execute_text(statement.as_bytes());
                sent.map_err(|cause| Error::query(statement.as_bytes(), cause))?;
            }
            let end = Instant::now() + self.time;
            while !self.client.shared.is_over() && Instant::now() < end {
                let left = end.saturating_duration_since(Instant::now());
                std::thread::sleep(left.min(LOOK_EVERY));
            }
            self.wire.execute_text(b"COMMIT").map_err(|cause| Error::query(b"COMMIT", cause))?;
        }
        Ok(())
    }
}

/// Sends and counts a statement, retrying it where the server asks for that. Returns its rows.
fn send(
    wire: &mut Connection,
    text: &[u8],
    start: Instant,
    tally: &mut IbenchTally,
    rows: impl Fn(&Reply) -> u64,
) -> Result<u64> {
    let sent = Instant::now();
    let mut retries = 0;
    loop {
        match wire.execute_text(text) {
            Ok(reply) => {
                let rows = rows(&reply);
                tally.count(start, sent, Instant::now(), rows);
                return Ok(rows);
            }
            Err(error)
                if retries < RETRIES
                    && error.server_code().is_some_and(|code| RETRIED.contains(&code)) =>
            {
                retries += 1;
                tally.statements.retries += 1;
            }
            Err(error) => return Err(Error::query(text, error)),
        }
    }
}

/// Local time in whole seconds as text, rewritten only once a second.
#[derive(Debug, Default)]
pub(super) struct WholeSecond {
    second: i64,
    text: String,
    zone: Option<TimeZone>,
}

impl WholeSecond {
    fn now(&mut self) -> &str {
        let now = Timestamp::now();
        if self.text.is_empty() || now.as_second() != self.second {
            self.second = now.as_second();
            let zone = self.zone.get_or_insert_with(TimeZone::system).clone();
            self.text = now.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string();
        }
        &self.text
    }
}

/// A client's queries, if the step has any. `place` is the seed, the step's name and the client.
pub(super) fn query_text(
    table: &IbenchTable,
    step: &IbenchStep,
    place: (u64, &str, u32),
) -> Option<IbenchQueryText> {
    Some(IbenchQueryText::new(table, step.tables.indexes, step.queries?, place))
}
