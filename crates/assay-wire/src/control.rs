//! The convenient connection, whatever the protocol.

use std::time::Duration;

use crate::{ConnectOptions, Error, Protocol, ResultSet, mysql, postgres};

/// A schema of a Postgres database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Its number in `pg_namespace`.
    pub oid: u32,
    /// Its name.
    pub name: String,
}

impl Schema {
    /// The name as SQL takes it, whatever is in it.
    #[must_use]
    pub fn quoted(&self) -> String {
        format!("\"{}\"", self.name.replace('"', "\"\""))
    }
}

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

    /// As [`Control::query`], for one query of catalogs or settings, which whoever may create functions and
    /// operators in the database must not change: on Postgres only names of `pg_catalog` count.
    ///
    /// # Errors
    /// As for [`Control::query`].
    pub fn query_catalog(&mut self, sql: &str) -> Result<ResultSet, Error> {
        self.query_along("pg_catalog, pg_temp", sql)
    }

    /// As [`Control::query_catalog`], for a query of tables, too: in a schema, where the server has any.
    ///
    /// # Errors
    /// As for [`Control::query`].
    pub fn query_tables(&mut self, schema: Option<&Schema>, sql: &str) -> Result<ResultSet, Error> {
        let path = schema.map(|it| format!("pg_catalog, {}, pg_temp", it.quoted()));
        self.query_along(path.as_deref().unwrap_or("pg_catalog, pg_temp"), sql)
    }

    /// In a transaction of its own, so that a connection that a pool hands on keeps nothing of it.
    fn query_along(&mut self, path: &str, sql: &str) -> Result<ResultSet, Error> {
        let Self::Postgres(control) = self else { return self.query(sql) };
        let found = control.query(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SET LOCAL search_path = {path}; {sql}; COMMIT"
        ));
        if found.as_ref().is_err_and(|error| error.server_code().is_some()) {
            control.query("ROLLBACK")?;
        }
        found
    }

    /// The schema in which a Postgres server creates tables: the first of the search path that exists.
    ///
    /// # Errors
    /// As for [`Control::query`].
    pub fn schema(&mut self) -> Result<Option<Schema>, Error> {
        let Self::Postgres(control) = self else { return Ok(None) };
        // The search path still counts, so every name is qualified.
        let found = control.query(
            "SELECT n.oid, n.nspname FROM pg_catalog.pg_namespace n \
             WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()",
        )?;
        let schema =
            |oid: &str, name: &str| Some(Schema { oid: oid.parse().ok()?, name: name.to_owned() });
        Ok(found.text(0, 0).zip(found.text(0, 1)).and_then(|(oid, name)| schema(oid, name)))
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
