//! One client: a connection that runs events back to back.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_model::WorkCounters;
use assay_wire::{Breaker, ConnectOptions, Connection};

use crate::actor::{Actor, EventError, EventNumber, EventWire};
use crate::control::{connect, execute};
use crate::error::{LoadError, Result};
use crate::live::Gauge;
use crate::policy::{ClientPolicy, Remedy};
use crate::run::{EventStart, RunPart, RunState};
use crate::tally::{ClientTally, Tallies};

/// Valid on every server, and does no work.
pub(crate) const EMPTY: &[u8] = b"SELECT 1";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// `None` if the run had no warm part.
    pub(crate) warm: Option<Instant>,
    pub(crate) measured: Instant,
}

/// Pause between attempts to reconnect, as in sysbench.
const RECONNECT_EVERY: Duration = Duration::from_millis(1);

#[derive(Clone)]
pub(crate) struct ConnectionBreaker(Arc<Mutex<Vec<Breaker>>>);

impl ConnectionBreaker {
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Breaker::end);
    }

    fn replace(&self, breakers: Vec<Breaker>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = breakers;
    }
}

fn breakers(wire: &Connection, actor: &mut dyn Actor) -> Vec<Breaker> {
    let others = actor.others().iter().map(Connection::breaker);
    std::iter::once(wire.breaker()).chain(others).collect()
}

/// How to retry an event.
enum Retry {
    /// After an error with this code.
    AfterError(u32),
    OnNewConnection,
}

/// A part of a run, for one client.
struct WorkerPart<'a> {
    run: &'a RunState,
    part: &'a RunPart,
    tally: &'a mut ClientTally,
}

impl WorkerPart<'_> {
    fn is_over(&self) -> bool {
        self.run.is_over(self.part, Instant::now())
    }
}

pub(crate) struct Worker {
    number: u32,
    actor: Box<dyn Actor>,
    wire: Connection,
    gauge: Arc<Gauge>,
    policy: Arc<ClientPolicy>,
    options: ConnectOptions,
    breaker: ConnectionBreaker,
    /// Bytes sent and received on the connection that are already counted.
    counted: (u64, u64),
    /// Events since it connected.
    events: u64,
}

impl Worker {
    pub(crate) fn connect(
        options: ConnectOptions,
        mut actor: Box<dyn Actor>,
        number: u32,
        gauge: Arc<Gauge>,
        policy: Arc<ClientPolicy>,
    ) -> Result<Self> {
        // In an open loop the kernel should wake the client when an event is due, not up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let wire = open(&options, actor.as_mut(), number)?;
        let breaker = ConnectionBreaker(Arc::new(Mutex::new(breakers(&wire, actor.as_mut()))));
        let (counted, events) = ((0, 0), 0);
        Ok(Self { number, actor, wire, gauge, policy, options, breaker, counted, events })
    }

    pub(crate) fn connection_ids(&mut self) -> Vec<u64> {
        let others = self.actor.others().iter().map(Connection::connection_id);
        std::iter::once(self.wire.connection_id()).chain(others).map(u64::from).collect()
    }

    pub(crate) fn breaker(&self) -> ConnectionBreaker {
        self.breaker.clone()
    }

    pub(crate) fn unprepared(&self) -> Vec<String> {
        self.actor.unprepared()
    }

    /// Ends the client's work before its connection is closed. Also returns the statements and bytes sent for that.
    pub(crate) fn end(&mut self) -> (WorkCounters, Result<()>) {
        let (mut counters, before) = (WorkCounters::default(), self.bytes());
        let ended = self.actor.end(&mut self.wire, &mut counters);
        let now = self.bytes();
        counters.bytes_sent = now.0 - before.0;
        counters.bytes_received = now.1 - before.1;
        (counters, ended)
    }

    /// Sends `count` empty statements on a connection, by its index among the ids.
    pub(crate) fn round_trips(&mut self, connection: usize, count: u32) -> Result<()> {
        let wire = match connection.checked_sub(1) {
            Some(other) => &mut self.actor.others()[other],
            None => &mut self.wire,
        };
        (0..count).try_for_each(|_| execute(wire, EMPTY))
    }

    pub(crate) fn execute(&mut self, sql: &[u8]) -> Result<()> {
        execute(&mut self.wire, sql)?;
        self.actor.others().iter_mut().try_for_each(|wire| execute(wire, sql))
    }

    /// Runs and counts events until the run is over. Returns when the warm and the measured part ended, each with its
    /// last event; in an open loop not before the time after which no event is due.
    pub(crate) fn run(&mut self, run: &RunState, tallies: &mut Tallies) -> Result<Ends> {
        let warm = run.warm.as_ref();
        let warm =
            warm.map(|part| self.run_part(WorkerPart { run, part, tally: &mut tallies.warm }));
        let warm = warm.transpose().inspect_err(|_| {
            // The other clients wait for this one before they measure.
            run.stop();
            run.measured.wait_for_start();
        })?;
        let (part, tally) = (&run.measured, &mut tallies.measured);
        Ok(Ends { warm, measured: self.run_part(WorkerPart { run, part, tally })? })
    }

    fn run_part(&mut self, mut work: WorkerPart<'_>) -> Result<Instant> {
        self.counted = self.bytes();
        work.tally.show(&self.gauge);
        let end = self.run_events(&mut work);
        self.count_bytes(work.tally);
        end
    }

    fn bytes(&mut self) -> (u64, u64) {
        let own = (self.wire.bytes_sent(), self.wire.bytes_received());
        self.actor.others().iter().fold(own, |(sent, received), other| {
            (sent + other.bytes_sent(), received + other.bytes_received())
        })
    }

    fn count_bytes(&mut self, tally: &mut ClientTally) {
        let (now, before) = (self.bytes(), self.counted);
        tally.count_bytes(now.0 - before.0, now.1 - before.1);
        self.counted = now;
    }

    /// Replaces the connection and prepares its statements again. Retries while the server accepts no connection.
    /// Returns `false` if the run ends first.
    fn reconnect(&mut self, work: &mut WorkerPart<'_>) -> Result<bool> {
        self.count_bytes(work.tally);
        // The server may then give its slot to the new connection.
        self.breaker.end();
        loop {
            match open(&self.options, self.actor.as_mut(), self.number) {
                Ok(wire) => {
                    self.breaker.replace(breakers(&wire, self.actor.as_mut()));
                    self.wire = wire;
                    break;
                }
                Err(_) if work.is_over() => return Ok(false),
                Err(error) if !self.policy.tries_again(&error) => return Err(error),
                Err(_) => std::thread::sleep(RECONNECT_EVERY),
            }
        }
        (self.counted, self.events) = ((0, 0), 0);
        work.tally.reconnects += 1;
        work.tally.show(&self.gauge);
        // Cutting off the run meanwhile ended only the old connection.
        Ok(!work.is_over())
    }

    fn run_events(&mut self, work: &mut WorkerPart<'_>) -> Result<Instant> {
        let (run, part) = (work.run, work.part);
        let (quota, before) = (part.quota(self.number), work.tally.events());
        let mut done = 0;
        let mut now = part.wait_for_start();
        while done < quota && !run.is_over(part, now) {
            match part.due(self.number, done) {
                None => {}
                Some(EventStart::At(due)) if run.sleep_until(part, due, now) => now = due,
                // The run was stopped. Nothing was due since the last event.
                Some(EventStart::At(_)) => return Ok(Instant::now()),
                // A rate applies to the whole time, so wait for its end even if nothing is due.
                Some(EventStart::Never { end }) => {
                    run.sleep_until(part, end, now);
                    return Ok(Instant::now());
                }
            }
            if !self.run_event(part.first_sequence + done, work)? {
                // An uncounted event adds no time.
                return Ok(if run.is_stopped() { now } else { Instant::now() });
            }
            let end = Instant::now();
            work.tally.count_event(end - now);
            self.gauge.show_latency(end - now);
            if let Some(ends) = &mut work.tally.ends {
                ends.push(part.since_start(end));
            }
            work.tally.show(&self.gauge);
            done = work.tally.events() - before;
            now = end;
        }
        Ok(now)
    }

    /// Runs one event. It is retried with new random values while the server asks for that and the run continues.
    /// Returns whether it completed.
    fn run_event(&mut self, sequence: u64, work: &mut WorkerPart<'_>) -> Result<bool> {
        if self.policy.reconnect_every.is_some_and(|every| self.events >= every.get())
            && !self.reconnect(work)?
        {
            return Ok(false);
        }
        let mut attempt = 0;
        loop {
            let WorkerPart { run, part, tally } = work;
            let mut line = EventWire { wire: &mut self.wire, tally, run, part };
            match self.actor.event(EventNumber { sequence, attempt }, &mut line) {
                Ok(ControlFlow::Continue(())) => {
                    self.events += 1;
                    return Ok(true);
                }
                Ok(ControlFlow::Break(())) => return Ok(false),
                Err(refused) => match self.ended(refused)? {
                    Retry::AfterError(code) => work.tally.count_error(code),
                    Retry::OnNewConnection if self.reconnect(work)? => {}
                    Retry::OnNewConnection => return Ok(false),
                },
            }
            work.tally.show(&self.gauge);
            if work.is_over() {
                return Ok(false);
            }
            attempt += 1;
        }
    }

    /// Decides how a statement's error affects the event, and prepares the connection for a retry.
    fn ended(&mut self, refused: EventError) -> Result<Retry> {
        let (sql, source) = match refused {
            EventError::Statement { sql, source } => (sql, source),
            EventError::Again(code) => return self.given_up(code),
            EventError::Failed(error) => return Err(*error),
        };
        let usual = self.actor.retried();
        match self.policy.remedy(&source, usual) {
            Remedy::Reconnect => Ok(Retry::OnNewConnection),
            Remedy::Fail => Err(LoadError::query(&sql, source).at(self.actor.place())),
            Remedy::Retry(code) => self.given_up(code),
        }
    }

    fn given_up(&mut self, code: u32) -> Result<Retry> {
        match self.actor.give_up(&mut self.wire) {
            Ok(()) => Ok(Retry::AfterError(code)),
            Err(cause) if self.policy.remedy(&cause, self.actor.retried()) == Remedy::Reconnect => {
                Ok(Retry::OnNewConnection)
            }
            Err(cause) => Err(LoadError::query(b"ROLLBACK", cause)),
        }
    }
}

fn open(options: &ConnectOptions, actor: &mut dyn Actor, number: u32) -> Result<Connection> {
    let mut wire = connect(options, number)?;
    actor.prepare(&mut wire)?;
    Ok(wire)
}
