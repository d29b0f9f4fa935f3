//! Creates and loads the tables, as fast as one connection takes the data.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use assay_model::{DataSet, Engine, IdKey, Product};
use assay_wire::mysql::{ConnectOptions, Control, Hot};
use assay_workloads::{
    Checksum, InsertBatches, TableContent, create_index, create_table, drop_table, select_content,
};

use crate::{Error, Result};

/// Statements made ahead of the one being sent.
const AHEAD: usize = 2;
/// An index on many rows takes the server this long at most before the load is given up.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Rows loaded so far, over all tables.
    pub rows: u64,
    /// Rows in the end, over all tables.
    pub rows_total: u64,
}

/// What a load took.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadReport {
    /// Rows over all tables.
    pub rows: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// What the tables must hold.
    pub content: Checksum,
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

/// The tables to be made.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    /// The family of the server.
    pub product: Product,
    /// Their storage engine.
    pub engine: Engine,
    /// The key of the column `id`.
    pub id_key: IdKey,
    /// How many tables of how many rows.
    pub data: DataSet,
    /// Seed of the rows.
    pub seed: u64,
}

/// Tables that are loaded at the same time at most: more gain nothing, as each keeps two threads and the server busy.
const AT_ONCE: u32 = 8;

/// Drops, creates and loads the tables `sbtest1`, `sbtest2`, ..., and creates each table's secondary index once it is
/// loaded. The same seed gives the same rows on every server.
///
/// As many tables at once as there are CPUs, each over a connection of its own; one thread makes a table's statements
/// while another sends them. `progress` is called after each.
///
/// # Errors
/// When the server cannot be reached or refuses a statement.
pub fn fill(
    options: &ConnectOptions,
    of: &Tables,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let start = Instant::now();
    let options = ConnectOptions { timeout: options.timeout.max(PATIENCE), ..options.clone() };
    let DataSet { tables, rows } = of.data;
    let rows_total = u64::from(tables) * u64::from(rows);
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let next = AtomicU32::new(1);
    let (sent, received) = channel();
    let loaded: Vec<Result<Loaded>> = std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..tables.min(cpus).min(AT_ONCE))
            .map(|number| {
                let loader =
                    Loader { number, options: &options, of, next: &next, sent: sent.clone() };
                std::thread::Builder::new()
                    .name(format!("assay-load-{number}"))
                    .spawn_scoped(scope, move || loader.run())
                    .map_err(Error::Thread)
            })
            .collect();
        drop(sent);
        let mut done = LoadProgress { rows: 0, rows_total };
        for count in received {
            done.rows += u64::from(count);
            progress(done);
        }
        let joined = |loader: ScopedJoinHandle<'_, Result<Loaded>>| {
            loader.join().unwrap_or(Err(Error::ClientLost))
        };
        loaders.into_iter().map(|loader| loader.and_then(joined)).collect()
    });
    let mut contents = BTreeMap::new();
    let mut bytes_sent = 0;
    for loaded in loaded {
        let loaded = loaded?;
        bytes_sent += loaded.bytes_sent;
        contents.extend(loaded.tables);
    }
    let content = contents.into_values().fold(Checksum::default(), Checksum::with);
    Ok(LoadReport { rows: rows_total, content, bytes_sent, elapsed: start.elapsed() })
}

/// What one connection has loaded.
struct Loaded {
    /// What was sent, by table.
    tables: Vec<(u32, TableContent)>,
    bytes_sent: u64,
}

/// One connection that loads tables.
struct Loader<'a> {
    number: u32,
    options: &'a ConnectOptions,
    of: &'a Tables,
    /// The table that is to be loaded next, by whoever is free.
    next: &'a AtomicU32,
    /// Told the rows of each statement.
    sent: Sender<u32>,
}

impl Loader<'_> {
    fn run(self) -> Result<Loaded> {
        let client = self.number;
        let connected = Hot::connect(self.options);
        let mut hot = connected.map_err(|source| Error::Connect { client, source })?;
        let mut tables = Vec::new();
        loop {
            let table = self.next.fetch_add(1, Ordering::Relaxed);
            if table > self.of.data.tables {
                return Ok(Loaded { tables, bytes_sent: hot.bytes_sent() });
            }
            tables.push((table, self.load(&mut hot, table)?));
        }
    }

    fn load(&self, hot: &mut Hot, table: u32) -> Result<TableContent> {
        let Tables { product, engine, id_key, data, seed } = *self.of;
        send(hot, drop_table(table).as_bytes())?;
        for sql in create_table(product, engine, id_key, table) {
            send(hot, sql.as_bytes())?;
        }
        let batches = InsertBatches::new(seed, table, data.rows);
        let content = with_batches_ahead(batches, |sql, count| {
            send(hot, sql)?;
            // Nobody listens once the load has failed elsewhere.
            let _ = self.sent.send(count);
            Ok(())
        })?;
        send(hot, create_index(table).as_bytes())?;
        Ok(content)
    }
}

/// What the tables of a data set hold, as the server counts it: equal data have equal checksums, whatever the server.
///
/// # Errors
/// When the server cannot be reached, a table is missing, or the product has no function for it.
pub fn content(options: &ConnectOptions, product: Product, data: DataSet) -> Result<Checksum> {
    let options = ConnectOptions { timeout: options.timeout.max(PATIENCE), ..options.clone() };
    let mut control =
        Control::connect(&options).map_err(|source| Error::Connect { client: 0, source })?;
    let mut content = Checksum::default();
    for table in 1..=data.tables {
        let sql = select_content(product, table).ok_or(Error::NoChecksum(product))?;
        let found = control.query(&sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
        let number = |column| found.text(0, column).and_then(|text| text.parse().ok());
        let (Some(rows), Some(sum)) = (number(0), number(1)) else {
            return Err(Error::NoChecksum(product));
        };
        content = content.with(TableContent { rows, sum });
    }
    Ok(content)
}

fn send(hot: &mut Hot, sql: &[u8]) -> Result<()> {
    hot.query(sql).map(drop).map_err(|source| Error::query(sql, source))
}

/// Hands every batch to `consume` while a second thread makes the next ones; tells what was in them.
fn with_batches_ahead(
    batches: InsertBatches,
    mut consume: impl FnMut(&[u8], u32) -> Result<()>,
) -> Result<TableContent> {
    std::thread::scope(|scope| {
        let (full, to_send) = sync_channel::<Batch>(AHEAD);
        let (used, to_fill) = channel::<Vec<u8>>();
        let maker = std::thread::Builder::new()
            .name("assay-rows".to_owned())
            .spawn_scoped(scope, move || make_batches(batches, &full, &to_fill))
            .map_err(Error::Thread)?;
        for (sql, count) in to_send {
            consume(&sql, count)?;
            // The maker is gone once it has made its last batch.
            drop(used.send(sql));
        }
        maker.join().map_err(|_| Error::ClientLost)
    })
}

/// Makes batches until there are no more or nobody wants them; tells what was in them.
fn make_batches(
    mut batches: InsertBatches,
    full: &SyncSender<Batch>,
    used: &Receiver<Vec<u8>>,
) -> TableContent {
    loop {
        let mut sql = used.try_recv().unwrap_or_default();
        let count = batches.next_into(&mut sql);
        if count == 0 || full.send((sql, count)).is_err() {
            return batches.content();
        }
    }
}
