//! The clients of one test on one server, which stay connected and prepared between slices.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_lua::{Leash, Patience};
use assay_model::WorkCounters;
use assay_wire::ConnectOptions;

use crate::actor::{ActorMaker, ClientWork};
use crate::client_thread::{ClientCommand, ClientThread, RunResult};
use crate::control::{cancel, end_connections};
use crate::error::{LoadError, Result};
use crate::live::{self, Gauge, IntervalLatencies, RunProgress};
use crate::policy::ClientPolicy;
use crate::run::RunBound;
use crate::run::{RunPart, RunState};
use crate::tally::{KindWork, Kinds, StatementWork, Tallies, combined_work};
use crate::watchdog::{RunMonitor, Watchdog, WatchdogAction};
use crate::worker::{Ends, Worker};
use crate::workloads::workload_of;

#[derive(Debug, Clone, PartialEq)]
pub struct SessionRun {
    pub work: WorkCounters,
    /// Clients cut off in an event that did not end.
    pub cut_off: u32,
    /// Their current work, as far as known: a place in a script, or a statement.
    pub unfinished: Vec<String>,
    /// After a lost connection, or after the set number of events.
    pub reconnects: u64,
    /// Events of an open loop that were due and never began; `None` in a closed loop.
    pub backlog: Option<u64>,
    pub is_stopped: bool,
    /// Work of each statement of a user's test, by number.
    pub statements: Vec<StatementWork>,
    /// The same events by kind; empty for a test without kinds.
    pub kinds: Vec<KindWork>,
}

#[derive(Debug)]
pub struct SessionEnd {
    /// Output of their scripts, one client after the other.
    pub said: String,
    /// Statements sent by scripts in `thread_done`. They belong to no event.
    pub last: WorkCounters,
    /// Error of the first client that could not end cleanly.
    pub ended: Result<()>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Each client's k-th event is event `first_sequence + k` of its stream.
    pub first_sequence: u64,
    pub bound: RunBound,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnWork {
    pub warm: RunProgress,
    /// From the common start to the end of the last client.
    pub warm_elapsed: Duration,
    pub measured: RunProgress,
    pub elapsed: Duration,
}

/// Connected, prepared clients, one thread each. Dropping it closes the connections.
pub struct ClientSession {
    clients: Vec<ClientThread>,
    /// One per client between runs; lent to the clients during a run.
    tallies: Vec<Tallies>,
    elapsed: Duration,
    gauges: Vec<Arc<Gauge>>,
    /// A run is cut off after this time without the end of an event, or this long after its end.
    stall_limit: Duration,
    options: ConnectOptions,
}

#[derive(Debug, Default)]
struct RunEnd {
    warm_elapsed: Duration,
    elapsed: Duration,
    cut_off: u32,
    unfinished: Vec<String>,
    is_broken: bool,
    is_stopped: bool,
}

#[derive(Debug, Default)]
struct ClientEnds {
    is_timed: bool,
    is_monitored: bool,
    ended: RunEnd,
    warm_end: Option<Instant>,
    last_end: Option<Instant>,
    is_cut: bool,
    /// A client ended cleanly before it had run all its events.
    is_early: bool,
    failure: Option<LoadError>,
    lost: Option<LoadError>,
}

impl ClientEnds {
    fn give_up(&mut self, error: LoadError) {
        self.cut_off(&error);
        self.lost.get_or_insert(error);
    }

    fn cut_off(&mut self, error: &LoadError) {
        self.ended.is_broken = true;
        self.ended.cut_off += 1;
        self.ended.unfinished.extend(error.unfinished());
    }

    /// Counts a client that ended; `is_short` if it ran fewer events than its share.
    fn take(&mut self, ends: Result<Ends>, is_short: bool, is_stopped: bool) {
        match ends {
            Ok(ends) => {
                self.warm_end = self.warm_end.max(ends.warm);
                self.last_end = self.last_end.max(Some(ends.measured));
                self.ended.cut_off += u32::from(self.is_cut && is_short);
                self.is_early |= is_short && !self.is_cut && !is_stopped;
            }
            // A monitored run keeps its work, even if a server fell silent before it was cut off.
            Err(error)
                if (self.is_cut && error.server_code().is_none())
                    || (self.is_monitored && (error.is_silence() || error.is_ended_script())) =>
            {
                self.cut_off(&error);
                if !self.is_timed {
                    self.last_end = self.last_end.max(Some(Instant::now()));
                }
                if error.is_ended_script() {
                    self.lost.get_or_insert(error);
                }
            }
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }

    fn checked(mut self) -> Result<Self> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        // The server is not to blame.
        if let Some(lost) = self.lost.take().filter(|_| !self.is_monitored) {
            return Err(lost);
        }
        // The systems of a study would not do the same work.
        if self.is_early && !self.is_monitored {
            return Err(LoadError::EndedEarly);
        }
        Ok(self)
    }
}

/// Maximum interval between checks of a run with scripts: a script may be in a function that cannot be interrupted.
const SCRIPT_CHECK: Duration = Duration::from_secs(1);

/// A run may stall for this many times the timeout of its connections.
const TIMEOUTS_PER_STALL: u32 = 10;

impl ClientSession {
    /// Connects the clients of `work`, one thread each, and prepares their statements. Clients are pinned to `cpus` in
    /// turn; if it is empty, they run anywhere.
    pub fn open(options: &ConnectOptions, work: &ClientWork, cpus: &[usize]) -> Result<Self> {
        Self::open_with(options, work, cpus, &ClientPolicy::default())
    }

    pub fn open_with(
        options: &ConnectOptions,
        work: &ClientWork,
        cpus: &[usize],
        policy: &ClientPolicy,
    ) -> Result<Self> {
        let actors = workload_of(&work.test.schema).actors(options, work)?;
        Self::of_actors(options, actors, cpus, policy)
    }

    pub fn of_actors(
        options: &ConnectOptions,
        actors: Vec<ActorMaker>,
        cpus: &[usize],
        policy: &ClientPolicy,
    ) -> Result<Self> {
        let policy = Arc::new(policy.clone());
        let gauge = if policy.shows_latencies { Gauge::with_latencies } else { Gauge::default };
        let gauges: Vec<Arc<Gauge>> = actors.iter().map(|_| Arc::new(gauge())).collect();
        let open_client = |((number, make), gauge): ((u32, ActorMaker), &Arc<Gauge>)| {
            let options = options.clone();
            let (gauge, policy) = (Arc::clone(gauge), Arc::clone(&policy));
            let cpu = cpus.iter().cycle().nth(number as usize).copied();
            let leash = Arc::<Leash>::default();
            let held = (Arc::clone(&leash), options.stop.clone());
            ClientThread::open(number, cpu, held, move || {
                Worker::connect(options, make(&leash), number, gauge, policy)
            })
        };
        let clients = (0..).zip(actors).zip(&gauges).map(open_client);
        let clients: Vec<_> = clients.collect::<Result<_>>()?;
        let tallies = clients.iter().map(|_| Tallies::new(clients.len()));
        let tallies = tallies.collect::<Result<_>>()?;
        let stall_limit = options.timeout * TIMEOUTS_PER_STALL;
        let options = options.clone();
        Ok(Self { clients, tallies, elapsed: Duration::ZERO, gauges, stall_limit, options })
    }

    pub fn close(mut self) -> SessionEnd {
        self.clients.iter_mut().for_each(ClientThread::dismiss);
        let mut closed =
            SessionEnd { said: String::new(), last: WorkCounters::default(), ended: Ok(()) };
        for client in &mut self.clients {
            let (last, ended) = client.ended();
            closed.said.push_str(&client.leash().take_said());
            closed.last.add_statements(&last);
            closed.ended = closed.ended.and(ended);
        }
        closed
    }

    /// The server's ids of the connections, by client. A client has several if its events use different session
    /// settings.
    pub fn connection_ids(&self) -> Vec<u64> {
        self.clients.iter().flat_map(|client| &client.info.connection_ids).copied().collect()
    }

    /// Latencies of the clients, readable while they work. Empty without [`ClientPolicy::shows_latencies`].
    pub fn interval_latencies(&self) -> IntervalLatencies {
        IntervalLatencies::new(&self.gauges)
    }

    pub fn client_tids(&self) -> Vec<i32> {
        self.clients.iter().map(|client| client.info.tid).collect()
    }

    /// Statements that the server refuses to prepare (`BEGIN`, on some). They are sent as text each time, which costs
    /// the server a parse.
    pub fn unprepared(&self) -> &[String] {
        self.clients.first().map_or(&[], |client| &client.info.unprepared)
    }

    /// Sends `count` empty requests on a connection, one at a time. `connection` is an index into
    /// [`ClientSession::connection_ids`].
    pub fn round_trips(&self, connection: usize, count: u32) -> Result<()> {
        let mut before = 0;
        for client in &self.clients {
            let own = client.info.connection_ids.len();
            if connection < before + own {
                let (done, is_done) = channel();
                client.command(ClientCommand::RoundTrips(connection - before, count, done))?;
                return self.answer_from(client, &is_done);
            }
            before += own;
        }
        Err(LoadError::ClientLost)
    }

    /// Executes a statement outside the work on every client, concurrently.
    pub fn execute_on_all(&self, sql: &'static str) -> Result<()> {
        let mut asked = Vec::with_capacity(self.clients.len());
        for client in &self.clients {
            let (done, is_done) = channel();
            client.command(ClientCommand::Execute(sql, done))?;
            asked.push((client, is_done));
        }
        // Wait for every answer before returning an error: a client thread ends if it cannot deliver its answer.
        let answers: Vec<Result<()>> =
            asked.iter().map(|(client, is_done)| self.answer_from(client, is_done)).collect();
        answers.into_iter().collect()
    }

    fn answer_from(&self, client: &ClientThread, is_done: &Receiver<Result<()>>) -> Result<()> {
        match is_done.recv_timeout(self.stall_limit) {
            Ok(done) => done,
            Err(RecvTimeoutError::Disconnected) => Err(LoadError::ClientLost),
            Err(RecvTimeoutError::Timeout) => {
                client.info.breaker.end();
                Err(LoadError::CutOff { clients: 1 })
            }
        }
    }

    /// Runs events on all clients until `bound`; each client's k-th event is event `start_sequence + k` of its stream.
    /// Elapsed time runs from the common start to the end of the last event; in an open loop that is not stopped it is
    /// at least its time.
    ///
    /// If a statement fails and is not retried, all clients stop after their current event.
    /// [`LoadError::Unanswered`]: an event did not end and was cancelled; [`LoadError::CutOff`]: it could not be
    /// cancelled.
    pub fn run(&mut self, start_sequence: u64, bound: RunBound) -> Result<WorkCounters> {
        self.forget();
        self.turn(None, Stretch { first_sequence: start_sequence, bound })?;
        self.take_work()
    }

    /// Like [`ClientSession::run`], with a monitor. Returns the work even if clients had to be cut off.
    pub fn run_monitored(
        &mut self,
        start_sequence: u64,
        bound: RunBound,
        monitor: &mut RunMonitor<'_>,
    ) -> Result<SessionRun> {
        self.forget();
        let measured = Stretch { first_sequence: start_sequence, bound };
        let (ended, due) = self.carry_out(None, measured, Some(monitor))?;
        let reconnects = self.tallies.iter().map(|own| own.measured.reconnects).sum();
        let statements = self.statement_work();
        let kinds = self.kinds();
        let work = self.take_work()?;
        let backlog = due.map(|due| due.saturating_sub(work.events + u64::from(ended.cut_off)));
        if ended.is_broken {
            self.tallies.clear();
        }
        if ended.cut_off > 0 {
            // Statements still running on the server would disturb later measurements.
            let _ = end_connections(&self.options, &self.connection_ids());
        }
        let RunEnd { cut_off, unfinished, is_stopped, .. } = ended;
        Ok(SessionRun {
            work,
            cut_off,
            unfinished,
            reconnects,
            backlog,
            is_stopped,
            statements,
            kinds,
        })
    }

    /// Runs the warm part, if any, and immediately the measured part. The counts are added to those of earlier turns,
    /// until [`ClientSession::take_work`].
    pub fn turn(&mut self, warm: Option<Stretch>, measured: Stretch) -> Result<TurnWork> {
        let (began, before) = (Instant::now(), self.progress());
        let ended = match self.carry_out(warm, measured, None) {
            Ok((ended, _)) if ended.cut_off == 0 => ended,
            Ok((ended, _)) => {
                let cut_off = LoadError::CutOff { clients: ended.cut_off };
                let error = self.cancelled(cut_off, began.elapsed());
                self.tallies.clear();
                return Err(error);
            }
            Err(error) => return Err(self.cancelled(error, began.elapsed())),
        };
        let after = self.progress();
        Ok(TurnWork {
            warm: after.0.since(&before.0),
            warm_elapsed: ended.warm_elapsed,
            measured: after.1.since(&before.1),
            elapsed: ended.elapsed,
        })
    }

    /// Kills the statements that clients gave up on, so that none continues in the background. If that works, returns
    /// [`LoadError::Unanswered`] with the work done so far.
    fn cancelled(&self, error: LoadError, elapsed: Duration) -> LoadError {
        let Some(why) = error.silence(elapsed) else { return error };
        if cancel(&self.options, &self.connection_ids(), elapsed).is_err() {
            return error;
        }
        let (warm, measured) = self.progress();
        let events = warm.events + measured.events;
        LoadError::Unanswered { why, events, elapsed: self.elapsed + elapsed }
    }

    /// Like [`ClientSession::run`], but returns when each event ended, from the common start: ascending, of all clients
    /// together.
    pub fn trace(&mut self, stretch: Stretch) -> Result<Vec<Duration>> {
        self.forget();
        self.tallies.iter_mut().for_each(|it| it.measured.ends = Some(Vec::new()));
        self.turn(None, stretch)?;
        let ends = self.tallies.iter_mut().filter_map(|it| it.measured.ends.take());
        let mut ends: Vec<Duration> = ends.flatten().collect();
        ends.sort_unstable();
        self.forget();
        Ok(ends)
    }

    pub fn take_work(&mut self) -> Result<WorkCounters> {
        let work = combined_work(self.tallies.iter().map(|own| &own.measured), self.elapsed)?;
        self.forget();
        Ok(work)
    }

    /// Work of each statement of a user's test in these parts, by number. Call before [`ClientSession::take_work`].
    /// Statements in pipelines are not timed.
    pub fn statement_work(&self) -> Vec<StatementWork> {
        let mut all: Vec<StatementWork> = Vec::new();
        for tallies in &self.tallies {
            let own = &tallies.measured.statements;
            all.resize(all.len().max(own.len()), StatementWork::default());
            for (sum, one) in all.iter_mut().zip(own) {
                sum.count += one.count;
                sum.ns = sum.ns.saturating_add(one.ns);
            }
        }
        all
    }

    /// Events of the measured parts by kind, of all turns since the work was last taken; empty for a test without
    /// kinds.
    pub fn kinds(&self) -> Vec<KindWork> {
        let mut all = Kinds::default();
        self.tallies.iter().for_each(|it| all.add(&it.measured.kinds));
        all.work()
    }

    fn forget(&mut self) {
        self.tallies.iter_mut().for_each(Tallies::clear);
        self.elapsed = Duration::ZERO;
    }

    fn progress(&self) -> (RunProgress, RunProgress) {
        let parts = self.tallies.iter().map(|it| (it.warm.progress(), it.measured.progress()));
        parts.fold(Default::default(), |(warm, measured), one| {
            (warm.and(&one.0), measured.and(&one.1))
        })
    }

    /// Executes a run. Returns how it ended and how many events of an open loop were due.
    fn carry_out(
        &mut self,
        warm: Option<Stretch>,
        measured: Stretch,
        monitor: Option<&mut RunMonitor<'_>>,
    ) -> Result<(RunEnd, Option<u64>)> {
        // A lost client never returns its tallies, and the others would wait for it forever.
        let tallies = std::mem::take(&mut self.tallies);
        if tallies.len() != self.clients.len() {
            return Err(LoadError::ClientLost);
        }
        let clients = u32::try_from(tallies.len()).unwrap_or(u32::MAX);
        let part = |it: Stretch| RunPart::new(it.first_sequence, it.bound, clients);
        let run = Arc::new(RunState::new(warm.map(part), part(measured)));
        let before: Vec<u64> = tallies.iter().map(|it| it.measured.events()).collect();
        for (client, tallies) in self.clients.iter().zip(tallies) {
            client.command(ClientCommand::Run(Arc::clone(&run), tallies))?;
        }
        let is_monitored = monitor.is_some();
        let stall_limit = self.stall_limit;
        let mut watchdog = Watchdog::new(measured.bound, stall_limit, monitor, Instant::now());
        let mut ends_so_far = ClientEnds {
            is_timed: measured.bound.last_begin().is_some(),
            is_monitored,
            ..ClientEnds::default()
        };
        let mut patience: Vec<Patience> =
            self.clients.iter().map(|_| Patience::default()).collect();
        // Wait for every client before returning an error, so that none is left running.
        for (number, before) in before.into_iter().enumerate() {
            let is_cut = &mut ends_so_far.is_cut;
            let waited = self.wait_for(number, &run, &mut watchdog, &mut patience, is_cut)?;
            let Some((tallies, ends)) = waited else {
                ends_so_far.give_up(self.clients[number].give_up());
                continue;
            };
            let quota = run.measured.quota(number as u32);
            // If time ends the run too, a client may end cleanly before it has run all its events.
            let is_counted = matches!(measured.bound, RunBound::Events(_));
            let is_short = is_counted && tallies.measured.events() - before < quota;
            self.tallies.push(tallies);
            ends_so_far.take(ends, is_short, run.is_stopped());
        }
        // Report the last interval, which ends with the run.
        let _ = watchdog.look(Instant::now(), live::total(&self.gauges));
        let ClientEnds { mut ended, warm_end, last_end, is_cut, .. } = ends_so_far.checked()?;
        let since_start = |part: Option<&RunPart>, end: Option<Instant>| {
            part.zip(end).map_or(Duration::ZERO, |(part, end)| part.since_start(end))
        };
        ended.warm_elapsed = since_start(run.warm.as_ref(), warm_end);
        ended.elapsed = since_start(Some(&run.measured), last_end);
        // Clients that were cut off worked until the time was over; the wait after that does not count.
        if let Some(time) =
            measured.bound.last_begin().filter(|_| ended.cut_off > 0 && !watchdog.is_stopped)
        {
            ended.elapsed = ended.elapsed.max(time);
        }
        // Closed connections cannot be reused.
        ended.is_broken |= is_cut;
        ended.is_stopped = watchdog.is_stopped;
        self.elapsed += ended.elapsed;
        let due = run.measured.due_within(ended.elapsed);
        Ok((ended, due))
    }

    /// Waits for a client's result and enforces the end of the run. `None` if the client is to be abandoned.
    fn wait_for(
        &self,
        number: usize,
        run: &RunState,
        watchdog: &mut Watchdog<'_, '_>,
        patience: &mut [Patience],
        is_cut: &mut bool,
    ) -> Result<Option<RunResult>> {
        let client = &self.clients[number];
        loop {
            let longest = if client.leash().has_script() { SCRIPT_CHECK } else { Duration::MAX };
            let pause = watchdog.pause().min(longest);
            if let Some(result) = client.result_within(pause)? {
                return Ok(Some(result));
            }
            let now = Instant::now();
            // Stopping a study shuts down connections, which a script may not notice.
            let must_end = *is_cut || (!watchdog.is_monitored() && self.options.stop.is_asked());
            let waiting = self.clients.iter().zip(&mut *patience).enumerate().skip(number);
            let is_stuck = |(at, (client, patience)): (usize, (&ClientThread, &mut Patience))| {
                patience.is_over(client.leash(), must_end, now).then_some(at)
            };
            let given_up: Vec<usize> = waiting.filter_map(is_stuck).collect();
            if !given_up.is_empty() {
                // The others may be waiting for the stuck client.
                self.cut(number, run, is_cut);
            }
            if given_up.contains(&number) {
                return Ok(None);
            }
            match watchdog.look(now, live::total(&self.gauges)) {
                WatchdogAction::Cut => self.cut(number, run, is_cut),
                WatchdogAction::Stop => run.stop(),
                WatchdogAction::None => {}
            }
        }
    }

    /// Closes the connections of this client and of later ones, once.
    fn cut(&self, from: usize, run: &RunState, is_cut: &mut bool) {
        if !std::mem::replace(is_cut, true) {
            run.stop();
            // Earlier clients have ended. The others notice, or end by themselves now.
            self.clients.iter().skip(from).for_each(|it| it.info.breaker.end());
        }
    }
}
