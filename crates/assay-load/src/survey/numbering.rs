//! Whether the server numbers the rows of tables.

use assay_model::Dialect;
use assay_wire::{ConnectOptions, Connection};

use super::query::{ask, connect};
use crate::error::{Error, Result};

/// Fails if the server does not number the rows of each of the first `tables` tables. Call before a test that inserts
/// rows without ids: if ids are not unique, the rows would all get the id 0.
pub fn check_numbering(options: &ConnectOptions, dialect: Dialect, tables: u32) -> Result<()> {
    let mut control = connect(options)?;
    let numbered = match dialect {
        Dialect::MySql => ask(
            &mut control,
            "SELECT table_name FROM information_schema.columns WHERE table_schema = DATABASE() \
             AND column_name = 'id' AND extra LIKE '%auto_increment%'",
        ),
        Dialect::Postgres => numbered_by_postgres(&mut control),
    }?;
    let is_numbered =
        |name: &str| numbered.iter().any(|row| row.first().is_some_and(|it| it == name));
    match (1..=tables).map(|table| format!("sbtest{table}")).find(|name| !is_numbered(name)) {
        Some(table) => Err(Error::NotNumbered(table)),
        None => Ok(()),
    }
}

fn numbered_by_postgres(control: &mut Connection) -> Result<Vec<Vec<String>>> {
    let schema =
        control.schema().map_err(|cause| Error::query(b"SELECT current_schema()", cause))?;
    let sql = format!(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
         WHERE c.relnamespace = {} AND a.attname::text = 'id' AND a.atthasdef",
        schema.map_or(0, |it| it.oid)
    );
    ask(control, &sql)
}
