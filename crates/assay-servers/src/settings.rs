//! The settings that a running server reports.

use assay_wire::{Connection, Protocol};

use crate::audit::Settings;
use crate::error::Error;
use crate::{mysql, postgres};

/// Every setting in effect, by name: global variables under their own names, the state of this session below
/// `session.`, its database below `schema.`, and the properties of its tables below `table.`.
///
/// The connection is made like those of the clients, so its session is like theirs.
///
/// # Errors
/// When the server cannot be asked.
pub fn effective_settings(control: &mut Connection) -> Result<Settings, Error> {
    let mut settings = match control.protocol() {
        Protocol::MySql => mysql::effective_settings(control)?,
        Protocol::Postgres => postgres::effective_settings(control)?,
    };
    settings.insert("session.auth_plugin".to_owned(), control.auth_method().to_owned());
    Ok(settings)
}
