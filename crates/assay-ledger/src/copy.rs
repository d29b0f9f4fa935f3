//! Copies studies from one ledger to another, row by row.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::rows::rows;
use crate::study_rows::{StudyRows, TABLES, Table, columns, listed, number, refers_to};
use crate::values::index;
use crate::{Error, Ledger, Problem, read, schema};

impl Ledger {
    /// The bytes of a ledger file that has only these studies. The same studies give the same bytes.
    ///
    /// # Errors
    /// A value is invalid.
    pub fn bytes_of(studies: &[StudyRows]) -> Result<Vec<u8>, Error> {
        let made = schema::in_memory().and_then(|mut connection| {
            studies.iter().try_for_each(|study| add(&connection, study))?;
            schema::bytes(&mut connection)
        });
        made.map_err(|problem| Error { path: PathBuf::from("in memory"), problem })
    }

    /// All rows of a study. Every value of them is checked.
    ///
    /// # Errors
    /// There is no such study, the file is damaged, or a row holds something that assay never writes.
    pub fn rows(&self, study: &str) -> Result<StudyRows, Error> {
        let record = self.read(study)?;
        self.settings(study)?;
        self.conclusions(study)?;
        self.profiles(study)?;
        for slice in record.slices.iter().map(assay_model::Slice::id) {
            self.series(study, slice)?;
            for name in self.attachments(study, slice)? {
                self.attachment(study, slice, &name)?;
            }
        }
        self.reading(|connection| all(connection, study))
    }

    /// Whether the ledger holds these rows and nothing else: no other studies, no rows that belong to none, and no
    /// tables or views that a user has added.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn holds_only(&self, study: &StudyRows) -> Result<bool, Error> {
        self.reading(|connection| {
            let parts = |of: &Connection| -> Result<i64, Problem> {
                let sql = "SELECT count(*) FROM sqlite_schema";
                Ok(of.query_row(sql, [], |row| row.get(0))?)
            };
            if parts(connection)? != parts(&schema::in_memory()?)? {
                return Ok(false);
            }
            for Table { name, rows, .. } in &study.tables {
                let sql = format!("SELECT count(*) FROM {name}");
                let count: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
                if count != index(rows.len())? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Adds a study of another ledger. Either all of it is written or nothing.
    ///
    /// # Errors
    /// There is a study with this name already, or a value is invalid.
    pub fn add_rows(&mut self, study: &StudyRows) -> Result<(), Error> {
        self.named(add(&self.connection, study))
    }
}

fn all(connection: &Connection, study: &str) -> Result<StudyRows, Problem> {
    let ours = schema::in_memory()?;
    let snapshot = connection.unchecked_transaction()?;
    let mut ids = BTreeMap::new();
    let mut tables = Vec::new();
    for (name, order) in TABLES {
        let of_study = match name {
            "study" => "id = ?",
            "series" | "attachment" => "slice IN (SELECT id FROM slice WHERE study = ?)",
            _ => "study = ?",
        };
        let columns = columns(&ours, name)?;
        let listed = listed(&columns);
        let sql = format!("SELECT {listed} FROM {name} WHERE {of_study} ORDER BY {order}");
        let mut table = Table { name, rows: Vec::new(), columns };
        table.rows = rows(&snapshot, &sql, [study], |row| {
            (0..table.columns.len()).map(|at| Ok(row.get(at)?)).collect()
        })?;
        number(&mut table, &mut ids)?;
        tables.push(table);
    }
    Ok(StudyRows { study: study.to_owned(), tables })
}

/// Adds all rows of a study, in one transaction.
pub(crate) fn add(connection: &Connection, study: &StudyRows) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    let mut last = BTreeMap::new();
    for table in ["run", "instance", "audit", "event", "slice"] {
        let sql = format!("SELECT coalesce(max(id), 0) FROM {table}");
        last.insert(table, transaction.query_row(&sql, [], |row| row.get::<_, i64>(0))?);
    }
    for Table { name, columns, rows } in &study.tables {
        let (listed, places) = (listed(columns), vec!["?"; columns.len()].join(", "));
        let mut statement =
            transaction.prepare(&format!("INSERT INTO {name} ({listed}) VALUES ({places})"))?;
        for row in rows {
            let shifted = row.iter().zip(columns).map(|(value, column)| {
                let after = refers_to(name, column).and_then(|of| last.get(of));
                match (value, after) {
                    (Value::Integer(number), Some(after)) => after
                        .checked_add(*number)
                        .map(Value::Integer)
                        .ok_or_else(|| Problem::Unstorable(format!("an id after {after}"))),
                    _ => Ok(value.clone()),
                }
            });
            let shifted = shifted.collect::<Result<Vec<_>, _>>()?;
            statement.execute(params_from_iter(shifted)).map_err(|error| {
                match Problem::from(error) {
                    Problem::Twice(_) => Problem::Twice(format!("a study `{}`", study.study)),
                    other => other,
                }
            })?;
        }
    }
    // Texts may have been changed since they were read.
    read::read_within(&transaction, &study.study)?;
    Ok(transaction.commit()?)
}
