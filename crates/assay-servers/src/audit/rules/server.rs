//! Rules about settings that all products have: sessions, character sets, connections, planning, logging. Data.

use super::rule::{Own, Rule, Variable, plain};

const CHARSET: &str = "the character set decides how expensive comparing and sorting strings is";
const COLLATION: &str = "the collation decides how expensive comparing and sorting strings is";
const CONNECTION: &str = "it decides which threads serve a connection and how they are woken";
const QUERY_CACHE: &str = "results may come from a cache whose lock all threads share";
const SORT: &str = "data that does not fit is sorted or stored in files";
const LOGGED: &str = "every statement is logged, or timed for a log";

const MARIADB: &str = "MariaDB documentation, server system variables";
const BOTH: &str = "MariaDB and MySQL documentation, server system variables";

/// `tx_isolation` until MySQL 8.0.3 and MariaDB 11.1.1.
const ISOLATION: &[Variable] = &[
    Variable {
        name: "transaction_isolation",
        meaning: |value, _| value.to_ascii_uppercase().replace(' ', "-"),
    },
    plain("tx_isolation"),
];

/// The intent does not change it.
const OWN_ISOLATION: Own = Own {
    value: |product| product.facts().isolation,
    why: "each product keeps its default isolation level, which is part of comparing products",
};

/// Removed in MySQL 8.4.0; offered by default since MySQL 5.7 and MariaDB 11.4.1.
const TLS: &[Variable] = &[
    Variable {
        name: "have_ssl",
        meaning: |value, _| if value == "YES" { "ON" } else { "OFF" }.to_owned(),
    },
    plain("ssl"),
];

/// Has no effect without a binary log.
const SYNC_BINLOG: &[Variable] = &[Variable {
    name: "sync_binlog",
    meaning: |value, settings| match settings.get("log_bin").map(String::as_str) {
        Some("OFF" | "0") => "NO BINARY LOG".to_owned(),
        _ => value.to_owned(),
    },
}];

/// The tables of a study have no column that is long enough to be stored outside its row.
const ROW_FORMAT: &[Variable] = &[Variable {
    name: "table.row_format",
    meaning: |value, _| match value.to_ascii_uppercase().as_str() {
        "COMPACT" | "DYNAMIC" => "COMPACT OR DYNAMIC".to_owned(),
        other => other.to_owned(),
    },
}];

pub(super) const RULES: &[Rule] = &[
    Rule::trap("character_set_server", CHARSET, BOTH),
    Rule::trap("character_set_database", CHARSET, BOTH),
    Rule::trap("character_set_client", CHARSET, BOTH),
    Rule::trap("character_set_connection", CHARSET, BOTH),
    Rule::trap("character_set_results", CHARSET, BOTH),
    Rule::trap("collation_server", COLLATION, BOTH),
    Rule::trap("collation_database", COLLATION, BOTH),
    Rule::trap("collation_connection", COLLATION, BOTH),
    Rule::trap("schema.charset", CHARSET, "information_schema.SCHEMATA"),
    Rule::trap("schema.collation", COLLATION, "information_schema.SCHEMATA"),
    Rule::trap("table.collation", COLLATION, "information_schema.TABLES"),
    Rule::trap("table.charset", CHARSET, "information_schema.COLUMNS"),
    Rule::trap(
        "table.engine",
        "the tables have different storage engines",
        "information_schema.TABLES",
    ),
    Rule::trap(
        "table.row_format",
        "rows are stored differently; `Compact` and `Dynamic` differ only for long columns",
        "MySQL reference manual, DYNAMIC row format",
    )
    .from(ROW_FORMAT),
    Rule::trap(
        "session.ssl_cipher",
        "encryption costs CPU for every byte sent",
        "SHOW STATUS LIKE 'Ssl_cipher'",
    )
    .else_(""),
    Rule::trap(
        "have_ssl",
        "a client that accepts the offered encryption pays for every byte sent",
        "MariaDB 11.4.1 release notes; MySQL 8.4.0 release notes",
    )
    .from(TLS),
    Rule::trap(
        "session.compression",
        "compression costs CPU for every byte sent",
        "SHOW STATUS LIKE 'Compression'",
    )
    .else_("OFF"),
    Rule::harmless(
        "session.auth_plugin",
        "clients log in before anything is measured",
        "client/server protocol, handshake",
    ),
    Rule::trap(
        "session.capabilities",
        "client and server agreed on different capabilities: metadata and ends of results cost bytes and parsing",
        "client/server protocol, capability flags",
    ),
    Rule::harmless(
        "session.cannot_run",
        "a server refuses to prepare a statement of the test, which fails there and leaves the others as they are",
        "the server's error",
    ),
    Rule::trap(
        "session.unprepared",
        "statements that one server prepares are parsed in every execution by the other",
        "error 1295, `This command is not supported in the prepared statement protocol yet`",
    ),
    Rule::harmless(
        "session.unprepared_control",
        "the begin or end of a transaction is sent as text, which costs parsing one word",
        "MariaDB 10.6.0 release notes; error 1295",
    ),
    Rule::trap(
        "transaction_isolation",
        "isolation levels differ in the locks they take and the row versions they keep",
        BOTH,
    )
    .from(ISOLATION)
    .own(OWN_ISOLATION),
    Rule::trap("autocommit", "it decides how many statements a transaction has", BOTH),
    Rule::trap("sql_mode", "statements may be checked or run differently", BOTH),
    Rule::trap("log_bin", "the binary log costs CPU and writes at every commit", BOTH),
    Rule::trap("sync_binlog", "it decides what a commit waits for", BOTH).from(SYNC_BINLOG),
    Rule::trap("performance_schema", "it costs CPU in every statement", BOTH).else_("OFF"),
    // Removed in MySQL 8.0.3.
    Rule::trap("query_cache_type", QUERY_CACHE, BOTH).else_("OFF"),
    Rule::trap("query_cache_size", QUERY_CACHE, BOTH).else_("0"),
    Rule::trap("thread_handling", CONNECTION, BOTH),
    Rule::harmless(
        "thread_cache_size",
        "it saves starting threads for new connections; the connections of a study stay open",
        BOTH,
    ),
    Rule::trap("thread_pool_size", CONNECTION, MARIADB),
    Rule::trap("large_pages", "huge pages make memory accesses cheaper", BOTH),
    Rule::trap("general_log", LOGGED, BOTH),
    Rule::trap("slow_query_log", LOGGED, BOTH),
    Rule::trap("userstat", "statistics are updated for every row", MARIADB).else_("OFF"),
    Rule::trap("sort_buffer_size", SORT, BOTH),
    Rule::trap("tmp_table_size", SORT, BOTH),
    Rule::trap("max_heap_table_size", SORT, BOTH),
    Rule::trap("join_buffer_size", "data that does not fit is read several times", BOTH),
    Rule::trap("read_rnd_buffer_size", "it decides how many rows are read in key order", BOTH),
    Rule::harmless("table_open_cache", "far more than a study has tables", BOTH),
    // 10 before MySQL 5.7.4; 0 before MariaDB 10.4.3.
    Rule::trap(
        "eq_range_index_dive_limit",
        "the planner looks up lists of values in the index up to this length, and estimates longer ones",
        BOTH,
    ),
    Rule::trap("use_stat_tables", "plans are based on other statistics", MARIADB),
    Rule::trap("optimizer_switch", "the plan of a statement may differ", BOTH),
    Rule::harmless("optimizer_trace", "off; the difference is in what it would record", BOTH),
];
