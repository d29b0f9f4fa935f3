//! Ends statements on a server that the clients do not wait for any longer.

use std::time::{Duration, Instant};

use assay_model::Dialect;
use assay_wire::{ConnectOptions, Connection, Error as WireError};

/// How long the server may take to accept and answer a request to end a connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// The same where nobody waits for the end of its statement.
const SHORT_LIMIT: Duration = Duration::from_secs(2);

/// How long a statement may take at least to notice that it was ended, and to undo what it did.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How often to look whether the statements have ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// MySQL's code for a connection that does not exist.
const NO_SUCH_THREAD: u32 = 1094;

/// Ends these connections of the server, and waits until their statements have ended and what they did is undone: until
/// then, the server is busy with it, and the next slice would be slow. To undo may take as long as it took to do, which
/// is `done_in`; a statement that takes longer than that is left alone.
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

/// Asks the server to end these connections, and does not wait for it.
pub(crate) fn end_connections(
    options: &ConnectOptions,
    dialect: Dialect,
    connections: &[u64],
) -> Result<(), WireError> {
    end(options, dialect, connections, SHORT_LIMIT).map(drop)
}

/// Asks the server to end connections, over one that is returned. The server must accept and answer within `limit`.
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

/// How long to wait for the end of statements that ran so long.
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
