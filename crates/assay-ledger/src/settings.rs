//! Effective settings of a study's systems.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::read::{read_study, read_systems};
use crate::rows::{Fields, rows};
use crate::values::index;
use crate::{Error, Ledger, Problem};

impl Ledger {
    /// Replaces the settings of a system. They must not contain secrets.
    pub fn set_settings(
        &mut self,
        study: &str,
        system: usize,
        settings: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        self.named(set_settings(&self.connection, study, system, settings))
    }

    /// Settings by name for every system, in order; empty for a system that was not audited.
    pub fn settings(&self, study: &str) -> Result<Vec<BTreeMap<String, String>>, Error> {
        self.reading(|connection| settings(connection, study))
    }
}

fn set_settings(
    connection: &Connection,
    study: &str,
    system: usize,
    settings: &BTreeMap<String, String>,
) -> Result<(), Problem> {
    let system = index(system)?;
    let transaction = connection.unchecked_transaction()?;
    transaction
        .execute("DELETE FROM setting WHERE study = ? AND system = ?", params![study, system])?;
    let sql = "INSERT INTO setting (study, system, name, value) VALUES (?, ?, ?, ?)";
    let mut statement = transaction.prepare(sql)?;
    for (name, value) in settings {
        statement.execute(params![study, system, name, value])?;
    }
    drop(statement);
    Ok(transaction.commit()?)
}

fn settings(
    connection: &Connection,
    study: &str,
) -> Result<Vec<BTreeMap<String, String>>, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    read_study(&snapshot, study)?;
    let count = read_systems(&snapshot, study)?.len();
    let sql = "SELECT system, name, value FROM setting WHERE study = ? ORDER BY system, name";
    let named = rows(&snapshot, sql, [study], |row| {
        let fields = Fields::new("setting", "name", row);
        Ok((fields.index("system", count)?, fields.get("name")?, fields.get("value")?))
    })?;
    let mut settings = vec![BTreeMap::new(); count];
    for (system, name, value) in named {
        settings.get_mut(system).map(|of_system| of_system.insert(name, value));
    }
    Ok(settings)
}
