//! The clients of one microbenchmark on one server, kept connected and prepared from slice to
//! slice.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_model::{Pacing, Product, Role, Setup, StatementMode, Test, WorkCounters};
use assay_wire::{Breaker, ConnectOptions};
use assay_workloads::Program;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};

use crate::handshake::Run;
use crate::live::{self, Gauge};
use crate::oversee::{Action, Overseer, Watch};
use crate::tally::Tally;
use crate::worker::Worker;
use crate::{Error, Result};

/// When a run ends. Tested between events: a long event is finished, unless the run must be cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// No event begins later than this after the common start.
    Time(Duration),
    /// This many events in total, split evenly over the clients.
    Events(u64),
    /// Open loop: events of all clients together are due at this rate, evenly, for that time. A client that is late
    /// begins at once, and latency counts from the moment when the event was due, so that a stall is not hidden. What
    /// cannot be begun soon after the time is left, as [`Finished::backlog`].
    Rate {
        /// How long events are due.
        time: Duration,
        /// Events a second.
        per_second: f64,
    },
}

/// How long after their time the late events of an open loop are begun: a tenth of it, within these bounds.
const CATCH_UP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

impl Bound {
    /// How long after the start the last event may begin; none where the events are counted.
    pub(crate) fn last_begin(self) -> Option<Duration> {
        let [least, most] = CATCH_UP;
        match self {
            Self::Time(time) => Some(time),
            Self::Rate { time, .. } => Some(time + (time / 10).clamp(least, most)),
            Self::Events(_) => None,
        }
    }
}

/// A run that somebody looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// What was done.
    pub work: WorkCounters,
    /// Clients that were cut off amid an event, as it did not end.
    pub cut_off: u32,
    /// Of an open loop the events that were due and never begun.
    pub backlog: Option<u64>,
    /// Whether it ended early, as somebody asked for that.
    pub is_stopped: bool,
}

/// What the clients of a session do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Work {
    /// Family of the server.
    pub product: Product,
    /// The test.
    pub test: Test,
    /// How many clients, on what data.
    pub setup: Setup,
    /// How statements are sent.
    pub statements: StatementMode,
    /// Seed of all parameters.
    pub seed: u64,
}

/// Connected, prepared clients, one thread each. Dropping it closes the connections.
pub struct Session {
    clients: Vec<ClientThread>,
    /// One for each client between runs; handed to the clients and back.
    tallies: Vec<Tally>,
    gauges: Vec<Arc<Gauge>>,
    /// How long no event may end, or a run may go on after its time, before it is cut off.
    patience: Duration,
}

/// A run is waited for this many times as long as a server may be silent.
const SILENCES: u32 = 10;

struct ClientThread {
    orders: Option<Sender<Order>>,
    results: Receiver<(Tally, Result<Instant>)>,
    thread: Option<JoinHandle<()>>,
    hello: Hello,
}

/// What a client thread is told to do.
#[expect(clippy::large_enum_variant, reason = "a run does not allocate, and the other is rare")]
enum Order {
    /// Run events; what came of them goes to the results.
    Run(Arc<Run>, Tally),
    /// Send so many empty requests, one after the other's answer, and tell when that is done.
    RoundTrips(u32, Sender<Result<()>>),
}

/// What a client thread reports once it is connected.
struct Hello {
    connection_id: u64,
    tid: i32,
    unprepared: Vec<String>,
    breaker: Breaker,
}

impl Session {
    /// Connects the clients of `work`, each in a thread of its own (confined to `cpu`, when
    /// given), and prepares their statements.
    ///
    /// # Errors
    /// When a thread, a connection or a statement cannot be had.
    pub fn open(options: &ConnectOptions, work: &Work, cpu: Option<usize>) -> Result<Self> {
        let Work { product, test, setup, statements, seed } = *work;
        let [Role { clients: None, pacing: Pacing::Closed, .. }] = test.roles.as_slice() else {
            return Err(Error::Roles(test.name()));
        };
        let program = Arc::new(Program::new(product, test, setup, statements));
        let gauges: Vec<Arc<Gauge>> = (0..setup.clients.max(1)).map(|_| Arc::default()).collect();
        let open_client = |(number, gauge): (u32, &Arc<Gauge>)| {
            let (options, program) = (options.clone(), Arc::clone(&program));
            let gauge = Arc::clone(gauge);
            ClientThread::open(number, cpu, move || {
                Worker::connect(&options, program, seed, number, gauge)
            })
        };
        let clients: Vec<_> = (0..).zip(&gauges).map(open_client).collect::<Result<_>>()?;
        let tallies = (0..clients.len()).map(|_| Tally::new()).collect::<Result<_>>()?;
        Ok(Self { clients, tallies, gauges, patience: options.timeout * SILENCES })
    }

    /// The server's ids of the connections, by client.
    #[must_use]
    pub fn connection_ids(&self) -> Vec<u64> {
        self.clients.iter().map(|client| client.hello.connection_id).collect()
    }

    /// Thread ids of the clients, by client.
    #[must_use]
    pub fn client_tids(&self) -> Vec<i32> {
        self.clients.iter().map(|client| client.hello.tid).collect()
    }

    /// Statements meant to be prepared that the server refuses to prepare (`BEGIN`, on some): they go as text each
    /// time, which costs the server a parse.
    #[must_use]
    pub fn unprepared(&self) -> &[String] {
        self.clients.first().map_or(&[], |client| &client.hello.unprepared)
    }

    /// Lets one client send so many empty requests, each after the answer to the one before.
    ///
    /// # Errors
    /// When there is no such client or its connection is lost.
    pub fn round_trips(&self, client: usize, count: u32) -> Result<()> {
        let client = self.clients.get(client).ok_or(Error::ClientLost)?;
        let (done, is_done) = channel();
        client.order(Order::RoundTrips(count, done))?;
        match is_done.recv_timeout(self.patience) {
            Ok(done) => done,
            Err(RecvTimeoutError::Disconnected) => Err(Error::ClientLost),
            Err(RecvTimeoutError::Timeout) => {
                client.hello.breaker.end();
                Err(Error::CutOff { clients: 1 })
            }
        }
    }

    /// Runs events on all clients at once until `bound`; each client's k-th event is event
    /// `start_sequence + k` of its stream. Elapsed time is counted from the common start to the end
    /// of the last client; in an open loop that is not stopped it is at least its time.
    ///
    /// # Errors
    /// When a statement fails in a way that is not retried; all clients then stop after the event
    /// they are in. [`Error::CutOff`] when an event does not end.
    pub fn run(&mut self, start_sequence: u64, bound: Bound) -> Result<WorkCounters> {
        let finished = self.carry_out(start_sequence, bound, None)?;
        match finished.cut_off {
            0 => Ok(finished.work),
            clients => Err(Error::CutOff { clients }),
        }
    }

    /// As [`Session::run`], with somebody who looks on, and who gets what was done even where clients had to be cut
    /// off.
    ///
    /// # Errors
    /// When a statement fails in a way that is not retried.
    pub fn run_watched(
        &mut self,
        start_sequence: u64,
        bound: Bound,
        watch: &mut Watch<'_>,
    ) -> Result<Finished> {
        self.carry_out(start_sequence, bound, Some(watch))
    }

    fn carry_out(
        &mut self,
        start_sequence: u64,
        bound: Bound,
        watch: Option<&mut Watch<'_>>,
    ) -> Result<Finished> {
        // A client that was lost has not given its tally back; the others would wait for it for
        // ever.
        let tallies = std::mem::take(&mut self.tallies);
        if tallies.len() != self.clients.len() {
            return Err(Error::ClientLost);
        }
        let clients = u32::try_from(tallies.len()).unwrap_or(u32::MAX);
        let run = Arc::new(Run::new(start_sequence, bound, clients));
        for (client, mut tally) in self.clients.iter().zip(tallies) {
            tally.clear();
            client.order(Order::Run(Arc::clone(&run), tally))?;
        }
        let is_watched = watch.is_some();
        let mut overseer = Overseer::new(bound, self.patience, watch, Instant::now());
        let (mut last_end, mut failure, mut cut_off) = (None, None, 0);
        let (mut tallies, mut is_cut) = (Vec::with_capacity(self.clients.len()), false);
        let mut is_silent = false;
        // Every client is heard before an error is returned, so that none is left running.
        for number in 0..self.clients.len() {
            let (tally, end) = self.hear(number, &run, &mut overseer, &mut is_cut)?;
            let quota = run.quota(number as u32);
            let is_short = quota < u64::MAX && tally.events() < quota;
            tallies.push(tally);
            match end {
                Ok(end) => {
                    last_end = last_end.max(Some(end));
                    cut_off += u32::from(is_cut && is_short);
                }
                // Somebody who looks on gets what was done, though a server fell silent before it was cut off.
                Err(error)
                    if (is_cut && error.server_code().is_none())
                        || (is_watched && error.is_silence()) =>
                {
                    is_silent |= !is_cut;
                    cut_off += 1;
                    last_end = last_end.max(Some(Instant::now()));
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        // The last interval ends with the run.
        let _ = overseer.look(Instant::now(), live::total(&self.gauges));
        if let Some(failure) = failure {
            self.tallies = tallies;
            return Err(failure);
        }
        let elapsed = last_end.map_or(Duration::ZERO, |end| run.since_start(end));
        let work = Tally::total(&tallies)?.to_counters(elapsed)?;
        let due = run.due_within(elapsed);
        let backlog = due.map(|due| due.saturating_sub(work.events + u64::from(cut_off)));
        // Connections that were closed are of no more use.
        if !is_cut && !is_silent {
            self.tallies = tallies;
        }
        Ok(Finished { work, cut_off, backlog, is_stopped: overseer.is_stopped })
    }

    /// Waits for what a client has to say at the end of a run, and meanwhile sees to it that the run ends.
    fn hear(
        &self,
        number: usize,
        run: &Run,
        overseer: &mut Overseer<'_, '_>,
        is_cut: &mut bool,
    ) -> Result<(Tally, Result<Instant>)> {
        let client = self.clients.get(number).ok_or(Error::ClientLost)?;
        loop {
            match client.results.recv_timeout(overseer.pause()) {
                Ok(heard) => return Ok(heard),
                Err(RecvTimeoutError::Disconnected) => return Err(Error::ClientLost),
                Err(RecvTimeoutError::Timeout) => {}
            }
            match overseer.look(Instant::now(), live::total(&self.gauges)) {
                Action::Cut if !*is_cut => {
                    *is_cut = true;
                    run.stop();
                    // Those heard before have ended; the others notice, or end by themselves at this moment.
                    self.clients.iter().skip(number).for_each(|it| it.hello.breaker.end());
                }
                Action::Stop => run.stop(),
                Action::Cut | Action::None => {}
            }
        }
    }
}

impl ClientThread {
    fn open(
        number: u32,
        cpu: Option<usize>,
        connect: impl FnOnce() -> Result<Worker> + Send + 'static,
    ) -> Result<Self> {
        let (orders, inbox) = channel();
        let (answers, results) = channel();
        let (greetings, greeting) = channel();
        let body = move || {
            let mut worker = match confine(cpu).and_then(|()| connect()) {
                Ok(worker) => worker,
                Err(error) => return drop(greetings.send(Err(error))),
            };
            let tid = gettid().as_raw_nonzero().get();
            let hello = Hello {
                connection_id: worker.connection_id(),
                tid,
                unprepared: worker.unprepared(),
                breaker: worker.breaker(),
            };
            if greetings.send(Ok(hello)).is_err() {
                return;
            }
            for order in inbox {
                let is_heard = match order {
                    Order::Run(run, mut tally) => {
                        let end = worker.run(&run, &mut tally);
                        if end.is_err() {
                            run.stop();
                        }
                        answers.send((tally, end)).is_ok()
                    }
                    Order::RoundTrips(count, done) => done.send(worker.round_trips(count)).is_ok(),
                };
                if !is_heard {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("assay-client-{number}"))
            .spawn(body)
            .map_err(Error::Thread)?;
        let hello = greeting.recv().unwrap_or(Err(Error::ClientLost))?;
        Ok(Self { orders: Some(orders), results, thread: Some(thread), hello })
    }
}

impl ClientThread {
    fn order(&self, order: Order) -> Result<()> {
        let orders = self.orders.as_ref().ok_or(Error::ClientLost)?;
        orders.send(order).map_err(|_| Error::ClientLost)
    }
}

impl Drop for ClientThread {
    fn drop(&mut self) {
        // Without orders the thread ends, and with it the connection.
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Confines the calling thread to one CPU.
fn confine(cpu: Option<usize>) -> Result<()> {
    let Some(cpu) = cpu else { return Ok(()) };
    if cpu >= CpuSet::MAX_CPU {
        return Err(Error::Pin { cpu, source: rustix::io::Errno::INVAL });
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|source| Error::Pin { cpu, source })
}
