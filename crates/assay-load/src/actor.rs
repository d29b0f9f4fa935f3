//! The work of a session's clients, and the seam between the clients, which keep time and count, and kinds of work.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_lua::Leash;
use assay_model::{Dialect, Setup, StatementMode, Test, WorkCounters};
use assay_wire::{Connection, Param, Reply, ResultSet, StatementId, WireError};
use assay_workloads::EventProgram;

use crate::error::{LoadError, Result};
use crate::run::{RunPart, RunState};
use crate::tally::ClientTally;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientWork {
    pub dialect: Dialect,
    pub test: Test,
    pub setup: Setup,
    pub statements: StatementMode,
    pub seed: u64,
}

impl ClientWork {
    /// Places of the separately timed statements of a user's test: numbers of the event kind and of the step. Empty for
    /// other tests, and where there is only one statement.
    pub fn places(&self) -> Vec<(u32, u32)> {
        if self.test.user_data().is_none() {
            return Vec::new();
        }
        EventProgram::new(self.dialect, self.test, self.setup, self.statements).places()
    }
}

const PAUSE: Duration = Duration::from_millis(100);

/// Makes an actor on its client's thread, where it stays. The leash is for scripts.
pub type ActorMaker = Box<dyn FnOnce(&Arc<Leash>) -> Box<dyn Actor> + Send>;

/// The work of a client. It runs one event after another on the connection it is given, and may decide after each reply
/// what to send next.
///
/// It is made and called on the client's thread, so it can keep state between events.
pub trait Actor {
    /// Prepares a new connection: the first one, and each replacement of a lost one.
    fn prepare(&mut self, wire: &mut Connection) -> Result<()>;

    /// Further connections that the actor opened. Their bytes are counted and their threads watched like the first
    /// one's.
    fn others(&mut self) -> &mut [Connection] {
        &mut []
    }

    /// Runs an event, or breaks if the client has no more.
    fn event(
        &mut self,
        number: EventNumber,
        line: &mut EventWire<'_>,
    ) -> Result<ControlFlow<()>, EventError>;

    /// Resets the connection after an error ended an event, so that the event can be retried.
    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError>;

    /// Runs before the connection is closed, and counts the statements it sends.
    fn end(&mut self, _wire: &mut Connection, _counters: &mut WorkCounters) -> Result<()> {
        Ok(())
    }

    /// Where in the user's file the last failed statement was sent from, if known.
    fn place(&self) -> Option<String> {
        None
    }

    /// Error codes after which an event is retried, unless the user names others.
    fn retried(&self) -> &'static [u32];

    fn unprepared(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Identifies an event of a client. The same numbers mean the same work on every system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventNumber {
    pub sequence: u64,
    /// Counts from 0; incremented when the event is retried after an error.
    pub attempt: u32,
}

#[derive(Debug)]
pub enum EventError {
    /// A statement failed. The session decides whether to retry the event.
    Statement { sql: Vec<u8>, source: WireError },
    /// Retry the event, after a server error with this code.
    Again(u32),
    /// No further event can run.
    Failed(Box<LoadError>),
}

impl EventError {
    pub fn by(sql: impl Into<Vec<u8>>) -> impl FnOnce(WireError) -> Self {
        move |source| Self::Statement { sql: sql.into(), source }
    }

    pub fn server_code(&self) -> Option<u32> {
        match self {
            Self::Statement { source, .. } => source.server_code(),
            Self::Again(code) => Some(*code),
            Self::Failed(_) => None,
        }
    }
}

pub struct EventWire<'a> {
    pub(crate) wire: &'a mut Connection,
    pub(crate) tally: &'a mut ClientTally,
    pub(crate) run: &'a RunState,
    pub(crate) part: &'a RunPart,
}

impl EventWire<'_> {
    #[inline]
    pub fn execute_text(&mut self, sql: &[u8]) -> Result<Reply, WireError> {
        let reply = self.wire.execute_text(sql)?;
        self.tally.count_reply(&reply);
        Ok(reply)
    }

    #[inline]
    pub fn execute(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
    ) -> Result<Reply, WireError> {
        let reply = self.wire.execute(statement, params)?;
        self.tally.count_reply(&reply);
        Ok(reply)
    }

    pub fn query_prepared(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
    ) -> Result<ResultSet, WireError> {
        let result = self.wire.query_prepared(statement, params)?;
        // Results of Postgres have no column names, and every statement whose rows are kept has a result.
        self.count_result(&result, true);
        Ok(result)
    }

    pub fn count_refusal(&mut self) {
        self.tally.count_reply(&Reply::default());
    }

    /// Sets the kind of the current event. Events are counted and timed by kind.
    pub fn is_of_kind(&mut self, kind: &'static str) {
        self.tally.kinds.begin(kind);
    }

    pub fn query(&mut self, sql: &str) -> Result<ResultSet, WireError> {
        let result = self.wire.query(sql)?;
        self.count_result(&result, !result.columns.is_empty());
        Ok(result)
    }

    fn count_result(&mut self, result: &ResultSet, result_set: bool) {
        let (rows, affected) = (result.rows.len() as u64, result.affected);
        self.tally.count_reply(&Reply { result_set, rows, affected });
    }

    pub(crate) fn send_pipeline(&mut self) -> Result<(), WireError> {
        let tally = &mut *self.tally;
        self.wire.send_pipeline(&mut |reply| tally.count_reply(&reply))
    }

    /// Sleeps for `time`, or until no further event may begin.
    pub fn rest(&self, time: Duration) {
        sleep_unless(time, || self.run.is_over(self.part, Instant::now()));
    }

    /// Sleeps for `time`. Returns false if the run was stopped meanwhile.
    pub fn pause(&self, time: Duration) -> bool {
        sleep_unless(time, || self.run.is_stopped())
    }
}

fn sleep_unless(time: Duration, is_over: impl Fn() -> bool) -> bool {
    let end = Instant::now() + time;
    while !is_over() && Instant::now() < end {
        std::thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
    }
    Instant::now() >= end
}
