//! The connection that is measured.

use super::Walker;
use super::codec::{kind, parse_error, parse_parameters};
use super::execute::{Statement, prepare};
use super::session::Session;
use crate::patience::Patience;
use crate::{Breaker, ConnectOptions, Error, Param, ParamType, Reply, StatementId};

/// A connection for measured statements; see [`crate::Hot`].
#[derive(Debug)]
pub struct Hot {
    session: Session,
    statements: Vec<Statement>,
    /// Of a reply that is still to come.
    awaited: Option<Walker>,
    /// A text statement's message, kept for its room.
    query: Vec<u8>,
}

impl Hot {
    /// Connects and logs in.
    ///
    /// # Errors
    /// As for [`super::Control::connect`].
    pub fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        let session = Session::connect(options)?;
        Ok(Self { session, statements: Vec::new(), awaited: None, query: Vec::new() })
    }

    /// Process id of the backend.
    pub fn connection_id(&self) -> u32 {
        self.session.backend()
    }

    /// What ends this connection from another thread.
    pub fn breaker(&self) -> Breaker {
        self.session.stream.breaker()
    }

    /// Bytes sent since the connection was made, headers and login included.
    pub fn bytes_sent(&self) -> u64 {
        self.session.stream.sent()
    }

    /// Bytes received since the connection was made, headers and login included.
    pub fn bytes_received(&self) -> u64 {
        self.session.stream.received()
    }

    /// Prepares a statement and encodes the messages that will execute it.
    ///
    /// # Errors
    /// [`Error::Server`] where the server refuses, [`Error::Usage`] where `params` are not as many
    /// as the statement has.
    pub fn prepare(&mut self, sql: &str, params: &[ParamType]) -> Result<StatementId, Error> {
        let id = StatementId(self.statements.len());
        let statement = Statement::new(id.0, params)?;
        let request = prepare(id.0, sql, params)?;
        begin(&mut self.awaited)?;
        self.session.patience = Patience::reply();
        self.session.stream.send(&request)?;
        let (mut body, mut count, mut failure) = (Vec::new(), None, None);
        loop {
            match self.session.read(&mut body)? {
                kind::PARSED | kind::COLUMNS | kind::NO_COLUMNS => {}
                kind::PARAMETERS => count = Some(parse_parameters(&body)?),
                kind::ERROR => failure = Some(parse_error(&body)),
                kind::READY => break,
                _ => return Err(Error::Protocol("a message after a request to prepare")),
            }
        }
        self.awaited = None;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if count != Some(params.len()) {
            return Err(Error::Usage("another number of parameters than the statement has"));
        }
        self.statements.push(statement);
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
        begin(&mut self.awaited)?;
        self.session.stream.send(packet)?;
        self.receive()
    }

    /// Runs one statement as text and walks over its reply.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails, [`Error::Usage`] where it holds a zero byte;
    /// else the connection is lost.
    pub fn query(&mut self, sql: &[u8]) -> Result<Reply, Error> {
        super::session::put_query(sql, &mut self.query)?;
        begin(&mut self.awaited)?;
        self.session.stream.send(&self.query)?;
        super::session::give_back(&mut self.query);
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
        let walker = self.awaited.as_mut().ok_or(Error::Usage("no reply is to come"))?;
        let Session { stream, inbox, .. } = &mut self.session;
        loop {
            // A server that ends the connection says why first.
            let filled =
                inbox.receive(stream).map_err(|error| walker.last_words().unwrap_or(error))?;
            let used = walker.advance(inbox.bytes())?;
            inbox.consume(used);
            if let Some(outcome) = walker.outcome() {
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
fn begin(awaited: &mut Option<Walker>) -> Result<(), Error> {
    if awaited.is_some() {
        return Err(Error::Usage("an earlier reply was not received to its end"));
    }
    *awaited = Some(Walker::new());
    Ok(())
}
