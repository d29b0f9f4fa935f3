//! Tables of a workload file.

use std::collections::BTreeMap;

use assay_model::limits::user::{COLUMNS, ROW_BYTES, TABLES};
use assay_model::{PerDialect, UserColumn, UserRows, UserRowsFile, UserTable};
use assay_workloads::{CsvRows, ScriptError, check_script, script_statements};

use super::fields::{all_per_product, check_name, per_product, try_each};
use super::files::{ReadFile, UserFile, Wanted};
use super::values::{Context, generator};
use crate::document::{Fault, Table, Value, all};
use crate::limits::ROWS;

pub(super) const KEYS: [&str; 6] = ["create", "rows", "columns", "csv", "script", "after"];

const EXPECTED: &str = "tables, each written `[table.NAME]`";

/// Rows of each table by name; `None` where a script makes them.
pub(super) type Counts = BTreeMap<String, Option<u32>>;

pub(super) fn tables(
    file: &Table<'_>,
    files: ReadFile<'_>,
    has_dump: bool,
) -> Result<(Result<Vec<UserTable>, Fault>, Counts), Fault> {
    let Some(tables) = file.get("table") else {
        if has_dump {
            return Ok((Ok(Vec::new()), Counts::new()));
        }
        return Err(Fault::of_file("the workload has no tables").hint(
            "`[table.NAME]` defines one: with `create`, `rows` and `columns`; `dump` restores many",
        ));
    };
    let values = tables.table(EXPECTED)?.values();
    if values.is_empty() || values.len() > TABLES {
        return Err(tables.fault(format!("a workload has 1 to {TABLES} tables")));
    }
    let mut counts = Counts::new();
    for value in &values {
        // A mistake is found again below.
        counts.insert(value.key.to_owned(), count(value, files).unwrap_or_default());
    }
    let read = |value: &Value<'_>| {
        check_name(value, "table", "_")?;
        count(value, files)?;
        table(value, &counts, files, has_dump)
    };
    Ok((all(values.iter().map(read)), counts))
}

/// Number of rows, if known: ranges of other tables may refer to it.
fn count(value: &Value<'_>, files: ReadFile<'_>) -> Result<Option<u32>, Fault> {
    let table = value.table(EXPECTED)?;
    if let Some(rows) = table.get("rows") {
        return rows.count(&(1..=*ROWS.end())).map(Some);
    }
    table.get("csv").map(|csv| Ok(csv_file(&csv, files)?.1)).transpose()
}

fn table(
    value: &Value<'_>,
    counts: &Counts,
    files: ReadFile<'_>,
    has_dump: bool,
) -> Result<UserTable, Fault> {
    let (name, table) = (value.key, value.table(EXPECTED)?);
    // Only `columns` is a table, however it is misspelt.
    let is_columns = |it: &Value<'_>| !KEYS.contains(&it.key) && it.table("").is_ok();
    let misspelt = table.values().into_iter().find(is_columns);
    if let Some(misspelt) = misspelt.filter(|_| table.get("columns").is_none()) {
        let fault = Fault::at(misspelt.key_span.clone(), format!("unknown key `{}`", misspelt.key));
        return Err(fault.hint("did you mean `columns`"));
    }
    table.refuse_unknown(&KEYS)?;
    let source = ["columns", "csv", "script"].map(|key| table.get(key));
    let [columns, csv, script] = source;
    let rows = match (columns, csv, script) {
        (Some(columns), None, None) => {
            let lacks = || {
                Fault::at(value.key_span.clone(), format!("table `{name}` lacks `rows`"))
                    .hint("for example `rows = \"100k\"`")
            };
            let count = counts.get(name).copied().flatten().ok_or_else(lacks)?;
            UserRows::Generated { count, columns: self::columns(&columns, counts)? }
        }
        (None, Some(csv), None) => {
            refuse_beside(&table, "csv")?;
            let (file, count) = csv_file(&csv, files)?;
            UserRows::Csv { file, count }
        }
        (None, None, Some(script)) => {
            refuse_beside(&table, "script")?;
            UserRows::Script(script_files(&script, files)?)
        }
        (None, None, None) => {
            return Err(Fault::at(
                value.key_span.clone(),
                format!("nothing says how the rows of `{name}` are made"),
            )
            .hint("`columns` describes them, `csv` and `script` name a file"));
        }
        _ => {
            let message = format!("the rows of `{name}` are made in more than one way");
            return Err(Fault::at(value.key_span.clone(), message)
                .hint("use one of `columns`, `csv` and `script`"));
        }
    };
    let create = statements_of(table.get("create"))?;
    if create.is_empty() && !has_dump && !matches!(rows, UserRows::Script(_)) {
        return Err(Fault::at(value.key_span.clone(), format!("table `{name}` lacks `create`"))
            .hint("it is the `CREATE TABLE` statement, in quotes"));
    }
    let after = statements_of(table.get("after"))?;
    Ok(UserTable { name: name.to_owned(), create, after, rows })
}

fn refuse_beside(table: &Table<'_>, source: &str) -> Result<(), Fault> {
    match table.get("rows") {
        None => Ok(()),
        Some(rows) => {
            let message = format!("`rows` has no meaning beside `{source}`");
            Err(Fault::at(rows.key_span, message))
        }
    }
}

/// Statements for all products, or for each: a text with one or several, or a list of such texts.
fn statements_of(value: Option<Value<'_>>) -> Result<Vec<PerDialect<String>>, Fault> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let texts = if value.value.is_array() { value.list("")? } else { vec![value] };
    Ok(all(texts.iter().map(all_per_product))?.into_iter().flatten().collect())
}

fn columns(value: &Value<'_>, counts: &Counts) -> Result<Vec<UserColumn>, Fault> {
    let values = value.table("a table of columns and their values")?.values();
    if values.is_empty() || values.len() > COLUMNS {
        return Err(value.fault(format!("a table has 1 to {COLUMNS} columns")));
    }
    let context = Context { tables: counts, is_column: true };
    let column = |it: &Value<'_>| {
        check_name(it, "column", "_$")?;
        Ok(UserColumn { name: it.key.to_owned(), values: generator(it, context)? })
    };
    let columns: Vec<UserColumn> = all(values.iter().map(column))?;
    let bytes = columns.iter().map(|it| it.values.most_bytes()).fold(0, u64::saturating_add);
    if bytes > ROW_BYTES {
        return Err(value.fault("a row may have at most 16 MiB"));
    }
    Ok(columns)
}

fn file(value: &Value<'_>, files: ReadFile<'_>) -> Result<UserFile, Fault> {
    let name = value.text("the name of a file, in quotes")?;
    files(name, Wanted::Whole).map_err(|why| value.fault(format!("`{name}` cannot be read: {why}")))
}

fn csv_file(value: &Value<'_>, files: ReadFile<'_>) -> Result<(UserRowsFile, u32), Fault> {
    let UserFile { path, sha256, content, .. } = file(value, files)?;
    let count = CsvRows::new(&content).and_then(CsvRows::count_all);
    let count = count.map_err(|error| value.fault(error.to_string()))?;
    Ok((UserRowsFile { path, sha256 }, count))
}

fn script_files(value: &Value<'_>, files: ReadFile<'_>) -> Result<PerDialect<UserRowsFile>, Fault> {
    type Checked = Result<(), ScriptError>;
    let read = |value: &Value<'_>, check: &dyn Fn(&[u8]) -> Checked| {
        let UserFile { path, sha256, content, .. } = file(value, files)?;
        check(&content).map_err(|error| value.fault(error.to_string()))?;
        Ok(UserRowsFile { path, sha256 })
    };
    if value.value.is_str() {
        return Ok(PerDialect::all(read(value, &check_script)?));
    }
    try_each(per_product(value)?, |value, syntax| {
        read(&value, &|content| script_statements(content, syntax).map(drop))
    })
}
