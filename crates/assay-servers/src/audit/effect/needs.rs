//! Options that do nothing unless another one permits it. Data.

use assay_model::{Dialect, Product};

use super::super::facts::{JIT, NO_JIT, Settings};
use super::same::switch;

/// Options, the variable that permits them, and the consequence if that is off.
struct Need {
    /// Names, or prefixes of names that end with `_`.
    options: &'static [&'static str],
    on: &'static str,
    without: &'static str,
}

const fn need(options: &'static [&'static str], on: &'static str, without: &'static str) -> Need {
    Need { options, on, without }
}

/// Sources: the descriptions of these variables in the manuals of MySQL and MariaDB.
const OF_MYSQL: &[Need] = &[
    need(&["performance_schema_"], "performance_schema", "there is no performance schema"),
    need(
        &[
            "binlog_",
            "expire_logs_days",
            "log_bin_",
            "log_replica_updates",
            "log_slave_updates",
            "max_binlog_",
            "sync_binlog",
        ],
        "log_bin",
        "no binary log is written",
    ),
    need(
        &["innodb_adaptive_hash_index_"],
        "innodb_adaptive_hash_index",
        "there is no adaptive hash index",
    ),
    need(&["innodb_doublewrite_"], "innodb_doublewrite", "pages are written once"),
    need(&["innodb_change_buffer_"], "innodb_change_buffering", "changes are not buffered"),
    need(
        &[
            "log_queries_not_using_indexes",
            "log_slow_",
            "long_query_time",
            "min_examined_row_limit",
        ],
        "slow_query_log",
        "no slow statements are logged",
    ),
    need(&["query_cache_"], "query_cache_type", "there is no query cache"),
];

/// Source: the chapter on server configuration of PostgreSQL's manual.
const OF_POSTGRES: &[Need] = &[
    need(&["jit_"], "jit", "no statement is compiled"),
    need(&["autovacuum_"], "autovacuum", "there is no autovacuum"),
    need(&["archive_"], "archive_mode", "the log is not archived"),
    need(
        &["max_parallel_workers_per_gather", "max_parallel_maintenance_workers"],
        "max_parallel_workers",
        "there are no parallel workers",
    ),
    need(&["commit_siblings"], "commit_delay", "commits do not wait for each other"),
];

pub(super) fn unmet(
    product: Product,
    option: &str,
    value: &str,
    settings: &Settings,
) -> Option<String> {
    let is_off = switch(value) == Some(false);
    let is_jit = option == "jit" && !is_off || option.starts_with("jit_");
    let dialect = product.dialect();
    if dialect == Dialect::Postgres && is_jit && settings.get(JIT).is_some_and(|it| it == NO_JIT) {
        return Some("this build has no LLVM: pg_jit_available() is false".to_owned());
    }
    let needs = match dialect {
        Dialect::MySql => OF_MYSQL,
        Dialect::Postgres => OF_POSTGRES,
    };
    needs.iter().find_map(|need| {
        let is_it = |it: &&&str| option == **it || it.ends_with('_') && option.starts_with(**it);
        let applies = option != need.on && need.options.iter().any(|it| is_it(&it));
        let answer = settings.get(need.on).filter(|_| applies)?;
        // A version without the variable works differently.
        let is_unmet = switch(answer) == Some(false) || answer.eq_ignore_ascii_case("none");
        is_unmet.then(|| format!("{} (`{}` is {answer})", need.without, need.on))
    })
}
