//! How much memory and disk a plan needs.

use assay_model::Setup;

/// Loaded size of one row with its primary key, secondary index and page overhead, bytes.
///
/// 1 M rows took 260 MB in InnoDB after load; the writes that age the data add page splits.
const ROW_BYTES: u64 = 300;

/// Spare memory of a cached study, which keeps the whole data set in memory.
const BUFFER_POOL_FACTOR: f64 = 1.5;

/// Smallest buffer pool: the server's own tables and undo need room too.
const BUFFER_POOL_MIN_MB: u64 = 256;

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
