//! Rows of queries. Every field is checked, and every error names the table and the row.

use std::cell::Cell;

use assay_model::shortened;
use rusqlite::types::{FromSql, FromSqlError, ValueRef};
use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::bounds::Bounded;
use crate::limits::COUNTER_MAX;
use crate::read_limits::SizeLimit;

/// The rows of a query, each converted by `make`.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
    mut make: impl FnMut(&Row<'_>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    let mut statement = connection.prepare(sql)?;
    let mut limit = SizeLimit::new(connection, statement.column_count())?;
    let mut rows = statement.query(parameters)?;
    let mut made = Vec::new();
    while let Some(row) = rows.next()? {
        limit.take(row)?;
        made.push(make(row)?);
    }
    Ok(made)
}

/// A row of a table.
pub(crate) struct Fields<'a> {
    row: &'a Row<'a>,
    table: &'static str,
    /// The column that identifies a row within its study.
    key: &'static str,
    /// The column after the one that was read last. Columns are read almost in their order, so the search for the next
    /// one begins there: from the first one, a wide row takes the square of its columns.
    next: Cell<usize>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(table: &'static str, key: &'static str, row: &'a Row<'a>) -> Self {
        Self { row, table, key, next: Cell::new(0) }
    }

    /// An error about this row.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> Problem {
        let row = match self.row.get_ref(self.key) {
            Ok(ValueRef::Integer(number)) => number.to_string(),
            Ok(ValueRef::Text(text)) => {
                format!("`{}`", shortened(&String::from_utf8_lossy(text)))
            }
            _ => "unknown".to_owned(),
        };
        Problem::Row { table: self.table, row, what: what.into() }
    }

    fn value(&self, column: &str) -> Result<ValueRef<'a>, Problem> {
        let statement = self.row.as_ref();
        let (next, count) = (self.next.get(), statement.column_count());
        let is_it = |at: &usize| statement.column_name(*at).is_ok_and(|name| name == column);
        let at = (next..count).chain(0..next).find(is_it);
        let at = at.ok_or_else(|| rusqlite::Error::InvalidColumnName(column.to_owned()))?;
        self.next.set(at + 1);
        Ok(self.row.get_ref(at)?)
    }

    /// A field as it is stored.
    pub(crate) fn get<T: FromSql>(&self, column: &str) -> Result<T, Problem> {
        let value = self.value(column)?;
        T::column_result(value).map_err(|error| {
            let what = match error {
                FromSqlError::InvalidType => format!("is of type {}", value.data_type()),
                FromSqlError::OutOfRange(number) => format!("is {number}, out of range"),
                other => other.to_string(),
            };
            self.wrong(format!("`{column}` {what}"))
        })
    }

    /// Whether the field is not NULL.
    pub(crate) fn has(&self, column: &str) -> Result<bool, Problem> {
        Ok(self.value(column)? != ValueRef::Null)
    }

    /// A number between 0 and [`COUNTER_MAX`].
    pub(crate) fn number(&self, column: &str) -> Result<u64, Problem> {
        let number: i64 = self.get(column)?;
        u64::try_from(number)
            .ok()
            .filter(|number| *number <= COUNTER_MAX)
            .ok_or_else(|| self.wrong(format!("`{column}` is {number}")))
    }

    /// `made`, which was read from the row, if it is within its bounds.
    pub(crate) fn checked<T: Bounded>(&self, made: T) -> Result<T, Problem> {
        made.check().map_err(|what| self.wrong(what))?;
        Ok(made)
    }

    /// A variant, stored as its word.
    pub(crate) fn word<T: DeserializeOwned>(&self, column: &str) -> Result<T, Problem> {
        let word: String = self.get(column)?;
        let quoted = serde_json::Value::String(word.clone());
        serde_json::from_value(quoted).map_err(|_| {
            self.wrong(format!("`{column}` is `{}`, an unknown word", shortened(&word)))
        })
    }

    /// A value stored as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, Problem> {
        let text: String = self.get(column)?;
        serde_json::from_str(&text).map_err(|error| self.wrong(format!("`{column}`: {error}")))
    }

    /// An index into a list of this length.
    pub(crate) fn index(&self, column: &str, length: usize) -> Result<usize, Problem> {
        let index = self.number(column)?;
        usize::try_from(index)
            .ok()
            .filter(|index| *index < length)
            .ok_or_else(|| self.wrong(format!("`{column}` is {index}, but there are {length}")))
    }
}
