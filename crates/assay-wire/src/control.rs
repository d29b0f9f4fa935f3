//! Connections for assay's own work: loading, checks, status. What a server was configured to do to every session must
//! not reach them.

use crate::connection::Connection;
use crate::error::Error;
use crate::options::{ConnectOptions, Protocol};

/// What the first statement of a session of assay's own begins with, so that logs tell it from the sessions of users:
/// `assay workload from` leaves out sessions that begin with one of [`OWN_FIRST`].
macro_rules! own {
    ($sql:literal) => {
        concat!("/* assay */ ", $sql)
    };
}

/// A question to a server that may not answer yet.
pub const PING: &str = own!("SELECT 1");

/// The statements with which sessions of assay's own begin.
pub const OWN_FIRST: [&str; 3] = [PING, MYSQL[0], POSTGRES[0]];

/// What a session of MySQL and MariaDB needs. Versions that lack a variable refuse its statement.
const MYSQL: [&str; 7] = [
    own!("SET SESSION max_execution_time = 0"),
    "SET SESSION max_statement_time = 0",
    "SET SESSION autocommit = 1, completion_type = 0, foreign_key_checks = 1, sql_big_selects = 1, \
     time_zone = '+00:00', unique_checks = 1, wait_timeout = 28800",
    "SET SESSION innodb_lock_wait_timeout = 50, lock_wait_timeout = 3600",
    "SET SESSION TRANSACTION READ WRITE",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    WITH_BACKSLASHES,
];

/// Gives a backslash in literals its meaning, and takes away what changes numbering and padding.
const WITH_BACKSLASHES: &str = "SET SESSION sql_mode = TRIM(BOTH ',' FROM REPLACE(REPLACE(REPLACE(REPLACE(\
     CONCAT(',', @@SESSION.sql_mode, ','), ',NO_BACKSLASH_ESCAPES,', ','), \
     ',NO_AUTO_VALUE_ON_ZERO,', ','), ',PAD_CHAR_TO_FULL_LENGTH,', ','), ',EMPTY_STRING_IS_NULL,', ','))";

/// What a session of Postgres needs, first what could end the rest.
const POSTGRES: [&str; 2] = [
    own!("SET statement_timeout = 0"),
    "SELECT pg_catalog.set_config(s.name, v.value, false) FROM (VALUES \
     ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'), \
     ('transaction_timeout', '0'), ('default_transaction_read_only', 'off'), \
     ('transaction_read_only', 'off'), ('default_transaction_isolation', 'read committed'), \
     ('standard_conforming_strings', 'on'), ('bytea_output', 'hex'), ('DateStyle', 'ISO, MDY'), \
     ('IntervalStyle', 'postgres'), ('TimeZone', 'UTC'), ('client_min_messages', 'notice'), \
     ('session_replication_role', 'origin')) AS v (name, value) \
     JOIN pg_catalog.pg_settings AS s ON s.name = v.name",
];

impl Connection {
    /// Connects for work of assay's own, whose session does not depend on how the server is configured: it commits by
    /// itself, may write, has no limits of time, and takes literals as assay writes them.
    pub fn control(options: &ConnectOptions) -> Result<Self, Error> {
        let mut connection = Self::connect(options)?;
        let statements: &[&str] = match options.protocol {
            Protocol::MySql => &MYSQL,
            Protocol::Postgres => &POSTGRES,
        };
        for sql in statements {
            match connection.query(sql) {
                // This version has no such setting, or the login may not change it.
                Ok(_) | Err(Error::Server { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(connection)
    }
}
