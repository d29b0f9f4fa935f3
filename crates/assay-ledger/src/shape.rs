//! Checks that a file's schema is exactly ours. Another one could run any statement (views, triggers), own rows of
//! other studies (collations) or hold a slice twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use rusqlite::{Connection, Row};

use crate::Problem;

const SCHEMA: &str = include_str!("schema.sql");

pub(crate) fn create(connection: &Connection) -> Result<(), Problem> {
    Ok(connection.execute_batch(SCHEMA)?)
}

/// A row of `sqlite_schema`: type, name, table and text, which SQLite's own indexes lack.
type Part = (String, String, String, Option<String>);

struct Shape {
    parts: BTreeSet<Part>,
    columns: BTreeMap<String, Vec<String>>,
}

/// Compares the schema with ours before anything defined by the file is used: to read `sqlite_schema`, SQLite parses
/// definitions, but expands and runs none of them.
pub(crate) fn check(connection: &Connection) -> Result<(), Problem> {
    let mut missing: BTreeSet<&Part> = ours()?.parts.iter().collect();
    let mut statement = connection.prepare(PARTS)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let part = part(row).map_err(|_| altered("it has an entry that is not text"))?;
        if !missing.remove(&part) {
            let (kind, name, ..) = part;
            return Err(altered(format!("its {kind} `{name}` is not one that assay makes")));
        }
    }
    match missing.pop_first() {
        Some((kind, name, ..)) => Err(altered(format!("it has no {kind} `{name}`"))),
        None => Ok(()),
    }
}

fn altered(what: impl Into<String>) -> Problem {
    Problem::Altered(what.into())
}

pub(crate) fn columns() -> Result<&'static BTreeMap<String, Vec<String>>, Problem> {
    Ok(&ours()?.columns)
}

const PARTS: &str = "SELECT type, name, tbl_name, sql FROM sqlite_schema";

fn part(row: &Row<'_>) -> rusqlite::Result<Part> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn ours() -> Result<&'static Shape, Problem> {
    static OURS: OnceLock<Shape> = OnceLock::new();
    match OURS.get() {
        Some(ours) => Ok(ours),
        None => {
            let made = made()?;
            Ok(OURS.get_or_init(|| made))
        }
    }
}

fn made() -> Result<Shape, Problem> {
    let file = Connection::open_in_memory()?;
    create(&file)?;
    let parts: BTreeSet<Part> =
        file.prepare(PARTS)?.query_map([], part)?.collect::<rusqlite::Result<_>>()?;
    let mut columns = BTreeMap::new();
    for (_, table, ..) in parts.iter().filter(|(kind, ..)| kind == "table") {
        // It omits generated columns, which no row stores.
        let mut statement = file.prepare("SELECT name FROM pragma_table_info(?)")?;
        let names = statement.query_map([table], |row| row.get(0))?;
        columns.insert(table.clone(), names.collect::<rusqlite::Result<_>>()?);
    }
    Ok(Shape { parts, columns })
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};

    use super::*;
    use crate::schema::VERSION;

    /// Even a changed comment makes another text, and assay would refuse all earlier ledgers. Until the first release
    /// the version stays 1; the recorded ledgers are then made anew.
    #[test]
    fn a_change_of_the_schema_is_a_new_version() {
        let mut digest = DefaultHasher::new();
        ours().unwrap().parts.hash(&mut digest);
        assert_eq!((VERSION, digest.finish()), (1, 10_487_868_458_339_705_609));
    }
}
