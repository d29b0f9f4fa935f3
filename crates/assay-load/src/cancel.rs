//! Ends statements on a server that the clients do not wait for any longer.

use std::time::{Duration, Instant};

use assay_model::Product;
use assay_wire::{ConnectOptions, Connection, Error as WireError};

/// How long the server may take to accept and answer a request to end a connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// How long a statement may take to notice that it was ended.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How often to look whether the statements have ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// MySQL's code for a connection that does not exist.
const NO_SUCH_THREAD: u32 = 1094;

/// Ends these connections of the server, and waits until their statements have ended.
///
/// # Errors
/// When the server does not answer, or refuses.
pub(crate) fn cancel(
    options: &ConnectOptions,
    product: Product,
    connections: &[u64],
) -> Result<(), WireError> {
    let options = ConnectOptions { timeout: ANSWER_LIMIT, ..options.clone() };
    let mut control = Connection::connect(&options)?;
    let (end, is_there) = match product {
        Product::MySql | Product::MariaDb => {
            ("KILL {}", "SELECT 1 FROM information_schema.processlist WHERE id = {}")
        }
        Product::Postgres => {
            ("SELECT pg_terminate_backend({})", "SELECT 1 FROM pg_stat_activity WHERE pid = {}")
        }
    };
    for id in connections {
        match control.query(&end.replace("{}", &id.to_string())) {
            Err(WireError::Server { code: NO_SUCH_THREAD, .. }) => {}
            done => drop(done?),
        }
    }
    let began = Instant::now();
    for id in connections {
        let is_there = is_there.replace("{}", &id.to_string());
        while control.query(&is_there)?.first_string().is_some() && began.elapsed() < END_LIMIT {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(())
}
