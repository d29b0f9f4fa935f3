//! Profiles of servers. They are read separately from their study.

use assay_model::{CellProfile, Profile};
use rusqlite::{Connection, params};

use crate::read::{read_study, read_systems};
use crate::rows::{Fields, rows};
use crate::runs::IS_NOT_PROFILED;
use crate::values::{index, json, storable};
use crate::write::cell_number;
use crate::{Error, Ledger, Problem};

impl Ledger {
    /// Adds profiles, in place of earlier ones of the same systems and cells: all of them, or none if there is an
    /// error.
    pub fn set_profiles(&mut self, study: &str, profiles: &[CellProfile]) -> Result<(), Error> {
        self.named(set(&self.connection, study, profiles))
    }

    /// Removes the events that say why profiles were not taken: whoever tries again notes them anew.
    pub fn forget_not_profiled(&mut self, study: &str) -> Result<(), Error> {
        let sql = format!("DELETE FROM event WHERE study = ? AND {IS_NOT_PROFILED}");
        let removed = self.connection.execute(&sql, [study]).map_err(Problem::from);
        self.named(removed.map(drop))
    }

    /// The profiles of a study, by cell and system.
    pub fn profiles(&self, study: &str) -> Result<Vec<CellProfile>, Error> {
        self.reading(|connection| read(connection, study))
    }
}

fn set(connection: &Connection, study: &str, profiles: &[CellProfile]) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    let sql = "INSERT OR REPLACE INTO profile (study, cell, system, profile) VALUES (?, ?, ?, ?)";
    for CellProfile { system, cell, profile } in profiles {
        storable(profile)?;
        let number = cell_number(&transaction, study, *cell)?;
        transaction.execute(sql, params![study, number, index(*system)?, json(profile)?])?;
    }
    Ok(transaction.commit()?)
}

fn read(connection: &Connection, study: &str) -> Result<Vec<CellProfile>, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    let (planned, _) = read_study(&snapshot, study)?;
    let systems = read_systems(&snapshot, study)?.len();
    let sql = "SELECT * FROM profile WHERE study = ? ORDER BY cell, system";
    rows(&snapshot, sql, [study], |row| {
        let fields = Fields::new("profile", "cell", row);
        let number = fields.index("cell", planned.cells.len())?;
        let cell = planned.cells.get(number).map(|cell| cell.id);
        Ok(CellProfile {
            system: fields.index("system", systems)?,
            cell: cell.ok_or_else(|| fields.wrong("has a cell that is not planned"))?,
            profile: fields.checked(fields.json::<Profile>("profile")?)?,
        })
    })
}
