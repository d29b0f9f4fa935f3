//! Connections and statements whose errors name the client or the statement, and the end of statements that clients no
//! longer wait for.

use std::time::{Duration, Instant};

use assay_model::Dialect;
use assay_wire::{CatalogSchema, ConnectOptions, Connection, Protocol, ResultSet, WireError};

use crate::error::{LoadError, Result};

pub(crate) fn connect(options: &ConnectOptions, client: u32) -> Result<Connection> {
    Connection::connect(options).map_err(|source| LoadError::Connect { client, source })
}

pub(crate) fn connect_control(options: &ConnectOptions, client: u32) -> Result<Connection> {
    Connection::control(options).map_err(|source| LoadError::Connect { client, source })
}

pub(crate) fn dialect_of(protocol: Protocol) -> Dialect {
    match protocol {
        Protocol::MySql => Dialect::MySql,
        Protocol::Postgres => Dialect::Postgres,
    }
}

pub(crate) fn query(wire: &mut Connection, sql: &str) -> Result<ResultSet> {
    wire.query(sql).map_err(|cause| LoadError::query(sql.as_bytes(), cause))
}

pub(crate) fn run(wire: &mut Connection, sql: &str) -> Result<()> {
    query(wire, sql).map(drop)
}

/// Like [`run`], for statements that need not be UTF-8. Rows are not kept.
pub(crate) fn execute(wire: &mut Connection, sql: &[u8]) -> Result<()> {
    wire.execute_text(sql).map(drop).map_err(|cause| LoadError::query(sql, cause))
}

/// Rows of a catalog query as text. NULL is empty.
pub(crate) fn catalog_rows(wire: &mut Connection, sql: &str) -> Result<Vec<Vec<String>>> {
    let found = wire.query_catalog(sql).map_err(|cause| LoadError::query(sql.as_bytes(), cause))?;
    let text =
        |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    Ok(found.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
}

pub(crate) fn current_schema(wire: &mut Connection) -> Result<Option<CatalogSchema>> {
    wire.schema().map_err(|cause| LoadError::query(b"SELECT current_schema()", cause))
}

/// The number of the current schema; 0 if there is none.
pub(crate) fn schema_oid(wire: &mut Connection) -> Result<u32> {
    Ok(current_schema(wire)?.map_or(0, |schema| schema.oid))
}

/// How long the server may take to accept and answer a request to end a connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Like `ANSWER_LIMIT`, for statements whose end does not matter.
const SHORT_LIMIT: Duration = Duration::from_secs(2);

/// Minimum time a statement gets to notice that it was killed, and to roll back.
const END_LIMIT: Duration = Duration::from_secs(10);

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// MySQL's code for an unknown connection id.
const NO_SUCH_THREAD: u32 = 1094;

/// Kills these connections and waits until their statements have rolled back: until then the server is busy, and the
/// next slice would be slow. A rollback may take as long as the work, `done_in`; a statement that takes longer is left
/// alone.
pub(crate) fn cancel(
    options: &ConnectOptions,
    connections: &[u64],
    done_in: Duration,
) -> Result<(), WireError> {
    let mut control = kill(options, connections, ANSWER_LIMIT)?;
    let is_there = match dialect_of(options.protocol) {
        Dialect::MySql => "SELECT 1 FROM information_schema.processlist WHERE id = {}",
        Dialect::Postgres => "SELECT 1 FROM pg_stat_activity WHERE pid = {}",
    };
    let (began, limit) = (Instant::now(), longest_wait(done_in));
    for id in connections {
        let is_there = is_there.replace("{}", &id.to_string());
        while control.query(&is_there)?.first_string().is_some() && began.elapsed() < limit {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(())
}

pub(crate) fn end_connections(
    options: &ConnectOptions,
    connections: &[u64],
) -> Result<(), WireError> {
    kill(options, connections, SHORT_LIMIT).map(drop)
}

/// Kills connections over a new one, which is returned. The server must accept and answer within `limit`.
fn kill(
    options: &ConnectOptions,
    connections: &[u64],
    limit: Duration,
) -> Result<Connection, WireError> {
    let options = ConnectOptions { timeout: limit, ..options.clone() };
    let mut control = Connection::control(&options)?;
    let kill = match dialect_of(options.protocol) {
        Dialect::MySql => "KILL {}",
        Dialect::Postgres => "SELECT pg_terminate_backend({})",
    };
    for id in connections {
        match control.query(&kill.replace("{}", &id.to_string())) {
            Err(WireError::Server { code: NO_SUCH_THREAD, .. }) => {}
            done => drop(done?),
        }
    }
    Ok(control)
}

fn longest_wait(done_in: Duration) -> Duration {
    END_LIMIT.max(done_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_rollback_is_waited_for() {
        let wait = |seconds| longest_wait(Duration::from_secs(seconds)).as_secs();
        assert_eq!([wait(0), wait(5), wait(30)], [10, 10, 30]);
    }
}
