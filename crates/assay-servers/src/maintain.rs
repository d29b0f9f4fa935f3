//! Bringing a server to rest: statistics taken, old row versions purged, changed pages written.

use std::time::Duration;

use assay_wire::Control;

use crate::{Error, mysql, postgres};

/// What was left to do when a server came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Whether it came to rest within the time allowed.
    pub is_complete: bool,
    /// Transactions whose old row versions are not purged yet, of Postgres dead rows that are still there; none where
    /// the version cannot tell.
    pub history_length: Option<u64>,
    /// Pages of the buffer pool that are not written yet.
    pub dirty_pages: u64,
    /// How long it took.
    pub took: Duration,
}

/// Takes the statistics of `tables` (of the connection's database) and drains the server.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub fn maintain(
    control: &mut Control,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    match control {
        Control::MySql(_) => mysql::maintain(control, tables, limit),
        Control::Postgres(_) => postgres::maintain(control, tables, limit),
    }
}

/// Takes the statistics of `tables` (of the connection's database), and removes their dead rows where a server leaves
/// that to such a moment: all that may be asked of a server that others use.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub fn take_statistics(control: &mut Control, tables: &[String]) -> Result<(), Error> {
    match control {
        Control::MySql(_) => mysql::take_statistics(control, tables),
        Control::Postgres(_) => postgres::clean(control, tables),
    }
}

/// Waits until old row versions are purged and changed pages are written, for `limit` at most.
///
/// # Errors
/// When the server cannot be asked.
pub fn drain(control: &mut Control, limit: Duration) -> Result<Drained, Error> {
    match control {
        Control::MySql(_) => mysql::drain(control, limit),
        Control::Postgres(_) => postgres::drain(control, limit),
    }
}
