//! Creates and loads the tables, as fast as the server takes the data.

use std::fmt;
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use assay_model::{
    DataSet, Dialect, DumpFinding, Engine, TableForm, UserRowsFile, counted, thousands,
};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::{InsertBatches, RowsChecksum, create_index, create_table};

use crate::content::TableContent;
use crate::control::{connect_control, execute};
use crate::error::{LoadError, Result};
use crate::existing::{ExistingTables, existing_tables};
use crate::share::{Reports, for_whole_tables, share_tables};

/// Statements encoded ahead of the one being sent.
const AHEAD: usize = 2;

/// The tables to load. Equal values give equal rows on every server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tables {
    pub dialect: Dialect,
    pub engine: Engine,
    pub form: TableForm,
    pub data: DataSet,
    pub seed: u64,
}

/// Opens a dump of a workload; the error is the reason.
pub type OpenUserDump<'a> = &'a dyn Fn(&UserRowsFile) -> Result<Box<dyn Read>, String>;

/// Reads a file of a workload; the error is the reason.
pub type ReadUserFile<'a> = &'a dyn Fn(&UserRowsFile) -> Result<Vec<u8>, String>;

/// The server with a workload's tables, and their form there.
#[derive(Clone, Copy)]
pub struct LoadTarget<'a> {
    pub options: &'a ConnectOptions,
    pub dialect: Dialect,
    pub engine: Engine,
    /// Options of users for the form of the tables.
    pub form: &'a TableForm,
    /// Number of tables and rows, unless the workload defines them itself.
    pub data: DataSet,
    pub seed: u64,
    pub files: ReadUserFile<'a>,
    pub dumps: OpenUserDump<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    pub rows: u64,
    pub rows_total: u64,
    /// If set, both are megabytes of a dump, whose row count is not known beforehand.
    pub is_dump: bool,
}

impl fmt::Display for LoadProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_dump {
            return write!(f, "{} of {} MB of the dump", self.rows, self.rows_total);
        }
        write!(f, "{} of {}", thousands(self.rows), counted(self.rows_total, "row"))
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadReport {
    pub tables: u32,
    pub rows: u64,
    /// The content sent, which [`content()`](crate::content()) must find on the server.
    pub content: TableContent,
    pub bytes_sent: u64,
    /// Wall time, including the creation of tables and indexes.
    pub elapsed: Duration,
    pub restored: Vec<DumpFinding>,
}

impl LoadReport {
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Drops the tables of an earlier load, creates and loads new ones, and creates each table's secondary index after its
/// rows.
///
/// Tables are loaded in parallel, one connection per CPU. For each connection, one thread encodes statements while
/// another sends them. `progress` is called after each statement.
///
/// Fails, with nothing changed, if a table with other columns, or anything else, has one of the names.
pub fn fill(
    options: &ConnectOptions,
    tables: &Tables,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let options = for_whole_tables(options);
    let there = existing_tables(&options, tables.dialect, tables.data.tables)?;
    there.refuse_others()?;
    fill_over(&options, tables, &there, progress)
}

/// Like [`fill`], but drops the existing tables whatever their columns are.
pub fn fill_over(
    options: &ConnectOptions,
    tables: &Tables,
    there: &ExistingTables,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let start = Instant::now();
    let options = for_whole_tables(options);
    let Tables { dialect, engine, ref form, data, .. } = *tables;
    let create = |table| create_table(dialect, engine, form, table);
    there.replace(&options, &(1..=data.tables).map(create).collect::<Vec<_>>())?;
    let connect = |client| connect_control(&options, client);
    let load = |connection: &mut Connection, table, reports: &Reports<_>| {
        load_table(connection, tables, table, reports)
    };
    let rows_total = u64::from(tables.data.tables) * u64::from(tables.data.rows);
    let (mut sum, mut bytes_sent) = (RowsChecksum::default(), 0);
    share_tables(tables.data.tables, connect, load, |(batch, bytes)| {
        sum.add(batch);
        bytes_sent += bytes;
        progress(LoadProgress { rows: sum.rows, rows_total, is_dump: false });
    })?;
    Ok(LoadReport {
        tables: tables.data.tables,
        rows: sum.rows,
        content: sum.into(),
        bytes_sent,
        elapsed: start.elapsed(),
        restored: Vec::new(),
    })
}

fn load_table(
    connection: &mut Connection,
    tables: &Tables,
    table: u32,
    reports: &Reports<(RowsChecksum, u64)>,
) -> Result<()> {
    let Tables { data, seed, .. } = *tables;
    let batches = InsertBatches::new(seed, table, data.rows, !tables.form.auto_inc);
    with_statements_ahead(batches, |sql, batch| {
        let before = connection.bytes_sent();
        execute(connection, sql)?;
        reports.send((batch, connection.bytes_sent() - before))
    })?;
    create_index(&tables.form, table).map_or(Ok(()), |sql| execute(connection, sql.as_bytes()))
}

fn with_statements_ahead(
    batches: InsertBatches,
    mut consume: impl FnMut(&[u8], RowsChecksum) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (full, to_send) = sync_channel::<(Vec<u8>, RowsChecksum)>(AHEAD);
        let (used, to_fill) = channel::<Vec<u8>>();
        std::thread::Builder::new()
            .name("assay-rows".to_owned())
            .spawn_scoped(scope, move || make_statements(batches, &full, &to_fill))
            .map_err(LoadError::Thread)?;
        for (sql, batch) in to_send {
            consume(&sql, batch)?;
            // The encoder has ended once its last batch is encoded.
            drop(used.send(sql));
        }
        Ok(())
    })
}

fn make_statements(
    mut batches: InsertBatches,
    full: &SyncSender<(Vec<u8>, RowsChecksum)>,
    used: &Receiver<Vec<u8>>,
) {
    loop {
        let mut sql = used.try_recv().unwrap_or_default();
        let batch = batches.next_into(&mut sql);
        if batch.rows == 0 || full.send((sql, batch)).is_err() {
            return;
        }
    }
}
