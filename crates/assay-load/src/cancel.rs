//! Ends statements on a server that clients no longer wait for.

use std::time::{Duration, Instant};

use assay_model::Dialect;
use assay_wire::{ConnectOptions, Connection, Error as WireError};

/// How long the server may take to accept and answer a request to end a connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Like `ANSWER_LIMIT`, where nobody waits for the statement to end.
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
    dialect: Dialect,
    connections: &[u64],
    done_in: Duration,
) -> Result<(), WireError> {
    let mut control = end(options, dialect, connections, ANSWER_LIMIT)?;
    let is_there = match dialect {
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

/// Kills these connections without waiting.
pub(crate) fn end_connections(
    options: &ConnectOptions,
    dialect: Dialect,
    connections: &[u64],
) -> Result<(), WireError> {
    end(options, dialect, connections, SHORT_LIMIT).map(drop)
}

/// Kills connections over a new one, which is returned. The server must accept and answer within `limit`.
fn end(
    options: &ConnectOptions,
    dialect: Dialect,
    connections: &[u64],
    limit: Duration,
) -> Result<Connection, WireError> {
    let options = ConnectOptions { timeout: limit, ..options.clone() };
    let mut control = Connection::control(&options)?;
    let end = match dialect {
        Dialect::MySql => "KILL {}",
        Dialect::Postgres => "SELECT pg_terminate_backend({})",
    };
    for id in connections {
        match control.query(&end.replace("{}", &id.to_string())) {
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
        let of = |seconds| longest_wait(Duration::from_secs(seconds)).as_secs();
        assert_eq!([of(0), of(5), of(30)], [10, 10, 30]);
    }
}
