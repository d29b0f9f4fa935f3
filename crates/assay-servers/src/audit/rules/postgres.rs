//! Rules about settings that only Postgres has. Data; the release notes list renames and additions.

use super::rule::{Rule, Variable, spelling};

const MANUAL: &str = "PostgreSQL documentation, server configuration";
const PARALLEL: &str = "one statement may use several processes";
const WAL: &str = "it decides what is written to the log, and when";
const VACUUM: &str = "it decides when dead rows are removed in the background";
const TRACKED: &str = "counting and timing cost CPU in every statement";
const MEMORY: &str = "data that does not fit is sorted or stored in files";
const PLANNER: &str = "plans depend on the planner's assumptions about the machine";
const LOCALE: &str = "the locale decides how expensive comparing and sorting strings is";

/// `auto` has an effect only with a module that needs the id.
const QUERY_ID: &[Variable] = &[Variable {
    name: "compute_query_id",
    meaning: |value, _| if value == "auto" { "OFF".to_owned() } else { spelling(value) },
}];

pub(super) const RULES: &[Rule] = &[
    Rule::trap(
        "server_encoding",
        "the encoding decides how expensive comparing strings is",
        MANUAL,
    ),
    Rule::trap(
        "database.encoding",
        "the encoding decides how expensive comparing strings is",
        "pg_database",
    ),
    Rule::trap("client_encoding", "strings are converted between client and server", MANUAL),
    Rule::trap("database.locale", LOCALE, "pg_database"),
    Rule::trap("database.ctype", LOCALE, "pg_database"),
    // The C library (`c`) was the only one until Postgres 10.
    Rule::trap("database.locale_provider", LOCALE, "pg_database").else_("C"),
    Rule::trap(
        "table.persistence",
        "an unlogged table (`u`) is not written to the log",
        "pg_class",
    ),
    Rule::trap("fsync", "nothing is ever flushed", MANUAL),
    Rule::trap("wal_level", WAL, MANUAL),
    Rule::trap("wal_sync_method", WAL, MANUAL),
    Rule::trap("wal_compression", WAL, MANUAL).else_("OFF"),
    Rule::trap("wal_log_hints", WAL, MANUAL),
    Rule::trap("wal_buffers", WAL, MANUAL),
    Rule::trap("wal_writer_delay", WAL, MANUAL),
    Rule::trap("wal_init_zero", WAL, MANUAL).else_("ON"),
    Rule::trap("wal_recycle", WAL, MANUAL).else_("ON"),
    Rule::trap("wal_segment_size", WAL, MANUAL),
    Rule::trap("commit_delay", "commits wait for each other", MANUAL),
    Rule::trap("checkpoint_timeout", WAL, MANUAL),
    Rule::trap("checkpoint_completion_target", WAL, MANUAL),
    // On by default since Postgres 18.
    Rule::trap(
        "data_checksums",
        "checksums cost CPU for every page",
        "PostgreSQL 18 release notes",
    ),
    Rule::trap(
        "block_size",
        "the page size decides how much is read and written at a time",
        MANUAL,
    ),
    // Since Postgres 11, on by default since 12.
    Rule::trap("jit", "expensive statements are compiled first", "PostgreSQL 12 release notes")
        .else_("OFF"),
    Rule::trap("max_parallel_workers_per_gather", PARALLEL, MANUAL).else_("0"),
    Rule::trap("max_parallel_workers", PARALLEL, MANUAL),
    Rule::trap("max_worker_processes", PARALLEL, MANUAL),
    Rule::trap("parallel_leader_participation", PARALLEL, MANUAL),
    Rule::trap("autovacuum", VACUUM, MANUAL),
    Rule::trap("autovacuum_naptime", VACUUM, MANUAL),
    Rule::trap("autovacuum_vacuum_cost_delay", VACUUM, MANUAL),
    Rule::trap("autovacuum_vacuum_insert_threshold", VACUUM, MANUAL).else_("-1"),
    // Since Postgres 18. Before, a process reads for itself, as with `sync`.
    Rule::trap(
        "io_method",
        "pages are read by the process itself, by workers or by the kernel",
        "PostgreSQL 18 release notes",
    )
    .else_("SYNC"),
    Rule::trap(
        "io_workers",
        "the number of processes that read pages for others",
        "PostgreSQL 18 release notes",
    ),
    Rule::trap("effective_io_concurrency", PLANNER, MANUAL),
    Rule::trap(
        "io_combine_limit",
        "the number of pages that are read at a time",
        "PostgreSQL 17 release notes",
    ),
    Rule::trap("bgwriter_delay", "dirty pages are written in the background", MANUAL),
    Rule::trap("bgwriter_lru_maxpages", "dirty pages are written in the background", MANUAL),
    Rule::trap("backend_flush_after", "pages are forced to the disk early", MANUAL),
    Rule::trap("work_mem", MEMORY, MANUAL),
    Rule::trap("hash_mem_multiplier", MEMORY, MANUAL).else_("1"),
    Rule::trap("temp_buffers", MEMORY, MANUAL),
    Rule::trap("effective_cache_size", PLANNER, MANUAL),
    Rule::trap("random_page_cost", PLANNER, MANUAL),
    Rule::trap("seq_page_cost", PLANNER, MANUAL),
    Rule::trap("default_statistics_target", PLANNER, MANUAL),
    Rule::trap(
        "plan_cache_mode",
        "it decides whether prepared statements are planned for each execution",
        MANUAL,
    )
    .else_("AUTO"),
    Rule::trap("enable_indexonlyscan", PLANNER, MANUAL),
    Rule::trap("track_activities", TRACKED, MANUAL),
    Rule::trap("track_counts", TRACKED, MANUAL),
    Rule::trap("track_io_timing", TRACKED, MANUAL),
    Rule::trap("track_wal_io_timing", TRACKED, MANUAL).else_("OFF"),
    Rule::trap("track_functions", TRACKED, MANUAL),
    Rule::trap("compute_query_id", TRACKED, "PostgreSQL 14 release notes")
        .from(QUERY_ID)
        .else_("OFF"),
    Rule::trap("log_statement", "every statement is written to a log", MANUAL),
    Rule::trap("log_min_duration_statement", "statements are timed for a log", MANUAL),
    Rule::trap(
        "shared_preload_libraries",
        "loaded libraries may be called in every statement",
        MANUAL,
    ),
    Rule::trap("debug_assertions", "the server runs assertions all the time", MANUAL).else_("OFF"),
    Rule::trap(
        "shared_memory_type",
        "the kind of shared memory decides how large its pages are",
        MANUAL,
    ),
    Rule::trap("default_toast_compression", "the compression method of long values", MANUAL)
        .else_("PGLZ"),
];
