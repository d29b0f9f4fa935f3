//! Copies studies between ledgers, row by row.

use std::collections::BTreeMap;

use rusqlite::types::{FromSql as _, FromSqlError, FromSqlResult, Value};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params_from_iter};

use crate::rows::rows;
use crate::study_rows::{RowsOfTable, StudyRows, TABLES, listed, number, refers_to};
use crate::values::index;
use crate::{Error, Ledger, Problem, manage, parts, read, schema, shape};

impl Ledger {
    /// Bytes of a ledger file with only these studies, deterministic.
    pub fn bytes_of(studies: &[StudyRows]) -> Result<Vec<u8>, Error> {
        let mut ledger = Self::in_memory()?;
        ledger.add_rows(studies)?;
        let bytes = schema::bytes(&mut ledger.connection);
        ledger.named(bytes)
    }

    /// All rows of a study, each value checked apart from those within documents: reads the rows once and, from a copy
    /// of them, everything a study can have.
    pub fn rows(&self, study: &str) -> Result<StudyRows, Error> {
        let rows = self.reading(|connection| all(connection, study))?;
        let mut copy = Self::opened(&self.path, schema::in_memory())?;
        copy.add_rows(std::slice::from_ref(&rows))?;
        copy.read_all(study)?;
        Ok(rows)
    }

    fn read_all(&self, study: &str) -> Result<(), Error> {
        self.read(study)?;
        self.settings(study)?;
        self.conclusions(study)?;
        self.documents(study)?;
        self.reading(|connection| parts::read_all(connection, study))
    }

    /// Whether the ledger holds exactly these rows: no other studies, orphaned rows or names.
    pub fn holds_only(&self, study: &StudyRows) -> Result<bool, Error> {
        self.reading(|connection| {
            let expected = study.tables.iter().map(|table| (table.name, table.rows.len()));
            for (name, rows) in expected.chain([("name", 0)]) {
                // An index may be damaged.
                let sql = format!("SELECT count(*) FROM {name} NOT INDEXED");
                let count: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
                if count != index(rows)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    pub fn add_rows(&mut self, studies: &[StudyRows]) -> Result<(), Error> {
        self.written(add_all(&self.connection, studies))
    }
}

fn add_all(connection: &Connection, studies: &[StudyRows]) -> Result<(), Problem> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    for study in studies {
        manage::refuse_taken(&transaction, &study.study)?;
        manage::refuse_hiding(&transaction, &study.study)?;
        add(&transaction, study)?;
        // Texts may have been changed since they were read.
        read::read_within(&transaction, &study.study)?;
    }
    Ok(transaction.commit()?)
}

fn all(connection: &Connection, study: &str) -> Result<StudyRows, Problem> {
    let columns = shape::columns()?;
    let snapshot = connection.unchecked_transaction()?;
    let mut ids = BTreeMap::new();
    let mut tables = Vec::new();
    for (name, order) in TABLES {
        let of_study = match name {
            "study" => "id = ?",
            "series" | "attachment" => "slice IN (SELECT id FROM slice WHERE study = ?)",
            _ => "study = ?",
        };
        let columns = columns.get(name).cloned().unwrap_or_default();
        let listed = listed(&columns);
        let sql = format!("SELECT {listed} FROM {name} WHERE {of_study} ORDER BY {order}");
        let mut table = RowsOfTable { name, rows: Vec::new(), columns };
        let mut read = 0;
        table.rows = rows(&snapshot, &sql, [study], |row| {
            read += 1;
            let columns = table.columns.iter().enumerate();
            columns
                .map(|(at, column)| {
                    value(row, at).map_err(|error| wrong(name, read, column, error))
                })
                .collect()
        })?;
        table.refuse_others(study)?;
        number(&mut table, &mut ids)?;
        tables.push(table);
    }
    Ok(StudyRows { study: study.to_owned(), tables })
}

fn value(row: &Row<'_>, at: usize) -> FromSqlResult<Value> {
    Value::column_result(row.get_ref(at).map_err(|error| FromSqlError::Other(error.into()))?)
}

fn wrong(table: &'static str, row: usize, column: &str, error: FromSqlError) -> Problem {
    Problem::Row { table, row: row.to_string(), what: format!("`{column}` {error}") }
}

pub(crate) fn add(transaction: &Transaction<'_>, study: &StudyRows) -> Result<(), Problem> {
    let mut last = BTreeMap::new();
    for table in ["run", "instance", "audit", "event", "slice"] {
        let sql = format!("SELECT coalesce(max(id), 0) FROM {table}");
        last.insert(table, transaction.query_row(&sql, [], |row| row.get::<_, i64>(0))?);
    }
    for RowsOfTable { name, columns, rows } in &study.tables {
        let (listed, places) = (listed(columns), vec!["?"; columns.len()].join(", "));
        let mut statement =
            transaction.prepare(&format!("INSERT INTO {name} ({listed}) VALUES ({places})"))?;
        for (at, row) in rows.iter().enumerate() {
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
                let what = match Problem::from(error) {
                    // The index that prevents this in the source ledger may be damaged.
                    Problem::Twice(_) => "is there twice",
                    Problem::Dangling => "refers to a row that is not in the ledger",
                    other => return other,
                };
                Problem::Row { table: name, row: (at + 1).to_string(), what: what.to_owned() }
            })?;
        }
    }
    Ok(())
}
