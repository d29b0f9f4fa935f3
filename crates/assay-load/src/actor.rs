//! The seam between a session's clients, which keep time and count, and kinds of work.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_lua::Leash;
use assay_model::WorkCounters;
use assay_wire::{Connection, Error as WireError, Param, Reply, ResultSet, StatementId};

use crate::error::{Error, Result};
use crate::run::{Part, Run};
use crate::tally::Tally;

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

    /// Creates objects that only this client uses. Called once, on the first connection.
    fn settle(&mut self, wire: &mut Connection) -> Result<()> {
        let _ = wire;
        Ok(())
    }

    /// Further connections that the actor opened. Their bytes are counted and their threads watched like the first
    /// one's.
    fn others(&mut self) -> &mut [Connection] {
        &mut []
    }

    /// Runs an event, or breaks if the client has no more.
    fn event(
        &mut self,
        number: EventNumber,
        line: &mut Line<'_>,
    ) -> Result<ControlFlow<()>, Refused>;

    /// Resets the connection after an error ended an event, so that the event can be retried.
    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError>;

    /// Runs before the connection is closed, and counts the statements it sends.
    fn end(&mut self, wire: &mut Connection, counters: &mut WorkCounters) -> Result<()> {
        let _ = (wire, counters);
        Ok(())
    }

    /// Where in the user's file the last failed statement was sent from, if known.
    fn place(&self) -> Option<String> {
        None
    }

    /// Error codes after which an event is retried, unless the user names others.
    fn retried(&self) -> &'static [u32];

    /// Statements that the server refuses to prepare. They are sent as text each time.
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
pub enum Refused {
    /// A statement failed. The session decides whether to retry the event.
    Statement { sql: Vec<u8>, source: WireError },
    /// Retry the event, after a server error with this code.
    Again(u32),
    /// No further event can run.
    Failed(Box<Error>),
}

impl Refused {
    pub fn by(sql: impl Into<Vec<u8>>) -> impl FnOnce(WireError) -> Self {
        move |source| Self::Statement { sql: sql.into(), source }
    }

    #[must_use]
    pub fn server_code(&self) -> Option<u32> {
        match self {
            Self::Statement { source, .. } => source.server_code(),
            Self::Again(code) => Some(*code),
            Self::Failed(_) => None,
        }
    }
}

/// A client's connection during an event. It counts every reply.
pub struct Line<'a> {
    pub(crate) wire: &'a mut Connection,
    pub(crate) tally: &'a mut Tally,
    pub(crate) run: &'a Run,
    pub(crate) part: &'a Part,
}

impl Line<'_> {
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
        self.tally.count_reply(&Reply {
            result_set: true,
            rows: result.rows.len() as u64,
            affected: result.affected,
        });
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
        self.tally.count_reply(&Reply {
            result_set: !result.columns.is_empty(),
            rows: result.rows.len() as u64,
            affected: result.affected,
        });
        Ok(result)
    }

    pub(crate) fn send_pipeline(&mut self) -> Result<(), WireError> {
        let tally = &mut *self.tally;
        self.wire.send_pipeline(&mut |reply| tally.count_reply(&reply))
    }

    /// Sleeps for `time`, or until no further event may begin.
    pub fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.run.is_over(self.part, Instant::now()) && Instant::now() < end {
            std::thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Sleeps for `time`. Returns false if the run was stopped meanwhile.
    pub fn pause(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while !self.run.is_stopped() && Instant::now() < end {
            std::thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
        Instant::now() >= end
    }
}
