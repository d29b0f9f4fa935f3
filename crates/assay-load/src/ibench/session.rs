//! A step on one server, from creating its tables and connecting its clients to collecting their counts, segment by
//! segment.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use assay_model::{
    Dialect, Engine, IbenchStep, Preparation, Series, Statements, StepWork, WorkCounters,
};
use assay_wire::{Breaker, ConnectOptions, Connection, Stop};
use assay_workloads::{IbenchQueryText, IbenchRows, IbenchTable, RandomText};

use super::roles::{
    AHEAD, ClientShared, Common, NextQuery, RoleThread, SegmentOrder, StepTaskCounts, TaskContext,
    TaskDone, ThreadTask,
};
use super::tally::{IbenchTally, broke, relative_error};
use crate::control::{connect, connect_control, run};
use crate::error::{LoadError, Result};
use crate::share::for_whole_tables;
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
    /// Time of all segments so far.
    pub elapsed: Duration,
    pub inserted: u64,
    pub deleted: u64,
    pub queries: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IbenchStepRun {
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
    clients: Vec<Arc<ClientShared>>,
    common: Arc<Common>,
    /// Time of the segments that have ended.
    earlier: Duration,
    work: IbenchWork,
}

#[derive(Clone)]
struct ClientPlace {
    number: u32,
    options: ConnectOptions,
    step: IbenchStep,
    shared: Arc<ClientShared>,
    table: IbenchTable,
}

/// Drops and recreates the tables of the Insert Benchmark, if the step begins with that.
pub fn create_ibench_tables(
    options: &ConnectOptions,
    (dialect, engine): (Dialect, Engine),
    step: &IbenchStep,
    clients: u32,
) -> Result<()> {
    let indexes = match step.before {
        Preparation::Create => 0,
        Preparation::CreateIndexed => step.tables.indexes,
        Preparation::Maintain { .. } | Preparation::Nothing | Preparation::Loaded => return Ok(()),
    };
    let mut control = connect_control(&for_whole_tables(options), 0)?;
    for number in 1..=if step.tables.is_shared { 1 } else { clients } {
        let table = IbenchTable::new(dialect, number);
        let statements = [table.drop()]
            .into_iter()
            .chain(table.create(engine, &step.tables))
            .chain(table.create_indexes(engine, indexes));
        for statement in statements {
            run(&mut control, &statement)?;
        }
    }
    Ok(())
}

impl IbenchSession {
    pub fn open(options: &ConnectOptions, work: &IbenchWork) -> Result<Self> {
        let options = ConnectOptions { timeout: options.timeout.max(SILENCE), ..options.clone() };
        let mut session = Self {
            threads: Vec::new(),
            clients: Vec::new(),
            common: Arc::default(),
            earlier: Duration::ZERO,
            work: *work,
        };
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
        let table = IbenchTable::new(dialect, if step.tables.is_shared { 1 } else { number + 1 });
        let shared = ClientShared::new(&self.common, &step);
        self.clients.push(Arc::clone(&shared));
        let place = ClientPlace { number, options: options.clone(), step, shared, table };
        let table = &place.table;
        let paced = step.deletes || step.per_second.is_some();
        let (inserts, numbers) = sync_channel(AHEAD);
        // The generator sends an insert before the deletion of the same number, so inserts can get one statement
        // further ahead than the capacity of this channel.
        let (deletes, keys) = sync_channel(AHEAD - 1);
        let rows = IbenchRows::new(table, seed, name, number, Arc::clone(text));
        // A table shared by all clients gets its indexes once.
        let builds = step.builds_indexes && (number == 0 || !step.tables.is_shared);
        let indexes = builds.then(|| table.create_indexes(engine, step.tables.indexes));
        let patient = ConnectOptions { timeout: INDEXES, ..options.clone() };
        self.start("insert", &place, move |wires| {
            if indexes.is_some() {
                wires.push(connect(&patient, number)?);
            }
            let (numbers, indexes) = (paced.then_some(numbers), indexes.unwrap_or_default());
            Ok(ThreadTask::Insert { rows, numbers, indexes })
        })?;
        if step.deletes {
            self.start("delete", &place, move |_| Ok(ThreadTask::Delete(keys)))?;
        }
        if let Some(queries) = step.queries {
            let place_of_seed = (seed, name, number);
            let queries = IbenchQueryText::new(table, step.tables.indexes, queries, place_of_seed);
            self.start("query", &place, move |wires| {
                for sql in queries.prepare() {
                    let prepared = wires[0].query(sql);
                    prepared.map_err(|source| LoadError::Prepare { sql: sql.clone(), source })?;
                }
                Ok(ThreadTask::Query { queries, next: NextQuery::default() })
            })?;
        }
        if let Some(seconds) = step.transaction_s {
            let time = Duration::from_secs(seconds.into());
            self.start("hold", &place, move |_| Ok(ThreadTask::Hold { time, left: None }))?;
        }
        if paced {
            let deletes = step.deletes.then_some(deletes);
            let generate = ThreadTask::Generate { inserts, deletes, lowest: 0 };
            self.start("generate", &place, move |_| Ok(generate))?;
        }
        Ok(())
    }

    /// Starts a thread, which connects and then makes its task.
    fn start(
        &mut self,
        role: &str,
        place: &ClientPlace,
        task: impl FnOnce(&mut Vec<Connection>) -> Result<ThreadTask> + Send + 'static,
    ) -> Result<()> {
        let ClientPlace { number, options, step, shared, table } = place.clone();
        let thread = RoleThread::start(format!("assay-{role}-{number}"), move || {
            let mut wires = vec![connect(&options, number)?];
            let task = task(&mut wires)?;
            Ok((TaskContext { step, shared, table, wires }, task))
        })?;
        self.threads.push((number, thread));
        Ok(())
    }

    pub fn connection_ids(&self) -> Vec<u64> {
        self.threads.iter().flat_map(|(_, thread)| &thread.connection_ids).copied().collect()
    }

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
        Err(LoadError::ClientLost)
    }

    /// Runs the whole step. Connections stay open until the session is dropped.
    pub fn run(
        &mut self,
        stop: &Stop,
        report: &mut dyn FnMut(IbenchProgress),
    ) -> Result<IbenchStepRun> {
        self.run_segment(0..self.work.step.statements(), stop, report)
    }

    /// Runs a segment of the step: each client inserts these statements. Segments follow each other without gaps, until
    /// one fails or is stopped. Between them, no statement is in progress.
    pub fn run_segment(
        &mut self,
        statements: Range<u64>,
        stop: &Stop,
        report: &mut dyn FnMut(IbenchProgress),
    ) -> Result<IbenchStepRun> {
        let start = Instant::now();
        self.clients.iter().for_each(|client| client.begin());
        let order = SegmentOrder { start, statements };
        self.threads.iter().try_for_each(|(_, thread)| thread.work(&order))?;
        let mut summed = IbenchSum::new()?;
        let mut failure = None;
        let mut ending: Option<Instant> = None;
        let mut end = start;
        for (client, thread) in &self.threads {
            let done = loop {
                match thread.done.recv_timeout(LOOK_EVERY) {
                    Ok(done) => break done,
                    Err(RecvTimeoutError::Disconnected) => break Err(LoadError::ClientLost),
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
                Ok(TaskDone { end: at, counts }) => {
                    end = end.max(at);
                    summed.add(*client, counts);
                }
                // The first failure stops the other threads, which may fail as a result.
                Err(error) => {
                    self.common.is_stopped.store(true, Ordering::Relaxed);
                    failure = failure.or(Some(error));
                }
            }
        }
        if stop.is_asked() {
            return Err(LoadError::Stopped);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let elapsed = end.saturating_duration_since(start);
        self.earlier += elapsed;
        summed.into_run(elapsed, &self.work)
    }

    fn progress(&self, current: Duration) -> IbenchProgress {
        IbenchProgress {
            elapsed: self.earlier + current,
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

struct IbenchSum {
    step: StepWork,
    /// Response times of inserts, deletes and queries.
    tallies: [IbenchTally; 3],
    series: Vec<Series>,
}

const KINDS: [&str; 3] = ["insert", "delete", "query"];

impl IbenchSum {
    fn new() -> Result<Self> {
        let tallies = [IbenchTally::new(true)?, IbenchTally::new(true)?, IbenchTally::new(false)?];
        Ok(Self { step: StepWork::default(), tallies, series: Vec::new() })
    }

    fn add(&mut self, client: u32, counts: StepTaskCounts) {
        let (kind, tally) = match counts {
            StepTaskCounts::Inserts { tally, indexes } => {
                self.step.indexes_ns = self.step.indexes_ns.max(indexes.map(nanoseconds));
                (0, tally)
            }
            StepTaskCounts::Deletes(tally) => (1, tally),
            StepTaskCounts::Queries(tally) => (2, tally),
            StepTaskCounts::Lowest(lowest) => {
                let all = &mut self.step.lowest;
                all.count += lowest.count;
                all.ns = all.ns.saturating_add(lowest.ns);
                all.longest_ns = all.longest_ns.max(lowest.longest_ns);
                return;
            }
            StepTaskCounts::Nothing => return,
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

    fn into_run(mut self, elapsed: Duration, work: &IbenchWork) -> Result<IbenchStepRun> {
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
        Ok(IbenchStepRun { work, step: self.step, series: self.series, histograms })
    }
}

fn split(seconds: &[(u32, u32)]) -> [Vec<u64>; 2] {
    [
        seconds.iter().map(|(count, _)| u64::from(*count)).collect(),
        seconds.iter().map(|(_, longest)| u64::from(*longest)).collect(),
    ]
}
