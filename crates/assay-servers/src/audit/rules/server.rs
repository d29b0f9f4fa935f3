//! Rules about settings that all products have: sessions, character sets, connections, planning, logging. Data.

use assay_model::Product;

use super::rule::{Own, Rule, Variable, plain};

const CHARSET: &str = "the character set decides what comparing and sorting strings costs";
const COLLATION: &str = "the collation decides what comparing and sorting strings costs";
const CONNECTION: &str = "it decides which threads serve a connection, and how they are woken";
const QUERY_CACHE: &str = "results may come from a cache, and its lock is shared by all";
const SORT: &str = "what does not fit is sorted or kept in files";
const LOGGED: &str = "every statement is written to a log, or timed for one";

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

/// The intent leaves it as it is.
const OWN_ISOLATION: Own = Own {
    value: |product| match product {
        Product::Postgres => "READ-COMMITTED",
        Product::MariaDb | Product::MySql => "REPEATABLE-READ",
    },
    why: "each product has its default isolation level, which belongs to the comparison of products, \
          which was asked for",
};

/// Gone since MySQL 8.4.0; offered by default since MySQL 5.7 and MariaDB 11.4.1.
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
        "rows are stored differently; `Compact` and `Dynamic` differ in long columns only",
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
        "a client that takes the encryption offered pays for every byte sent",
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
        "how a client logs in: before anything is measured",
        "client/server protocol, handshake",
    ),
    Rule::trap(
        "session.capabilities",
        "client and server speak another dialect: metadata and ends of results cost bytes and parsing",
        "client/server protocol, capability flags",
    ),
    Rule::trap(
        "session.unprepared",
        "statements that one server prepares are parsed again and again by the other",
        "error 1295, `This command is not supported in the prepared statement protocol yet`",
    ),
    Rule::harmless(
        "session.unprepared_control",
        "the begin or end of a transaction is sent as text, which costs a parse of one word",
        "MariaDB 10.6.0 release notes; error 1295",
    ),
    Rule::trap(
        "transaction_isolation",
        "isolation levels differ in locks taken and versions kept",
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
        "it saves starting threads for new connections; those of a study stay open",
        BOTH,
    ),
    Rule::trap("thread_pool_size", CONNECTION, MARIADB),
    Rule::trap("large_pages", "huge pages make memory accesses cheaper", BOTH),
    Rule::trap("general_log", LOGGED, BOTH),
    Rule::trap("slow_query_log", LOGGED, BOTH),
    Rule::trap("userstat", "statistics are kept for every row", MARIADB).else_("OFF"),
    Rule::trap("sort_buffer_size", SORT, BOTH),
    Rule::trap("tmp_table_size", SORT, BOTH),
    Rule::trap("max_heap_table_size", SORT, BOTH),
    Rule::trap("join_buffer_size", "what does not fit is read several times", BOTH),
    Rule::trap(
        "read_rnd_buffer_size",
        "it decides how many rows are read in the order of their keys",
        BOTH,
    ),
    Rule::harmless("table_open_cache", "far more than the tables of a study", BOTH),
    // 10 before MySQL 5.7.4; 0 before MariaDB 10.4.3.
    Rule::trap(
        "eq_range_index_dive_limit",
        "planning looks up to so many points of a list in the index, and guesses for more",
        BOTH,
    ),
    Rule::trap("use_stat_tables", "plans are made from other statistics", MARIADB),
    Rule::trap("optimizer_switch", "the plan of a statement may be another one", BOTH),
    Rule::harmless("optimizer_trace", "off, but for what it would record", BOTH),
];
