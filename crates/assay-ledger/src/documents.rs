//! Documents about systems in cells, apart from slices, by name. Read separately from their study.
//!
//! The ledger knows no name. Types of documents check their values when they are read from JSON.

use assay_model::limits::{NAME_BYTES, within};
use assay_model::{CellDocument, StudyDocuments};
use rusqlite::{Connection, params};
use serde::de::IgnoredAny;

use crate::limits::DOCUMENTS;
use crate::read::{few, read_study, read_systems};
use crate::rows::{Fields, rows};
use crate::values::index;
use crate::write::{cell_number, now_ms};
use crate::{Error, Ledger, Problem};

impl Ledger {
    /// Adds documents in one transaction, replacing earlier ones of the same systems, cells and names.
    pub fn set_documents(&mut self, study: &str, documents: &[CellDocument]) -> Result<(), Error> {
        self.named(set(&self.connection, study, documents))
    }

    /// Removes events that explain missing work of this name. The next attempt records them again.
    pub fn forget_not_done(&mut self, study: &str, afterward: &str) -> Result<(), Error> {
        self.named(forget(&self.connection, study, afterward))
    }

    pub fn documents(&self, study: &str) -> Result<StudyDocuments, Error> {
        self.reading(|connection| read(connection, study, None))
    }

    /// The documents of one name.
    pub fn documents_named(&self, study: &str, name: &str) -> Result<StudyDocuments, Error> {
        self.reading(|connection| read(connection, study, Some(name)))
    }
}

fn forget(connection: &Connection, study: &str, afterward: &str) -> Result<(), Problem> {
    let begin = format!(r#"{{"kind":"not-done","afterward":"{afterward}",*"#);
    let sql = "DELETE FROM event WHERE study = ? AND what GLOB ?";
    connection.execute(sql, params![study, begin])?;
    Ok(())
}

fn set(connection: &Connection, study: &str, documents: &[CellDocument]) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    let sql = "INSERT OR REPLACE INTO document (study, cell, system, name, document, written_ms) \
               VALUES (?, ?, ?, ?, ?, ?)";
    for CellDocument { system, cell, name, json } in documents {
        check(name, json).map_err(Problem::Unstorable)?;
        let number = cell_number(&transaction, study, *cell)?;
        let values = params![study, number, index(*system)?, name, json, now_ms()];
        transaction.execute(sql, values)?;
    }
    Ok(transaction.commit()?)
}

/// Checks the name of a document, and that it is JSON. SQLite limits its length.
fn check(name: &str, json: &str) -> Result<(), String> {
    within("length of the name of a document", name.len(), &(1..=NAME_BYTES))?;
    let read = serde_json::from_str::<IgnoredAny>(json);
    read.map(|_| ()).map_err(|error| format!("`document`: {error}"))
}

fn read(
    connection: &Connection,
    study: &str,
    name: Option<&str>,
) -> Result<StudyDocuments, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    let (planned, _) = read_study(&snapshot, study)?;
    let systems = read_systems(&snapshot, study)?.len();
    few(&snapshot, "document", study, DOCUMENTS)?;
    let sql = "SELECT * FROM document WHERE study = ?1 AND (?2 IS NULL OR name = ?2) \
               ORDER BY name, cell, system";
    let documents = rows(&snapshot, sql, params![study, name], |row| {
        let fields = Fields::new("document", "cell", row);
        let number = fields.index("cell", planned.cells.len())?;
        let cell = planned.cells.get(number).map(|cell| cell.id);
        let cell = cell.ok_or_else(|| fields.wrong("has a cell that is not planned"))?;
        let system = fields.index("system", systems)?;
        let (name, json): (String, String) = (fields.get("name")?, fields.get("document")?);
        check(&name, &json).map_err(|what| fields.wrong(what))?;
        Ok(CellDocument { system, cell, name, json })
    })?;
    Ok(documents.into_iter().collect())
}
