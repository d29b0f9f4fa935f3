//! Creates, loads and reads the tables of a user's workload.

use std::time::Instant;

use assay_model::{Dialect, Restored, UserData, UserDump, UserRows, UserRowsFile, UserTable};
use assay_wire::{ConnectOptions, Connection, Error as WireError, Protocol};
use assay_workloads::{
    CsvBatches, CsvRows, UserBatches, push_quoted, quoted_name, script_statements,
    user_row_checksum,
};

use crate::content::{Content, Sum, value_text};
use crate::error::{Error, Result};
use crate::fill::{LoadProgress, LoadReport};
use crate::restore::{OpenUserDump, refused_rows, restore, with_made_rows, without_rows};
use crate::share::{for_rows, for_whole_tables};

/// Table that records each table a load created, so that a later load knows it may drop it.
const NOTES: &str = "assay_workload";

/// Reads a file of a workload; the error is the reason.
pub type ReadUserFile<'a> = &'a dyn Fn(&UserRowsFile) -> Result<Vec<u8>, String>;

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
/// Returns [`Error::NotOurs`], with nothing changed, if a table with one of the names exists that no load of this
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
    let mut control = connect(&options)?;
    let existing = of_load(&mut control, &options, dialect, data)?;
    if !replaces {
        refuse_others(&mut control, dialect, data, &existing)?;
    }
    let mut loader =
        Loader { options: &options, control, tables, sent: Vec::new(), rows: 0, progress };
    drop_existing(&mut loader.control, dialect, &existing)?;
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
    let names = names(&options, dialect, data)?;
    let (content, counts) = read_back(&options, dialect, &texts(&names))?;
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
    dialect: Dialect,
    data: &UserData,
) -> Result<Vec<String>> {
    match data.dump(dialect) {
        Some(_) => all_tables(options, dialect),
        None => existing(control, dialect, data),
    }
}

pub(crate) fn refuse_others_tables(
    options: &ConnectOptions,
    dialect: Dialect,
    data: &UserData,
) -> Result<()> {
    let mut control = connect(options)?;
    let existing = of_load(&mut control, options, dialect, data)?;
    refuse_others(&mut control, dialect, data, &existing)
}

pub(crate) fn user_content(
    options: &ConnectOptions,
    dialect: Dialect,
    data: &UserData,
) -> Result<Content> {
    let names = names(options, dialect, data)?;
    let read = read_back(&for_whole_tables(options), dialect, &texts(&names));
    read.map(|(content, _)| content)
}

/// Names of all loaded tables of a workload: those of its file first.
fn names(options: &ConnectOptions, dialect: Dialect, data: &UserData) -> Result<Vec<String>> {
    let mut names: Vec<String> = data.tables.iter().map(|table| table.name.clone()).collect();
    if data.dump(dialect).is_some() {
        let is_new = |name: &String| !names.iter().any(|it| it.eq_ignore_ascii_case(name));
        // Names are unquoted elsewhere, so Postgres folds them to lower case.
        let is_usual = |name: &String| {
            dialect != Dialect::Postgres || !name.contains(|c: char| c.is_ascii_uppercase())
        };
        let more = all_tables(options, dialect)?.into_iter();
        let more: Vec<String> = more.filter(is_new).filter(is_usual).collect();
        names.extend(more);
    }
    Ok(names)
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

pub(crate) fn table_names(
    options: &ConnectOptions,
    dialect: Dialect,
    data: &UserData,
) -> Result<Vec<String>> {
    if data.dump(dialect).is_none() {
        return Ok(user_names(dialect, data));
    }
    names(options, dialect, data)
}

pub(crate) fn fill_user_data_cache(
    options: &ConnectOptions,
    dialect: Dialect,
    data: &UserData,
) -> Result<()> {
    let has_dump = data.dump(dialect).is_some();
    let is_known = !has_dump && data.tables.iter().all(|table| table.count().is_some());
    let names = names(options, dialect, data)?;
    let options = if is_known { for_rows(options, data.rows()) } else { for_whole_tables(options) };
    read_tables_once(&options, dialect, &texts(&names))
}

pub(crate) fn read_tables_once(
    options: &ConnectOptions,
    dialect: Dialect,
    tables: &[&str],
) -> Result<()> {
    let mut control = connect(options)?;
    if dialect == Dialect::Postgres {
        // As in `cache_queries` of the other tables.
        run(&mut control, "SET enable_seqscan = off")?;
        run(&mut control, "SET enable_bitmapscan = off")?;
    }
    for table in tables {
        for sql in cache_queries(&mut control, dialect, table)? {
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
pub(crate) fn drop_existing(
    control: &mut Connection,
    dialect: Dialect,
    existing: &[String],
) -> Result<()> {
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

pub(crate) fn note(
    control: &mut Connection,
    dialect: Dialect,
    data: &UserData,
    table: &str,
) -> Result<()> {
    if notes(control, dialect, &data.name)?.iter().any(|it| it == table) {
        return Ok(());
    }
    let values = [&data.name, table].map(|text| literal(dialect, text)).join(", ");
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
    fn restore(&mut self, dump: &UserDump) -> Result<Vec<Restored>> {
        let UserTables { dialect, data, dumps, .. } = self.tables;
        let progress = &mut self.progress;
        let message = &mut |bytes| {
            progress(LoadProgress {
                rows: bytes >> 20,
                rows_total: dump.bytes >> 20,
                is_dump: true,
            })
        };
        let restored = restore(self.options, dump, dumps, message)?;
        for table in all_tables(self.options, dialect)? {
            note(&mut self.control, dialect, data, &table)?;
        }
        Ok(restored)
    }

    fn load(&mut self, table: &UserTable) -> Result<()> {
        let UserTables { dialect, data, seed, files, .. } = self.tables;
        let create: Vec<&String> = table.create.iter().filter_map(|it| it.of(dialect)).collect();
        for sql in &create {
            run(&mut self.control, sql)?;
        }
        if !create.is_empty() {
            note(&mut self.control, dialect, data, &table.name)?;
        }
        let read = |file: &UserRowsFile| {
            files(file).map_err(|why| Error::File { path: file.path.clone(), why })
        };
        match &table.rows {
            UserRows::Generated { count, columns } => {
                let mut batches = UserBatches::new(dialect, seed, &table.name, columns, *count);
                self.send_all(|statement| Ok(batches.next_into(statement)))?;
            }
            UserRows::Csv { file, .. } => {
                let content = read(file)?;
                let fail = |why: assay_workloads::CsvError| Error::File {
                    path: file.path.clone(),
                    why: why.to_string(),
                };
                let rows = CsvRows::new(&content).map_err(fail)?;
                let mut batches = CsvBatches::new(dialect, &table.name, rows);
                self.send_all(|statement| batches.next_into(statement).map_err(fail))?;
            }
            UserRows::Script(script) => {
                if let Some(file) = script.of(dialect) {
                    self.run_script(&read(file)?, file)?;
                    note(&mut self.control, dialect, data, &table.name)?;
                }
            }
        }
        let after = table.after.iter().filter_map(|it| it.of(dialect));
        for sql in after {
            run(&mut self.control, sql)?;
        }
        Ok(())
    }

    /// Runs a script on a separate connection, which discards its settings.
    fn run_script(&self, content: &[u8], file: &UserRowsFile) -> Result<()> {
        let dialect = self.tables.dialect;
        let statements = script_statements(content, dialect).map_err(|why| Error::Script {
            path: file.path.clone(),
            dialect,
            why,
        })?;
        let mut control = connect(self.options)?;
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
            let sent = self.control.execute_text(&statement);
            sent.map_err(|cause| Error::query(&statement, cause))?;
            self.rows += u64::from(rows);
            (self.progress)(LoadProgress { rows: self.rows, rows_total, is_dump: false });
        }
    }
}

pub(crate) fn connect(options: &ConnectOptions) -> Result<Connection> {
    let connection = Connection::control(options);
    let mut connection = connection.map_err(|source| Error::Connect { client: 0, source })?;
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

pub(crate) fn run(control: &mut Connection, sql: &str) -> Result<()> {
    control.query(sql).map(drop).map_err(|cause| Error::query(sql.as_bytes(), cause))
}

fn ask(control: &mut Connection, sql: &str) -> Result<Vec<String>> {
    let found = control.query_catalog(sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    let first = |row: Vec<Option<Vec<u8>>>| row.into_iter().next().flatten();
    let texts = found.rows.into_iter().filter_map(first);
    Ok(texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect())
}

fn literal(dialect: Dialect, text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, dialect.has_escapes(), text.as_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}

fn schema_oid(control: &mut Connection) -> Result<u32> {
    let schema = control.schema();
    let schema = schema.map_err(|cause| Error::query(b"SELECT current_schema()", cause))?;
    Ok(schema.map_or(0, |it| it.oid))
}

/// All tables of the database except the one with notes, sorted.
pub(crate) fn all_tables(options: &ConnectOptions, dialect: Dialect) -> Result<Vec<String>> {
    let mut control = connect(options)?;
    let sql = match dialect {
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

fn relations(control: &mut Connection, dialect: Dialect) -> Result<Vec<String>> {
    let sql = match dialect {
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

pub(crate) fn existing(
    control: &mut Connection,
    dialect: Dialect,
    data: &UserData,
) -> Result<Vec<String>> {
    let there = relations(control, dialect)?;
    let ignores_case = match dialect {
        Dialect::Postgres => false,
        Dialect::MySql => {
            ask(control, "SELECT @@lower_case_table_names")?.first().is_some_and(|it| it != "0")
        }
    };
    let is_there = |name: &String| match ignores_case {
        true => there.iter().any(|it| it.eq_ignore_ascii_case(name)),
        false => there.contains(name),
    };
    Ok(user_names(dialect, data).into_iter().filter(is_there).collect())
}

/// Fails if one of these tables was created by no load of the workload.
pub(crate) fn refuse_others(
    control: &mut Connection,
    dialect: Dialect,
    data: &UserData,
    existing: &[String],
) -> Result<()> {
    if existing.is_empty() {
        return Ok(());
    }
    let made = notes(control, dialect, &data.name)?;
    let is_made = |table: &&String| made.iter().any(|it| it.eq_ignore_ascii_case(table));
    let others: Vec<String> = existing.iter().filter(|it| !is_made(it)).cloned().collect();
    if others.is_empty() { Ok(()) } else { Err(Error::NotOurs(others)) }
}

fn notes(control: &mut Connection, dialect: Dialect, name: &str) -> Result<Vec<String>> {
    if !relations(control, dialect)?.iter().any(|it| it == NOTES) {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT workload, made FROM {NOTES}");
    let found = control.query(&sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    let made = |row: usize| {
        let is_ours = found.text(row, 0) == Some(name);
        found.text(row, 1).filter(|_| is_ours).map(str::to_owned)
    };
    Ok((0..found.rows.len()).filter_map(made).collect())
}

pub(crate) fn read_back(
    options: &ConnectOptions,
    dialect: Dialect,
    tables: &[&str],
) -> Result<(Content, Vec<u64>)> {
    let mut control = connect(options)?;
    let (mut sum, mut counts) = (Sum::default(), Vec::with_capacity(tables.len()));
    for (number, table) in (1..).zip(tables) {
        let (rows, checksum) = match dialect {
            Dialect::MySql => computed(&mut control, number, table)?,
            Dialect::Postgres => sum_rows(&mut control, number, table)?,
        };
        sum.add(rows, checksum);
        counts.push(rows);
    }
    let Content { rows, checksum } = sum.content();
    Ok((Content { rows, checksum: format!("{}:{checksum}", dialect.scheme()) }, counts))
}

/// Rows and checksum of a table, computed by MySQL or MariaDB from all values as text.
fn computed(control: &mut Connection, number: u32, table: &str) -> Result<(u64, u64)> {
    let (dialect, text) = (Dialect::MySql, literal(Dialect::MySql, table));
    let sql = format!(
        "SELECT column_name, data_type FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = {text} ORDER BY ordinal_position"
    );
    let found = control.query(&sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    let columns: Vec<(&str, &str)> = (0..found.rows.len())
        .filter_map(|row| Some((found.text(row, 0)?, found.text(row, 1)?)))
        .collect();
    if columns.is_empty() {
        return Err(Error::NotMade(table.to_owned()));
    }
    let value = |(name, kind): &(&str, &str)| value_text(&quoted_name(dialect, name), kind);
    let values: Vec<String> = columns.iter().map(value).collect();
    let sql = format!(
        "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',', {number}, {}))), 0) FROM {}",
        values.join(", "),
        quoted_name(dialect, table)
    );
    let found = control.query(&sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    let cell = |column| found.text(0, column).and_then(|text| text.parse().ok());
    cell(0).zip(cell(1)).ok_or_else(|| {
        Error::query(sql.as_bytes(), WireError::Protocol("an answer that is no number"))
    })
}

/// Rows and checksum of a table, from rows sent by Postgres, which has no CRC-32.
fn sum_rows(control: &mut Connection, number: u32, table: &str) -> Result<(u64, u64)> {
    let sql = format!("SELECT * FROM {}", quoted_name(Dialect::Postgres, table));
    let (mut rows, mut checksum, mut scratch) = (0_u64, 0_u64, Vec::new());
    let read = control.query_rows(&sql, &mut |values| {
        let mut error = None;
        let values = values.map_while(|value| value.map_err(|why| error = Some(why)).ok());
        checksum = checksum.wrapping_add(user_row_checksum(number, values, &mut scratch));
        rows += 1;
        error.map_or(Ok(()), Err)
    });
    read.map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    Ok((rows, checksum))
}

fn check_counts(data: &UserData, sent: &[Option<u64>], found: &[u64]) -> Result<()> {
    // A dump may have added rows to the same tables.
    if data.dump.is_some() {
        return Ok(());
    }
    for ((table, sent), found) in data.tables.iter().zip(sent).zip(found) {
        if let Some(sent) = sent.filter(|sent| sent != found) {
            return Err(Error::RowsDiffer { table: table.name.clone(), sent, found: *found });
        }
    }
    Ok(())
}

/// Statements that read every page of a table and of its indexes.
fn cache_queries(control: &mut Connection, dialect: Dialect, table: &str) -> Result<Vec<String>> {
    let name = quoted_name(dialect, table);
    match dialect {
        Dialect::MySql => {
            let sql = format!(
                "SELECT DISTINCT index_name FROM information_schema.statistics \
                 WHERE table_schema = DATABASE() AND table_name = {} AND index_type = 'BTREE'",
                literal(dialect, table)
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
            let table = literal(dialect, &table.to_ascii_lowercase());
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
