//! Operations over a connection, for all products: maintenance, settings, plans.

use std::time::Duration;

use assay_model::SystemSpec;
use assay_wire::Connection;

use crate::audit::Settings;
use crate::drained::Drained;
use crate::error::Error;
use crate::explained::Explained;
use crate::products::{self, kind::Servers};

fn servers(control: &Connection) -> Result<&'static dyn Servers, Error> {
    products::of(products::product_of(control))
}

/// Collects the statistics of `tables` (of the connection's database) and drains the server.
pub fn maintain(
    control: &mut Connection,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    servers(control)?.maintain(control, tables, limit)
}

/// Collects the statistics of `tables` (of the connection's database); on Postgres it also removes their dead rows. A
/// server in use by others should get no other maintenance.
pub fn take_statistics(control: &mut Connection, tables: &[String]) -> Result<(), Error> {
    servers(control)?.take_statistics(control, tables)
}

/// Waits until old row versions are purged and changed pages are written, at most for `limit`. Then removes the binary
/// log.
pub fn drain(control: &mut Connection, limit: Duration) -> Result<Drained, Error> {
    servers(control)?.drain(control, limit)
}

/// Removes all files of the binary log except the newest and those that the server still needs. Postgres has none: its
/// log is reused. Only for servers started by assay.
pub fn remove_binary_logs(control: &mut Connection) -> Result<(), Error> {
    servers(control)?.remove_binary_logs(control)
}

/// Every setting in effect, by name: global variables under their own names, the state of this session below
/// `session.`, its database below `schema.`, and the properties of its tables below `table.`. The connection is set up
/// like those of the clients, so its session is like theirs.
pub fn effective_settings(control: &mut Connection) -> Result<Settings, Error> {
    let mut settings = servers(control)?.settings(control)?;
    settings.insert("session.auth_plugin".to_owned(), control.auth_method().to_owned());
    Ok(settings)
}

/// Answers by name ([`crate::audit::ANSWER`]). `log` is the server's log, if known.
pub fn answers(
    control: &mut Connection,
    spec: &SystemSpec,
    log: Option<&str>,
) -> Result<Settings, Error> {
    servers(control)?.answers(control, spec, log.unwrap_or_default())
}

/// The plan of a statement with its values. `None` if this version cannot explain it.
pub fn explain(control: &mut Connection, sql: &str) -> Result<Option<Explained>, Error> {
    match servers(control)?.explain(control, sql) {
        // Some versions have no plan for an insert.
        Ok(explained) => Ok((!explained.plan.is_empty()).then_some(explained)),
        // Before MySQL 5.6 and MariaDB 10.0 only queries can be explained.
        Err(error) if error.server_code().is_some() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
