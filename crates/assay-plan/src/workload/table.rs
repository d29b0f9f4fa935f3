//! Tables and dumps of a workload file.

use std::collections::BTreeMap;

use assay_model::limits::user::{COLUMNS, ROW_BYTES, TABLES};
use assay_model::{Dialect, PerDialect, UserColumn, UserDump, UserRows, UserRowsFile, UserTable};
use assay_workloads::{CsvRows, ScriptError, check_script, dump_dialect, script_statements};

use super::fields::{all_per_product, check_name, per_product, try_each};
use super::files::{FileExtent, ReadFile, UserFile};
use super::values::{ValueContext, generator};
use crate::document::{FileFault, FileResult, FileTable, FileValue, all};
use crate::limits::ROWS;

pub(super) const KEYS: [&str; 6] = ["create", "rows", "columns", "csv", "script", "after"];

const EXPECTED: &str = "tables, each written `[table.NAME]`";

/// Rows of each table by name; `None` where a script makes them.
pub(super) type TableRows = BTreeMap<String, Option<u32>>;

pub(super) fn tables(
    file: &FileTable<'_>,
    files: ReadFile<'_>,
    has_dump: bool,
) -> FileResult<(FileResult<Vec<UserTable>>, TableRows)> {
    let Some(tables) = file.get("table") else {
        if has_dump {
            return Ok((Ok(Vec::new()), TableRows::new()));
        }
        return Err(FileFault::of_file("the workload has no tables").hint(
            "`[table.NAME]` defines one: with `create`, `rows` and `columns`; `dump` restores many",
        ));
    };
    let values = tables.table(EXPECTED)?.values();
    if values.is_empty() || values.len() > TABLES {
        return Err(tables.fault(format!("a workload has 1 to {TABLES} tables")));
    }
    let mut counts = TableRows::new();
    for value in &values {
        // A mistake is found again below.
        counts.insert(value.key.to_owned(), count(value, files).unwrap_or_default());
    }
    let read = |value: &FileValue<'_>| {
        check_name(value, "table", "_")?;
        count(value, files)?;
        table(value, &counts, files, has_dump)
    };
    Ok((all(values.iter().map(read)), counts))
}

/// Number of rows, if known: ranges of other tables may refer to it.
fn count(value: &FileValue<'_>, files: ReadFile<'_>) -> FileResult<Option<u32>> {
    let table = value.table(EXPECTED)?;
    if let Some(rows) = table.get("rows") {
        return rows.count(&(1..=*ROWS.end())).map(Some);
    }
    table.get("csv").map(|csv| Ok(csv_file(&csv, files)?.1)).transpose()
}

fn table(
    value: &FileValue<'_>,
    counts: &TableRows,
    files: ReadFile<'_>,
    has_dump: bool,
) -> FileResult<UserTable> {
    let (name, table) = (value.key, value.table(EXPECTED)?);
    // Only `columns` is a table, however it is misspelt.
    let is_columns = |it: &FileValue<'_>| !KEYS.contains(&it.key) && it.table("").is_ok();
    let misspelt = table.values().into_iter().find(is_columns);
    if let Some(misspelt) = misspelt.filter(|_| table.get("columns").is_none()) {
        let fault =
            FileFault::at(misspelt.key_span.clone(), format!("unknown key `{}`", misspelt.key));
        return Err(fault.hint("did you mean `columns`"));
    }
    table.refuse_unknown(&KEYS)?;
    let [columns, csv, script] = ["columns", "csv", "script"].map(|key| table.get(key));
    let rows = match (columns, csv, script) {
        (Some(columns), None, None) => {
            let lacks = || {
                FileFault::at(value.key_span.clone(), format!("table `{name}` lacks `rows`"))
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
            return Err(FileFault::at(
                value.key_span.clone(),
                format!("nothing says how the rows of `{name}` are made"),
            )
            .hint("`columns` describes them, `csv` and `script` name a file"));
        }
        _ => {
            let message = format!("the rows of `{name}` are made in more than one way");
            return Err(FileFault::at(value.key_span.clone(), message)
                .hint("use one of `columns`, `csv` and `script`"));
        }
    };
    let create = statements_of(table.get("create"))?;
    if create.is_empty() && !has_dump && !matches!(rows, UserRows::Script(_)) {
        return Err(FileFault::at(
            value.key_span.clone(),
            format!("table `{name}` lacks `create`"),
        )
        .hint("it is the `CREATE TABLE` statement, in quotes"));
    }
    let after = statements_of(table.get("after"))?;
    Ok(UserTable { name: name.to_owned(), create, after, rows })
}

fn refuse_beside(table: &FileTable<'_>, source: &str) -> FileResult<()> {
    let Some(rows) = table.get("rows") else { return Ok(()) };
    Err(FileFault::at(rows.key_span, format!("`rows` has no meaning beside `{source}`")))
}

/// Statements for all products, or for each: a text with one or several, or a list of such texts.
fn statements_of(value: Option<FileValue<'_>>) -> FileResult<Vec<PerDialect<String>>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let texts = value.one_or_more("")?;
    Ok(all(texts.iter().map(all_per_product))?.into_iter().flatten().collect())
}

fn columns(value: &FileValue<'_>, counts: &TableRows) -> FileResult<Vec<UserColumn>> {
    let values = value.table("a table of columns and their values")?.values();
    if values.is_empty() || values.len() > COLUMNS {
        return Err(value.fault(format!("a table has 1 to {COLUMNS} columns")));
    }
    let context = ValueContext { tables: counts, is_column: true };
    let column = |it: &FileValue<'_>| {
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

/// Reads the file that a value names.
pub(super) fn file(
    value: &FileValue<'_>,
    files: ReadFile<'_>,
    wanted: FileExtent,
) -> FileResult<UserFile> {
    let name = value.text("the name of a file, in quotes")?;
    files(name, wanted).map_err(|why| value.fault(format!("`{name}` cannot be read: {why}")))
}

fn csv_file(value: &FileValue<'_>, files: ReadFile<'_>) -> FileResult<(UserRowsFile, u32)> {
    let UserFile { path, sha256, content, .. } = file(value, files, FileExtent::Whole)?;
    let count = CsvRows::new(&content).and_then(CsvRows::count_all);
    let count = count.map_err(|error| value.fault(error.to_string()))?;
    Ok((UserRowsFile { path, sha256 }, count))
}

fn script_files(
    value: &FileValue<'_>,
    files: ReadFile<'_>,
) -> FileResult<PerDialect<UserRowsFile>> {
    type ScriptCheck = Result<(), ScriptError>;
    let read = |value: &FileValue<'_>, check: &dyn Fn(&[u8]) -> ScriptCheck| {
        let UserFile { path, sha256, content, .. } = file(value, files, FileExtent::Whole)?;
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

/// The dumps of a workload by dialect. Examines only the beginning of their content.
pub(super) fn dump(value: &FileValue<'_>, files: ReadFile<'_>) -> FileResult<PerDialect<UserDump>> {
    if value.value.is_str() {
        let (dialect, dump) = dump_of_file(value, files)?;
        return Ok(match dialect {
            Some(Dialect::MySql) => PerDialect { mysql: Some(dump), postgres: None },
            Some(Dialect::Postgres) => PerDialect { mysql: None, postgres: Some(dump) },
            // It depends on the systems that restore it.
            None => PerDialect::all(dump),
        });
    }
    let parts = per_product(value)?;
    let dump_for = |part: Option<FileValue<'_>>, meant| -> FileResult<Option<UserDump>> {
        let Some(part) = part else { return Ok(None) };
        match dump_of_file(&part, files)? {
            (dialect, dump) if dialect.is_none_or(|it| it == meant) => Ok(Some(dump)),
            _ => Err(part.fault("this is a dump of the other family of products")),
        }
    };
    let mysql = dump_for(parts.mysql, Dialect::MySql)?;
    Ok(PerDialect { mysql, postgres: dump_for(parts.postgres, Dialect::Postgres)? })
}

fn dump_of_file(
    value: &FileValue<'_>,
    files: ReadFile<'_>,
) -> FileResult<(Option<Dialect>, UserDump)> {
    let name = value.text("the name of a dump, in quotes")?;
    let UserFile { path, sha256, content, bytes } = file(value, files, FileExtent::Head)?;
    let dialect = dump_dialect(&content)
        .map_err(|why| value.fault(format!("`{name}` is {why}")).hint(why.hint()))?;
    Ok((dialect, UserDump { file: UserRowsFile { path, sha256 }, bytes }))
}
