//! Ends statements on a server that the clients do not wait for any longer.

use std::time::{Duration, Instant};

use assay_model::Dialect;
use assay_wire::{ConnectOptions, Connection, Error as WireError};

/// How long the server may take to accept and answer a request to end a connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

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
    let options = ConnectOptions { timeout: ANSWER_LIMIT, ..options.clone() };
    let mut control = Connection::connect(&options)?;
    let (end, is_there) = match dialect {
        Dialect::MySql => ("KILL {}", "SELECT 1 FROM information_schema.processlist WHERE id = {}"),
        Dialect::Postgres => {
            ("SELECT pg_terminate_backend({})", "SELECT 1 FROM pg_stat_activity WHERE pid = {}")
        }
    };
    for id in connections {
        match control.query(&end.replace("{}", &id.to_string())) {
            Err(WireError::Server { code: NO_SUCH_THREAD, .. }) => {}
            done => drop(done?),
        }
    }
    let (began, limit) = (Instant::now(), longest_wait(done_in));
    for id in connections {
        let is_there = is_there.replace("{}", &id.to_string());
        while control.query(&is_there)?.first_string().is_some() && began.elapsed() < limit {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(())
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
