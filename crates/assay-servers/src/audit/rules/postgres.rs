//! Rules about settings that only Postgres has. Data; the release notes list renames and additions.

use super::rule::{RuleVariable, SettingRule, spelling, trap};

const MANUAL: &str = "PostgreSQL documentation, server configuration";
const VERSION_18: &str = "PostgreSQL 18 release notes";
const PARALLEL: &str = "one statement may use several processes";
const WAL: &str = "it decides what is written to the log, and when";
const VACUUM: &str = "it decides when dead rows are removed in the background";
const TRACKED: &str = "counting and timing cost CPU in every statement";
const MEMORY: &str = "data that does not fit is sorted or stored in files";
const PLANNER: &str = "plans depend on the planner's assumptions about the machine";
const LOCALE: &str = "the locale decides how expensive comparing and sorting strings is";

/// `auto` has an effect only with a module that needs the id.
const QUERY_ID: &[RuleVariable] = &[RuleVariable {
    name: "compute_query_id",
    meaning: |value, _| if value == "auto" { "OFF".to_owned() } else { spelling(value) },
}];

pub(super) const RULES: &[SettingRule] = &[
    trap("server_encoding", "the encoding decides how expensive comparing strings is", MANUAL),
    trap(
        "database.encoding",
        "the encoding decides how expensive comparing strings is",
        "pg_database",
    ),
    trap("client_encoding", "strings are converted between client and server", MANUAL),
    trap("database.locale", LOCALE, "pg_database"),
    trap("database.ctype", LOCALE, "pg_database"),
    // The C library (`c`) was the only one until Postgres 10.
    trap("database.locale_provider", LOCALE, "pg_database").else_("C"),
    trap("table.persistence", "an unlogged table (`u`) is not written to the log", "pg_class"),
    trap("fsync", "nothing is ever flushed", MANUAL),
    trap("wal_level", WAL, MANUAL),
    trap("wal_sync_method", WAL, MANUAL),
    trap("wal_compression", WAL, MANUAL).else_("OFF"),
    trap("wal_log_hints", WAL, MANUAL),
    trap("wal_buffers", WAL, MANUAL),
    trap("wal_writer_delay", WAL, MANUAL),
    trap("wal_init_zero", WAL, MANUAL).else_("ON"),
    trap("wal_recycle", WAL, MANUAL).else_("ON"),
    trap("wal_segment_size", WAL, MANUAL),
    trap("commit_delay", "commits wait for each other", MANUAL),
    trap("checkpoint_timeout", WAL, MANUAL),
    trap("checkpoint_completion_target", WAL, MANUAL),
    // On by default since Postgres 18.
    trap("data_checksums", "checksums cost CPU for every page", VERSION_18),
    trap("block_size", "the page size decides how much is read and written at a time", MANUAL),
    // Since Postgres 11, on by default since 12.
    trap("jit", "expensive statements are compiled first", "PostgreSQL 12 release notes")
        .else_("OFF"),
    trap("max_parallel_workers_per_gather", PARALLEL, MANUAL).else_("0"),
    trap("max_parallel_workers", PARALLEL, MANUAL),
    trap("max_worker_processes", PARALLEL, MANUAL),
    trap("parallel_leader_participation", PARALLEL, MANUAL),
    trap("autovacuum", VACUUM, MANUAL),
    trap("autovacuum_naptime", VACUUM, MANUAL),
    trap("autovacuum_vacuum_cost_delay", VACUUM, MANUAL),
    trap("autovacuum_vacuum_insert_threshold", VACUUM, MANUAL).else_("-1"),
    // Since Postgres 18. Before, a process reads for itself, as with `sync`.
    trap(
        "io_method",
        "pages are read by the process itself, by workers or by the kernel",
        VERSION_18,
    )
    .else_("SYNC"),
    trap("io_workers", "the number of processes that read pages for others", VERSION_18),
    trap("effective_io_concurrency", PLANNER, MANUAL),
    trap(
        "io_combine_limit",
        "the number of pages that are read at a time",
        "PostgreSQL 17 release notes",
    ),
    trap("bgwriter_delay", "dirty pages are written in the background", MANUAL),
    trap("bgwriter_lru_maxpages", "dirty pages are written in the background", MANUAL),
    trap("backend_flush_after", "pages are forced to the disk early", MANUAL),
    trap("work_mem", MEMORY, MANUAL),
    trap("hash_mem_multiplier", MEMORY, MANUAL).else_("1"),
    trap("temp_buffers", MEMORY, MANUAL),
    trap("effective_cache_size", PLANNER, MANUAL),
    trap("random_page_cost", PLANNER, MANUAL),
    trap("seq_page_cost", PLANNER, MANUAL),
    trap("default_statistics_target", PLANNER, MANUAL),
    trap(
        "plan_cache_mode",
        "it decides whether prepared statements are planned for each execution",
        MANUAL,
    )
    .else_("AUTO"),
    trap("enable_indexonlyscan", PLANNER, MANUAL),
    trap("track_activities", TRACKED, MANUAL),
    trap("track_counts", TRACKED, MANUAL),
    trap("track_io_timing", TRACKED, MANUAL),
    trap("track_wal_io_timing", TRACKED, MANUAL).else_("OFF"),
    trap("track_functions", TRACKED, MANUAL),
    trap("compute_query_id", TRACKED, "PostgreSQL 14 release notes").from(QUERY_ID).else_("OFF"),
    trap("log_statement", "every statement is written to a log", MANUAL),
    trap("log_min_duration_statement", "statements are timed for a log", MANUAL),
    trap("shared_preload_libraries", "loaded libraries may be called in every statement", MANUAL),
    trap("debug_assertions", "the server runs assertions all the time", MANUAL).else_("OFF"),
    trap("shared_memory_type", "the kind of shared memory decides how large its pages are", MANUAL),
    trap("default_toast_compression", "the compression method of long values", MANUAL)
        .else_("PGLZ"),
];
