//! Maintenance: collects statistics, purges old row versions and writes changed pages.

use std::time::Duration;

use assay_wire::{Connection, Protocol};

use crate::drained::Drained;
use crate::error::Error;
use crate::{mysql, postgres};

/// Collects the statistics of `tables` (of the connection's database) and drains the server.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub fn maintain(
    control: &mut Connection,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    match control.protocol() {
        Protocol::MySql => mysql::maintain(control, tables, limit),
        Protocol::Postgres => postgres::maintain(control, tables, limit),
    }
}

/// Collects the statistics of `tables` (of the connection's database); on Postgres it also removes their dead rows.
/// This is all the maintenance that a server in use by others should get.
///
/// # Errors
/// When the server cannot be asked or refuses a table.
pub fn take_statistics(control: &mut Connection, tables: &[String]) -> Result<(), Error> {
    match control.protocol() {
        Protocol::MySql => mysql::take_statistics(control, tables),
        Protocol::Postgres => postgres::clean(control, tables),
    }
}

/// Waits until old row versions are purged and changed pages are written, but at most for `limit`. Then removes the
/// binary log.
///
/// # Errors
/// When the server cannot be asked.
pub fn drain(control: &mut Connection, limit: Duration) -> Result<Drained, Error> {
    match control.protocol() {
        Protocol::MySql => mysql::drain(control, limit),
        Protocol::Postgres => postgres::drain(control, limit),
    }
}

/// Removes all files of the binary log but the newest one, and those that the server still needs. Postgres has none:
/// its log is reused. Only for servers that assay has started.
///
/// # Errors
/// When the server cannot be asked.
pub fn remove_binary_logs(control: &mut Connection) -> Result<(), Error> {
    match control.protocol() {
        Protocol::MySql => mysql::remove_binary_logs(control).map(drop),
        Protocol::Postgres => Ok(()),
    }
}
