//! Profiles of servers. They are read separately from their study.

use assay_model::{CellProfile, Profile};
use rusqlite::{Connection, params};

use crate::read::{read_study, read_systems};
use crate::rows::{Fields, rows};
use crate::values::{index, json, storable};
use crate::write::cell_number;
use crate::{Error, Ledger, Problem};

impl Ledger {
    /// Adds the profile of a system in a cell, in place of an earlier one.
    ///
    /// # Errors
    /// The study, the system or the cell is not in the ledger, or the profile is too large.
    pub fn set_profile(&mut self, study: &str, profile: &CellProfile) -> Result<(), Error> {
        self.named(set(&self.connection, study, profile))
    }

    /// The profiles of a study, by cell and system.
    ///
    /// # Errors
    /// There is no such study, the file is damaged, or a row holds something that assay never writes.
    pub fn profiles(&self, study: &str) -> Result<Vec<CellProfile>, Error> {
        self.reading(|connection| read(connection, study))
    }
}

fn set(connection: &Connection, study: &str, added: &CellProfile) -> Result<(), Problem> {
    let CellProfile { system, cell, profile } = added;
    storable(profile)?;
    let number = cell_number(connection, study, *cell)?;
    let sql = "INSERT OR REPLACE INTO profile (study, cell, system, profile) VALUES (?, ?, ?, ?)";
    connection.execute(sql, params![study, number, index(*system)?, json(profile)?])?;
    Ok(())
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
