//! How much memory and disk a plan needs.

use assay_model::{Generator, OwnData, OwnRows, Setup};

/// Loaded size of one row with its primary key, secondary index and page overhead, bytes.
///
/// 1 M rows took 260 MB in InnoDB after load; the writes that age the data add page splits.
const ROW_BYTES: u64 = 300;

/// Spare memory of a cached study, which keeps the whole data set in memory.
const BUFFER_POOL_FACTOR: f64 = 1.5;

/// Smallest buffer pool: the server's own tables and undo need room too.
const BUFFER_POOL_MIN_MB: u64 = 256;

/// The same for a row of a user's table besides its values, and for each statement that follows the load, which may
/// create an index.
const OWN_ROW_BYTES: u64 = 80;
const OWN_INDEX_BYTES: u64 = 40;

/// Setups that need as much memory with sysbench's tables as these do with a user's, if there are any.
pub(crate) fn sized(setups: &[Setup], own: Option<&OwnData>) -> Vec<Setup> {
    let Some(data) = own else { return setups.to_vec() };
    let rows = own_bytes(data).div_ceil(ROW_BYTES);
    let rows = u32::try_from(rows).unwrap_or(u32::MAX).max(1);
    setups.iter().map(|setup| Setup { tables: 1, rows, ..*setup }).collect()
}

/// Expected size of a user's tables, bytes. Rows that a script makes are not known, so they count as nothing.
fn own_bytes(data: &OwnData) -> u64 {
    let of_table = |table: &assay_model::OwnTable| {
        let row = match &table.rows {
            OwnRows::Generated { columns, .. } => {
                columns.iter().map(|it| value_bytes(&it.values)).sum::<u64>() + OWN_ROW_BYTES
            }
            OwnRows::Csv { .. } | OwnRows::Script(_) => ROW_BYTES,
        };
        let indexes = OWN_INDEX_BYTES.saturating_mul(table.after.len() as u64);
        row.saturating_add(indexes).saturating_mul(table.count().unwrap_or(0).into())
    };
    data.tables.iter().map(of_table).fold(0, u64::saturating_add)
}

/// Usual size of a value, bytes.
fn value_bytes(values: &Generator) -> u64 {
    match values {
        Generator::Text { least, most } => u64::midpoint((*least).into(), (*most).into()),
        other => other.most_bytes(),
    }
}

/// Expected size of the loaded tables, MB.
#[must_use]
pub(crate) fn loaded_mb(setup: Setup) -> u64 {
    (u64::from(setup.tables) * u64::from(setup.rows) * ROW_BYTES).div_ceil(1 << 20)
}

/// Buffer pool for a study that is to be served from memory, MB, in steps of 128.
#[must_use]
pub fn buffer_pool_mb(setup: Setup) -> u64 {
    let wanted = (loaded_mb(setup) as f64 * BUFFER_POOL_FACTOR).ceil() as u64;
    wanted.max(BUFFER_POOL_MIN_MB).next_multiple_of(128)
}

/// Smallest and largest redo log, MB.
const REDO_LOG_MB: (u64, u64) = (512, 2048);

/// Redo log, MB: large enough that slices of writes are not stalled by a forced checkpoint.
///
/// Its unused part is a hole in the file, so that a large log costs no copying.
#[must_use]
pub fn redo_log_mb(setup: Setup) -> u64 {
    (2 * loaded_mb(setup)).next_multiple_of(64).clamp(REDO_LOG_MB.0, REDO_LOG_MB.1)
}
