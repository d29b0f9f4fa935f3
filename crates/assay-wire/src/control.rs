//! The convenient connection, whatever the protocol.

use std::time::Duration;

use crate::{ConnectOptions, Error, Protocol, ResultSet, mysql, postgres};

/// A connection for set-up and questions, where convenience counts and speed does not.
#[derive(Debug)]
pub enum Control {
    /// To a MySQL or MariaDB server.
    MySql(mysql::Control),
    /// To a Postgres server.
    Postgres(postgres::Control),
}

impl Control {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::Timeout`], [`Error::Auth`], or [`Error::Server`] where the
    /// server refuses the user or the database.
    pub fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        Ok(match options.protocol {
            Protocol::MySql => Self::MySql(mysql::Control::connect(options)?),
            Protocol::Postgres => Self::Postgres(postgres::Control::connect(options)?),
        })
    }

    /// Runs one statement as text and returns its result; of several results the first that has rows.
    ///
    /// # Errors
    /// [`Error::Server`] where the statement fails, else the connection is lost.
    pub fn query(&mut self, sql: &str) -> Result<ResultSet, Error> {
        match self {
            Self::MySql(control) => control.query(sql),
            Self::Postgres(control) => control.query(sql),
        }
    }

    /// Version in the server's words, such as `10.11.19-MariaDB` or `18.6 (Debian 18.6-1)`.
    pub fn server_version(&self) -> &str {
        match self {
            Self::MySql(control) => control.server_version(),
            Self::Postgres(control) => control.server_version(),
        }
    }

    /// What was agreed on with a MySQL or MariaDB server.
    pub fn mysql_session(&self) -> Option<&mysql::Session> {
        match self {
            Self::MySql(control) => Some(control.session()),
            Self::Postgres(_) => None,
        }
    }

    /// The server's number for this connection: as in `KILL`, or the process id of the Postgres backend.
    pub fn connection_id(&self) -> u32 {
        match self {
            Self::MySql(control) => control.connection_id(),
            Self::Postgres(control) => control.connection_id(),
        }
    }

    /// The method by which the client logged in.
    pub fn auth_method(&self) -> &str {
        match self {
            Self::MySql(control) => control.session().auth_plugin(),
            Self::Postgres(control) => control.session().auth_method(),
        }
    }

    /// Changes how long the server may stay silent, say for the making of a large index.
    ///
    /// # Errors
    /// [`Error::Io`] where the operating system does not take it; zero is not allowed.
    pub fn set_timeout(&mut self, limit: Duration) -> Result<(), Error> {
        match self {
            Self::MySql(control) => control.set_timeout(limit),
            Self::Postgres(control) => control.set_timeout(limit),
        }
    }
}
