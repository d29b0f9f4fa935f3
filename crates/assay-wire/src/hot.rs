//! The connection that is measured, whatever the protocol.

use crate::{
    Breaker, ConnectOptions, Error, Param, ParamType, Protocol, Reply, StatementId, mysql, postgres,
};

/// A connection for measured statements: one write, one wait and, where the reply fits, one read a
/// statement, and no allocation once each statement has run with its longest parameters.
#[derive(Debug)]
pub enum Hot {
    /// To a MySQL or MariaDB server.
    MySql(mysql::Hot),
    /// To a Postgres server.
    Postgres(postgres::Hot),
}

impl Hot {
    /// Connects and logs in.
    ///
    /// # Errors
    /// As for [`crate::Control::connect`].
    pub fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        Ok(match options.protocol {
            Protocol::MySql => Self::MySql(mysql::Hot::connect(options)?),
            Protocol::Postgres => Self::Postgres(postgres::Hot::connect(options)?),
        })
    }

    /// What was agreed on with a MySQL or MariaDB server.
    pub fn mysql_session(&self) -> Option<&mysql::Session> {
        match self {
            Self::MySql(hot) => Some(hot.session()),
            Self::Postgres(_) => None,
        }
    }

    /// The server's number for this connection: as in `KILL`, or the process id of the Postgres backend.
    pub fn connection_id(&self) -> u32 {
        match self {
            Self::MySql(hot) => hot.connection_id(),
            Self::Postgres(hot) => hot.connection_id(),
        }
    }

    /// What ends this connection from another thread, whatever it waits for.
    pub fn breaker(&self) -> Breaker {
        match self {
            Self::MySql(hot) => hot.breaker(),
            Self::Postgres(hot) => hot.breaker(),
        }
    }

    /// Bytes sent since the connection was made, headers and login included.
    pub fn bytes_sent(&self) -> u64 {
        match self {
            Self::MySql(hot) => hot.bytes_sent(),
            Self::Postgres(hot) => hot.bytes_sent(),
        }
    }

    /// Bytes received since the connection was made, headers and login included.
    pub fn bytes_received(&self) -> u64 {
        match self {
            Self::MySql(hot) => hot.bytes_received(),
            Self::Postgres(hot) => hot.bytes_received(),
        }
    }

    /// Prepares a statement and encodes the packet that will execute it.
    ///
    /// # Errors
    /// [`Error::Server`] where the server refuses (MySQL's 1295: this kind cannot be prepared),
    /// [`Error::Usage`] where `params` are not as many as the statement has.
    pub fn prepare(&mut self, sql: &str, params: &[ParamType]) -> Result<StatementId, Error> {
        match self {
            Self::MySql(hot) => hot.prepare(sql, params),
            Self::Postgres(hot) => hot.prepare(sql, params),
        }
    }

    /// Executes a prepared statement and walks over its reply.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails, [`Error::Usage`] where the parameters are not
    /// those that were prepared; else the connection is lost.
    #[inline]
    pub fn execute(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<Reply, Error> {
        match self {
            Self::MySql(hot) => hot.execute(id, params),
            Self::Postgres(hot) => hot.execute(id, params),
        }
    }

    /// Runs one statement as text and walks over its reply.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails; else the connection is lost.
    #[inline]
    pub fn query(&mut self, sql: &[u8]) -> Result<Reply, Error> {
        match self {
            Self::MySql(hot) => hot.query(sql),
            Self::Postgres(hot) => hot.query(sql),
        }
    }
}
