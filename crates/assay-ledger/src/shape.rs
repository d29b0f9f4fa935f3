//! Checks that the tables of a file are those of its schema version. With a view in place of a table, or a trigger on a
//! table, a file could run any statement. Without its indexes it would accept a slice twice. Other tables, which a user
//! has added, are not checked.

use rusqlite::Connection;

use crate::Problem;
use crate::migrations::{KNOWN_VERSION, run_scripts};

/// A query for a line about every column and every unique index of a table. It has no rows for anything but a table.
const LINES: &str = r#"
    SELECT concat_ws(' ', t.name, t.strict, c.name, c.type, c."notnull", c.pk, c.hidden)
    FROM pragma_table_list t, pragma_table_xinfo(t.name) c
    WHERE t.schema = 'main' AND t.type = 'table' AND t.name = ?1
    UNION ALL
    SELECT concat_ws(' ', t.name, 'unique', i.partial,
        (SELECT group_concat(c.name, ' ' ORDER BY c.seqno) FROM pragma_index_info(i.name) c))
    FROM pragma_table_list t, pragma_index_list(t.name) i
    WHERE t.schema = 'main' AND t.type = 'table' AND t.name = ?1 AND i."unique""#;

/// A query for whether a table has triggers. SQLite stores the table's name in the letter case of the statement that
/// created the trigger.
const IS_TRIGGERED: &str = "SELECT count(*) > 0 FROM sqlite_schema
    WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE";

/// Compares the schema with the one that the migration scripts create.
pub(crate) fn check(connection: &Connection, version: u32) -> Result<(), Problem> {
    let ours = Connection::open_in_memory()?;
    run_scripts(&ours, 0, version)?;
    for table in tables(&ours)? {
        let found = lines(connection, &table)?;
        if let Some(missing) = lines(&ours, &table)?.into_iter().find(|it| !found.contains(it)) {
            return Err(Problem::Altered(format!("there is no `{missing}`")));
        }
        if connection.query_row(IS_TRIGGERED, [&table], |row| row.get(0))? {
            return Err(Problem::Altered(format!("table `{table}` has triggers")));
        }
    }
    Ok(())
}

/// Our own tables with the names of their columns that are stored.
pub(crate) fn columns() -> Result<Vec<(String, Vec<String>)>, Problem> {
    let ours = Connection::open_in_memory()?;
    run_scripts(&ours, 0, KNOWN_VERSION)?;
    let of_table = |table: String| {
        let mut statement = ours.prepare("SELECT name FROM pragma_table_info(?)")?;
        let names = statement.query_map([&table], |row| row.get(0))?;
        let names = names.collect::<rusqlite::Result<_>>()?;
        Ok((table, names))
    };
    tables(&ours)?.into_iter().map(of_table).collect()
}

fn tables(connection: &Connection) -> Result<Vec<String>, Problem> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    let mut statement = connection.prepare(names)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

fn lines(connection: &Connection, table: &str) -> Result<Vec<String>, Problem> {
    let mut statement = connection.prepare(LINES)?;
    let lines = statement.query_map([table], |row| row.get(0))?;
    Ok(lines.collect::<rusqlite::Result<_>>()?)
}
