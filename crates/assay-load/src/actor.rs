//! What a client does: the seam between the clients of a session, which keep time and count, and kinds of work.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_lua::Leash;
use assay_model::WorkCounters;
use assay_wire::{Connection, Error as WireError, Param, Reply, ResultSet, StatementId};

use crate::error::{Error, Result};
use crate::run::{Part, Run};
use crate::tally::Tally;

/// The longest pause before a check of whether the run was stopped.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes an actor on the thread of its client, where it stays. A script goes on the leash.
pub type ActorMaker = Box<dyn FnOnce(&Arc<Leash>) -> Box<dyn Actor> + Send>;

/// What a client does. It carries out one event after the other on the connection that it is given, and may decide
/// after each reply what to send next.
///
/// The client's thread makes it and calls it, so that it may keep what it likes between events.
pub trait Actor {
    /// Prepares a new connection: the first one, and each that replaces a lost one.
    fn prepare(&mut self, wire: &mut Connection) -> Result<()>;

    /// Makes what this client alone uses. It is called once, on the first connection.
    fn settle(&mut self, wire: &mut Connection) -> Result<()> {
        let _ = wire;
        Ok(())
    }

    /// The further connections of the client, which the actor has made. Their bytes are counted, and their threads are
    /// watched, like those of the first one.
    fn others(&mut self) -> &mut [Connection] {
        &mut []
    }

    /// Carries out an event, or breaks if the client has no more events to carry out.
    ///
    /// # Errors
    /// Why the event has ended early.
    fn event(
        &mut self,
        number: EventNumber,
        line: &mut Line<'_>,
    ) -> Result<ControlFlow<()>, Refused>;

    /// Makes the connection ready to start an event again after one that was ended by an error.
    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError>;

    /// Ends what the client does, before its connection is closed, and counts the statements that it sends for that.
    fn end(&mut self, wire: &mut Connection, counters: &mut WorkCounters) -> Result<()> {
        let _ = (wire, counters);
        Ok(())
    }

    /// Where in the user's file the last statement was sent that has failed, if that is known.
    fn place(&self) -> Option<String> {
        None
    }

    /// The codes of errors after which an event is started again, unless the user names others.
    fn retried(&self) -> &'static [u32];

    /// Statements that should be prepared but that the server refuses to prepare. They are sent as text each time.
    fn unprepared(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Which event of a client it is. The same numbers stand for the same work on every system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventNumber {
    /// The place of the event in the client's stream.
    pub sequence: u64,
    /// Counts from 0 and rises when the event is started again after an error.
    pub attempt: u32,
}

/// Why an event has ended early.
#[derive(Debug)]
pub enum Refused {
    /// A statement has failed. The session decides whether the event is started again.
    Statement {
        /// The statement.
        sql: Vec<u8>,
        /// Why it failed.
        source: WireError,
    },
    /// The event is to be started again, after an error of the server with this code.
    Again(u32),
    /// Neither this event nor another one can be carried out.
    Failed(Box<Error>),
}

impl Refused {
    /// Says which statement an error is about.
    pub fn by(sql: impl Into<Vec<u8>>) -> impl FnOnce(WireError) -> Self {
        move |source| Self::Statement { sql: sql.into(), source }
    }

    /// The code with which a server has refused a statement.
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
    /// Sends a statement as text and counts its reply.
    #[inline]
    pub fn execute_text(&mut self, sql: &[u8]) -> Result<Reply, WireError> {
        let reply = self.wire.execute_text(sql)?;
        self.tally.count_reply(&reply);
        Ok(reply)
    }

    /// Executes a prepared statement and counts its reply.
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

    /// Executes a prepared statement, counts its reply, and keeps the rows that it returns.
    pub fn query_prepared(
        &mut self,
        statement: StatementId,
        params: &[Param<'_>],
    ) -> Result<ResultSet, WireError> {
        let result = self.wire.query_prepared(statement, params)?;
        // A result of Postgres has no names of columns, and every statement whose rows are kept has a result.
        self.tally.count_reply(&Reply {
            result_set: true,
            rows: result.rows.len() as u64,
            affected: result.affected,
        });
        Ok(result)
    }

    /// Counts a statement that the server refused, as was expected.
    pub fn count_refusal(&mut self) {
        self.tally.count_reply(&Reply::default());
    }

    /// Says of which kind the event in progress is: events of a kind are counted under its name, with their time.
    pub fn is_of_kind(&mut self, kind: &'static str) {
        self.tally.kinds.begin(kind);
    }

    /// Sends a statement as text, counts its reply, and keeps the rows that it returns.
    pub fn query(&mut self, sql: &str) -> Result<ResultSet, WireError> {
        let result = self.wire.query(sql)?;
        self.tally.count_reply(&Reply {
            result_set: !result.columns.is_empty(),
            rows: result.rows.len() as u64,
            affected: result.affected,
        });
        Ok(result)
    }

    /// Sends what waits in the connection's pipeline, and counts every reply.
    pub(crate) fn send_pipeline(&mut self) -> Result<(), WireError> {
        let tally = &mut *self.tally;
        self.wire.send_pipeline(&mut |reply| tally.count_reply(&reply))
    }

    /// Sends nothing for some time, or until no further event may begin.
    pub fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.run.is_over(self.part, Instant::now()) && Instant::now() < end {
            std::thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Sends nothing for some time. False if the run was stopped meanwhile.
    pub fn pause(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while !self.run.is_stopped() && Instant::now() < end {
            std::thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
        Instant::now() >= end
    }
}
