//! The threads of a client: each connects, executes orders, and keeps its connections until the session ends.

use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_model::{IbenchQuery, IbenchStep, LowestQueries};
use assay_wire::{Breaker, Connection, Reply};
use assay_workloads::{IbenchKeys, IbenchPace, IbenchQueryText, IbenchRows, IbenchTable};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::thread::gettid;

use super::tally::IbenchTally;
use crate::control::{execute, query, run};
use crate::error::{LoadError, Result, sqlstate};
use crate::tally::nanoseconds;
use crate::worker::EMPTY;

/// Errors after which a statement is retried. MySQL and MariaDB: lock wait timeout, deadlock. Postgres: deadlock,
/// serialization failure.
const RETRIED: [u32; 4] = [1205, 1213, sqlstate("40P01"), sqlstate("40001")];

const RETRIES: u32 = 100;

/// How many statements inserts and deletes may be ahead of each other, apart from the one in progress.
pub(super) const AHEAD: usize = 8;

/// Deletes after which the lowest key is read again, so that no row escapes through a gap.
const READ_LOWEST_EVERY: u64 = 1000;

/// Queries after which the highest key is read again, as in the published client.
const READ_HIGHEST_EVERY: u64 = 100;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Shared by the threads of all clients.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) is_stopped: AtomicBool,
    pub(super) inserted: AtomicU64,
    pub(super) deleted: AtomicU64,
    pub(super) queries: AtomicU64,
}

#[derive(Debug)]
pub(super) struct ClientShared {
    common: Arc<Common>,
    /// Key at which the last delete began to look; 0 before the first.
    lowest: AtomicU64,
    /// Threads that still insert or delete. Queries end with the last one.
    writers: AtomicU32,
    deletes: bool,
}

/// A part of a step, as an order for all of its threads.
#[derive(Debug, Clone)]
pub(super) struct SegmentOrder {
    /// The time of the segment counts from this instant.
    pub(super) start: Instant,
    /// Numbers of the statements that each client inserts.
    pub(super) statements: Range<u64>,
}

impl ClientShared {
    pub(super) fn new(common: &Arc<Common>, step: &IbenchStep) -> Arc<Self> {
        let (lowest, writers) = (AtomicU64::new(0), AtomicU32::new(0));
        Arc::new(Self { common: Arc::clone(common), lowest, writers, deletes: step.deletes })
    }

    /// Begins a segment. Its threads must not have begun.
    pub(super) fn begin(&self) {
        self.writers.store(1 + u32::from(self.deletes), Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.common.is_stopped.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.writers.load(Ordering::Relaxed) == 0 || self.is_stopped()
    }

    /// Returns `false` if the step was stopped.
    fn sleep_until(&self, until: Instant, is_over: impl Fn(&Self) -> bool) -> bool {
        loop {
            if is_over(self) {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }
}

pub(super) struct TaskContext {
    pub(super) step: IbenchStep,
    pub(super) shared: Arc<ClientShared>,
    pub(super) table: IbenchTable,
    /// The second one, if any, creates the secondary indexes.
    pub(super) wires: Vec<Connection>,
}

pub(super) enum ThreadTask {
    /// Insert rows, then create the secondary indexes.
    Insert {
        rows: IbenchRows,
        /// Statement numbers from the generator; `None` if it inserts without one.
        numbers: Option<QueueReceiver>,
        indexes: Vec<String>,
    },
    /// Delete rows. The keys are those at which deletes begin to look.
    Delete(QueueReceiver),
    /// Query as fast as possible until the writers have ended.
    Query { queries: IbenchQueryText, next: NextQuery },
    /// Send statement numbers, of an insert and a delete alternately, at the pace of the step.
    Generate {
        inserts: QueueSender,
        /// Channel for the key at which each delete begins to look.
        deletes: Option<QueueSender>,
        /// Key at which the next delete begins to look.
        lowest: u64,
    },
    /// Keep transactions open, each for this time.
    Hold {
        time: Duration,
        /// Rest of the time of the transaction that is open between segments.
        left: Option<Duration>,
    },
}

/// Statement numbers or keys; `None` ends a segment.
pub(super) type QueueSender = SyncSender<Option<u64>>;
pub(super) type QueueReceiver = Receiver<Option<u64>>;

#[derive(Debug, Default)]
pub(super) struct NextQuery {
    number: u64,
    /// Highest key, as last read.
    highest: u64,
}

#[derive(Debug)]
pub(super) struct TaskDone {
    pub(super) end: Instant,
    pub(super) counts: StepTaskCounts,
}

#[derive(Debug)]
pub(super) enum StepTaskCounts {
    Inserts { tally: IbenchTally, indexes: Option<Duration> },
    Deletes(IbenchTally),
    Queries(IbenchTally),
    Lowest(LowestQueries),
    Nothing,
}

impl TaskContext {
    fn round_trips(&mut self, connection: usize, count: u32) -> Result<()> {
        let wire = &mut self.wires[connection];
        (0..count).try_for_each(|_| execute(wire, EMPTY))
    }

    /// Works until the segment is over for this thread. On failure, all threads of the step end.
    fn work(&mut self, task: &mut ThreadTask, order: &SegmentOrder) -> Result<TaskDone> {
        let is_writer = matches!(task, ThreadTask::Insert { .. } | ThreadTask::Delete(_));
        let done = self.carry_out(task, order);
        let done = done.map(|counts| TaskDone { end: Instant::now(), counts });
        if is_writer {
            self.shared.writers.fetch_sub(1, Ordering::Relaxed);
        }
        if done.is_err() {
            self.shared.common.is_stopped.store(true, Ordering::Relaxed);
        }
        done
    }

    fn carry_out(&mut self, task: &mut ThreadTask, order: &SegmentOrder) -> Result<StepTaskCounts> {
        let start = order.start;
        Ok(match task {
            ThreadTask::Insert { rows, numbers, indexes } => {
                let tally = self.insert_rows(rows, numbers.as_ref(), order)?;
                StepTaskCounts::Inserts { tally, indexes: self.build_indexes(indexes)? }
            }
            ThreadTask::Delete(keys) => StepTaskCounts::Deletes(self.delete_rows(keys, start)?),
            ThreadTask::Query { queries, next } => {
                StepTaskCounts::Queries(self.send_queries(queries, next, start)?)
            }
            ThreadTask::Generate { inserts, deletes, lowest } => {
                let queues = (&*inserts, deletes.as_ref());
                StepTaskCounts::Lowest(self.generate(queues, lowest, order)?)
            }
            ThreadTask::Hold { time, left } => {
                self.hold_transactions(*time, left, order)?;
                StepTaskCounts::Nothing
            }
        })
    }

    fn insert_rows(
        &mut self,
        rows: &IbenchRows,
        numbers: Option<&QueueReceiver>,
        order: &SegmentOrder,
    ) -> Result<IbenchTally> {
        let mut tally = IbenchTally::new(true)?;
        let (mut second, mut text) = (WholeSecond::default(), Vec::new());
        let numbers: Box<dyn Iterator<Item = u64>> = match numbers {
            Some(numbers) => Box::new(queued(numbers)),
            None => Box::new(order.statements.clone()),
        };
        for number in numbers {
            if self.shared.is_stopped() {
                break;
            }
            rows.write(number, self.step.rows_per_statement(), second.now(), &mut text);
            let wire = &mut self.wires[0];
            let affected = send(wire, &text, order.start, &mut tally, |reply| reply.affected)?;
            self.shared.common.inserted.fetch_add(affected, Ordering::Relaxed);
        }
        Ok(tally)
    }

    fn build_indexes(&mut self, statements: &[String]) -> Result<Option<Duration>> {
        let Some(wire) = self.wires.get_mut(1) else { return Ok(None) };
        if self.shared.is_stopped() {
            return Ok(None);
        }
        let began = Instant::now();
        statements.iter().try_for_each(|sql| run(wire, sql))?;
        Ok(Some(began.elapsed()))
    }

    fn delete_rows(&mut self, keys: &QueueReceiver, start: Instant) -> Result<IbenchTally> {
        let mut tally = IbenchTally::new(true)?;
        let mut text = Vec::new();
        for lowest in queued(keys) {
            if self.shared.is_stopped() {
                break;
            }
            self.table.delete(lowest, self.step.rows_per_statement(), &mut text);
            let wire = &mut self.wires[0];
            let affected = send(wire, &text, start, &mut tally, |reply| reply.affected)?;
            self.shared.common.deleted.fetch_add(affected, Ordering::Relaxed);
        }
        Ok(tally)
    }

    fn send_queries(
        &mut self,
        queries: &IbenchQueryText,
        next: &mut NextQuery,
        start: Instant,
    ) -> Result<IbenchTally> {
        let mut tally = IbenchTally::new(false)?;
        let mut text = Vec::new();
        let draws_keys =
            self.step.queries.is_some_and(|queries| queries.kind == IbenchQuery::Point);
        while !self.shared.is_over() {
            let wire = &mut self.wires[0];
            if draws_keys && next.number.is_multiple_of(READ_HIGHEST_EVERY) {
                next.highest = single_number(wire, &self.table.highest())?;
            }
            let lowest = self.shared.lowest.load(Ordering::Relaxed);
            queries.write(next.number, IbenchKeys { lowest, highest: next.highest }, &mut text);
            send(wire, &text, start, &mut tally, |reply| reply.rows)?;
            next.number += 1;
            self.shared.common.queries.fetch_add(1, Ordering::Relaxed);
        }
        Ok(tally)
    }

    /// `lowest` is the key at which the next delete begins to look. The pace begins anew with each segment.
    fn generate(
        &mut self,
        (inserts, deletes): (&QueueSender, Option<&QueueSender>),
        lowest: &mut u64,
        order: &SegmentOrder,
    ) -> Result<LowestQueries> {
        let SegmentOrder { start, statements } = order.clone();
        let first = statements.start;
        let mut queries = LowestQueries::default();
        let rows = u64::from(self.step.rows_per_statement());
        let mut pace = self.step.statements_per_second().map(IbenchPace::new);
        for statement in statements {
            if deletes.is_some() && statement % READ_LOWEST_EVERY == 0 {
                *lowest = self.read_lowest(&mut queries)?;
            }
            // The receiver has failed, and reports why.
            if inserts.send(Some(statement)).is_err() {
                break;
            }
            if let Some(deletes) = deletes {
                self.shared.lowest.store(*lowest, Ordering::Relaxed);
                if deletes.send(Some(*lowest)).is_err() {
                    break;
                }
                *lowest += rows;
            }
            let number = statement - first;
            let until = pace.as_mut().and_then(|pace| pace.wait_until(number, start.elapsed()));
            let is_stopped =
                |until| !self.shared.sleep_until(start + until, ClientShared::is_stopped);
            if until.is_some_and(is_stopped) {
                break;
            }
        }
        for queue in iter::once(inserts).chain(deletes) {
            // A receiver that has failed needs no end.
            let _ = queue.send(None);
        }
        Ok(queries)
    }

    /// Reads the lowest key. This query is part of the work: it is slow where deleted rows lie at the low end.
    fn read_lowest(&mut self, queries: &mut LowestQueries) -> Result<u64> {
        let sent = Instant::now();
        let lowest = single_number(&mut self.wires[0], &self.table.lowest())?;
        let response = nanoseconds(sent.elapsed());
        queries.count += 1;
        queries.ns = queries.ns.saturating_add(response);
        queries.longest_ns = queries.longest_ns.max(response);
        Ok(lowest)
    }

    /// A transaction stays open from one segment to the next. `left` is the rest of its time, in which pauses between
    /// segments do not count.
    fn hold_transactions(
        &mut self,
        time: Duration,
        left: &mut Option<Duration>,
        order: &SegmentOrder,
    ) -> Result<()> {
        let read = self.table.read_one();
        let is_last = order.statements.end >= self.step.statements();
        let wire = &mut self.wires[0];
        while !self.shared.is_over() {
            let rest = match left.take() {
                Some(rest) => rest,
                None => {
                    execute(wire, self.table.begin().as_bytes())?;
                    execute(wire, read.as_bytes())?;
                    time
                }
            };
            let began = Instant::now();
            let is_complete = self.shared.sleep_until(began + rest, ClientShared::is_over);
            if !is_complete && !is_last {
                *left = Some(rest.saturating_sub(began.elapsed()));
                break;
            }
            execute(wire, b"COMMIT")?;
        }
        Ok(())
    }
}

fn queued(queue: &QueueReceiver) -> impl Iterator<Item = u64> {
    // A generator that has ended without `None` has failed, or was stopped.
    iter::from_fn(move || queue.recv().ok().flatten())
}

/// The only number of a query's result; 0 for NULL.
pub(super) fn single_number(wire: &mut Connection, sql: &str) -> Result<u64> {
    Ok(query(wire, sql)?.first_string().and_then(|text| text.parse().ok()).unwrap_or(0))
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
            Err(error) => return Err(LoadError::query(text, error)),
        }
    }
}

/// Local time in whole seconds as text, rewritten only once a second.
#[derive(Debug, Default)]
struct WholeSecond {
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

pub(super) struct RoleThread {
    pub(super) tid: i32,
    pub(super) connection_ids: Vec<u64>,
    pub(super) breakers: Vec<Breaker>,
    pub(super) done: Receiver<Result<TaskDone>>,
    orders: Option<Sender<ThreadOrder>>,
    thread: Option<JoinHandle<()>>,
}

enum ThreadOrder {
    RoundTrips { connection: usize, count: u32, done: Sender<Result<()>> },
    Work(SegmentOrder),
}

/// The thread's id, and the server's id and the breaker of each connection.
type ThreadGreeting = Result<(i32, Vec<(u64, Breaker)>)>;

impl RoleThread {
    pub(super) fn start(
        name: String,
        connect: impl FnOnce() -> Result<(TaskContext, ThreadTask)> + Send + 'static,
    ) -> Result<Self> {
        let (greet, greeting) = channel();
        let (report, done) = channel();
        let (orders, inbox) = channel();
        let body = move || execute_orders(connect, &greet, &report, &inbox);
        let thread =
            std::thread::Builder::new().name(name).spawn(body).map_err(LoadError::Thread)?;
        let (tid, wires) = greeting.recv().unwrap_or(Err(LoadError::ClientLost))?;
        let (connection_ids, breakers) = wires.into_iter().unzip();
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Self { tid, connection_ids, breakers, done, orders, thread })
    }

    pub(super) fn work(&self, segment: &SegmentOrder) -> Result<()> {
        self.order(ThreadOrder::Work(segment.clone()))
    }

    pub(super) fn round_trips(&self, connection: usize, count: u32, limit: Duration) -> Result<()> {
        let (done, is_done) = channel();
        self.order(ThreadOrder::RoundTrips { connection, count, done })?;
        is_done.recv_timeout(limit).unwrap_or_else(|_| {
            self.breakers.iter().for_each(Breaker::end);
            Err(LoadError::CutOff { clients: 1 })
        })
    }

    fn order(&self, order: ThreadOrder) -> Result<()> {
        let orders = self.orders.as_ref().ok_or(LoadError::ClientLost)?;
        orders.send(order).map_err(|_| LoadError::ClientLost)
    }
}

fn execute_orders(
    connect: impl FnOnce() -> Result<(TaskContext, ThreadTask)>,
    greet: &Sender<ThreadGreeting>,
    report: &Sender<Result<TaskDone>>,
    orders: &Receiver<ThreadOrder>,
) {
    let (mut context, mut task) = match connect() {
        Ok((context, task)) => (context, Some(task)),
        Err(error) => return drop(greet.send(Err(error))),
    };
    let wires = context.wires.iter();
    let wires = wires.map(|wire| (u64::from(wire.connection_id()), wire.breaker())).collect();
    if greet.send(Ok((gettid().as_raw_nonzero().get(), wires))).is_err() {
        return;
    }
    while let Ok(order) = orders.recv() {
        match order {
            ThreadOrder::RoundTrips { connection, count, done } => {
                // If this fails, the receiver is gone.
                drop(done.send(context.round_trips(connection, count)));
            }
            ThreadOrder::Work(segment) => {
                let Some(current) = task.as_mut() else { return };
                let done = context.work(current, &segment);
                if context.shared.is_stopped() {
                    // This drops its channel ends, so that the other threads do not wait for it.
                    task = None;
                }
                drop(report.send(done));
            }
        }
    }
}

impl Drop for RoleThread {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
