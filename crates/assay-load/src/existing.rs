//! The tables `sbtest1`, `sbtest2`, ... that a server already has.

use std::collections::BTreeMap;

use assay_model::{Dialect, Engine};
use assay_wire::{ConnectOptions, Connection, Protocol};

use crate::control::{catalog_rows, connect_control, run, schema_oid};
use crate::error::{LoadError, Result};

/// Names and types of the columns that assay and sysbench create.
const COLUMNS: [(&str, &str); 4] =
    [("id", "integer"), ("k", "integer"), ("c", "char(120)"), ("pad", "char(60)")];

/// Statements per transaction: a Postgres server has room for the locks of a few thousand objects.
const AT_ONCE: usize = 400;

/// Those of the first tables that exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingTables {
    names: Vec<String>,
    /// Tables with other columns than ours, with these columns.
    others: Vec<String>,
}

/// Lists those of the first `tables` tables that exist. Fails if one of the names belongs to anything else, such as a
/// view. Changes nothing.
pub fn existing_tables(
    options: &ConnectOptions,
    dialect: Dialect,
    tables: u32,
) -> Result<ExistingTables> {
    let mut control = connect_control(options, 0)?;
    let wanted: Vec<String> = (1..=tables).map(|table| format!("sbtest{table}")).collect();
    let sql = columns_query(&mut control, dialect, &wanted)?;
    let mut found = BTreeMap::<String, Vec<(String, String)>>::new();
    for row in catalog_rows(&mut control, &sql)? {
        let Ok([table, kind, column, column_type]) = <[String; 4]>::try_from(row) else { continue };
        // Some servers ignore case in this query, though names that differ in case are distinct.
        if !wanted.contains(&table) {
            continue;
        }
        if kind != "BASE TABLE" {
            return Err(LoadError::NoTable(table));
        }
        found.entry(table).or_default().push((column, plain_type(&column_type)));
    }
    let mut existing = ExistingTables { names: Vec::new(), others: Vec::new() };
    for name in wanted {
        let Some(columns) = found.get(&name) else { continue };
        if !columns.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).eq(COLUMNS) {
            let columns: Vec<String> =
                columns.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
            existing.others.push(format!("`{name}` ({})", columns.join(", ")));
        }
        existing.names.push(name);
    }
    Ok(existing)
}

/// Query for the columns of these tables: table, its kind, column, type.
fn columns_query(control: &mut Connection, dialect: Dialect, tables: &[String]) -> Result<String> {
    let names: Vec<String> = tables.iter().map(|name| format!("'{name}'")).collect();
    let names = names.join(", ");
    Ok(match dialect {
        // Old servers read only the named tables if both lists are in the condition.
        Dialect::MySql => format!(
            "SELECT t.table_name, t.table_type, c.column_name, c.column_type \
             FROM information_schema.tables t JOIN information_schema.columns c \
             ON c.table_schema = t.table_schema AND c.table_name = t.table_name \
             WHERE t.table_schema = DATABASE() AND t.table_name IN ({names}) \
             AND c.table_schema = DATABASE() AND c.table_name IN ({names}) ORDER BY c.ordinal_position"
        ),
        Dialect::Postgres => format!(
            "SELECT c.relname, CASE c.relkind WHEN 'r' THEN 'BASE TABLE' ELSE c.relkind::text END, \
             a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c LEFT JOIN pg_attribute a \
             ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             WHERE c.relnamespace = {} AND c.relname::text IN ({names}) ORDER BY a.attnum",
            schema_oid(control)?
        ),
    })
}

fn plain_type(text: &str) -> String {
    match text.to_lowercase().as_str() {
        // Old servers show a display width, which means nothing.
        "int" | "int(11)" => "integer".to_owned(),
        other => other.replace("character(", "char("),
    }
}

impl ExistingTables {
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Fails if one of the tables has other columns than ours.
    pub fn refuse_others(&self) -> Result<()> {
        if self.others.is_empty() {
            return Ok(());
        }
        Err(LoadError::OtherTables(self.others.clone()))
    }

    /// Drops these tables and runs the statements that create the new ones. On Postgres, both happen or neither, for up
    /// to [`AT_ONCE`] statements. The server refuses to drop a table that another object refers to.
    pub(crate) fn replace(&self, options: &ConnectOptions, create: &[String]) -> Result<()> {
        let mut control = connect_control(options, 0)?;
        let names = self.names.join(", ");
        let drop = (!names.is_empty()).then(|| format!("DROP TABLE {names}"));
        let statements: Vec<&str> = drop.iter().chain(create).map(String::as_str).collect();
        // Postgres runs the statements of one message in one transaction.
        let at_once = match options.protocol {
            Protocol::Postgres => AT_ONCE,
            Protocol::MySql => 1,
        };
        statements.chunks(at_once).try_for_each(|group| run(&mut control, &group.join("; ")))
    }
}

/// Numbers of the existing tables `sbtest1`, `sbtest2`, ..., whatever they contain.
pub fn numbers(control: &mut Connection, dialect: Dialect) -> Result<Vec<u32>> {
    let sql = match dialect {
        Dialect::MySql => "SELECT table_name FROM information_schema.tables \
                           WHERE table_schema = DATABASE() AND table_name REGEXP '^sbtest[0-9]+$'"
            .to_owned(),
        // Views and tables with policies would run code of other users.
        Dialect::Postgres => format!(
            "SELECT relname FROM pg_class WHERE relnamespace = {} AND relkind IN ('r', 'p') \
             AND NOT relrowsecurity AND relname::text ~ '^sbtest[0-9]+$'",
            schema_oid(control)?
        ),
    };
    let number = |row: &Vec<String>| row.first()?.strip_prefix("sbtest")?.parse().ok();
    Ok(catalog_rows(control, &sql)?.iter().filter_map(number).collect())
}

/// Fails if a server lacks a storage engine. Call before anything is dropped.
pub fn check_engine(options: &ConnectOptions, engine: Engine) -> Result<()> {
    if options.protocol == Protocol::Postgres {
        return Ok(());
    }
    let sql = format!(
        "SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT') AND engine = '{}'",
        engine.word()
    );
    match catalog_rows(&mut connect_control(options, 0)?, &sql)?.is_empty() {
        true => Err(LoadError::NoEngine(engine)),
        false => Ok(()),
    }
}

/// Fails if the server does not number the rows of each of the first `tables` tables. Call before a test that inserts
/// rows without ids: if ids are not unique, the rows would all get the id 0.
pub fn check_numbering(options: &ConnectOptions, dialect: Dialect, tables: u32) -> Result<()> {
    let mut control = connect_control(options, 0)?;
    let sql = match dialect {
        Dialect::MySql => {
            "SELECT table_name FROM information_schema.columns WHERE table_schema = DATABASE() \
                           AND column_name = 'id' AND extra LIKE '%auto_increment%'"
                .to_owned()
        }
        Dialect::Postgres => format!(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
             WHERE c.relnamespace = {} AND a.attname::text = 'id' AND a.atthasdef",
            schema_oid(&mut control)?
        ),
    };
    let numbered = catalog_rows(&mut control, &sql)?;
    let is_numbered =
        |name: &str| numbered.iter().any(|row| row.first().is_some_and(|table| table == name));
    match (1..=tables).map(|table| format!("sbtest{table}")).find(|name| !is_numbered(name)) {
        Some(table) => Err(LoadError::NotNumbered(table)),
        None => Ok(()),
    }
}
