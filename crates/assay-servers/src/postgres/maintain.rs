//! Maintenance of Postgres: statistics, dead rows, changed pages.

use std::time::{Duration, Instant};

use assay_wire::Control;

use crate::{Drained, Error};

/// First version that may skip the cleaning of indexes, and must be told not to.
const SKIPS_INDEXES: u32 = 12;

/// Takes the statistics of `tables` and removes dead rows, then writes all changed pages.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub(crate) fn maintain(
    control: &mut Control,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    let began = Instant::now();
    let options =
        if major(control) >= SKIPS_INDEXES { "(ANALYZE, INDEX_CLEANUP ON)" } else { "(ANALYZE)" };
    for table in tables {
        control.query(&format!("VACUUM {options} \"{}\"", table.replace('"', "\"\"")))?;
    }
    checkpoint(control, began, limit)
}

/// Removes dead rows of all tables and writes all changed pages.
///
/// # Errors
/// When the server cannot be asked.
pub(crate) fn drain(control: &mut Control, limit: Duration) -> Result<Drained, Error> {
    let began = Instant::now();
    control.query("VACUUM")?;
    checkpoint(control, began, limit)
}

/// Both are waited for, however long they take: a statement that is broken off would leave half of the work.
fn checkpoint(control: &mut Control, began: Instant, limit: Duration) -> Result<Drained, Error> {
    control.query("CHECKPOINT")?;
    let took = began.elapsed();
    Ok(Drained { is_complete: took <= limit, history_length: None, dirty_pages: 0, took })
}

/// `18` of `18.6 (Debian 18.6-1)`; 9 of all versions before 10.
fn major(control: &Control) -> u32 {
    let digits = control.server_version().split(|it: char| !it.is_ascii_digit()).next();
    digits.and_then(|it| it.parse().ok()).unwrap_or(0)
}
