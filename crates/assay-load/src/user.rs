//! Creates, loads and reads the tables of a user's workload.

use std::time::Instant;

use assay_model::{Dialect, DumpFinding, UserData, UserDump, UserRows, UserRowsFile, UserTable};
use assay_wire::{ConnectOptions, Connection, Protocol};
use assay_workloads::{
    CsvBatches, CsvError, CsvRows, RowsChecksum, UserBatches, quoted_literal, quoted_name,
    script_statements, user_row_checksum,
};

use crate::content::{TableContent, computed_sum, value_text};
use crate::control::{catalog_rows, connect_control, dialect_of, execute, query, run, schema_oid};
use crate::error::{LoadError, Result};
use crate::fill::{LoadProgress, LoadReport, OpenUserDump, ReadUserFile};
use crate::restore::{refused_rows, restore, with_made_rows, without_rows};
use crate::share::{for_rows, for_whole_tables};

/// Table that records each table a load created, so that a later load knows it may drop it.
const NOTES: &str = "assay_workload";

#[derive(Clone, Copy)]
pub struct UserTables<'a> {
    pub dialect: Dialect,
    pub data: &'a UserData,
    pub seed: u64,
    pub files: ReadUserFile<'a>,
    pub dumps: OpenUserDump<'a>,
}

/// Drops the tables of an earlier load, creates and loads new ones in the order of the workload, and reads them back.
/// `progress` is called after each statement that inserts rows.
///
/// Returns [`LoadError::NotOurs`], with nothing changed, if a table with one of the names exists that no load of this
/// workload created, unless `replaces`.
pub fn fill_user_data(
    options: &ConnectOptions,
    tables: UserTables<'_>,
    replaces: bool,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let start = Instant::now();
    let options = for_whole_tables(options);
    let UserTables { dialect, data, .. } = tables;
    let mut control = connect_session(&options)?;
    let existing = of_load(&mut control, &options, data)?;
    if !replaces {
        refuse_others(&mut control, &data.name, &existing)?;
    }
    let mut loader =
        Loader { options: &options, control, tables, sent: Vec::new(), rows: 0, progress };
    if !data.uses_existing_tables() {
        drop_existing(&mut loader.control, &existing)?;
    }
    let mut restored = match data.dump(dialect) {
        Some(dump) => loader.restore(dump)?,
        None => Vec::new(),
    };
    for table in &data.tables {
        let before = loader.rows;
        match (loader.load(table), data.dump(dialect)) {
            (Ok(()), _) => {}
            // The server may check more than the definitions from which rows were generated.
            (Err(error), Some(dump)) if has_made_rows(table) && error.server_code().is_some() => {
                restored.push(refused_rows(dump, &table.name, &error));
            }
            (Err(error), _) => return Err(error),
        }
        let is_known = table.count().is_some();
        loader.sent.push(is_known.then(|| loader.rows - before));
    }
    let Loader { control, sent, .. } = loader;
    let bytes_sent = control.bytes_sent();
    drop(control);
    let elapsed = start.elapsed();
    let names = names(&options, data)?;
    let (content, counts) = read_back(&options, &names)?;
    check_counts(data, &sent, &counts)?;
    if let Some(dump) = data.dump(dialect) {
        let empty = names.iter().zip(&counts).filter(|(_, rows)| **rows == 0);
        let empty: Vec<&str> = empty.map(|(name, _)| name.as_str()).collect();
        restored.extend(without_rows(dump, &empty));
        let made = data.tables.iter().filter(|it| has_made_rows(it)).map(|it| it.name.as_str());
        let made: Vec<&str> = made.filter(|name| !empty.contains(name)).collect();
        restored.extend(with_made_rows(dump, &made));
    }
    let tables = names.len() as u32;
    Ok(LoadReport { tables, rows: content.rows, content, bytes_sent, elapsed, restored })
}

fn has_made_rows(table: &UserTable) -> bool {
    table.create.is_empty() && matches!(table.rows, UserRows::Generated { .. })
}

/// Tables that a load may replace. With a dump, they are not known beforehand.
fn of_load(
    control: &mut Connection,
    options: &ConnectOptions,
    data: &UserData,
) -> Result<Vec<String>> {
    match data.dump(dialect_of(options.protocol)) {
        Some(_) => all_tables(options),
        None => existing(control, data),
    }
}

pub(crate) fn user_content(options: &ConnectOptions, data: &UserData) -> Result<TableContent> {
    let read = read_back(&for_whole_tables(options), &names(options, data)?);
    read.map(|(content, _)| content)
}

/// Names of all loaded tables of a workload: those of its file first.
fn names(options: &ConnectOptions, data: &UserData) -> Result<Vec<String>> {
    let dialect = dialect_of(options.protocol);
    let mut names: Vec<String> = data.tables.iter().map(|table| table.name.clone()).collect();
    if data.dump(dialect).is_some() {
        let is_new = |name: &String| !names.iter().any(|it| it.eq_ignore_ascii_case(name));
        // Names are unquoted elsewhere, so Postgres folds them to lower case.
        let is_usual = |name: &String| {
            dialect != Dialect::Postgres || !name.contains(|c: char| c.is_ascii_uppercase())
        };
        let more = all_tables(options)?.into_iter();
        let more: Vec<String> = more.filter(is_new).filter(is_usual).collect();
        names.extend(more);
    }
    Ok(names)
}

pub(crate) fn table_names(options: &ConnectOptions, data: &UserData) -> Result<Vec<String>> {
    let dialect = dialect_of(options.protocol);
    match data.dump(dialect) {
        None => Ok(user_names(dialect, data)),
        Some(_) => names(options, data),
    }
}

pub(crate) fn fill_user_data_cache(options: &ConnectOptions, data: &UserData) -> Result<()> {
    let has_dump = data.dump(dialect_of(options.protocol)).is_some();
    let is_known = !has_dump && data.tables.iter().all(|table| table.count().is_some());
    let names = names(options, data)?;
    let options = if is_known { for_rows(options, data.rows()) } else { for_whole_tables(options) };
    read_tables_once(&options, &names)
}

pub(crate) fn read_tables_once(options: &ConnectOptions, tables: &[String]) -> Result<()> {
    let mut control = connect_session(options)?;
    if options.protocol == Protocol::Postgres {
        // As in `cache_queries` of the other tables.
        run(&mut control, "SET enable_seqscan = off")?;
        run(&mut control, "SET enable_bitmapscan = off")?;
    }
    for table in tables {
        for sql in cache_queries(&mut control, table)? {
            match run(&mut control, &sql) {
                // The optimizer may not use it, so no test does.
                Err(error) if error.server_code() == Some(HIDDEN_INDEX) => {}
                done => done?,
            }
        }
    }
    Ok(())
}

/// MySQL and MariaDB code for an invisible or ignored index.
const HIDDEN_INDEX: u32 = 1176;

pub(crate) fn user_names(dialect: Dialect, data: &UserData) -> Vec<String> {
    let name = |table: &UserTable| match dialect {
        Dialect::Postgres => table.name.to_ascii_lowercase(),
        Dialect::MySql => table.name.clone(),
    };
    data.tables.iter().map(name).collect()
}

/// Drops tables of an earlier load, referring tables first, and recreates the table of notes.
pub(crate) fn drop_existing(control: &mut Connection, existing: &[String]) -> Result<()> {
    let dialect = dialect_of(control.protocol());
    for table in existing.iter().rev() {
        run(control, &format!("DROP TABLE {}", quoted_name(dialect, table)))?;
    }
    run(
        control,
        &format!(
            "CREATE TABLE IF NOT EXISTS {NOTES} (workload VARCHAR(60) NOT NULL, \
             made VARCHAR(60) NOT NULL, PRIMARY KEY (workload, made))"
        ),
    )
}

/// Records that a load of this workload created a table.
pub(crate) fn note(control: &mut Connection, workload: &str, table: &str) -> Result<()> {
    if notes(control, workload)?.iter().any(|it| it == table) {
        return Ok(());
    }
    let dialect = dialect_of(control.protocol());
    let values = [workload, table].map(|text| quoted_literal(dialect, text)).join(", ");
    run(control, &format!("INSERT INTO {NOTES} VALUES ({values})"))
}

struct Loader<'a, 'p> {
    options: &'p ConnectOptions,
    control: Connection,
    tables: UserTables<'a>,
    /// Rows sent to each table; `None` where a script creates them.
    sent: Vec<Option<u64>>,
    rows: u64,
    progress: &'p mut dyn FnMut(LoadProgress),
}

impl Loader<'_, '_> {
    fn restore(&mut self, dump: &UserDump) -> Result<Vec<DumpFinding>> {
        let UserTables { data, dumps, .. } = self.tables;
        let progress = &mut self.progress;
        let rows_total = dump.bytes >> 20;
        let restored = restore(self.options, dump, dumps, &mut |bytes| {
            progress(LoadProgress { rows: bytes >> 20, rows_total, is_dump: true });
        })?;
        for table in all_tables(self.options)? {
            note(&mut self.control, &data.name, &table)?;
        }
        Ok(restored)
    }

    fn load(&mut self, table: &UserTable) -> Result<()> {
        let UserTables { dialect, data, seed, files, .. } = self.tables;
        let create: Vec<&String> =
            table.create.iter().filter_map(|sql| sql.for_dialect(dialect)).collect();
        for sql in &create {
            run(&mut self.control, sql)?;
        }
        if !create.is_empty() {
            note(&mut self.control, &data.name, &table.name)?;
        }
        let read = |file: &UserRowsFile| {
            files(file).map_err(|why| LoadError::File { path: file.path.clone(), why })
        };
        match &table.rows {
            UserRows::Generated { count, columns } => {
                let mut batches = UserBatches::new(dialect, seed, &table.name, columns, *count);
                self.send_all(|statement| Ok(batches.next_into(statement)))?;
            }
            UserRows::Csv { file, .. } => {
                let content = read(file)?;
                let fail = |error: CsvError| LoadError::File {
                    path: file.path.clone(),
                    why: error.to_string(),
                };
                let rows = CsvRows::new(&content).map_err(fail)?;
                let mut batches = CsvBatches::new(dialect, &table.name, rows);
                self.send_all(|statement| batches.next_into(statement).map_err(fail))?;
            }
            UserRows::Script(script) => {
                if let Some(file) = script.for_dialect(dialect) {
                    self.run_script(&read(file)?, file)?;
                    note(&mut self.control, &data.name, &table.name)?;
                }
            }
        }
        let mut after = table.after.iter().filter_map(|sql| sql.for_dialect(dialect));
        after.try_for_each(|sql| run(&mut self.control, sql))
    }

    /// Runs a script on a separate connection, which discards its settings.
    fn run_script(&self, content: &[u8], file: &UserRowsFile) -> Result<()> {
        let dialect = self.tables.dialect;
        let statements = script_statements(content, dialect).map_err(|why| LoadError::Script {
            path: file.path.clone(),
            dialect,
            why,
        })?;
        let mut control = connect_session(self.options)?;
        statements.into_iter().try_for_each(|sql| run(&mut control, sql))?;
        // The script may have left a transaction open.
        run(&mut control, "COMMIT")
    }

    fn send_all(&mut self, mut next: impl FnMut(&mut Vec<u8>) -> Result<u32>) -> Result<()> {
        let counts = self.tables.data.tables.iter().filter_map(UserTable::count);
        let rows_total = counts.map(u64::from).sum();
        let mut statement = Vec::new();
        loop {
            let rows = next(&mut statement)?;
            if rows == 0 {
                return Ok(());
            }
            execute(&mut self.control, &statement)?;
            self.rows += u64::from(rows);
            (self.progress)(LoadProgress { rows: self.rows, rows_total, is_dump: false });
        }
    }
}

pub(crate) fn connect_session(options: &ConnectOptions) -> Result<Connection> {
    let mut connection = connect_control(options, 0)?;
    begin_session(&mut connection)?;
    Ok(connection)
}

/// Enables backslash escapes, which the generated literals use.
pub(crate) const WITH_BACKSLASHES: &str = "SET sql_mode = TRIM(BOTH ',' FROM REPLACE(CONCAT(',', @@sql_mode, ','), \
                                           ',NO_BACKSLASH_ESCAPES,', ','))";

/// Makes the server read a workload's texts as UTF-8 and its times as UTC. Postgres keeps texts unchanged.
pub(crate) fn begin_session(connection: &mut Connection) -> Result<()> {
    match connection.protocol() {
        Protocol::MySql => {
            run(connection, "SET NAMES utf8mb4")?;
            run(connection, "SET time_zone = '+00:00'")?;
            run(connection, WITH_BACKSLASHES)?;
            // A client may wait long for its turn.
            run(connection, "SET wait_timeout = 28800")
        }
        Protocol::Postgres => {
            run(connection, "SET TIME ZONE 'UTC'")?;
            run(connection, "SET standard_conforming_strings = on")
        }
    }
}

/// The first column of a catalog query.
fn ask(control: &mut Connection, sql: &str) -> Result<Vec<String>> {
    let rows = catalog_rows(control, sql)?.into_iter();
    Ok(rows.filter_map(|row| row.into_iter().next()).collect())
}

/// All tables of the database except the one with notes, sorted.
pub(crate) fn all_tables(options: &ConnectOptions) -> Result<Vec<String>> {
    let mut control = connect_session(options)?;
    let sql = match dialect_of(options.protocol) {
        Dialect::Postgres => format!(
            "SELECT relname FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p') AND relnamespace = {}",
            schema_oid(&mut control)?
        ),
        Dialect::MySql => "SELECT table_name FROM information_schema.tables \
                           WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
            .to_owned(),
    };
    let mut names = ask(&mut control, &sql)?;
    names.retain(|name| name != NOTES);
    // Collations differ between servers.
    names.sort_unstable();
    Ok(names)
}

fn relations(control: &mut Connection) -> Result<Vec<String>> {
    let sql = match dialect_of(control.protocol()) {
        Dialect::Postgres => format!(
            "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = {}",
            schema_oid(control)?
        ),
        Dialect::MySql => {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
                .to_owned()
        }
    };
    ask(control, &sql)
}

pub(crate) fn existing(control: &mut Connection, data: &UserData) -> Result<Vec<String>> {
    let (there, dialect) = (relations(control)?, dialect_of(control.protocol()));
    let ignores_case = dialect == Dialect::MySql
        && ask(control, "SELECT @@lower_case_table_names")?.first().is_some_and(|case| case != "0");
    let is_there = |name: &String| match ignores_case {
        true => there.iter().any(|known| known.eq_ignore_ascii_case(name)),
        false => there.contains(name),
    };
    Ok(user_names(dialect, data).into_iter().filter(is_there).collect())
}

/// Fails if one of these tables was created by no load of the workload.
pub(crate) fn refuse_others(
    control: &mut Connection,
    workload: &str,
    existing: &[String],
) -> Result<()> {
    if existing.is_empty() {
        return Ok(());
    }
    let made = notes(control, workload)?;
    let is_made = |table: &&String| made.iter().any(|it| it.eq_ignore_ascii_case(table));
    let others: Vec<String> = existing.iter().filter(|it| !is_made(it)).cloned().collect();
    if others.is_empty() { Ok(()) } else { Err(LoadError::NotOurs(others)) }
}

fn notes(control: &mut Connection, workload: &str) -> Result<Vec<String>> {
    if !relations(control)?.iter().any(|it| it == NOTES) {
        return Ok(Vec::new());
    }
    let found = query(control, &format!("SELECT workload, made FROM {NOTES}"))?;
    let made = |row: usize| {
        let is_ours = found.text(row, 0) == Some(workload);
        found.text(row, 1).filter(|_| is_ours).map(str::to_owned)
    };
    Ok((0..found.rows.len()).filter_map(made).collect())
}

pub(crate) fn read_back(
    options: &ConnectOptions,
    tables: &[String],
) -> Result<(TableContent, Vec<u64>)> {
    let (mut control, dialect) = (connect_session(options)?, dialect_of(options.protocol));
    let (mut sum, mut counts) = (RowsChecksum::default(), Vec::with_capacity(tables.len()));
    for (number, table) in (1..).zip(tables) {
        let part = match dialect {
            Dialect::MySql => computed(&mut control, number, table)?,
            Dialect::Postgres => sum_rows(&mut control, number, table)?,
        };
        sum.add(part);
        counts.push(part.rows);
    }
    let TableContent { rows, checksum } = sum.into();
    Ok((TableContent { rows, checksum: format!("{}:{checksum}", dialect.scheme()) }, counts))
}

/// Rows and checksum of a table, computed by MySQL or MariaDB from all values as text.
fn computed(control: &mut Connection, number: u32, table: &str) -> Result<RowsChecksum> {
    let (dialect, text) = (Dialect::MySql, quoted_literal(Dialect::MySql, table));
    let sql = format!(
        "SELECT column_name, data_type FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = {text} ORDER BY ordinal_position"
    );
    let found = query(control, &sql)?;
    let value = |row| {
        let (name, kind) = found.text(row, 0).zip(found.text(row, 1))?;
        Some(value_text(&quoted_name(dialect, name), kind))
    };
    let values: Vec<String> = (0..found.rows.len()).filter_map(value).collect();
    if values.is_empty() {
        return Err(LoadError::NotMade(table.to_owned()));
    }
    let sql = format!(
        "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',', {number}, {}))), 0) FROM {}",
        values.join(", "),
        quoted_name(dialect, table)
    );
    let sum = computed_sum(&query(control, &sql)?);
    sum.map_err(|cause| LoadError::query(sql.as_bytes(), cause))
}

/// Rows and checksum of a table, from rows sent by Postgres, which has no CRC-32.
fn sum_rows(control: &mut Connection, number: u32, table: &str) -> Result<RowsChecksum> {
    let sql_text = format!("SELECT * FROM {}", quoted_name(Dialect::Postgres, table));
    let (mut sum, mut scratch) = (RowsChecksum::default(), Vec::new());
    let read = control.query_rows(&sql_text, &mut |values| {
        let mut error = None;
        let values = values.map_while(|value| value.map_err(|why| error = Some(why)).ok());
        let checksum = user_row_checksum(number, values, &mut scratch);
        sum.add(RowsChecksum { rows: 1, checksum });
        error.map_or(Ok(()), Err)
    });
    read.map_err(|cause| LoadError::query(sql_text.as_bytes(), cause))?;
    Ok(sum)
}

fn check_counts(data: &UserData, sent: &[Option<u64>], found: &[u64]) -> Result<()> {
    // A dump may have added rows to the same tables.
    if data.dump.is_some() {
        return Ok(());
    }
    for ((table, sent), found) in data.tables.iter().zip(sent).zip(found) {
        if let Some(sent) = sent.filter(|sent| sent != found) {
            return Err(LoadError::RowsDiffer { table: table.name.clone(), sent, found: *found });
        }
    }
    Ok(())
}

/// Statements that read every page of a table and of its indexes.
fn cache_queries(control: &mut Connection, table: &str) -> Result<Vec<String>> {
    let dialect = dialect_of(control.protocol());
    let name = quoted_name(dialect, table);
    match dialect {
        Dialect::MySql => {
            let sql = format!(
                "SELECT DISTINCT index_name FROM information_schema.statistics \
                 WHERE table_schema = DATABASE() AND table_name = {} AND index_type = 'BTREE'",
                quoted_literal(dialect, table)
            );
            let indexes = ask(control, &sql)?;
            // Without a primary key, no index holds the rows themselves.
            let has_key = indexes.iter().any(|it| it == "PRIMARY");
            let whole = (!has_key).then(|| format!("SELECT COUNT(*) FROM {name} USE INDEX ()"));
            let of_index = |index: &String| {
                let index = quoted_name(dialect, index);
                format!("SELECT COUNT(*) FROM {name} FORCE INDEX ({index})")
            };
            Ok(indexes.iter().map(of_index).chain(whole).collect())
        }
        Dialect::Postgres => {
            let table = quoted_literal(dialect, &table.to_ascii_lowercase());
            let sql = format!(
                "SELECT DISTINCT a.attname FROM pg_catalog.pg_index AS i \
                 JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid \
                 JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] \
                 WHERE c.relnamespace = {} AND c.relname = {table} AND i.indpred IS NULL",
                schema_oid(control)?
            );
            let columns = ask(control, &sql)?;
            let whole = columns.is_empty().then(|| format!("SELECT COUNT(*) FROM {name}"));
            // The row as text needs the table itself, not only the index.
            let of_column = |column: &String| {
                let column = quoted_name(dialect, column);
                format!("SELECT SUM(LENGTH(x::text)) FROM {name} AS x WHERE x.{column} IS NOT NULL")
            };
            Ok(columns.iter().map(of_column).chain(whole).collect())
        }
    }
}
