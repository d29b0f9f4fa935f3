//! A connection to a server of either protocol.

use std::time::Duration;

use crate::channel::Channel;
use crate::error::{WireError, WireResult};
use crate::options::{ConnectOptions, Protocol};
use crate::stop::Breaker;
use crate::tls_client::{TlsClient, TlsMode, TlsOptions};
use crate::value::{
    AnswerSummary, NextPart, Param, ParamType, Reply, ResultSet, ServerIdentity, StatementId,
    TakeValues,
};
use crate::{mysql, postgres};

/// A logged-in connection. Dropping it logs out.
#[derive(Debug)]
pub struct Connection {
    channel: Channel,
    identity: ServerIdentity,
    session: ProtocolSession,
}

#[derive(Debug)]
enum ProtocolSession {
    MySql(mysql::MySqlSession),
    Postgres(postgres::PostgresSession),
}

impl Connection {
    pub fn connect(options: &ConnectOptions) -> WireResult<Self> {
        match Self::connect_once(options) {
            Err(error) if postgres::may_go_without_tls(options, &error) => {
                let words = options.tls.options().clone();
                let tls = TlsClient::new(TlsOptions { mode: TlsMode::Disabled, ..words });
                Self::connect_once(&ConnectOptions { tls, ..options.clone() })
            }
            connected => connected,
        }
    }

    fn connect_once(options: &ConnectOptions) -> WireResult<Self> {
        let mut channel = Channel::connect(options)?;
        let (session, identity) = match options.protocol {
            Protocol::MySql => {
                let (session, identity) = mysql::MySqlSession::log_in(&mut channel, options)?;
                (ProtocolSession::MySql(session), identity)
            }
            Protocol::Postgres => {
                let (session, identity) = postgres::PostgresSession::log_in(&mut channel, options)?;
                (ProtocolSession::Postgres(session), identity)
            }
        };
        Ok(Self { channel, identity, session })
    }

    pub fn protocol(&self) -> Protocol {
        match self.session {
            ProtocolSession::MySql(_) => Protocol::MySql,
            ProtocolSession::Postgres(_) => Protocol::Postgres,
        }
    }

    /// The server's version string, such as `10.11.19-MariaDB` or `18.6 (Debian 18.6-1)`.
    pub fn server_version(&self) -> &str {
        &self.identity.version
    }

    /// The server's number for this connection: as in `KILL`, or the process id of the Postgres backend.
    pub fn connection_id(&self) -> u32 {
        self.identity.connection_id
    }

    /// The login method used, such as `mysql_native_password`, `trust` or `scram-sha-256`.
    pub fn auth_method(&self) -> &str {
        &self.identity.auth_method
    }

    /// Version and cipher of TLS, such as `TLSv1.3 TLS13_AES_256_GCM_SHA384`; `None` without TLS.
    pub fn cipher(&self) -> Option<&str> {
        self.identity.cipher.as_deref()
    }

    /// The capabilities agreed on with a MySQL or MariaDB server; `None` for Postgres.
    pub fn capabilities(&self) -> Option<mysql::CapabilityFlags> {
        match &self.session {
            ProtocolSession::MySql(session) => Some(session.capabilities()),
            ProtocolSession::Postgres(_) => None,
        }
    }

    /// Including headers and login.
    pub fn bytes_sent(&self) -> u64 {
        self.channel.stream.sent()
    }

    /// Including headers and login.
    pub fn bytes_received(&self) -> u64 {
        self.channel.stream.received()
    }

    /// A handle that ends this connection from another thread, whatever it waits for.
    pub fn breaker(&self) -> Breaker {
        self.channel.stream.breaker()
    }

    /// Sets how long the server may stay silent, for example while it builds a large index.
    pub fn set_timeout(&mut self, limit: Duration) -> WireResult<()> {
        self.channel.stream.set_limit(limit)
    }

    /// Runs one statement as text and keeps its result; of several results the first that has rows.
    ///
    /// Fails with [`WireError::Usage`] if an earlier reply was not received to its end or a Postgres statement has a
    /// zero byte.
    pub fn query(&mut self, sql: &str) -> WireResult<ResultSet> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.query(&mut self.channel, sql),
            ProtocolSession::Postgres(session) => session.query(&mut self.channel, sql),
        }
    }

    /// Like [`Connection::query`], but passes each row to `take` as it comes and keeps none. Postgres only.
    pub fn query_rows(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(postgres::codec::RowValues<'_>) -> WireResult<()>,
    ) -> WireResult<ResultSet> {
        match &mut self.session {
            ProtocolSession::MySql(_) => {
                Err(WireError::Usage("only Postgres gives rows one by one"))
            }
            ProtocolSession::Postgres(session) => session.query_rows(&mut self.channel, sql, take),
        }
    }

    /// Prepares a statement and encodes its execute request. [`WireError::Server`] 1295 of MySQL: this kind of
    /// statement cannot be prepared.
    pub fn prepare(&mut self, sql: &str, params: &[ParamType]) -> WireResult<StatementId> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.prepare(&mut self.channel, sql, params),
            ProtocolSession::Postgres(session) => session.prepare(&mut self.channel, sql, params),
        }
    }

    /// Prepares a statement to find out whether that works. Its executions parse and plan it again, with the values
    /// separate from the text. Postgres only.
    pub fn parse_each_time(&mut self, sql: &str, params: &[ParamType]) -> WireResult<StatementId> {
        match &mut self.session {
            ProtocolSession::MySql(_) => {
                Err(WireError::Usage("only Postgres parses and executes at once"))
            }
            ProtocolSession::Postgres(session) => {
                session.parse_each_time(&mut self.channel, sql, params)
            }
        }
    }

    /// Closes the statement that was prepared last. Fails with [`WireError::Usage`] for any other.
    pub fn close(&mut self, id: StatementId) -> WireResult<()> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.close(&mut self.channel, id),
            ProtocolSession::Postgres(session) => session.close(&mut self.channel, id),
        }
    }

    /// Queues the execution of a prepared statement for [`Connection::send_pipeline`]. Postgres only. Fails with
    /// [`WireError::Usage`] if the parameters do not match or too much is queued.
    pub fn queue(&mut self, id: StatementId, params: &[Param<'_>]) -> WireResult<()> {
        match &mut self.session {
            ProtocolSession::MySql(_) => Err(WireError::Usage("only Postgres has pipelines")),
            ProtocolSession::Postgres(session) => session.queue(id, params),
        }
    }

    /// Sends all queued executions, and passes the reply to each to `take`. If one fails, the server skips all later
    /// ones.
    pub fn send_pipeline(&mut self, take: &mut dyn FnMut(Reply)) -> WireResult<()> {
        match &mut self.session {
            ProtocolSession::MySql(_) => Err(WireError::Usage("only Postgres has pipelines")),
            ProtocolSession::Postgres(session) => session.send_pipeline(&mut self.channel, take),
        }
    }

    pub fn forget_pipeline(&mut self) {
        if let ProtocolSession::Postgres(session) = &mut self.session {
            session.forget_pipeline();
        }
    }

    /// Runs a statement with several results, or on Postgres several statements in one message, and keeps the results
    /// in order: those with columns on Postgres, all on MySQL.
    pub fn query_all(&mut self, sql: &str) -> WireResult<Vec<ResultSet>> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.query_all(&mut self.channel, sql),
            ProtocolSession::Postgres(session) => session.query_all(&mut self.channel, sql),
        }
    }

    /// Runs a statement that copies these rows from the client: `COPY ... FROM STDIN` on Postgres, and `LOAD DATA LOCAL
    /// INFILE` on MySQL and MariaDB if the connection has [`ConnectOptions::may_copy`].
    pub fn copy_in(&mut self, sql: &str, rows: &[u8]) -> WireResult<Reply> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.copy_in(&mut self.channel, sql, rows),
            ProtocolSession::Postgres(session) => session.copy_in(&mut self.channel, sql, rows),
        }
    }

    /// Executes a prepared statement and counts its reply: one write, one wait and, if the reply fits the buffer, one
    /// read. Does not allocate once the statement has run with its longest parameters.
    #[inline]
    pub fn execute(&mut self, id: StatementId, params: &[Param<'_>]) -> WireResult<Reply> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.execute(&mut self.channel, id, params),
            ProtocolSession::Postgres(session) => session.execute(&mut self.channel, id, params),
        }
    }

    /// Executes a prepared statement and keeps the rows of its result as text. On Postgres, the result has no column
    /// names.
    pub fn query_prepared(
        &mut self,
        id: StatementId,
        params: &[Param<'_>],
    ) -> WireResult<ResultSet> {
        match &mut self.session {
            ProtocolSession::MySql(session) => {
                session.query_prepared(&mut self.channel, id, params)
            }
            ProtocolSession::Postgres(session) => {
                session.query_prepared(&mut self.channel, id, params)
            }
        }
    }

    /// Runs one statement as text and counts its reply, at the cost of [`Connection::execute`].
    #[inline]
    pub fn execute_text(&mut self, sql: &[u8]) -> WireResult<Reply> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.execute_text(&mut self.channel, sql),
            ProtocolSession::Postgres(session) => session.execute_text(&mut self.channel, sql),
        }
    }

    /// Runs one statement as text, passes each row of its first result to `take`, and keeps none.
    pub fn answer(&mut self, sql: &[u8], take: TakeValues<'_>) -> WireResult<AnswerSummary> {
        match &mut self.session {
            ProtocolSession::MySql(session) => session.answer(&mut self.channel, sql, take),
            ProtocolSession::Postgres(session) => session.answer(&mut self.channel, sql, take),
        }
    }

    /// Runs `COPY … FROM stdin` with the data of `next`, which is called until it returns false, whatever the server
    /// replies. Postgres only.
    pub fn copy_in_parts(&mut self, sql: &[u8], next: NextPart<'_>) -> WireResult<AnswerSummary> {
        match &mut self.session {
            ProtocolSession::MySql(_) => Err(WireError::Usage("only Postgres has COPY")),
            ProtocolSession::Postgres(session) => {
                session.copy_in_parts(&mut self.channel, sql, next)
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        match self.session {
            ProtocolSession::MySql(_) => mysql::MySqlSession::log_out(&mut self.channel),
            ProtocolSession::Postgres(_) => postgres::PostgresSession::log_out(&mut self.channel),
        }
    }
}
