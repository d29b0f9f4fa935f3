//! Counters that a server keeps of its own work: rows, pages, log, locks.

use std::collections::BTreeMap;

use assay_model::Product;
use assay_wire::{ConnectOptions, Connection, ResultSet};

use crate::error::Error;

/// Counters of MySQL and MariaDB, in `SHOW GLOBAL STATUS`. Names that a version lacks are left out. All of them only
/// grow while the server runs.
const MYSQL: &[&str] = &[
    "Binlog_cache_disk_use",
    "Bytes_received",
    "Bytes_sent",
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Handler_commit",
    "Handler_delete",
    "Handler_read_first",
    "Handler_read_key",
    "Handler_read_last",
    "Handler_read_next",
    "Handler_read_prev",
    "Handler_read_rnd",
    "Handler_read_rnd_next",
    "Handler_tmp_write",
    "Handler_update",
    "Handler_write",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_read_ahead",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_write_requests",
    "Innodb_data_fsyncs",
    "Innodb_data_reads",
    "Innodb_data_writes",
    "Innodb_data_written",
    "Innodb_dblwr_pages_written",
    "Innodb_dblwr_writes",
    "Innodb_log_waits",
    "Innodb_log_write_requests",
    "Innodb_log_writes",
    "Innodb_os_log_fsyncs",
    "Innodb_os_log_written",
    "Innodb_pages_created",
    "Innodb_pages_read",
    "Innodb_pages_written",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_read",
    "Innodb_rows_updated",
    "Opened_tables",
    "Rocksdb_block_cache_hit",
    "Rocksdb_block_cache_miss",
    "Rocksdb_bytes_read",
    "Rocksdb_bytes_written",
    "Rocksdb_compact_read_bytes",
    "Rocksdb_compact_write_bytes",
    "Rocksdb_flush_write_bytes",
    "Rocksdb_number_keys_read",
    "Rocksdb_number_keys_written",
    "Rocksdb_rows_deleted",
    "Rocksdb_rows_inserted",
    "Rocksdb_rows_read",
    "Rocksdb_rows_updated",
    "Rocksdb_stall_micros",
    "Rocksdb_wal_bytes",
    "Rocksdb_wal_synced",
    "Select_full_join",
    "Select_scan",
    "Sort_merge_passes",
    "Sort_rows",
    "Table_locks_waited",
];

/// The largest value that a counter may have.
const VALUE_MAX: u64 = 1 << 53;

/// Reading is a query that sorts rows into a temporary table. The names of the counters that it changes begin like
/// this.
const OF_READING: [&str; 5] = ["Bytes_", "Created_", "Handler_", "Select_", "Sort_"];

/// A connection that reads a server's counters.
pub struct Status {
    control: Connection,
    query: String,
    /// What reading them once adds to them.
    own: BTreeMap<String, u64>,
}

impl Status {
    /// Connects to a server that is not frozen. `None` for Postgres, whose processes tell their counters only about
    /// once a second: rounds are shorter, so the counters of one would be those of another.
    ///
    /// # Errors
    /// If it refuses the connection.
    pub fn open(options: &ConnectOptions, product: Product) -> Result<Option<Self>, Error> {
        if product == Product::Postgres {
            return Ok(None);
        }
        let names: Vec<String> = MYSQL.iter().map(|name| format!("'{name}'")).collect();
        let query = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "));
        let control = Connection::connect(options)?;
        let mut status = Self { control, query, own: BTreeMap::new() };
        let (first, second) = (status.read()?, status.read()?);
        let own = status.grown(&first, &second).into_iter();
        let is_of_reading = |name: &str| OF_READING.iter().any(|start| name.starts_with(start));
        status.own = own.filter(|(name, _)| is_of_reading(name)).collect();
        Ok(Some(status))
    }

    /// The counters since the server started, by name.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn read(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        Ok(counters(&self.control.query(&self.query)?))
    }

    /// By how much each counter grew from one read to the next, without what reading adds. A counter that was reset
    /// counts from 0.
    #[must_use]
    pub fn grown(
        &self,
        before: &BTreeMap<String, u64>,
        after: &BTreeMap<String, u64>,
    ) -> Vec<(String, u64)> {
        let growth = after.iter().filter_map(|(name, after)| {
            let own = self.own.get(name).copied().unwrap_or(0);
            let grown = after.checked_sub(*before.get(name)?).unwrap_or(*after);
            Some((name.clone(), grown.saturating_sub(own)))
        });
        growth.collect()
    }
}

/// The known counters among rows of names and values. A proxy may send others.
fn counters(found: &ResultSet) -> BTreeMap<String, u64> {
    let counter = |row: usize| {
        let name = found.text(row, 0).filter(|name| MYSQL.contains(name))?;
        let value = found.text(row, 1)?.parse().ok().filter(|value| *value <= VALUE_MAX)?;
        Some((name.to_owned(), value))
    };
    (0..found.rows.len()).filter_map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_counters_with_sensible_values_are_told() {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let row = |name, value| vec![text(name), text(value)];
        let found = ResultSet {
            rows: vec![
                row("Innodb_rows_read", "17"),
                row("Uptime", "5"),
                row("Sort_rows", "18446744073709551615"),
                row("Select_scan", "-1"),
                vec![None, None],
            ],
            ..ResultSet::default()
        };
        assert_eq!(counters(&found), BTreeMap::from([("Innodb_rows_read".to_owned(), 17)]));
    }

    #[test]
    fn names_are_in_order_and_single() {
        assert!(MYSQL.is_sorted_by(|one, next| one < next));
    }
}
