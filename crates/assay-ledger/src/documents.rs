//! Documents about systems in cells, apart from slices, by name. Read separately from their study.

use assay_model::{CellCount, CellId, CellProfile, CellSoak, Count, Profile, Soak};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bounds::Bounded;
use crate::read::{read_study, read_systems};
use crate::rows::{Fields, rows};
use crate::runs::{IS_NOT_COUNTED, IS_NOT_PROFILED, IS_NOT_SOAKED};
use crate::values::{index, json, storable};
use crate::write::{cell_number, now_ms};
use crate::{Error, Ledger, Problem};

trait Document: Bounded + Serialize + DeserializeOwned {
    const NAME: &'static str;
}

impl Document for Profile {
    const NAME: &'static str = "profile";
}

impl Document for Count {
    const NAME: &'static str = "count";
}

impl Document for Soak {
    const NAME: &'static str = "soak";
}

impl Ledger {
    /// Adds profiles in one transaction, replacing earlier ones of the same systems and cells. The same holds for the
    /// other documents.
    pub fn set_profiles(&mut self, study: &str, profiles: &[CellProfile]) -> Result<(), Error> {
        let all = profiles.iter().map(|of| (of.system, of.cell, &of.profile));
        self.named(set(&self.connection, study, all))
    }

    pub fn set_counts(&mut self, study: &str, counts: &[CellCount]) -> Result<(), Error> {
        let all = counts.iter().map(|of| (of.system, of.cell, &of.count));
        self.named(set(&self.connection, study, all))
    }

    pub fn set_soaks(&mut self, study: &str, soaks: &[CellSoak]) -> Result<(), Error> {
        let all = soaks.iter().map(|of| (of.system, of.cell, &of.soak));
        self.named(set(&self.connection, study, all))
    }

    /// Removes events that explain missing profiles. The next attempt records them again.
    pub fn forget_not_profiled(&mut self, study: &str) -> Result<(), Error> {
        self.named(forget(&self.connection, study, IS_NOT_PROFILED))
    }

    pub fn forget_not_counted(&mut self, study: &str) -> Result<(), Error> {
        self.named(forget(&self.connection, study, IS_NOT_COUNTED))
    }

    pub fn forget_not_soaked(&mut self, study: &str) -> Result<(), Error> {
        self.named(forget(&self.connection, study, IS_NOT_SOAKED))
    }

    pub fn soaks(&self, study: &str) -> Result<Vec<CellSoak>, Error> {
        let of = |(system, cell, soak)| CellSoak { system, cell, soak };
        self.reading(|connection| Ok(read(connection, study)?.into_iter().map(of).collect()))
    }

    pub fn profiles(&self, study: &str) -> Result<Vec<CellProfile>, Error> {
        let of = |(system, cell, profile)| CellProfile { system, cell, profile };
        self.reading(|connection| Ok(read(connection, study)?.into_iter().map(of).collect()))
    }

    pub fn counts(&self, study: &str) -> Result<Vec<CellCount>, Error> {
        let of = |(system, cell, count)| CellCount { system, cell, count };
        self.reading(|connection| Ok(read(connection, study)?.into_iter().map(of).collect()))
    }
}

fn forget(connection: &Connection, study: &str, condition: &str) -> Result<(), Problem> {
    let sql = format!("DELETE FROM event WHERE study = ? AND {condition}");
    connection.execute(&sql, [study])?;
    Ok(())
}

fn set<'a, T: Document + 'a>(
    connection: &Connection,
    study: &str,
    documents: impl Iterator<Item = (usize, CellId, &'a T)>,
) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    let sql = "INSERT OR REPLACE INTO document (study, cell, system, name, document, written_ms) \
               VALUES (?, ?, ?, ?, ?, ?)";
    for (system, cell, document) in documents {
        storable(document)?;
        let number = cell_number(&transaction, study, cell)?;
        let values = params![study, number, index(system)?, T::NAME, json(document)?, now_ms()];
        transaction.execute(sql, values)?;
    }
    Ok(transaction.commit()?)
}

fn read<T: Document>(
    connection: &Connection,
    study: &str,
) -> Result<Vec<(usize, CellId, T)>, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    let (planned, _) = read_study(&snapshot, study)?;
    let systems = read_systems(&snapshot, study)?.len();
    let sql = "SELECT * FROM document WHERE study = ? AND name = ? ORDER BY cell, system";
    rows(&snapshot, sql, [study, T::NAME], |row| {
        let fields = Fields::new("document", "cell", row);
        let number = fields.index("cell", planned.cells.len())?;
        let cell = planned.cells.get(number).map(|cell| cell.id);
        let cell = cell.ok_or_else(|| fields.wrong("has a cell that is not planned"))?;
        let document = fields.checked(fields.json::<T>("document")?)?;
        Ok((fields.index("system", systems)?, cell, document))
    })
}
