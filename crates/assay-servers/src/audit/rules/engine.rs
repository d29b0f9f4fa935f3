//! Rules about storage: caches, logs, waits at commit, how pages reach the disk. Data.

use super::rule::{RuleVariable, SettingRule, harmless, plain, spelling, trap};
use crate::audit::facts::ServerSettings;

const LOG_SIZE: &str = "a smaller redo log makes a server write its pages more often";
const MEMORY: &str = "it decides how much data is found in memory";
const COMMIT: &str = "it decides what a commit waits for";
const CHECKSUM: &str = "checksums cost CPU for every page that is read or written";
const CACHED: &str =
    "it decides whether files go through the kernel's page cache, and what is flushed";
const WRITE_BACK: &str = "it decides how fast dirty pages are written in the background";
const STATISTICS: &str = "plans depend on statistics, which are stored or recomputed differently";
const BACKGROUND: &str = "the number of background threads: each version has its own default";

const MARIADB: &str = "MariaDB documentation, InnoDB system variables";
const LOG_RENAMED: &str =
    "MySQL 8.0.30 release notes; MariaDB documentation, innodb_log_files_in_group";
const ADDED_IN_11_0: &str = "MariaDB documentation, system variables added in MariaDB 11.0";
const MYSQL: &str = "MySQL reference manual, InnoDB system variables";
const BOTH: &str = "MariaDB and MySQL documentation, InnoDB system variables";
const MYROCKS: &str = "MariaDB documentation, MyRocks system variables";

/// Before MySQL 8.0.30, a number of files of one size. MariaDB has had one file since 10.5.
const LOG: &[RuleVariable] = &[
    plain("innodb_redo_log_capacity"),
    RuleVariable { name: "innodb_log_file_size", meaning: log_files },
    RuleVariable { name: "max_wal_size", meaning: bytes },
];

fn log_files(size: &str, settings: &ServerSettings) -> String {
    let files = settings.get("innodb_log_files_in_group").map_or("1", String::as_str);
    match (size.parse::<u64>(), files.parse::<u64>()) {
        (Ok(size), Ok(files)) => size.saturating_mul(files).to_string(),
        _ => size.to_owned(),
    }
}

/// Converts a size with its unit, as Postgres writes it, to bytes.
fn bytes(value: &str, _: &ServerSettings) -> String {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match value.get(digits.len()..) {
        Some("kB") => 10,
        Some("MB") => 20,
        Some("GB") => 30,
        Some("TB") => 40,
        _ => 0,
    };
    let size = digits.parse::<u64>().ok().and_then(|size| size.checked_mul(1 << shift));
    size.map_or_else(|| value.to_owned(), |size| size.to_string())
}

const CACHE: &[RuleVariable] =
    &[plain("innodb_buffer_pool_size"), RuleVariable { name: "shared_buffers", meaning: bytes }];

const DURABILITY: &[RuleVariable] = &[
    RuleVariable {
        name: "innodb_flush_log_at_trx_commit",
        meaning: |value, _| match value {
            "1" => "FLUSHED AT COMMIT".to_owned(),
            "2" | "0" => format!("FLUSHED EACH SECOND ({value})"),
            other => other.to_owned(),
        },
    },
    RuleVariable {
        name: "synchronous_commit",
        meaning: |value, _| match value {
            "on" | "local" | "remote_write" | "remote_apply" => "FLUSHED AT COMMIT".to_owned(),
            // The log writer flushes within moments; the server writes nothing at commit, as with 2.
            "off" => "FLUSHED EACH SECOND (2)".to_owned(),
            other => other.to_owned(),
        },
    },
];

const TORN_PAGES: &[RuleVariable] = &[
    RuleVariable {
        name: "innodb_doublewrite",
        // `fast` is MariaDB's word since 11.0.6 for `on` elsewhere, without its extra flush.
        meaning: |value, _| spelling(value),
    },
    plain("full_page_writes"),
];

const DATA_BUFFERING: &[RuleVariable] = &[
    plain("innodb_data_file_buffering"),
    RuleVariable { name: METHOD, meaning: |it, _| on(!it.starts_with("O_DIRECT")) },
];

const DATA_THROUGH: &[RuleVariable] = &[
    plain("innodb_data_file_write_through"),
    RuleVariable { name: METHOD, meaning: |_, _| on(false) },
];

const LOG_THROUGH: &[RuleVariable] = &[
    plain("innodb_log_file_write_through"),
    RuleVariable { name: METHOD, meaning: |it, _| on(it == "O_DSYNC") },
];

/// `full_crc32`, since MariaDB 10.4.3, is the same CRC-32C of the same page, computed at once instead of in two parts.
const PAGE_CHECKSUM: &[RuleVariable] = &[RuleVariable {
    name: "innodb_checksum_algorithm",
    meaning: |value, _| match value.to_ascii_uppercase().trim_start_matches("STRICT_") {
        "CRC32" | "FULL_CRC32" => "CRC-32C".to_owned(),
        other => spelling(other),
    },
}];

const METHOD: &str = "innodb_flush_method";

fn on(is_on: bool) -> String {
    if is_on { "ON" } else { "OFF" }.to_owned()
}

/// `try` does not say whether the server got huge pages. Postgres reports that since version 17.
const HUGE: &[RuleVariable] =
    &[plain("large_pages"), plain("huge_pages_status"), plain("huge_pages")];

/// Servers do not request these pages themselves, so `madvise` has the effect of `never`, which newer versions of
/// MariaDB choose.
const TRANSPARENT: &[RuleVariable] = &[RuleVariable {
    name: "process.transparent-huge-pages",
    meaning: |value, _| on(value == "always"),
}];

/// Inserts of a known number of rows hold the counter for a moment with 1 and with 2.
const AUTO_INCREMENT: &[RuleVariable] = &[RuleVariable {
    name: "innodb_autoinc_lock_mode",
    meaning: |value, _| if value == "0" { "WHOLE STATEMENT" } else { "A MOMENT" }.to_owned(),
}];

pub(super) const RULES: &[SettingRule] = &[
    trap("buffer_pool_size", MEMORY, BOTH).from(CACHE),
    trap("log_size", LOG_SIZE, LOG_RENAMED).from(LOG),
    trap("durability", COMMIT, BOTH).from(DURABILITY),
    trap("doublewrite", "it doubles the writes of pages", BOTH).from(TORN_PAGES),
    trap("huge_pages", "huge pages make memory accesses cheaper", BOTH).from(HUGE),
    trap(
        "process.transparent-huge-pages",
        "transparent huge pages make memory accesses cheaper",
        "Linux documentation, transparent hugepage support",
    )
    .from(TRANSPARENT),
    trap(
        "innodb_log_write_ahead_size",
        "blocks smaller than those of the page cache or the device must be read before they are written",
        "MDEV-14425; MDEV-33894; MySQL 5.7.4 release notes",
    )
    // Versions without it write blocks of 512 bytes, unless the log bypasses the page cache.
    .else_("512"),
    trap("innodb_log_buffer_size", "a full log buffer is written before the commit", BOTH),
    // Since MySQL 8.0.22. With many clients, separate threads help; with few, they cost.
    trap(
        "innodb_log_writer_threads",
        "the log is written by dedicated threads that a commit waits for, or by the committing thread",
        MYSQL,
    )
    .else_("OFF"),
    trap("innodb_log_checksums", CHECKSUM, BOTH).else_("ON"),
    harmless(
        "innodb_log_compressed_pages",
        "it also logs compressed pages, and there are none",
        BOTH,
    ),
    trap("innodb_flush_method", CACHED, BOTH),
    trap("innodb_log_file_buffering", CACHED, "MariaDB 10.8.4 and 10.9.2 release notes")
        .else_("ON"),
    trap("innodb_log_file_mmap", "the log is memory-mapped", MARIADB).else_("OFF"),
    // Since MariaDB 11.0.1, they replace the method.
    trap("data_file_buffering", CACHED, ADDED_IN_11_0).from(DATA_BUFFERING),
    trap("data_file_write_through", CACHED, ADDED_IN_11_0).from(DATA_THROUGH),
    trap("log_file_write_through", CACHED, ADDED_IN_11_0).from(LOG_THROUGH),
    trap("innodb_use_fdatasync", "it decides what a flush writes besides the data", MYSQL)
        .else_("OFF"),
    // Since MySQL 8.0.14. Before, the thread that serves the connection reads everything.
    trap(
        "innodb_parallel_read_threads",
        "COUNT(*) without a condition starts so many threads, whatever the size of the table",
        "MySQL 8.0.14 release notes",
    )
    .else_("1"),
    trap("innodb_doublewrite_pages", "the number of pages in one doublewrite", MYSQL),
    trap("innodb_doublewrite_files", "the number of doublewrite files", MYSQL),
    // Off by default since MariaDB 10.5.4 and MySQL 8.4.0.
    trap(
        "innodb_adaptive_hash_index",
        "it speeds up reads by key, slows down writes, and its latches cause contention",
        BOTH,
    )
    .else_("OFF"),
    // Removed in MariaDB 11.0.2 (MDEV-29694); off by default since 10.5.15 and MySQL 8.4.0.
    trap(
        "innodb_change_buffering",
        "it defers changes to secondary indexes until later reads",
        "MDEV-29694; MDEV-27734; MySQL 8.4.0 release notes",
    )
    .else_("NONE"),
    trap(
        "innodb_snapshot_isolation",
        "some transactions fail that would otherwise succeed",
        "MDEV-35124",
    )
    .else_("OFF"),
    trap("innodb_checksum_algorithm", CHECKSUM, BOTH).from(PAGE_CHECKSUM),
    trap("innodb_checksums", CHECKSUM, BOTH).else_("ON"),
    trap("innodb_page_size", "the page size decides how much is read and written at a time", BOTH),
    trap("innodb_compression_default", "pages are compressed", MARIADB).else_("OFF"),
    trap("innodb_encrypt_tables", "pages are encrypted", MARIADB).else_("OFF"),
    trap("innodb_encrypt_log", "the log is encrypted", MARIADB).else_("OFF"),
    trap("innodb_numa_interleave", "memory is spread over NUMA nodes differently", BOTH)
        .else_("OFF"),
    trap("innodb_use_native_aio", "asynchronous I/O is done by the kernel or by threads", BOTH),
    trap("innodb_io_capacity", WRITE_BACK, BOTH),
    trap("innodb_flush_neighbors", "it decides how many pages are written at a time", BOTH),
    trap("innodb_flush_sync", WRITE_BACK, BOTH),
    trap("innodb_max_dirty_pages_pct", WRITE_BACK, BOTH),
    trap("innodb_max_dirty_pages_pct_lwm", WRITE_BACK, BOTH),
    trap("innodb_adaptive_flushing", WRITE_BACK, BOTH),
    trap("innodb_thread_concurrency", "threads may have to wait to enter the engine", BOTH).else_("0"),
    trap("innodb_random_read_ahead", "pages are read before a statement needs them", BOTH),
    trap("innodb_read_ahead_threshold", "pages are read before a statement needs them", BOTH),
    trap("innodb_stats_persistent", STATISTICS, BOTH),
    trap("innodb_stats_auto_recalc", STATISTICS, BOTH),
    trap("innodb_stats_persistent_sample_pages", STATISTICS, BOTH),
    trap("innodb_autoinc_lock_mode", "it decides how long inserts hold a table's auto-increment lock", BOTH)
        .from(AUTO_INCREMENT),
    trap("innodb_deadlock_detect", "lock waits are searched for cycles", BOTH),
    trap("innodb_print_all_deadlocks", "deadlocks are written to the log", BOTH),
    trap("innodb_status_output", "the state of the engine is written to the log", BOTH),
    harmless(
        "innodb_buffer_pool_chunk_size",
        "the steps in which the cache could be resized",
        BOTH,
    ),
    harmless(
        "innodb_buffer_pool_instances",
        "the number of parts of the cache: each version has its own default",
        "MDEV-15058; MySQL reference manual, InnoDB system variables",
    ),
    harmless("innodb_io_capacity_max", "the limits are expressed differently", BOTH),
    harmless(
        "innodb_undo_tablespaces",
        "the location of old row versions: each version has its own default",
        BOTH,
    ),
    trap(
        "innodb_purge_threads",
        "they compete with clients for CPUs: with four instead of one on two CPUs, an update of MySQL 5.7 took 51 to \
         121 µs more CPU in the background",
        BOTH,
    ),
    harmless("innodb_page_cleaners", BACKGROUND, BOTH),
    harmless("innodb_read_io_threads", BACKGROUND, BOTH),
    harmless("innodb_write_io_threads", BACKGROUND, BOTH),
    trap("rocksdb_block_cache_size", MEMORY, MYROCKS),
    trap("rocksdb_flush_log_at_trx_commit", COMMIT, MYROCKS),
    trap("rocksdb_write_disable_wal", COMMIT, MYROCKS),
    trap("rocksdb_use_direct_reads", CACHED, MYROCKS),
    trap("rocksdb_use_direct_io_for_flush_and_compaction", CACHED, MYROCKS),
    trap("rocksdb_default_cf_options", "the compression, filters and layout of rows", MYROCKS),
    trap("rocksdb_max_background_jobs", WRITE_BACK, MYROCKS),
];
