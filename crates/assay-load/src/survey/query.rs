//! Queries of a survey, and their names.

use assay_model::Dialect;
use assay_wire::{ConnectOptions, Connection};

use crate::error::{Error, Result};

pub(super) fn connect(options: &ConnectOptions) -> Result<Connection> {
    Connection::control(options).map_err(|source| Error::Connect { client: 0, source })
}

/// Rows of a catalog query as text. NULL is empty.
pub(super) fn ask(control: &mut Connection, sql: &str) -> Result<Vec<Vec<String>>> {
    let found = control.query_catalog(sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    let text =
        |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    Ok(found.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
}

pub(super) fn quoted(dialect: Dialect, name: &str) -> String {
    let mark = dialect.quote();
    format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
}

/// `'sbtest1', 'sbtest2', ...`
pub(super) fn list(stem: &str, tables: u32) -> String {
    let names: Vec<String> = (1..=tables).map(|number| format!("'{stem}{number}'")).collect();
    names.join(", ")
}
