//! One client: a connection that runs events back to back.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use assay_wire::{Breaker, ConnectOptions, Hot};
use assay_workloads::{Client, EventBuf, Program};

use crate::connection::Connection;
use crate::error::sqlstate;
use crate::handshake::{Due, Run};
use crate::live::Gauge;
use crate::tally::Tally;
use crate::{Error, Result};

/// Errors after which the event is begun again: record changed, lock wait timeout, deadlock; of Postgres deadlock,
/// serialization failure, and the unique key of a row that was deleted and is there again (sysbench's choice of each).
const RETRIED: [u32; 6] =
    [1020, 1205, 1213, sqlstate("40P01"), sqlstate("40001"), sqlstate("23505")];

/// A statement without work, in every server's SQL.
const EMPTY: &[u8] = b"SELECT 1";

/// One client and everything it reuses from event to event.
pub(crate) struct Worker {
    number: u32,
    client: Client,
    connection: Connection,
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
        // Of an open loop the kernel shall wake the client when an event is due, not up to 50 µs later.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let client = Client::new(Arc::clone(&program), seed, number);
        let connection = Connection::open(options, program, number)?;
        Ok(Self { number, client, connection, event: EventBuf::default(), gauge })
    }

    pub(crate) fn connection_id(&self) -> u64 {
        u64::from(self.connection.hot.connection_id())
    }

    pub(crate) fn breaker(&self) -> Breaker {
        self.connection.hot.breaker()
    }

    pub(crate) fn unprepared(&self) -> Vec<String> {
        self.connection.unprepared()
    }

    /// Sends the smallest of statements so many times.
    pub(crate) fn round_trips(&mut self, count: u32) -> Result<()> {
        for _ in 0..count {
            self.connection.hot.query(EMPTY).map_err(|error| Error::query(EMPTY, error))?;
        }
        Ok(())
    }

    /// Runs events until the run is over, counts them, and returns when the last one ended; in an open loop when the
    /// last one ended or, if that is later, when no more of them could become due.
    pub(crate) fn run(&mut self, run: &Run, tally: &mut Tally) -> Result<Instant> {
        let bytes = |hot: &Hot| (hot.bytes_sent(), hot.bytes_received());
        let before = bytes(&self.connection.hot);
        tally.show(&self.gauge);
        let end = self.run_events(run, tally);
        let after = bytes(&self.connection.hot);
        tally.count_bytes(after.0 - before.0, after.1 - before.1);
        end
    }

    fn run_events(&mut self, run: &Run, tally: &mut Tally) -> Result<Instant> {
        let quota = run.quota(self.number);
        let mut sequence = run.first_sequence;
        let mut now = run.wait_for_start();
        while tally.events() < quota && !run.is_over(now) {
            match run.due(self.number, tally.events()) {
                None => {}
                Some(Due::At(due)) if run.sleep_until(due, now) => now = due,
                // Somebody has ended the run; nothing was due since the last event.
                Some(Due::At(_)) => return Ok(Instant::now()),
                // The time passes whether anything is due in it or not: rates are events of all of it.
                Some(Due::Never { end }) => {
                    run.sleep_until(end, now);
                    return Ok(Instant::now());
                }
            }
            if !self.run_event(sequence, run, tally)? {
                return Ok(Instant::now());
            }
            let end = Instant::now();
            tally.count_event(end - now);
            tally.show(&self.gauge);
            sequence += 1;
            now = end;
        }
        Ok(now)
    }

    /// One event, begun again with new random values as long as the server asks for that and the run goes on. Whether
    /// it was carried out.
    fn run_event(&mut self, sequence: u64, run: &Run, tally: &mut Tally) -> Result<bool> {
        let mut attempt = 0;
        loop {
            self.client.write_event(sequence, attempt, &mut self.event);
            let Some(code) = self.send_event(tally)? else { return Ok(true) };
            tally.count_error(code);
            tally.show(&self.gauge);
            if run.is_over(Instant::now()) {
                return Ok(false);
            }
            attempt += 1;
        }
    }

    /// Sends the operations of the event; gives the code of an error after which it is to be begun
    /// again.
    fn send_event(&mut self, tally: &mut Tally) -> Result<Option<u32>> {
        for operation in self.event.operations() {
            let statement = operation.statement();
            match self.connection.send(operation) {
                Ok(reply) => tally.count_reply(&reply),
                Err(error) => match error.server_code() {
                    Some(code) if RETRIED.contains(&code) => {
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
