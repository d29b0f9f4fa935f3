//! The options of the MySQL family: what its two tables share.

mod mariadb;
mod mysql;

pub(crate) use mariadb::OPTIONS as MARIADB;
pub(crate) use mysql::OPTIONS as MYSQL;

use crate::intent::{Charset, Durability, Intent};

macro_rules! fixed {
    ($value:literal) => {
        |_| $value.to_owned()
    };
}
use fixed;

fn commit(intent: &Intent) -> String {
    match intent.durability {
        Durability::Relaxed => "2".to_owned(),
        Durability::Full => "1".to_owned(),
    }
}

fn charset(intent: &Intent) -> String {
    match intent.charset {
        Charset::Latin1 => "latin1".to_owned(),
        Charset::Utf8mb4 => "utf8mb4".to_owned(),
    }
}

fn collation(intent: &Intent) -> String {
    match intent.charset {
        Charset::Latin1 => "latin1_swedish_ci".to_owned(),
        Charset::Utf8mb4 => "utf8mb4_general_ci".to_owned(),
    }
}

/// The engine's cache.
fn cache(intent: &Intent) -> String {
    format!("{}M", intent.buffer_pool_mb)
}

/// The redo log as one.
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
