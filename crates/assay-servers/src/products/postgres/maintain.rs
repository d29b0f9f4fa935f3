//! Maintenance of Postgres: statistics, dead rows, changed pages.

use std::time::{Duration, Instant};

use assay_wire::Connection;

use crate::drained::Drained;
use crate::error::Error;

/// First version that skips the cleaning of indexes by default.
const SKIPS_INDEXES: u32 = 12;

/// Timeout of maintenance statements. A server is silent while it cleans or writes.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Number of checks after which remaining dead rows are assumed to be visible to a transaction.
const CHECKS: u32 = 10;

const AGAIN_AFTER: Duration = Duration::from_millis(100);

pub(super) fn maintain(
    control: &mut Connection,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    let began = Instant::now();
    clean(control, tables)?;
    // This cleans again only if necessary: a later VACUUM reads only a part of a table and estimates its rows from
    // that.
    finish(control, began, limit)
}

pub(super) fn clean(control: &mut Connection, tables: &[String]) -> Result<(), Error> {
    control.set_timeout(MAINTENANCE_TIMEOUT)?;
    let options =
        if major(control) >= SKIPS_INDEXES { "(ANALYZE, INDEX_CLEANUP ON)" } else { "(ANALYZE)" };
    for table in tables {
        control.query(&format!("VACUUM {options} \"{}\"", table.replace('"', "\"\"")))?;
    }
    Ok(())
}

/// Removes dead rows of all tables and writes all changed pages. Waits at most `limit` for dead rows that a transaction
/// still sees.
pub(super) fn drain(control: &mut Connection, limit: Duration) -> Result<Drained, Error> {
    let began = Instant::now();
    control.set_timeout(MAINTENANCE_TIMEOUT)?;
    control.query("VACUUM")?;
    finish(control, began, limit)
}

fn finish(control: &mut Connection, began: Instant, limit: Duration) -> Result<Drained, Error> {
    let dead_rows = loop {
        // The server counts them with a delay.
        let mut dead_rows = dead_rows(control)?;
        for _ in 0..CHECKS {
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

/// 18 for `18.6 (Debian 18.6-1)`, and 9 for all versions before 10.
pub(super) fn major(control: &Connection) -> u32 {
    let digits = control.server_version().split(|it: char| !it.is_ascii_digit()).next();
    digits.and_then(|it| it.parse().ok()).unwrap_or(0)
}
