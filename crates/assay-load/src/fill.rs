//! Creates and loads the tables, as fast as one connection takes the data.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use assay_model::{Engine, IdKey, Product};
use assay_wire::mysql::{ConnectOptions, Hot};
use assay_workloads::{InsertBatches, create_index, create_table, drop_table};

use crate::{Error, Result};

/// Statements made ahead of the one being sent.
const AHEAD: usize = 2;
/// An index on many rows takes the server this long at most before the load is given up.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Table being loaded, from 1.
    pub table: u32,
    /// Rows loaded so far, over all tables.
    pub rows: u64,
    /// Rows in the end, over all tables.
    pub rows_total: u64,
}

/// What a load took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadReport {
    /// Rows over all tables.
    pub rows: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Wall time, creation of tables and indexes included.
    pub elapsed: Duration,
}

impl LoadReport {
    /// Rows per second of wall time.
    #[must_use]
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// A load statement and how many rows are in it.
type Batch = (Vec<u8>, u32);

/// Drops, creates and loads `sbtest1` to `sbtest<tables>` with `rows` rows each, one after another,
/// and creates each table's secondary index once it is loaded. The same seed gives the same rows on
/// every server.
///
/// One thread makes the statements while this one sends them; `progress` is called after each.
///
/// # Errors
/// When the server cannot be reached or refuses a statement.
pub fn fill(
    options: &ConnectOptions,
    product: Product,
    engine: Engine,
    tables: u32,
    rows: u32,
    seed: u64,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let start = Instant::now();
    let options = ConnectOptions { timeout: options.timeout.max(PATIENCE), ..options.clone() };
    let mut hot = Hot::connect(&options).map_err(|source| Error::Connect { client: 0, source })?;
    let rows_total = u64::from(tables) * u64::from(rows);
    let mut done = LoadProgress { table: 1, rows: 0, rows_total };
    for table in 1..=tables {
        done.table = table;
        send(&mut hot, drop_table(table).as_bytes())?;
        for sql in create_table(product, engine, IdKey::Primary, table) {
            send(&mut hot, sql.as_bytes())?;
        }
        let batches = InsertBatches::new(seed, table, rows);
        with_batches_ahead(batches, |sql, count| {
            send(&mut hot, sql)?;
            done.rows += u64::from(count);
            progress(done);
            Ok(())
        })?;
        send(&mut hot, create_index(table).as_bytes())?;
    }
    Ok(LoadReport { rows: rows_total, bytes_sent: hot.bytes_sent(), elapsed: start.elapsed() })
}

fn send(hot: &mut Hot, sql: &[u8]) -> Result<()> {
    hot.query(sql).map(drop).map_err(|source| Error::query(sql, source))
}

/// Hands every batch to `consume` while a second thread makes the next ones.
fn with_batches_ahead(
    batches: InsertBatches,
    mut consume: impl FnMut(&[u8], u32) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (full, to_send) = sync_channel::<Batch>(AHEAD);
        let (used, to_fill) = channel::<Vec<u8>>();
        std::thread::Builder::new()
            .name("assay-rows".to_owned())
            .spawn_scoped(scope, move || make_batches(batches, &full, &to_fill))
            .map_err(Error::Thread)?;
        for (sql, count) in to_send {
            consume(&sql, count)?;
            // The maker is gone once it has made its last batch.
            drop(used.send(sql));
        }
        Ok(())
    })
}

/// Makes batches until there are no more or nobody wants them.
fn make_batches(mut batches: InsertBatches, full: &SyncSender<Batch>, used: &Receiver<Vec<u8>>) {
    loop {
        let mut sql = used.try_recv().unwrap_or_default();
        let count = batches.next_into(&mut sql);
        if count == 0 || full.send((sql, count)).is_err() {
            return;
        }
    }
}
