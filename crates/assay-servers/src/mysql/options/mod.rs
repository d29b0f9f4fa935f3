//! The options of the MySQL family: the parts that its two tables share.

mod mariadb;
mod mysql;

pub(crate) use mariadb::OPTIONS as MARIADB;
pub(crate) use mysql::OPTIONS as MYSQL;

use crate::intent::{Durability, Intent};
use crate::setting::Instead::{self, Otherwise};

macro_rules! fixed {
    ($value:literal) => {
        |_| $value.to_owned()
    };
}
use fixed;

/// The behaviour of versions without `eq_range_index_dive_limit`.
const ALWAYS_DIVES: Instead =
    Otherwise("looks up every value of a list in the index to plan a statement");

/// The behaviour of versions without `innodb_default_row_format`.
const COMPACT_ROWS: Instead =
    Otherwise("creates `Compact` rows, which differ from `Dynamic` only for long columns");

fn commit(intent: &Intent) -> String {
    match intent.durability {
        Durability::Relaxed => "2".to_owned(),
        Durability::Full => "1".to_owned(),
    }
}

/// The engine's cache.
fn cache(intent: &Intent) -> String {
    format!("{}M", intent.buffer_pool_mb)
}

/// A memtable of MyRocks, MiB. A full one is written while the next one fills.
fn memtable_mb(intent: &Intent) -> u64 {
    (intent.buffer_pool_mb / 8).clamp(1, 64)
}

/// The engine's cache without the memory of two memtables, because a buffer pool holds changed pages too.
fn block_cache(intent: &Intent) -> String {
    format!("{}M", intent.buffer_pool_mb.saturating_sub(2 * memtable_mb(intent)).max(1))
}

/// No compression, like InnoDB, and the size of memtables.
fn column_family(intent: &Intent) -> String {
    format!("compression=kNoCompression;write_buffer_size={}m", memtable_mb(intent))
}

/// The whole redo log.
fn log(intent: &Intent) -> String {
    format!("{}M", intent.log_mb)
}

/// One of two files of the redo log.
fn half_of_log(intent: &Intent) -> String {
    format!("{}M", intent.log_mb.div_ceil(2))
}

fn connections(intent: &Intent) -> String {
    intent.connections_max.to_string()
}
