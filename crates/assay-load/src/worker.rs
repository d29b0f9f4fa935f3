//! One client: a connection that runs events back to back.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_model::WorkCounters;
use assay_wire::{Breaker, ConnectOptions, Connection};

use crate::actor::{Actor, EventNumber, Line, Refused};
use crate::error::{Error, Result};
use crate::live::Gauge;
use crate::policy::{ClientPolicy, Remedy};
use crate::run::{Due, Part, Run};
use crate::tally::{Tallies, Tally};

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
    fn new(breakers: Vec<Breaker>) -> Self {
        Self(Arc::new(Mutex::new(breakers)))
    }

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

enum Ended {
    /// Retry it, after an error with this code.
    Refused(u32),
    /// Retry it on a new connection.
    Lost,
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
        let mut wire = open(&options, actor.as_mut(), number)?;
        actor.settle(&mut wire)?;
        let breaker = ConnectionBreaker::new(breakers(&wire, actor.as_mut()));
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
        let others = self.actor.others();
        let other = connection.checked_sub(1).and_then(|at| others.get_mut(at));
        let wire = other.unwrap_or(&mut self.wire);
        (0..count).try_for_each(|_| execute(wire, EMPTY))
    }

    pub(crate) fn execute(&mut self, sql: &[u8]) -> Result<()> {
        execute(&mut self.wire, sql)?;
        self.actor.others().iter_mut().try_for_each(|wire| execute(wire, sql))
    }

    /// Runs and counts events until the run is over. Returns when the warm and the measured part ended, each with its
    /// last event; in an open loop not before the time after which no event is due.
    pub(crate) fn run(&mut self, run: &Run, tallies: &mut Tallies) -> Result<Ends> {
        let warm = run.warm.as_ref().map(|part| self.run_part(run, part, &mut tallies.warm));
        let warm = warm.transpose().inspect_err(|_| {
            // The other clients wait for this one before they measure.
            run.stop();
            run.measured.wait_for_start();
        })?;
        Ok(Ends { warm, measured: self.run_part(run, &run.measured, &mut tallies.measured)? })
    }

    fn run_part(&mut self, run: &Run, part: &Part, tally: &mut Tally) -> Result<Instant> {
        self.counted = self.bytes();
        tally.show(&self.gauge);
        let end = self.run_events(run, part, tally);
        self.count_bytes(tally);
        end
    }

    fn bytes(&mut self) -> (u64, u64) {
        let own = (self.wire.bytes_sent(), self.wire.bytes_received());
        self.actor.others().iter().fold(own, |(sent, received), it| {
            (sent + it.bytes_sent(), received + it.bytes_received())
        })
    }

    fn count_bytes(&mut self, tally: &mut Tally) {
        let (now, before) = (self.bytes(), self.counted);
        tally.count_bytes(now.0 - before.0, now.1 - before.1);
        self.counted = now;
    }

    /// Replaces the connection and prepares its statements again. Retries while the server accepts no connection.
    /// Returns `false` if the run ends first.
    fn reconnect(&mut self, run: &Run, part: &Part, tally: &mut Tally) -> Result<bool> {
        self.count_bytes(tally);
        // The server may then give its slot to the new connection.
        self.breaker.end();
        loop {
            match open(&self.options, self.actor.as_mut(), self.number) {
                Ok(wire) => {
                    self.breaker.replace(breakers(&wire, self.actor.as_mut()));
                    self.wire = wire;
                    break;
                }
                Err(_) if run.is_over(part, Instant::now()) => return Ok(false),
                Err(error) if !self.policy.tries_again(&error) => return Err(error),
                Err(_) => std::thread::sleep(RECONNECT_EVERY),
            }
        }
        (self.counted, self.events) = ((0, 0), 0);
        tally.count_reconnect();
        tally.show(&self.gauge);
        // Cutting off the run meanwhile ended only the old connection.
        Ok(!run.is_over(part, Instant::now()))
    }

    fn run_events(&mut self, run: &Run, part: &Part, tally: &mut Tally) -> Result<Instant> {
        let (quota, before) = (part.quota(self.number), tally.events());
        let mut done = 0;
        let mut now = part.wait_for_start();
        while done < quota && !run.is_over(part, now) {
            match part.due(self.number, done) {
                None => {}
                Some(Due::At(due)) if run.sleep_until(part, due, now) => now = due,
                // The run was stopped. Nothing was due since the last event.
                Some(Due::At(_)) => return Ok(Instant::now()),
                // A rate applies to the whole time, so wait for its end even if nothing is due.
                Some(Due::Never { end }) => {
                    run.sleep_until(part, end, now);
                    return Ok(Instant::now());
                }
            }
            if !self.run_event(part.first_sequence + done, run, part, tally)? {
                // An uncounted event adds no time.
                return Ok(if run.is_stopped() { now } else { Instant::now() });
            }
            let end = Instant::now();
            tally.count_event(end - now);
            self.gauge.show_latency(end - now);
            if let Some(ends) = &mut tally.ends {
                ends.push(part.since_start(end));
            }
            tally.show(&self.gauge);
            done = tally.events() - before;
            now = end;
        }
        Ok(now)
    }

    /// Runs one event. It is retried with new random values while the server asks for that and the run continues.
    /// Returns whether it completed.
    fn run_event(
        &mut self,
        sequence: u64,
        run: &Run,
        part: &Part,
        tally: &mut Tally,
    ) -> Result<bool> {
        if self.policy.reconnect_every.is_some_and(|every| self.events >= every.get())
            && !self.reconnect(run, part, tally)?
        {
            return Ok(false);
        }
        let mut attempt = 0;
        loop {
            let mut line = Line { wire: &mut self.wire, tally: &mut *tally, run, part };
            match self.actor.event(EventNumber { sequence, attempt }, &mut line) {
                Ok(ControlFlow::Continue(())) => {
                    self.events += 1;
                    return Ok(true);
                }
                Ok(ControlFlow::Break(())) => return Ok(false),
                Err(refused) => match self.ended(refused)? {
                    Ended::Refused(code) => tally.count_error(code),
                    Ended::Lost if self.reconnect(run, part, tally)? => {}
                    Ended::Lost => return Ok(false),
                },
            }
            tally.show(&self.gauge);
            if run.is_over(part, Instant::now()) {
                return Ok(false);
            }
            attempt += 1;
        }
    }

    /// Decides how a statement's error affects the event, and prepares the connection for a retry.
    fn ended(&mut self, refused: Refused) -> Result<Ended> {
        let (sql, source) = match refused {
            Refused::Statement { sql, source } => (sql, source),
            Refused::Again(code) => return self.given_up(code),
            Refused::Failed(error) => return Err(*error),
        };
        let usual = self.actor.retried();
        match self.policy.remedy(&source, usual) {
            Remedy::Reconnect => Ok(Ended::Lost),
            Remedy::Fail => Err(Error::query(&sql, source).at(self.actor.place())),
            Remedy::Retry(code) => self.given_up(code),
        }
    }

    fn given_up(&mut self, code: u32) -> Result<Ended> {
        match self.actor.give_up(&mut self.wire) {
            Ok(()) => Ok(Ended::Refused(code)),
            Err(cause) if self.policy.remedy(&cause, self.actor.retried()) == Remedy::Reconnect => {
                Ok(Ended::Lost)
            }
            Err(cause) => Err(Error::query(b"ROLLBACK", cause)),
        }
    }
}

fn execute(wire: &mut Connection, sql: &[u8]) -> Result<()> {
    wire.execute_text(sql).map(drop).map_err(|error| Error::query(sql, error))
}

fn open(options: &ConnectOptions, actor: &mut dyn Actor, number: u32) -> Result<Connection> {
    let connected = Connection::connect(options);
    let mut wire = connected.map_err(|source| Error::Connect { client: number, source })?;
    actor.prepare(&mut wire)?;
    Ok(wire)
}
