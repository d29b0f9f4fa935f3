//! Whether the tables of a file are those of its version: with a view in the place of a table or a trigger on one, a
//! file could have anything done, and without its indexes it would take a slice twice. What a user adds beside is left
//! alone.

use rusqlite::Connection;

use crate::{Problem, schema};

/// A line for every column of a table and every index that it is held to.
const LINES: &str = r#"
    SELECT concat_ws(' ', t.name, t.type, t.strict, c.name, c.type, c."notnull", c.pk, c.hidden)
    FROM pragma_table_list t, pragma_table_xinfo(t.name) c
    WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%'
    UNION ALL
    SELECT concat_ws(' ', t.name, 'unique', i.partial,
        (SELECT group_concat(c.name, ' ' ORDER BY c.seqno) FROM pragma_index_info(i.name) c))
    FROM pragma_table_list t, pragma_index_list(t.name) i
    WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%' AND i."unique""#;

/// Compares the schema with the one that the migrations make.
pub(crate) fn check(connection: &Connection, version: u32) -> Result<(), Problem> {
    let ours = Connection::open_in_memory()?;
    schema::run_scripts(&ours, 0, version)?;
    let found = lines(connection)?;
    if let Some(missing) = lines(&ours)?.into_iter().find(|line| !found.contains(line)) {
        return Err(Problem::Altered(format!("there is no `{missing}`")));
    }
    let triggers = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'";
    match connection.query_row(triggers, [], |row| row.get::<_, i64>(0))? {
        0 => Ok(()),
        _ => Err(Problem::Altered("it has triggers".to_owned())),
    }
}

fn lines(connection: &Connection) -> Result<Vec<String>, Problem> {
    let mut statement = connection.prepare(LINES)?;
    let lines = statement.query_map([], |row| row.get(0))?;
    Ok(lines.collect::<rusqlite::Result<_>>()?)
}
