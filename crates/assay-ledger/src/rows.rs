//! Checked rows of queries. Every error names the table and the row.

use std::cell::Cell;

use assay_model::shortened;
use rusqlite::types::{FromSql, FromSqlError, ValueRef};
use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::bounds::CheckBounds;
use crate::limits::COUNTER_MAX;
use crate::read_limits::SizeLimit;

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

pub(crate) struct Fields<'a> {
    row: &'a Row<'a>,
    table: &'static str,
    /// Column that identifies a row within its study.
    key: &'static str,
    /// The column after the last one read, where the search for the next one begins: columns are read almost in order,
    /// and a search from the start would take quadratic time.
    next: Cell<usize>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(table: &'static str, key: &'static str, row: &'a Row<'a>) -> Self {
        Self { row, table, key, next: Cell::new(0) }
    }

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

    pub(crate) fn has(&self, column: &str) -> Result<bool, Problem> {
        Ok(self.value(column)? != ValueRef::Null)
    }

    /// Between 0 and [`COUNTER_MAX`].
    pub(crate) fn number(&self, column: &str) -> Result<u64, Problem> {
        let number: i64 = self.get(column)?;
        u64::try_from(number)
            .ok()
            .filter(|number| *number <= COUNTER_MAX)
            .ok_or_else(|| self.wrong(format!("`{column}` is {number}")))
    }

    pub(crate) fn checked<T: CheckBounds>(&self, made: T) -> Result<T, Problem> {
        made.check().map_err(|what| self.wrong(what))?;
        Ok(made)
    }

    pub(crate) fn word<T: DeserializeOwned>(&self, column: &str) -> Result<T, Problem> {
        let word: String = self.get(column)?;
        let quoted = serde_json::Value::String(word.clone());
        serde_json::from_value(quoted).map_err(|_| {
            self.wrong(format!("`{column}` is `{}`, an unknown word", shortened(&word)))
        })
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, Problem> {
        let text: String = self.get(column)?;
        serde_json::from_str(&text).map_err(|error| self.wrong(format!("`{column}`: {error}")))
    }

    pub(crate) fn short_json<T: DeserializeOwned>(
        &self,
        column: &str,
        most: usize,
    ) -> Result<T, Problem> {
        let length = self.get::<String>(column)?.len();
        if length > most {
            return Err(self.wrong(format!("`{column}` has {length} bytes, more than {most}")));
        }
        self.json(column)
    }

    pub(crate) fn index(&self, column: &str, length: usize) -> Result<usize, Problem> {
        let index = self.number(column)?;
        usize::try_from(index)
            .ok()
            .filter(|index| *index < length)
            .ok_or_else(|| self.wrong(format!("`{column}` is {index}, but there are {length}")))
    }
}
