//! Applies a workload's session settings to connections.

use assay_model::{Dialect, SessionSetting, SettingForm};
use assay_wire::{Connection, Protocol};
use assay_workloads::{modes_of, set_statements};

use crate::error::{Error, Result};
use crate::user::{WITH_BACKSLASHES, begin_session};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSetting {
    pub setting: SessionSetting,
    /// Refused modes, if the others are accepted.
    pub modes: Vec<String>,
    pub message: String,
}

/// Begins a client's session with these settings. Refused settings are skipped and returned: the application would get
/// the same error.
pub(crate) fn begin_user_session(
    wire: &mut Connection,
    settings: &[SessionSetting],
) -> Result<Vec<RefusedSetting>> {
    begin_session(wire)?;
    let dialect = dialect_of(wire);
    let mut refused = Vec::new();
    for setting in settings {
        let Some(message) = set(wire, dialect, setting)? else { continue };
        let modes = match setting.form() {
            SettingForm::Modes => set_modes(wire, dialect, setting)?,
            _ => Vec::new(),
        };
        refused.push(RefusedSetting { setting: setting.clone(), modes, message });
    }
    Ok(refused)
}

fn dialect_of(wire: &Connection) -> Dialect {
    match wire.protocol() {
        Protocol::MySql => Dialect::MySql,
        Protocol::Postgres => Dialect::Postgres,
    }
}

/// Returns the server's error if it refuses the value.
fn set(
    wire: &mut Connection,
    dialect: Dialect,
    setting: &SessionSetting,
) -> Result<Option<String>> {
    for sql in set_statements(dialect, setting) {
        match wire.query(&sql) {
            Ok(_) => {}
            Err(error) if error.server_code().is_some() => return Ok(Some(error.to_string())),
            Err(error) => return Err(Error::query(sql.as_bytes(), error)),
        }
    }
    Ok(None)
}

/// Sets the modes that the server accepts, and returns the others.
fn set_modes(
    wire: &mut Connection,
    dialect: Dialect,
    setting: &SessionSetting,
) -> Result<Vec<String>> {
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for mode in modes_of(setting) {
        let word = mode.trim_start_matches(['+', '-']);
        let alone = SessionSetting::new(setting.name(), word);
        let is_refused = match alone {
            Ok(alone) if !mode.starts_with('-') => set(wire, dialect, &alone)?.is_some(),
            Ok(_) => false,
            Err(_) => true,
        };
        if is_refused { refused.push(word.to_owned()) } else { taken.push(mode) }
    }
    // The trials replaced the modes.
    for sql in ["SET SESSION sql_mode = DEFAULT", WITH_BACKSLASHES] {
        wire.query(sql).map_err(|error| Error::query(sql.as_bytes(), error))?;
    }
    if let Ok(rest) = SessionSetting::new(setting.name(), &taken.join(",")) {
        set(wire, dialect, &rest)?;
    }
    Ok(refused)
}
