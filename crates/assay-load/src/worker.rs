//! One client: a connection that runs events back to back.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_wire::{Breaker, ConnectOptions};
use assay_workloads::{Client, EventBuf, Operation, Program};

use crate::error::{Error, Result, sqlstate};
use crate::live::Gauge;
use crate::prepared::PreparedConnection;
use crate::run::{Due, Part, Run};
use crate::tally::{Tallies, Tally};

/// Errors after which an event is retried, as sysbench does. MySQL and MariaDB: record changed, lock wait timeout,
/// deadlock. Postgres: deadlock, serialization failure, and a unique key that a deleted and reinserted row violates.
const RETRIED: [u32; 6] =
    [1020, 1205, 1213, sqlstate("40P01"), sqlstate("40001"), sqlstate("23505")];

/// The same for a user's events: a unique key that is violated is a mistake, on every server.
const RETRIED_OWN: [u32; 6] =
    [1020, 1205, 1213, sqlstate("40P01"), sqlstate("40001"), sqlstate("55P03")];

/// The longest pause before a check of whether the run was stopped.
const PAUSE: Duration = Duration::from_millis(100);

/// A statement that is valid on every server and does no work.
pub(crate) const EMPTY: &[u8] = b"SELECT 1";

/// When a client ended the parts of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// `None` where the run had no warm part.
    pub(crate) warm: Option<Instant>,
    pub(crate) measured: Instant,
}

/// One client and everything it reuses from event to event.
pub(crate) struct Worker {
    number: u32,
    client: Client,
    connection: PreparedConnection,
    event: EventBuf,
    gauge: Arc<Gauge>,
}

impl Worker {
    /// Connects client `number` and prepares its statements.
    pub(crate) fn connect(
        options: &ConnectOptions,
        program: Arc<Program>,
        seed: u64,
        number: u32,
        gauge: Arc<Gauge>,
    ) -> Result<Self> {
        // In an open loop the kernel should wake the client when an event is due, not up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let client = Client::new(Arc::clone(&program), seed, number);
        let connection = PreparedConnection::open(options, program, number)?;
        Ok(Self { number, client, connection, event: EventBuf::default(), gauge })
    }

    pub(crate) fn connection_id(&self) -> u64 {
        u64::from(self.connection.wire.connection_id())
    }

    pub(crate) fn breaker(&self) -> Breaker {
        self.connection.wire.breaker()
    }

    pub(crate) fn unprepared(&self) -> Vec<String> {
        self.connection.unprepared()
    }

    /// Sends an empty statement so many times.
    pub(crate) fn round_trips(&mut self, count: u32) -> Result<()> {
        for _ in 0..count {
            self.connection.wire.execute_text(EMPTY).map_err(|error| Error::query(EMPTY, error))?;
        }
        Ok(())
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
        let bytes = |it: &PreparedConnection| (it.wire.bytes_sent(), it.wire.bytes_received());
        let before = bytes(&self.connection);
        tally.show(&self.gauge);
        let end = self.run_events(run, part, tally);
        let after = bytes(&self.connection);
        tally.count_bytes(after.0 - before.0, after.1 - before.1);
        end
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
                // A rate is events per whole time, so wait for its end even if nothing is due.
                Some(Due::Never { end }) => {
                    run.sleep_until(part, end, now);
                    return Ok(Instant::now());
                }
            }
            if !self.run_event(part.first_sequence + done, run, part, tally)? {
                return Ok(Instant::now());
            }
            let end = Instant::now();
            tally.count_event(end - now);
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
    /// Returns whether it was carried out.
    fn run_event(
        &mut self,
        sequence: u64,
        run: &Run,
        part: &Part,
        tally: &mut Tally,
    ) -> Result<bool> {
        let mut attempt = 0;
        loop {
            self.client.write_event(sequence, attempt, &mut self.event);
            let Some(code) = self.send_event(run, tally)? else { return Ok(true) };
            tally.count_error(code);
            tally.show(&self.gauge);
            if run.is_over(part, Instant::now()) {
                return Ok(false);
            }
            attempt += 1;
        }
    }

    /// Sends the operations of the event. Returns the error code if the event has to be retried.
    fn send_event(&mut self, run: &Run, tally: &mut Tally) -> Result<Option<u32>> {
        self.connection.begin_event();
        let retried = if self.connection.is_own() { &RETRIED_OWN } else { &RETRIED };
        for operation in self.event.operations() {
            if let Operation::Sleep(time) = operation {
                let end = Instant::now() + time;
                while !run.is_stopped() && Instant::now() < end {
                    std::thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
                }
                continue;
            }
            let statement = operation.statement().unwrap_or_default();
            match self.connection.send(operation) {
                Ok(reply) => tally.count_reply(&reply),
                Err(error) => match error.server_code() {
                    Some(code) if retried.contains(&code) => {
                        let given_up = self.connection.give_up_event();
                        given_up.map_err(|cause| Error::query(b"ROLLBACK", cause))?;
                        return Ok(Some(code));
                    }
                    _ => {
                        return Err(Error::query(self.connection.sql(statement).as_bytes(), error));
                    }
                },
            }
        }
        Ok(None)
    }
}
