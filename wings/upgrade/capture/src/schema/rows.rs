//! Generates rows for the tables of a dump without rows, as `[table.NAME]` of a workload file.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_model::limits::user::{COLUMNS, NAME_BYTES, TABLES, VALUES};
use assay_model::{Dialect, thousands};

use super::statements::{DumpSchema, SchemaColumn, SchemaTable};
use crate::render::{key, quoted};

const ROWS: u64 = 10_000;

const ROWS_MAX: u64 = 1_000_000;

const NULLS: f64 = 0.1;

struct FilledTable<'s> {
    table: &'s SchemaTable,
    rows: u64,
    /// Columns whose values rise from row to row, so that keys are unique.
    rising: BTreeSet<&'s str>,
    columns: Vec<(&'s str, String)>,
}

pub(crate) fn tables(schema: &DumpSchema) -> String {
    let mut text = "\n# The dump has no rows, so these are made from the definitions of the tables. That is a weak \
                    substitute:\n# plans and times depend on how many rows there are and how values are distributed. \
                    Correct what you know better.\n"
        .to_owned();
    let (mut filled, mut empty): (Vec<FilledTable<'_>>, Vec<String>) = (Vec::new(), Vec::new());
    for table in in_order(schema) {
        match fill(table, schema, &filled) {
            Ok(done) if filled.len() < TABLES => filled.push(done),
            Ok(_) => {
                empty.push(format!("{}: a workload file has at most {TABLES} tables", table.name));
            }
            Err(why) => empty.push(format!("{}: {why}", table.name)),
        }
    }
    for done in &filled {
        write_table(done, &mut text);
    }
    if !empty.is_empty() {
        text.push_str("\n# These tables stay empty:\n");
    }
    for line in empty {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(text, "# {line}");
    }
    text
}

/// Orders the tables so that each follows those it references, except in cycles. Ties go to the first in the dump.
fn in_order(schema: &DumpSchema) -> Vec<&SchemaTable> {
    let mut targets: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); schema.tables.len()];
    let mut sources = targets.clone();
    for (number, table) in schema.tables.iter().enumerate() {
        for target in table.columns.iter().filter_map(|column| target(column, schema)) {
            if target != number {
                targets[number].insert(target);
                sources[target].insert(number);
            }
        }
    }
    let mut left: BTreeSet<usize> = (0..schema.tables.len()).collect();
    let mut ready: BTreeSet<usize> =
        left.iter().copied().filter(|number| targets[*number].is_empty()).collect();
    let mut done = Vec::with_capacity(left.len());
    while let Some(next) = ready.pop_first().or_else(|| left.first().copied()) {
        left.remove(&next);
        for source in &sources[next] {
            targets[*source].remove(&next);
            if targets[*source].is_empty() && left.contains(source) {
                ready.insert(*source);
            }
        }
        done.push(&schema.tables[next]);
    }
    done
}

/// Index of the table that a column references, or seems to reference.
fn target(column: &SchemaColumn, schema: &DumpSchema) -> Option<usize> {
    match column.refers_to.as_deref() {
        Some(name) => schema.numbers.get(name).copied(),
        None => named_like(column, schema),
    }
}

fn fill<'s>(
    table: &'s SchemaTable,
    schema: &DumpSchema,
    before: &[FilledTable<'_>],
) -> Result<FilledTable<'s>, String> {
    let dialect = schema.dialect;
    check_names(table, dialect)?;
    if table.is_partitioned {
        return Err("it is one of several that share rows".to_owned());
    }
    let rows_of = |name: &str| before.iter().find(|it| it.table.name == name).map(|it| it.rows);
    let mut done = FilledTable {
        table,
        rows: table.rows.filter(|rows| *rows > 0).unwrap_or(ROWS).min(ROWS_MAX),
        rising: BTreeSet::new(),
        columns: Vec::new(),
    };
    for names in &table.keys {
        make_unique(names, &mut done, &rows_of, dialect)?;
    }
    for column in table.columns.iter().filter(|it| !is_of_server(it, dialect)) {
        match values(column, &done, schema, &rows_of) {
            Ok(Some(values)) => done.columns.push((&column.name, values)),
            Ok(None) => {}
            Err(_) if !column.is_required => {}
            Err(why) => return Err(format!("`{}` {why}", column.name)),
        }
    }
    match done.columns.len() {
        0 => Err("the server makes the values of all columns".to_owned()),
        count if count > COLUMNS => {
            let (count, most) = (thousands(count as u64), thousands(COLUMNS as u64));
            Err(format!("it has {count} columns, and a table of a workload file at most {most}"))
        }
        _ => Ok(done),
    }
}

/// Whether the server generates the values. MySQL and MariaDB would continue from the number in the dump, so numbers
/// are given there; Postgres counts from 1, and would not notice given numbers.
fn is_of_server(column: &SchemaColumn, dialect: Dialect) -> bool {
    column.is_filled || (column.is_numbered && dialect == Dialect::Postgres)
}

/// Rejects names that a workload file cannot have, or that servers would not find.
fn check_names(table: &SchemaTable, dialect: Dialect) -> Result<(), String> {
    let has = |name: &str, more: &str| {
        name.len() <= NAME_BYTES
            && name.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
            && !(dialect == Dialect::Postgres && name.contains(|c: char| c.is_ascii_uppercase()))
    };
    let mut names = table.columns.iter().filter(|it| !it.is_filled).map(|it| it.name.as_str());
    match names.find(|name| !has(name, "_$")) {
        _ if !has(&table.name, "_") => Err("it has an unusual name".to_owned()),
        Some(name) => Err(format!("the column `{name}` has an unusual name")),
        None => Ok(()),
    }
}

/// Makes a column of a key rise from row to row, and limits the rows to its range.
fn make_unique<'s>(
    names: &'s [String],
    done: &mut FilledTable<'s>,
    rows_of: &dyn Fn(&str) -> Option<u64>,
    dialect: Dialect,
) -> Result<(), String> {
    let columns: Vec<&SchemaColumn> =
        done.table.columns.iter().filter(|it| names.contains(&it.name)).collect();
    let is_unique =
        |it: &SchemaColumn| is_of_server(it, dialect) || done.rising.contains(it.name.as_str());
    if columns.is_empty() || columns.iter().any(|it| is_unique(it)) {
        return Ok(());
    }
    let most = |column: &SchemaColumn| match column.refers_to.as_deref() {
        Some(target) if target != done.table.name => rows_of(target),
        _ => most_different(column),
    };
    // The last one: in a key such as (order, line), the first one is shared by several rows. A reference is the last
    // resort, because every row then references another one.
    let own = columns.iter().rev().filter(|it| it.refers_to.is_none());
    let others = columns.iter().rev().filter(|it| it.refers_to.is_some());
    let best = own.chain(others).find_map(|it| Some((*it, most(it)?)));
    let Some((column, most)) = best else {
        return Err("it has a unique key whose values cannot be numbered".to_owned());
    };
    done.rows = done.rows.min(most);
    done.rising.insert(&column.name);
    Ok(())
}

/// Number of distinct values of a rising column; `None` if it cannot rise.
fn most_different(column: &SchemaColumn) -> Option<u64> {
    if column.is_array {
        return None;
    }
    let length = || column.arguments.first().and_then(|it| it.parse::<u32>().ok());
    let digits = |length: u32| 10_u64.saturating_pow(length.min(18)).saturating_sub(1);
    Some(match column.kind.as_str() {
        "tinyint" => 127,
        "smallint" | "smallserial" => 32_767,
        "mediumint" => 8_388_607,
        "int" | "integer" | "bigint" | "serial" | "bigserial" | "text" | "mediumtext"
        | "longtext" | "tinytext" | "uuid" | "citext" => ROWS_MAX,
        "decimal" | "numeric" | "dec" => {
            let scale = column.arguments.get(1).and_then(|it| it.parse::<u32>().ok()).unwrap_or(0);
            digits(length().unwrap_or(10).saturating_sub(scale))
        }
        "char" | "varchar" | "character" | "binary" | "varbinary" | "bpchar" => {
            digits(length().unwrap_or(1))
        }
        "date" => 30_000,
        "datetime" | "timestamp" | "timestamptz" => ROWS_MAX,
        _ => return None,
    })
}

/// The values of a column; `None` for its default.
fn values(
    column: &SchemaColumn,
    done: &FilledTable<'_>,
    schema: &DumpSchema,
    rows_of: &dyn Fn(&str) -> Option<u64>,
) -> Result<Option<String>, String> {
    if done.rising.contains(column.name.as_str()) {
        return Ok(Some(rising(column)));
    }
    if column.is_array {
        return Ok(Some(constant("{}")));
    }
    let target = match column.refers_to.as_deref() {
        // The first row references itself.
        Some(target) if target == done.table.name => {
            return Ok(Some(
                if column.is_required { "1" } else { "{ uniform = [1, 1], null = \"100%\" }" }
                    .to_owned(),
            ));
        }
        Some(target) => match rows_of(target) {
            Some(_) => Some(target.to_owned()),
            None => return Err(format!("refers to `{target}`, which has no rows")),
        },
        None => {
            let like = named_like(column, schema).and_then(|it| schema.tables.get(it));
            like.map(|it| it.name.clone()).filter(|it| rows_of(it).is_some())
        }
    };
    let drawn = match target {
        Some(target) if is_whole_or_text(column) => format!("uniform = {}", quoted(&target)),
        _ => drawn(column, done.rows, schema)?,
    };
    let nulls = column.nulls.unwrap_or(NULLS);
    if column.is_required || nulls <= 0.0 {
        return Ok(Some(format!("{{ {drawn} }}")));
    }
    Ok(Some(format!("{{ {drawn}, null = \"{:.0}%\" }}", 100.0 * nulls.min(1.0))))
}

/// Index of the table that a column without a foreign key seems to reference: `customer_id` or `customer`.
fn named_like(column: &SchemaColumn, schema: &DumpSchema) -> Option<usize> {
    if !["int", "integer", "bigint"].contains(&column.kind.as_str()) {
        return None;
    }
    let name = column.name.to_ascii_lowercase();
    let word = name.strip_suffix("_id").unwrap_or(&name);
    schema.singulars.get(word).copied()
}

/// Whether an integer is a valid value.
fn is_whole_or_text(column: &SchemaColumn) -> bool {
    matches!(
        column.kind.as_str(),
        "tinyint"
            | "smallint"
            | "mediumint"
            | "int"
            | "integer"
            | "bigint"
            | "decimal"
            | "numeric"
            | "dec"
            | "char"
            | "varchar"
            | "character"
            | "text"
    )
}

fn rising(column: &SchemaColumn) -> String {
    match column.kind.as_str() {
        "date" => "{ sequence = 1990-01-01, step = \"1d\" }".to_owned(),
        "datetime" | "timestamp" | "timestamptz" => {
            "{ sequence = 2020-01-01, step = \"2m\" }".to_owned()
        }
        "uuid" => UUID.to_owned(),
        _ => "{ sequence = 1 }".to_owned(),
    }
}

const UUID: &str = "{ pattern = \"########-####-4###-8###-############\" }";

fn constant(text: &str) -> String {
    format!("{{ one-of = [{}] }}", quoted(text))
}

fn drawn(column: &SchemaColumn, rows: u64, schema: &DumpSchema) -> Result<String, String> {
    let argument = |at: usize| column.arguments.get(at).and_then(|it| it.parse::<u32>().ok());
    let one_of = |values: &[String]| {
        if values.len() > VALUES {
            let (count, most) = (thousands(values.len() as u64), thousands(VALUES as u64));
            return Err(format!(
                "has {count} values, and a list of a workload file at most {most}"
            ));
        }
        let values: Vec<String> = values.iter().map(|it| quoted(it)).collect();
        Ok(format!("one-of = [{}]", values.join(", ")))
    };
    let text = |most: u32| format!("text = [{}, {}]", (most / 4).max(1), most.max(1));
    Ok(match column.kind.as_str() {
        "bool" | "boolean" => "one-of = [true, false]".to_owned(),
        "bit" => "one-of = [\"0\", \"1\"]".to_owned(),
        "tinyint" if argument(0) == Some(1) => "one-of = [0, 1]".to_owned(),
        "tinyint" => "uniform = [0, 100]".to_owned(),
        "smallint" => "uniform = [0, 1000]".to_owned(),
        "mediumint" | "int" | "integer" | "bigint" | "oid" => {
            format!("uniform = [1, {}]", rows.max(1))
        }
        "decimal" | "numeric" | "dec" | "money" => {
            let (digits, scale) = (argument(0).unwrap_or(10), argument(1).unwrap_or(0));
            let whole = 10_u64.pow(digits.saturating_sub(scale).clamp(0, 4)).saturating_sub(1);
            match scale.min(6) as usize {
                0 => format!("uniform = [0, {whole}]"),
                scale => {
                    format!("uniform = [0.{}, {whole}.{}]", "0".repeat(scale), "9".repeat(scale))
                }
            }
        }
        "float" | "double" | "real" | "float4" | "float8" => "uniform = [0.00, 999.99]".to_owned(),
        "char" | "varchar" | "character" | "bpchar" | "binary" | "varbinary" => {
            text(argument(0).unwrap_or(1).min(40))
        }
        "tinytext" | "text" | "mediumtext" | "longtext" | "citext" | "tinyblob" | "blob"
        | "mediumblob" | "longblob" | "bytea" | "tsvector" => text(200),
        "date" | "datetime" | "timestamp" | "timestamptz" => {
            "uniform = [2024-01-01, 2026-01-01]".to_owned()
        }
        "time" | "timetz" => one_of(&["08:00:00", "12:30:00", "18:45:00"].map(str::to_owned))?,
        "year" => "uniform = [2000, 2026]".to_owned(),
        "interval" => "one-of = [\"1 day\", \"8 hours\"]".to_owned(),
        "json" | "jsonb" | "hstore" => match column.kind.as_str() {
            "hstore" => "one-of = [\"\"]".to_owned(),
            _ => "one-of = [\"{}\"]".to_owned(),
        },
        "uuid" => UUID.trim_matches(|c| matches!(c, '{' | '}' | ' ')).to_owned(),
        "inet" | "cidr" | "inet4" => "pattern = \"10.0.#.#\"".to_owned(),
        "enum" => one_of(&column.arguments)?,
        "set" => one_of(column.arguments.get(..column.arguments.len().min(8)).unwrap_or_default())?,
        kind => match schema.types.get(kind).filter(|values| !values.is_empty()) {
            Some(values) => one_of(values)?,
            None => return Err(format!("is of the type `{kind}`, for which no values are known")),
        },
    })
}

fn write_table(done: &FilledTable<'_>, text: &mut String) {
    let FilledTable { table, rows, columns, .. } = done;
    let message = match table.rows {
        Some(message) if message == *rows => " # stated in the dump".to_owned(),
        Some(message) if message > 0 => format!(" # the dump states {}", thousands(message)),
        _ => " # the dump states no number".to_owned(),
    };
    let _ = writeln!(
        text,
        "\n[table.{}]\nrows = {rows}{message}\n\n[table.{0}.columns]",
        key(&table.name)
    );
    for (name, values) in columns {
        let _ = writeln!(text, "{} = {values}", key(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::schema;

    fn names(dump: &str) -> Vec<String> {
        let schema = schema(dump.as_bytes(), Dialect::MySql).unwrap();
        in_order(&schema).into_iter().map(|table| table.name.clone()).collect()
    }

    #[test]
    fn tables_come_after_those_that_they_refer_to() {
        let dump = "CREATE TABLE orders (id INT, customer_id INT, item INT REFERENCES items);
            CREATE TABLE alone (id INT);
            CREATE TABLE Customers (id INT, parent INT REFERENCES Customers);
            CREATE TABLE items (id INT, twin INT REFERENCES twins);
            CREATE TABLE twins (id INT, item INT REFERENCES items, gone INT REFERENCES gone);";
        assert_eq!(names(dump), ["alone", "Customers", "orders", "items", "twins"]);
    }

    /// Each table references the next one of the dump. Comparing all with all would take hours.
    #[test]
    fn a_dump_may_have_very_many_tables() {
        const TABLES: usize = 20_000;
        let table = |number: usize| {
            let columns: String = (0..10).map(|it| format!(", other{it}_id INT")).collect();
            format!(
                "CREATE TABLE t{number} (id INT PRIMARY KEY, t{}_id INT{columns});\n",
                number + 1
            )
        };
        let dump: String = (0..TABLES).map(table).collect();
        let names = names(&dump);
        assert_eq!((names.len(), names[0].as_str()), (TABLES, format!("t{}", TABLES - 1).as_str()));
        assert_eq!(names[TABLES - 1], "t0");
    }
}
