//! Rules about settings that all products have: sessions, character sets, connections, planning, logging. Data.

use super::rule::{ProductDefault, RuleVariable, SettingRule, harmless, plain, trap};

const CHARSET: &str = "the character set decides how expensive comparing and sorting strings is";
const COLLATION: &str = "the collation decides how expensive comparing and sorting strings is";
const CONNECTION: &str = "it decides which threads serve a connection and how they are woken";
const QUERY_CACHE: &str = "results may come from a cache whose lock all threads share";
const SORT: &str = "data that does not fit is sorted or stored in files";
const LOGGED: &str = "every statement is logged, or timed for a log";

const MARIADB: &str = "MariaDB documentation, server system variables";
const BOTH: &str = "MariaDB and MySQL documentation, server system variables";

/// `tx_isolation` until MySQL 8.0.3 and MariaDB 11.1.1.
const ISOLATION: &[RuleVariable] = &[
    RuleVariable {
        name: "transaction_isolation",
        meaning: |value, _| value.to_ascii_uppercase().replace(' ', "-"),
    },
    plain("tx_isolation"),
];

/// The intent does not change it.
const OWN_ISOLATION: ProductDefault = ProductDefault {
    value: |product| product.facts().isolation,
    why: "each product keeps its default isolation level, which is part of comparing products",
};

/// Removed in MySQL 8.4.0; offered by default since MySQL 5.7 and MariaDB 11.4.1.
const TLS: &[RuleVariable] = &[
    RuleVariable {
        name: "have_ssl",
        meaning: |value, _| if value == "YES" { "ON" } else { "OFF" }.to_owned(),
    },
    plain("ssl"),
];

/// A set of words, which a config file may have in any order.
const SQL_MODE: &[RuleVariable] = &[RuleVariable {
    name: "sql_mode",
    meaning: |value, _| {
        let value = value.to_ascii_uppercase();
        let mut words: Vec<&str> = value.split(',').map(str::trim).collect();
        words.sort_unstable();
        words.join(",")
    },
}];

/// `master` until MySQL 8.0.25, and in MariaDB.
const SEMI_SYNC: &[RuleVariable] =
    &[plain("rpl_semi_sync_source_enabled"), plain("rpl_semi_sync_master_enabled")];

/// Has no effect without a binary log.
const SYNC_BINLOG: &[RuleVariable] = &[RuleVariable {
    name: "sync_binlog",
    meaning: |value, settings| match settings.get("log_bin").map(String::as_str) {
        Some("OFF" | "0") => "NO BINARY LOG".to_owned(),
        _ => value.to_owned(),
    },
}];

/// The tables of a study have no column that is long enough to be stored outside its row.
const ROW_FORMAT: &[RuleVariable] = &[RuleVariable {
    name: "table.row_format",
    meaning: |value, _| match value.to_ascii_uppercase().as_str() {
        "COMPACT" | "DYNAMIC" => "COMPACT OR DYNAMIC".to_owned(),
        other => other.to_owned(),
    },
}];

pub(super) const RULES: &[SettingRule] = &[
    trap("character_set_server", CHARSET, BOTH),
    trap("character_set_database", CHARSET, BOTH),
    trap("character_set_client", CHARSET, BOTH),
    trap("character_set_connection", CHARSET, BOTH),
    trap("character_set_results", CHARSET, BOTH),
    trap("collation_server", COLLATION, BOTH),
    trap("collation_database", COLLATION, BOTH),
    trap("collation_connection", COLLATION, BOTH),
    trap("schema.charset", CHARSET, "information_schema.SCHEMATA"),
    trap("schema.collation", COLLATION, "information_schema.SCHEMATA"),
    trap("table.collation", COLLATION, "information_schema.TABLES"),
    trap("table.charset", CHARSET, "information_schema.COLUMNS"),
    trap("table.engine", "the tables have different storage engines", "information_schema.TABLES"),
    trap(
        "table.row_format",
        "rows are stored differently; `Compact` and `Dynamic` differ only for long columns",
        "MySQL reference manual, DYNAMIC row format",
    )
    .from(ROW_FORMAT),
    trap(
        "session.ssl_cipher",
        "encryption costs CPU for every byte sent",
        "SHOW STATUS LIKE 'Ssl_cipher'",
    )
    .else_(""),
    trap(
        "have_ssl",
        "a client that accepts the offered encryption pays for every byte sent",
        "MariaDB 11.4.1 release notes; MySQL 8.4.0 release notes",
    )
    .from(TLS),
    trap(
        "session.compression",
        "compression costs CPU for every byte sent",
        "SHOW STATUS LIKE 'Compression'",
    )
    .else_("OFF"),
    harmless(
        "session.auth_plugin",
        "clients log in before anything is measured",
        "client/server protocol, handshake",
    ),
    trap(
        "session.capabilities",
        "client and server agreed on different capabilities: metadata and ends of results cost bytes and parsing",
        "client/server protocol, capability flags",
    ),
    harmless(
        "session.cannot_run",
        "a server refuses to prepare a statement of the test, which fails there and leaves the others as they are",
        "the server's error",
    ),
    trap(
        "session.unprepared",
        "statements that one server prepares are parsed in every execution by the other",
        "error 1295, `This command is not supported in the prepared statement protocol yet`",
    ),
    harmless(
        "session.unprepared_control",
        "the begin or end of a transaction is sent as text, which costs parsing one word",
        "MariaDB 10.6.0 release notes; error 1295",
    ),
    trap(
        "transaction_isolation",
        "isolation levels differ in the locks they take and the row versions they keep",
        BOTH,
    )
    .from(ISOLATION)
    .own(OWN_ISOLATION),
    trap("autocommit", "it decides how many statements a transaction has", BOTH),
    trap("sql_mode", "statements may be checked or run differently", BOTH).from(SQL_MODE),
    trap("log_bin", "the binary log costs CPU and writes at every commit", BOTH),
    trap("sync_binlog", "it decides what a commit waits for", BOTH).from(SYNC_BINLOG),
    // ON by default since MySQL 9.5.0. MariaDB has no switch: only its binary log has identifiers.
    trap(
        "gtid_mode",
        "each transaction gets an identifier, which is written to the binary log, or without one to a table",
        "MySQL 9.5.0 release notes; MySQL reference manual, mysql.gtid_executed table",
    )
    .else_("OFF"),
    trap("semi_sync", "a commit waits until a replica has received it", BOTH)
        .from(SEMI_SYNC)
        .else_("OFF"),
    trap(
        "wsrep_on",
        "each transaction is certified by a cluster",
        "MariaDB documentation, Galera Cluster system variables",
    )
    .else_("OFF"),
    trap("performance_schema", "it costs CPU in every statement", BOTH).else_("OFF"),
    // Removed in MySQL 8.0.3.
    trap("query_cache_type", QUERY_CACHE, BOTH).else_("OFF"),
    trap("query_cache_size", QUERY_CACHE, BOTH).else_("0"),
    trap("thread_handling", CONNECTION, BOTH),
    harmless(
        "thread_cache_size",
        "it saves starting threads for new connections; the connections of a study stay open",
        BOTH,
    ),
    trap("thread_pool_size", CONNECTION, MARIADB),
    trap("large_pages", "huge pages make memory accesses cheaper", BOTH),
    trap("general_log", LOGGED, BOTH),
    trap("slow_query_log", LOGGED, BOTH),
    trap("userstat", "statistics are updated for every row", MARIADB).else_("OFF"),
    trap("sort_buffer_size", SORT, BOTH),
    trap("tmp_table_size", SORT, BOTH),
    trap("max_heap_table_size", SORT, BOTH),
    trap("join_buffer_size", "data that does not fit is read several times", BOTH),
    trap("read_rnd_buffer_size", "it decides how many rows are read in key order", BOTH),
    harmless("table_open_cache", "far more than a study has tables", BOTH),
    // 10 before MySQL 5.7.4; 0 before MariaDB 10.4.3.
    trap(
        "eq_range_index_dive_limit",
        "the planner looks up lists of values in the index up to this length, and estimates longer ones",
        BOTH,
    ),
    trap("use_stat_tables", "plans are based on other statistics", MARIADB),
    trap("optimizer_switch", "the plan of a statement may differ", BOTH),
    harmless("optimizer_trace", "off; the difference is in what it would record", BOTH),
];
