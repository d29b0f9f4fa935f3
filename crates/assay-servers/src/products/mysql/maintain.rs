//! Maintenance of the MySQL family: statistics, purge, changed pages, and the memtables and compaction of MyRocks.

use std::time::{Duration, Instant};

use assay_wire::Connection;

use crate::drained::Drained;
use crate::error::Error;

const CHECK_EVERY: Duration = Duration::from_millis(20);

/// Longest wait for a server that still needs old files of its binary log.
const EMPTY_LOG_LIMIT: Duration = Duration::from_secs(5);

/// Number of purge rounds after which purged entries leave the history.
const TRUNCATE_FREQUENCY: &str = "innodb_purge_rseg_truncate_frequency";

/// Global variables and values that make a server write everything now, in the order in which they are set. Without the
/// higher capacity a server writes only as many pages per second as configured; without the higher frequency the
/// history keeps purged entries until more have been purged. Not every version has all variables.
const HURRY: [(&str, &str); 5] = [
    (TRUNCATE_FREQUENCY, "1"),
    ("innodb_io_capacity_max", "100000"),
    ("innodb_io_capacity", "100000"),
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_max_dirty_pages_pct", "0"),
];

/// The value for MariaDB 10.1, which refuses a share of 0 with [`WRONG_VALUE`].
const HARDLY_ANY: &str = "0.001";

const WRONG_VALUE: u32 = 1231;

/// A change after all others, for versions that do not shorten the history as soon as it is purged. Their purge reports
/// the last transaction that it found, even if many without changes came after it.
const MARK: [&str; 2] =
    ["CREATE TABLE sbtest_mark (a INT) ENGINE=InnoDB", "DROP TABLE sbtest_mark"];

/// Makes MyRocks write its memtables to files of level 0 and merge those into level 1.
const COMPACT: &str = "rocksdb_force_flush_memtable_and_lzero_now";

pub(super) fn maintain(
    control: &mut Connection,
    tables: &[String],
    limit: Duration,
) -> Result<Drained, Error> {
    // The statistics of MyRocks are stored in its files.
    compact(control)?;
    take_statistics(control, tables)?;
    drain(control, limit)
}

pub(super) fn take_statistics(control: &mut Connection, tables: &[String]) -> Result<(), Error> {
    for table in tables {
        control.query(&format!("ANALYZE TABLE `{}`", table.replace('`', "``")))?;
    }
    Ok(())
}

pub(super) fn drain(control: &mut Connection, limit: Duration) -> Result<Drained, Error> {
    let began = Instant::now();
    let mut before = Vec::new();
    let hurried = hurry(control, &mut before);
    let drained =
        hurried.and_then(|()| compact(control)).and_then(|()| wait(control, began, limit));
    let drained = drained.and_then(|drained| empty_binary_log(control).map(|()| drained));
    // In the opposite order: a maximum is lowered after the value that it bounds. All are restored, even if one fails.
    let mut restored = Ok(());
    for (name, value) in before.iter().rev() {
        restored = restored.and(set(control, name, value));
    }
    let drained = drained?;
    Ok(restored.map(|()| drained)?)
}

fn has_binary_log(control: &mut Connection) -> Result<bool, Error> {
    Ok(variable(control, "log_bin")?.as_deref() == Some("ON"))
}

/// Starts a new file of the binary log and removes the others. MariaDB keeps them until the engine has flushed its own
/// log.
fn empty_binary_log(control: &mut Connection) -> Result<(), Error> {
    if has_binary_log(control)? {
        control.query("FLUSH BINARY LOGS")?;
        let began = Instant::now();
        while remove_binary_logs(control)? > 1 && began.elapsed() < EMPTY_LOG_LIMIT {
            std::thread::sleep(CHECK_EVERY);
        }
    }
    Ok(())
}

/// Removes all files of the binary log except the newest and those that the server still needs. Returns how many are
/// left.
pub(super) fn remove_binary_logs(control: &mut Connection) -> Result<usize, Error> {
    if !has_binary_log(control)? {
        return Ok(0);
    }
    let found = control.query("SHOW BINARY LOGS")?;
    let newest = found.rows.len().saturating_sub(1);
    if let Some(newest) = found.text(newest, 0).filter(|_| newest > 0) {
        control.query(&format!("PURGE BINARY LOGS TO '{}'", newest.replace('\'', "''")))?;
    }
    Ok(control.query("SHOW BINARY LOGS")?.rows.len())
}

fn hurry(control: &mut Connection, before: &mut Vec<(&'static str, String)>) -> Result<(), Error> {
    for (name, value) in HURRY {
        if let Some(old) = variable(control, name)? {
            before.push((name, old));
            match set(control, name, value) {
                Err(error) if error.server_code() == Some(WRONG_VALUE) => {
                    set(control, name, HARDLY_ANY)?;
                }
                done => done?,
            }
        }
    }
    Ok(())
}

fn set(control: &mut Connection, name: &str, value: &str) -> Result<(), assay_wire::Error> {
    control.query(&format!("SET GLOBAL {name} = {value}")).map(drop)
}

/// `None` if the version does not have it.
fn variable(control: &mut Connection, name: &str) -> Result<Option<String>, Error> {
    let found = control.query(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?;
    Ok(found.text(0, 1).map(str::to_owned))
}

/// Does nothing if MyRocks is not loaded.
fn compact(control: &mut Connection) -> Result<(), Error> {
    if variable(control, COMPACT)?.is_some() {
        set(control, COMPACT, "1")?;
    }
    Ok(())
}

fn wait(control: &mut Connection, began: Instant, limit: Duration) -> Result<Drained, Error> {
    let has_rocksdb = variable(control, COMPACT)?.is_some();
    let until = History::read(control)?.next_transaction;
    if variable(control, TRUNCATE_FREQUENCY)?.is_none() {
        MARK.iter().try_for_each(|sql| control.query(sql).map(drop))?;
    }
    loop {
        let history_length = History::read(control)?.left(until);
        let dirty_pages = dirty_pages(control)?;
        let is_compact = !has_rocksdb || rocksdb_is_at_rest(control)?;
        let took = began.elapsed();
        let is_complete = history_length == Some(0) && dirty_pages == 0 && is_compact;
        if is_complete || took > limit {
            return Ok(Drained { is_complete, history_length, dirty_pages, took });
        }
        std::thread::sleep(CHECK_EVERY);
    }
}

fn dirty_pages(control: &mut Connection) -> Result<u64, Error> {
    let found = control.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
    Ok(found.text(0, 1).and_then(|it| it.parse().ok()).unwrap_or(0))
}

/// Whether MyRocks neither writes memtables nor merges files, and has none of that pending.
fn rocksdb_is_at_rest(control: &mut Connection) -> Result<bool, Error> {
    let found = control.query(
        "SELECT SUM(VALUE) FROM information_schema.ROCKSDB_CFSTATS \
         WHERE STAT_TYPE IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')",
    )?;
    let pending = found.text(0, 0).is_some_and(|it| it != "0");
    let found = control.query("SHOW GLOBAL STATUS LIKE 'Rocksdb_manual_compactions_running'")?;
    Ok(!pending && found.text(0, 1) == Some("0"))
}

/// Progress of InnoDB's purge, from `SHOW ENGINE INNODB STATUS`, the only place where every version reports it.
#[derive(Debug, Default, PartialEq, Eq)]
struct History {
    /// Transactions in the history list. Versions before 5.7 leave purged ones in it for a while.
    length: Option<u64>,
    next_transaction: Option<u64>,
    /// All transactions with lower numbers are purged.
    purged_below: Option<u64>,
}

impl History {
    fn read(control: &mut Connection) -> Result<Self, Error> {
        let found = control.query("SHOW ENGINE INNODB STATUS")?;
        Ok(Self::parse(found.text(0, 2).unwrap_or_default()))
    }

    fn parse(status: &str) -> Self {
        let mut history = Self::default();
        for line in status.lines() {
            if let Some(rest) = line.strip_prefix("History list length ") {
                history.length = rest.trim().parse().ok();
            } else if let Some(rest) = line.strip_prefix("Trx id counter ") {
                history.next_transaction = number(rest);
            } else if let Some(rest) = line.strip_prefix("Purge done for trx's n:o < ") {
                history.purged_below = number(rest);
            }
        }
        history
    }

    /// Unpurged transactions before `until`.
    fn left(&self, until: Option<u64>) -> Option<u64> {
        let is_purged = until.is_some() && self.purged_below >= until;
        if is_purged { Some(0) } else { self.length }
    }
}

/// The first word of a text as a transaction number. It is hexadecimal in 5.5 and decimal later. Numbers are only
/// compared with others of the same server, so reading all of them as hexadecimal gives the same order.
fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split_whitespace().next()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "------------
TRANSACTIONS
------------
Trx id counter 5D6
Purge done for trx's n:o < 5D5 undo n:o < D57
History list length 101
LIST OF TRANSACTIONS FOR EACH SESSION:
";

    #[test]
    fn history_is_read_from_the_status() {
        let history = History::parse(STATUS);
        assert_eq!(history.left(history.next_transaction), Some(101));
        let later = "< 5D6 undo n:o < 0 state: running but idle";
        let later = History::parse(&STATUS.replace("< 5D5 undo n:o < D57", later));
        assert_eq!(later.left(history.next_transaction), Some(0));
    }

    #[test]
    fn status_without_a_history_gives_none() {
        assert_eq!(History::parse("InnoDB is off").left(None), None);
    }
}
