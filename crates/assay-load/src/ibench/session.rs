//! A step on one server, from connecting its clients to collecting their counts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use assay_model::{
    Dialect, Engine, IbenchStep, LowestQueries, Series, Statements, StepWork, WorkCounters,
};
use assay_wire::{Breaker, ConnectOptions, Connection, Stop};
use assay_workloads::{IbenchRows, RandomText};

use super::client::{Client, ClientShared, Common};
use super::generator::{AHEAD, Generator};
use super::precision::relative_error;
use super::roles::{Counted, Deleter, Done, Holder, Inserter, Querier, Role, query_text};
use super::sla::broke;
use super::tables::table_of;
use super::tally::IbenchTally;
use super::thread::RoleThread;
use crate::error::{Error, Result};
use crate::tally::{nanoseconds, serialized};

/// Maximum silence of a server during a statement. IO-bound servers stall for tens of seconds.
const SILENCE: Duration = Duration::from_secs(300);

/// Maximum silence while creating indexes: on hundreds of millions of rows it takes hours.
const INDEXES: Duration = Duration::from_secs(86_400);

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long threads may take to end once a step has failed or was stopped.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
pub struct IbenchWork {
    pub dialect: Dialect,
    pub engine: Engine,
    pub name: &'static str,
    pub step: IbenchStep,
    pub clients: u32,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IbenchProgress {
    pub elapsed: Duration,
    pub inserted: u64,
    pub deleted: u64,
    pub queries: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IbenchRun {
    /// The statements counted by the rate: queries, or inserts if the step has no queries.
    pub work: WorkCounters,
    pub step: StepWork,
    /// By client and kind of statement: rows (of queries: statements), and the longest response time in microseconds,
    /// second by second.
    pub series: Vec<Series>,
    /// Response times by kind of statement: its name and an HDR histogram in nanoseconds, V2 encoding.
    pub histograms: Vec<(&'static str, Vec<u8>)>,
}

/// The connected clients of a step. Dropping it closes the connections.
pub struct IbenchSession {
    threads: Vec<(u32, RoleThread)>,
    common: Arc<Common>,
    work: IbenchWork,
}

impl IbenchSession {
    pub fn open(options: &ConnectOptions, work: &IbenchWork) -> Result<Self> {
        let options = ConnectOptions { timeout: options.timeout.max(SILENCE), ..options.clone() };
        let mut session = Self { threads: Vec::new(), common: Arc::default(), work: *work };
        let text = RandomText::new(work.seed);
        for client in 0..work.clients {
            session.open_client(&options, work, client, &text)?;
        }
        Ok(session)
    }

    fn open_client(
        &mut self,
        options: &ConnectOptions,
        work: &IbenchWork,
        number: u32,
        text: &Arc<RandomText>,
    ) -> Result<()> {
        let IbenchWork { dialect, engine, name, step, seed, .. } = *work;
        let client = Client { step, shared: ClientShared::new(&self.common, &step) };
        let table = table_of(dialect, &step, number);
        let connect = move |options: &ConnectOptions| {
            Connection::connect(options).map_err(|source| Error::Connect { client: number, source })
        };
        let paced = step.deletes || step.per_second.is_some();
        let (insert, numbers) = sync_channel(AHEAD);
        // The generator sends an insert before the deletion of the same number, so inserts can get one statement
        // further ahead than the capacity of this channel.
        let (delete, keys) = sync_channel(AHEAD - 1);
        let rows = IbenchRows::new(&table, seed, name, number, Arc::clone(text));
        // A table shared by all clients gets its indexes once.
        let builds = step.builds_indexes && (number == 0 || !step.tables.is_shared);
        let indexes = builds.then(|| table.create_indexes(engine, step.tables.indexes));
        self.start("insert", number, {
            let (client, options) = (client.clone(), options.clone());
            move || {
                let wire = connect(&options)?;
                let patient = ConnectOptions { timeout: INDEXES, ..options.clone() };
                let build = |statements| -> Result<_> { Ok((connect(&patient)?, statements)) };
                let indexes = indexes.map(build).transpose()?;
                let numbers = paced.then_some(numbers);
                let (second, text) = Default::default();
                let inserter = Inserter { client, wire, rows, numbers, indexes, second, text };
                Ok(Role::Inserter(Box::new(inserter)))
            }
        })?;
        if step.deletes {
            let (client, options, table) = (client.clone(), options.clone(), table.clone());
            self.start("delete", number, move || {
                let wire = connect(&options)?;
                Ok(Role::Deleter(Deleter { client, wire, table, keys: Some(keys) }))
            })?;
        }
        if let Some(queries) = query_text(&table, &step, (seed, name, number)) {
            let (client, options, table) = (client.clone(), options.clone(), table.clone());
            self.start("query", number, move || {
                let mut wire = connect(&options)?;
                for sql in queries.prepare() {
                    let prepared = wire.query(sql);
                    prepared.map_err(|source| Error::Prepare { sql: sql.clone(), source })?;
                }
                Ok(Role::Querier(Querier { client, wire, table, queries }))
            })?;
        }
        if let Some(seconds) = step.transaction_s {
            let (client, options, table) = (client.clone(), options.clone(), table.clone());
            let time = Duration::from_secs(seconds.into());
            self.start("hold", number, move || {
                let wire = connect(&options)?;
                Ok(Role::Holder(Holder { client, wire, table, time }))
            })?;
        }
        if paced {
            let (options, deletes) = (options.clone(), step.deletes.then_some(delete));
            self.start("generate", number, move || {
                let wire = connect(&options)?;
                let (inserts, lowest) = (insert, LowestQueries::default());
                Ok(Role::Generator(Generator { client, wire, table, inserts, deletes, lowest }))
            })?;
        }
        Ok(())
    }

    fn start(
        &mut self,
        role: &str,
        client: u32,
        connect: impl FnOnce() -> Result<Role> + Send + 'static,
    ) -> Result<()> {
        let thread = RoleThread::start(format!("assay-{role}-{client}"), connect)?;
        self.threads.push((client, thread));
        Ok(())
    }

    #[must_use]
    pub fn connection_ids(&self) -> Vec<u64> {
        self.threads.iter().flat_map(|(_, thread)| &thread.connection_ids).copied().collect()
    }

    #[must_use]
    pub fn client_tids(&self) -> Vec<i32> {
        self.threads.iter().map(|(_, thread)| thread.tid).collect()
    }

    /// Sends `count` empty statements on a connection, given by its index in [`IbenchSession::connection_ids`].
    pub fn round_trips(&self, connection: usize, count: u32) -> Result<()> {
        let mut before = 0;
        for (_, thread) in &self.threads {
            let own = thread.connection_ids.len();
            if connection < before + own {
                return thread.round_trips(connection - before, count, SILENCE);
            }
            before += own;
        }
        Err(Error::ClientLost)
    }

    /// Runs the step. Connections stay open until the session is dropped.
    pub fn run(
        &mut self,
        stop: &Stop,
        report: &mut dyn FnMut(IbenchProgress),
    ) -> Result<IbenchRun> {
        let start = Instant::now();
        self.threads.iter().try_for_each(|(_, thread)| thread.work(start))?;
        let mut summed = Summed::new()?;
        let mut failure = None;
        let mut ending: Option<Instant> = None;
        let mut end = start;
        for (client, thread) in &self.threads {
            let done = loop {
                match thread.done.recv_timeout(LOOK_EVERY) {
                    Ok(done) => break done,
                    Err(RecvTimeoutError::Disconnected) => break Err(Error::ClientLost),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                report(self.progress(start.elapsed()));
                if stop.is_asked() {
                    self.common.is_stopped.store(true, Ordering::Relaxed);
                }
                if !self.common.is_stopped.load(Ordering::Relaxed) {
                    continue;
                }
                // A thread that waits for a silent server ends once its connection is cut.
                let since = *ending.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE {
                    self.threads
                        .iter()
                        .flat_map(|(_, thread)| &thread.breakers)
                        .for_each(Breaker::end);
                }
            };
            match done {
                Ok(Done { end: at, counted }) => {
                    end = end.max(at);
                    summed.add(*client, counted);
                }
                // The first failure stops the other threads, which may fail as a result.
                Err(error) => {
                    self.common.is_stopped.store(true, Ordering::Relaxed);
                    failure = failure.or(Some(error));
                }
            }
        }
        if stop.is_asked() {
            return Err(Error::Stopped);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        summed.into_run(end.saturating_duration_since(start), &self.work)
    }

    fn progress(&self, elapsed: Duration) -> IbenchProgress {
        IbenchProgress {
            elapsed,
            inserted: self.common.inserted.load(Ordering::Relaxed),
            deleted: self.common.deleted.load(Ordering::Relaxed),
            queries: self.common.queries.load(Ordering::Relaxed),
        }
    }
}

impl Drop for IbenchSession {
    fn drop(&mut self) {
        self.common.is_stopped.store(true, Ordering::Relaxed);
    }
}

struct Summed {
    step: StepWork,
    /// Response times of inserts, deletes and queries.
    tallies: [IbenchTally; 3],
    series: Vec<Series>,
}

const KINDS: [&str; 3] = ["insert", "delete", "query"];

impl Summed {
    fn new() -> Result<Self> {
        let tallies = [IbenchTally::new(true)?, IbenchTally::new(true)?, IbenchTally::new(false)?];
        Ok(Self { step: StepWork::default(), tallies, series: Vec::new() })
    }

    fn add(&mut self, client: u32, counted: Counted) {
        let (kind, tally) = match counted {
            Counted::Inserts { tally, indexes } => {
                self.step.indexes_ns = self.step.indexes_ns.max(indexes.map(nanoseconds));
                (0, tally)
            }
            Counted::Deletes(tally) => (1, tally),
            Counted::Queries(tally) => (2, tally),
            Counted::Lowest(lowest) => {
                let all = &mut self.step.lowest;
                all.count += lowest.count;
                all.ns = all.ns.saturating_add(lowest.ns);
                all.longest_ns = all.longest_ns.max(lowest.longest_ns);
                return;
            }
            Counted::Nothing => return,
        };
        let [counts, longest] = split(&tally.seconds);
        for (what, counts) in [("", counts), ("-longest-us", longest)] {
            let name = format!("{}{what}.{}", KINDS[kind], client + 1);
            self.series.push(Series { name, step_ms: 1000, counts });
        }
        let all = &mut self.tallies[kind];
        all.statements.add(&tally.statements);
        all.ns_sum += tally.ns_sum;
        all.add_seconds(&tally.seconds);
        // Both histograms have the same bounds.
        let _ = all.latency.add(&tally.latency);
    }

    fn into_run(mut self, elapsed: Duration, work: &IbenchWork) -> Result<IbenchRun> {
        let [insert, delete, query] = self.tallies;
        let target = work.step.per_second.map(|rate| f64::from(rate) * f64::from(work.clients));
        let first = f64::from(work.step.rows_per_statement()) * f64::from(work.clients);
        let seconds = [insert.seconds.as_slice(), &delete.seconds];
        self.step.broke = target.and_then(|target| broke(seconds, elapsed, (first, target)));
        let has_queries = work.step.queries.is_some();
        let headline = if has_queries { &query } else { &insert };
        self.step.relative_error = relative_error(&headline.seconds);
        let Statements { statements, rows, .. } = headline.statements;
        let work = WorkCounters {
            events: statements,
            read: if has_queries { statements } else { 0 },
            write: if has_queries { 0 } else { statements },
            rows: if has_queries { rows } else { 0 },
            elapsed_ns: nanoseconds(elapsed),
            event_ns_sum: headline.ns_sum,
            latency_hdr: serialized(&headline.latency)?,
            ..WorkCounters::default()
        };
        let kinds = KINDS.into_iter().zip([&insert, &delete, &query]);
        let histograms = kinds
            .filter(|(_, tally)| !tally.latency.is_empty())
            .map(|(kind, tally)| Ok((kind, serialized(&tally.latency)?)))
            .collect::<Result<_>>()?;
        self.step.insert = insert.statements;
        self.step.delete = delete.statements;
        self.step.query = query.statements;
        Ok(IbenchRun { work, step: self.step, series: self.series, histograms })
    }
}

fn split(seconds: &[(u32, u32)]) -> [Vec<u64>; 2] {
    [
        seconds.iter().map(|(count, _)| u64::from(*count)).collect(),
        seconds.iter().map(|(_, longest)| u64::from(*longest)).collect(),
    ]
}
