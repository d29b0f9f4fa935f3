//! The rule base: settings known to decide comparisons by themselves. Data.

use assay_model::AuditClass;
use assay_model::AuditClass::{Harmless, Suspicious};

/// How a difference of one setting is read.
pub(super) struct Rule {
    /// The variable, also below `session.` and `table.`.
    pub(super) setting: &'static str,
    pub(super) class: AuditClass,
    /// What a version that does not have the setting does, where that is known.
    pub(super) without: Option<&'static str>,
    pub(super) why: &'static str,
}

const fn trap(setting: &'static str, why: &'static str) -> Rule {
    Rule { setting, class: Suspicious, without: None, why }
}

/// A trap with a setting that some versions do not have.
const fn trap_without(setting: &'static str, without: &'static str, why: &'static str) -> Rule {
    Rule { setting, class: Suspicious, without: Some(without), why }
}

const fn harmless(setting: &'static str, why: &'static str) -> Rule {
    Rule { setting, class: Harmless, without: None, why }
}

const CHARSET: &str = "the character set decides what comparing and sorting strings costs";
const COLLATION: &str = "the collation decides what comparing and sorting strings costs";
const ISOLATION: &str = "isolation levels differ in locks taken and versions kept";
const LOG_SIZE: &str = "a smaller redo log makes a server write its pages more often";
const MEMORY: &str = "sizes decide what is found in memory";
const CONNECTION: &str = "it decides which threads serve a connection, and how they are woken";
const CHECKSUM: &str = "checksums cost CPU for every page that is read or written";

/// All of them.
pub(super) const RULES: &[Rule] = &[
    trap("character_set_server", CHARSET),
    trap("character_set_client", CHARSET),
    trap("character_set_connection", CHARSET),
    trap("character_set_results", CHARSET),
    trap("character_set_database", CHARSET),
    trap("collation", COLLATION),
    trap("collation_server", COLLATION),
    trap("collation_connection", COLLATION),
    trap("collation_database", COLLATION),
    trap("engine", "the tables have different storage engines"),
    trap("row_format", "rows are stored differently"),
    trap("ssl_cipher", "encryption costs CPU for every byte sent"),
    trap(
        "innodb_log_write_ahead_size",
        "smaller blocks than the device's are read before they are written",
    ),
    trap("innodb_flush_method", "it decides whether data files go through the page cache"),
    trap_without(
        "innodb_log_file_buffering",
        "ON",
        "it decides whether the log goes through the page cache",
    ),
    trap("innodb_doublewrite", "it doubles the writes of pages"),
    trap("innodb_flush_log_at_trx_commit", "it decides what a commit waits for"),
    trap("sync_binlog", "it decides what a commit waits for"),
    trap_without("innodb_adaptive_hash_index", "OFF", "it shortens reads by key and slows writes"),
    trap_without(
        "innodb_change_buffering",
        "NONE",
        "it defers changes of secondary indexes to later reads",
    ),
    trap_without("innodb_snapshot_isolation", "OFF", "transactions fail that would not otherwise"),
    trap("log_bin", "the binary log costs CPU and writes at every commit"),
    trap("performance_schema", "it costs CPU in every statement"),
    trap_without(
        "query_cache_type",
        "OFF",
        "results may come from a cache, and its lock is shared by all",
    ),
    trap_without(
        "query_cache_size",
        "0",
        "results may come from a cache, and its lock is shared by all",
    ),
    trap_without("innodb_checksum_algorithm", "FULL_CRC32", CHECKSUM),
    trap("innodb_page_size", "the page size decides how much is read and written at a time"),
    trap("innodb_buffer_pool_size", MEMORY),
    trap("innodb_log_file_size", LOG_SIZE),
    trap("innodb_redo_log_capacity", LOG_SIZE),
    trap("large_pages", "huge pages make memory accesses cheaper"),
    trap_without("innodb_numa_interleave", "OFF", "memory is spread over nodes differently"),
    trap("thread_handling", CONNECTION),
    trap("thread_cache_size", CONNECTION),
    trap("transaction_isolation", ISOLATION),
    trap("autocommit", "it decides how many statements a transaction has"),
    trap("sql_mode", "statements may be checked or run differently"),
    trap(
        "innodb_use_native_aio",
        "asynchronous input and output is done by the kernel or by threads",
    ),
    trap("innodb_io_capacity", "it decides how fast changed pages are written"),
    trap("innodb_flush_neighbors", "it decides how many pages are written at a time"),
    trap("version_malloc_library", "memory allocators differ in cost"),
    trap("general_log", "every statement is written to a log"),
    trap("slow_query_log", "statements are timed and written to a log"),
    trap("userstat", "statistics are kept for every row"),
    harmless(
        "optimizer_switch",
        "optimisations that only one of the versions has: part of what is compared",
    ),
    harmless(
        "innodb_undo_tablespaces",
        "where old row versions are stored: the version's own default",
    ),
    harmless("innodb_buffer_pool_chunk_size", "in which steps the buffer pool could be resized"),
    harmless("innodb_io_capacity_max", "the bounds are spelt differently"),
];

/// Settings that differ between any two instances, or say again what the version is.
pub(super) const IGNORED: &[&str] = &[
    "basedir",
    "character_sets_dir",
    "datadir",
    "gtid_binlog_pos",
    "gtid_current_pos",
    "hostname",
    "innodb_version",
    "in_transaction",
    "last_gtid",
    "last_insert_id",
    "log_error",
    "plugin_dir",
    "port",
    "pseudo_thread_id",
    "server_uid",
    "server_uuid",
    "session_track_system_variables",
    "socket",
    "system_time_zone",
    "timestamp",
    "tmpdir",
    "version",
    "version_comment",
    "version_source_revision",
    "version_ssl_library",
    "wsrep_provider_options",
];

/// Beginnings of names of what does nothing here: replication, and sizes of what is off and judged by its switch.
pub(super) const IGNORED_BEGINNINGS: &[&str] =
    &["gtid_", "performance_schema_", "relay_", "replicate_", "rpl_", "slave_", "wsrep_"];

/// Endings of names of paths.
pub(super) const IGNORED_ENDINGS: &[&str] =
    &["_dir", "_file", "_path", "_basename", "_index", "_tmpdir", "ssl_ca", "ssl_cert", "ssl_key"];
