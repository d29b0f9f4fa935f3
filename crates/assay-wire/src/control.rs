//! Connections for assay's own work: loading, checks, status. A server's session defaults must not affect them.

use crate::connection::Connection;
use crate::error::{WireError, WireResult};
use crate::options::{ConnectOptions, Protocol};

/// Prefix of the first statement of assay's own sessions, so that logs distinguish them: `assay workload from` skips
/// sessions that begin with one of [`OWN_FIRST`].
macro_rules! own {
    ($sql:literal) => {
        concat!("/* assay */ ", $sql)
    };
}

/// For a server that may not answer yet.
pub const PING: &str = own!("SELECT 1");

pub const OWN_FIRST: [&str; 3] = [PING, MYSQL[0], POSTGRES[0]];

/// Session settings of MySQL and MariaDB. Versions that lack a variable refuse its statement.
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

/// Enables backslash escapes, and removes modes that affect numbering and padding.
const WITH_BACKSLASHES: &str = "SET SESSION sql_mode = TRIM(BOTH ',' FROM REPLACE(REPLACE(REPLACE(REPLACE(\
     CONCAT(',', @@SESSION.sql_mode, ','), ',NO_BACKSLASH_ESCAPES,', ','), \
     ',NO_AUTO_VALUE_ON_ZERO,', ','), ',PAD_CHAR_TO_FULL_LENGTH,', ','), ',EMPTY_STRING_IS_NULL,', ','))";

/// Session settings of Postgres, first the one that could end the rest.
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
    /// Connects for assay's own work. The session does not depend on the server's configuration: it autocommits, may
    /// write, has no time limits, and reads literals as assay writes them.
    pub fn control(options: &ConnectOptions) -> WireResult<Self> {
        let mut connection = Self::connect(options)?;
        let statements: &[&str] = match options.protocol {
            Protocol::MySql => &MYSQL,
            Protocol::Postgres => &POSTGRES,
        };
        for sql in statements {
            match connection.query(sql) {
                // This version lacks the setting, or the login may not change it.
                Ok(_) | Err(WireError::Server { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(connection)
    }
}
