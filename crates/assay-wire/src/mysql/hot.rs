//! The connection that is measured.

use super::Walker;
use super::codec::{packets, parse_eof, parse_prepared};
use super::constants::Command;
use super::execute::Statement;
use super::session::Session;
use crate::patience::Patience;
use crate::{Breaker, ConnectOptions, Error, Param, ParamType, Reply, StatementId};

/// A connection for measured statements: one write, one wait and, where the reply fits, one read a
/// statement, and no allocation once each statement has run with its longest parameters.
#[derive(Debug)]
pub struct Hot {
    session: Session,
    statements: Vec<Statement>,
    awaited: Option<Awaited>,
}

/// A reply that is still to come.
#[derive(Debug)]
struct Awaited {
    walker: Walker,
    statement: Option<StatementId>,
}

impl Hot {
    /// Connects and logs in.
    ///
    /// # Errors
    /// As for [`super::Control::connect`].
    pub fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        let session = Session::connect(options)?;
        Ok(Self { session, statements: Vec::new(), awaited: None })
    }

    /// What was agreed on with the server.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The server's number for this connection, as in `KILL`.
    pub fn connection_id(&self) -> u32 {
        self.session.connection_id()
    }

    /// What ends this connection from another thread.
    pub fn breaker(&self) -> Breaker {
        self.session.stream.breaker()
    }

    /// Bytes sent since the connection was made, packet headers and login included.
    pub fn bytes_sent(&self) -> u64 {
        self.session.bytes_sent()
    }

    /// Bytes received since the connection was made, packet headers and login included.
    pub fn bytes_received(&self) -> u64 {
        self.session.bytes_received()
    }

    /// Prepares a statement and encodes the packet that will execute it.
    ///
    /// # Errors
    /// [`Error::Server`] where the server refuses (1295: this kind cannot be prepared),
    /// [`Error::Usage`] where `params` are not as many as the statement has.
    pub fn prepare(&mut self, sql: &str, params: &[ParamType]) -> Result<StatementId, Error> {
        let id = StatementId(self.statements.len());
        begin(&mut self.awaited, 1, None)?;
        self.session.patience = Patience::reply();
        self.session.command(Command::Prepare, sql.as_bytes())?;
        let mut packet = Vec::new();
        self.session.read(&mut packet)?;
        let prepared = match parse_prepared(&packet) {
            Err(error @ Error::Server { .. }) => {
                self.awaited = None;
                return Err(error);
            }
            prepared => prepared?,
        };
        for list in [prepared.params, prepared.columns] {
            for _ in 0..list {
                self.session.read(&mut packet)?;
            }
            if list > 0 {
                self.session.read(&mut packet)?;
                parse_eof(&packet)?;
            }
        }
        self.awaited = None;
        if usize::from(prepared.params) != params.len() {
            return Err(Error::Usage("another number of parameters than the statement has"));
        }
        self.statements.push(Statement::new(prepared.id, params));
        Ok(id)
    }

    /// Executes a prepared statement and walks over its reply.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails, [`Error::Usage`] where the parameters are not
    /// those that were prepared; else the connection is lost.
    pub fn execute(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<Reply, Error> {
        let statement = self
            .statements
            .get_mut(id.0)
            .ok_or(Error::Usage("a statement that was not prepared on this connection"))?;
        let packet = statement.encode(params)?;
        begin(&mut self.awaited, 1, Some(id))?;
        self.session.stream.send(packet)?;
        self.receive()
    }

    /// Runs one statement as text and walks over its reply.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails; else the connection is lost.
    pub fn query(&mut self, sql: &[u8]) -> Result<Reply, Error> {
        begin(&mut self.awaited, packets(1 + sql.len()), None)?;
        self.session.command(Command::Query, sql)?;
        self.receive()
    }

    /// Waits for the reply and walks over it to its end.
    fn receive(&mut self) -> Result<Reply, Error> {
        loop {
            self.session.stream.wait()?;
            if let Some(reply) = self.take()? {
                return Ok(reply);
            }
        }
    }

    /// Takes what there is of the reply, without waiting; `None` while its end is not there.
    fn take(&mut self) -> Result<Option<Reply>, Error> {
        let awaited = self.awaited.as_mut().ok_or(Error::Usage("no reply is to come"))?;
        let Session { stream, inbox, .. } = &mut self.session;
        loop {
            let filled = inbox.receive(stream)?;
            let used = awaited.walker.advance(inbox.bytes())?;
            inbox.consume(used);
            if let Some(outcome) = awaited.walker.outcome() {
                let statement = awaited.statement.and_then(|id| self.statements.get_mut(id.0));
                if let (Ok(_), Some(statement)) = (&outcome, statement) {
                    statement.executed();
                }
                self.awaited = None;
                return outcome.map(Some);
            }
            if !filled {
                return Ok(None);
            }
        }
    }
}

/// Notes that a reply is to come. It stays noted where sending or receiving goes wrong, so that the
/// rest of an old reply is never taken for a new one.
fn begin(
    awaited: &mut Option<Awaited>,
    packets: usize,
    statement: Option<StatementId>,
) -> Result<(), Error> {
    if awaited.is_some() {
        return Err(Error::Usage("an earlier reply was not received to its end"));
    }
    *awaited = Some(Awaited { walker: Walker::new(packets), statement });
    Ok(())
}
