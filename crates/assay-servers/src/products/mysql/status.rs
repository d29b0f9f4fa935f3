//! Counters of MySQL and MariaDB.

use assay_wire::Connection;

use crate::error::Error;
use crate::products::kind::Counters;

/// Counters in `SHOW GLOBAL STATUS`, as far as a version has them. All of them only grow while the server runs, except
/// for the levels ([`assay_model::STATUS_LEVELS`]).
const NAMES: &[&str] = &[
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
    "Innodb_buffer_pool_pages_free",
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
    "Innodb_history_list_length",
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

/// Prefixes of the counters that reading changes: it is a query that sorts rows into a temporary table.
const OF_READING: [&str; 5] = ["Bytes_", "Created_", "Handler_", "Select_", "Sort_"];

/// The level that most versions of MariaDB have among their counters and MySQL does not.
const HISTORY: &str = "Innodb_history_list_length";

/// Unpurged transactions in the undo log, in versions without that counter.
const HISTORY_QUERY: &str = "SELECT 'Innodb_history_list_length', `COUNT` FROM information_schema.INNODB_METRICS \
     WHERE NAME = 'trx_rseg_history_len'";

pub(super) fn counters(control: &mut Connection) -> Result<Counters, Error> {
    let names: Vec<String> = NAMES.iter().map(|name| format!("'{name}'")).collect();
    let query = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "));
    let found = control.query(&query)?;
    let has_history = (0..found.rows.len()).any(|row| found.text(row, 0) == Some(HISTORY));
    let mut queries = vec![query];
    if !has_history && control.query(HISTORY_QUERY).is_ok() {
        queries.push(HISTORY_QUERY.to_owned());
    }
    let known = NAMES.iter().map(|name| (*name).to_owned()).collect();
    Ok(Counters { queries, known, publish: None, of_reading: &OF_READING })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_single() {
        assert!(NAMES.is_sorted_by(|one, next| one < next));
    }
}
