//! Maintenance of Postgres: statistics, dead rows, changed pages.

use std::time::{Duration, Instant};

use assay_wire::Connection;

use crate::drained::Drained;
use crate::error::Error;

/// First version that may skip the cleaning of indexes, and must be told not to.
const SKIPS_INDEXES: u32 = 12;

/// Timeout of maintenance statements. A server is silent while it cleans or writes.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Looks at the number of dead rows before they are taken for ones that somebody still saw.
const LOOKS: u32 = 10;

/// Between two such looks.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Takes the statistics of `tables` and removes their dead rows, then writes all changed pages.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub(crate) fn maintain(
    control: &mut Connection,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    let began = Instant::now();
    clean(control, tables)?;
    // Not once more if it need not be: a later VACUUM reads only a part of a table, and guesses its rows from that.
    finish(control, began, limit)
}

/// Takes the statistics of `tables` and removes their dead rows.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub(crate) fn clean(control: &mut Connection, tables: &[String]) -> Result<(), Error> {
    control.set_timeout(MAINTENANCE_TIMEOUT)?;
    let options =
        if major(control) >= SKIPS_INDEXES { "(ANALYZE, INDEX_CLEANUP ON)" } else { "(ANALYZE)" };
    for table in tables {
        control.query(&format!("VACUUM {options} \"{}\"", table.replace('"', "\"\"")))?;
    }
    Ok(())
}

/// Removes dead rows of all tables and writes all changed pages.
///
/// A dead row that a transaction still sees stays; `limit` is how long is waited for those to go.
///
/// # Errors
/// When the server cannot be asked.
pub(crate) fn drain(control: &mut Connection, limit: Duration) -> Result<Drained, Error> {
    let began = Instant::now();
    control.set_timeout(MAINTENANCE_TIMEOUT)?;
    control.query("VACUUM")?;
    finish(control, began, limit)
}

fn finish(control: &mut Connection, began: Instant, limit: Duration) -> Result<Drained, Error> {
    let dead_rows = loop {
        // Counted by the server a moment late.
        let mut dead_rows = dead_rows(control)?;
        for _ in 0..LOOKS {
            if dead_rows == Some(0) {
                break;
            }
            std::thread::sleep(AGAIN_AFTER);
            dead_rows = self::dead_rows(control)?;
        }
        if dead_rows == Some(0) || began.elapsed() > limit {
            break dead_rows;
        }
        control.query("VACUUM")?;
    };
    control.query("CHECKPOINT")?;
    let is_complete = dead_rows == Some(0);
    let took = began.elapsed();
    Ok(Drained { is_complete, history_length: dead_rows, dirty_pages: 0, took })
}

fn dead_rows(control: &mut Connection) -> Result<Option<u64>, Error> {
    let found =
        control.query_catalog("SELECT COALESCE(SUM(n_dead_tup), 0) FROM pg_stat_user_tables")?;
    Ok(found.text(0, 0).and_then(|it| it.parse().ok()))
}

/// `18` of `18.6 (Debian 18.6-1)`; 9 of all versions before 10.
fn major(control: &Connection) -> u32 {
    let digits = control.server_version().split(|it: char| !it.is_ascii_digit()).next();
    digits.and_then(|it| it.parse().ok()).unwrap_or(0)
}
