//! Scope of server settings. A different setting explains only changes within its scope.

use crate::Class;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// New connections, accounts and reporting: no measured statement.
    Connections,
    /// The statements and tables that are allowed: no execution time.
    Rules,
    Writes,
    Plans,
    Statements,
}

/// Prefixes of settings that affect only connections, accounts and reporting. Sources: the manuals' chapters on
/// authentication, accounts, connections and error logs.
const OF_CONNECTIONS: [&str; 30] = [
    "activate_all_roles_on_login",
    "admin_",
    "authentication_",
    "caching_sha2_password_",
    "check_proxy_users",
    "cluster_name",
    "connect_timeout",
    "default_authentication_plugin",
    "default_password_lifetime",
    "disconnect_on_expired_password",
    "generated_random_password_length",
    "host_cache_size",
    "interactive_timeout",
    "krb_",
    "log_error",
    "log_warnings",
    "mandatory_roles",
    "max_connect_errors",
    "old_passwords",
    "partial_revokes",
    "password_",
    "reserved_connections",
    "secure_auth",
    "secure_file_priv",
    "sha256_password_",
    "skip_name_resolve",
    "superuser_reserved_connections",
    "tcp_keepalives_",
    "validate_password",
    "wait_timeout",
];

/// Settings that allow or refuse statements and table definitions. Sources: the manuals' chapters on SQL modes and row
/// formats.
const OF_RULES: [&str; 8] = [
    "explicit_defaults_for_timestamp",
    "innodb_file_format",
    "innodb_file_format_check",
    "innodb_file_format_max",
    "innodb_large_prefix",
    "innodb_strict_mode",
    "old_mode",
    "sql_mode",
];

/// Prefixes of settings that affect only statements that write: binary log and replication, and the redo log writes of
/// commits and checkpoints. `log_size` is the audit's name for the size of InnoDB's redo log. Sources: the manuals'
/// chapters on replication, InnoDB's redo log and write-ahead logging.
const OF_WRITES: [&str; 32] = [
    "binlog_",
    "checkpoint_",
    "commit_delay",
    "commit_siblings",
    "enforce_gtid_consistency",
    "expire_logs_days",
    "full_page_writes",
    "gtid_",
    "innodb_doublewrite",
    "innodb_flush_log_at_",
    "innodb_log_",
    "innodb_redo_log_",
    "log_bin",
    "log_replica_updates",
    "log_size",
    "log_slave_updates",
    "master_",
    "max_binlog_",
    "max_relay_log_size",
    "max_slot_wal_keep_size",
    "max_wal_",
    "min_wal_size",
    "relay_log",
    "replica_",
    "replicate_",
    "rpl_",
    "server_id",
    "slave_",
    "sync_",
    "synchronous_commit",
    "synchronous_standby_names",
    "wal_",
];

/// Postgres settings that only the planner uses and that show in plan nodes, without those that change conditions and
/// keys within nodes. Source: its manual, *Query Planning* and *Just-in-Time Compilation*; JIT compilation is part of a
/// statement's plan.
const OF_PLANS: [&str; 40] = [
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "cpu_tuple_cost",
    "cursor_tuple_fraction",
    "debug_parallel_query",
    "effective_cache_size",
    "enable_async_append",
    "enable_bitmapscan",
    "enable_gathermerge",
    "enable_hashagg",
    "enable_hashjoin",
    "enable_incremental_sort",
    "enable_indexonlyscan",
    "enable_indexscan",
    "enable_material",
    "enable_memoize",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_parallel_append",
    "enable_parallel_hash",
    "enable_seqscan",
    "enable_sort",
    "enable_tidscan",
    "force_parallel_mode",
    "from_collapse_limit",
    "geqo_threshold",
    "jit",
    "jit_above_cost",
    "jit_inline_above_cost",
    "jit_optimize_above_cost",
    "join_collapse_limit",
    "max_parallel_workers_per_gather",
    "min_parallel_index_scan_size",
    "min_parallel_table_scan_size",
    "parallel_setup_cost",
    "parallel_tuple_cost",
    "random_page_cost",
    "recursive_worktable_factor",
    "seq_page_cost",
    "default_statistics_target",
];

/// Prefixes of settings that affect statements but no plans: measuring and logging, and time limits.
const NOT_OF_PLANS: [&str; 14] = [
    "general_log",
    "innodb_lock_wait_timeout",
    "innodb_monitor_",
    "innodb_print_",
    "lock_timeout",
    "lock_wait_timeout",
    "log_",
    "long_query_time",
    "max_execution_time",
    "max_statement_time",
    "performance_schema",
    "slow_query_log",
    "statement_timeout",
    "track_",
];

/// Scope of a setting. A flag of the optimizer, such as `optimizer_switch.mrr`, is a setting too.
pub fn reach(setting: &str) -> Reach {
    let name = setting.strip_prefix("session.").unwrap_or(setting);
    let begins = |list: &[&str]| list.iter().any(|it| name.starts_with(it));
    match name {
        _ if begins(&OF_CONNECTIONS) => Reach::Connections,
        _ if OF_RULES.contains(&name) => Reach::Rules,
        _ if begins(&OF_WRITES) => Reach::Writes,
        _ if OF_PLANS.contains(&name) => Reach::Plans,
        _ => Reach::Statements,
    }
}

impl Reach {
    /// Whether it can affect statements of a class whose plans are the same.
    pub fn acts_on(self, class: Class) -> bool {
        match self {
            Self::Statements => true,
            Self::Writes => class == Class::Write,
            Self::Connections | Self::Rules | Self::Plans => false,
        }
    }
}

pub fn changes_plans(setting: &str) -> bool {
    let is_other = NOT_OF_PLANS.iter().any(|it| setting.starts_with(it));
    matches!(reach(setting), Reach::Plans | Reach::Statements) && !is_other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_act_on_what_they_are_for() {
        use Class::{Read, Write};
        for (setting, acts) in [
            ("log_size", [false, true]),
            ("session.binlog_format", [false, true]),
            ("synchronous_commit", [false, true]),
            ("default_authentication_plugin", [false, false]),
            ("sql_mode", [false, false]),
            ("enable_hashjoin", [false, false]),
            ("optimizer_switch.mrr", [true, true]),
            ("work_mem", [true, true]),
            // A scan joins one already in progress.
            ("synchronize_seqscans", [true, true]),
        ] {
            assert_eq!([Read, Write].map(|class| reach(setting).acts_on(class)), acts, "{setting}");
        }
    }

    #[test]
    fn only_some_settings_change_plans() {
        for (setting, changes) in [
            ("enable_hashjoin", true),
            ("optimizer_switch", true),
            ("work_mem", true),
            ("autovacuum", true),
            ("performance_schema", false),
            ("sql_mode", false),
            ("sync_binlog", false),
            ("default_authentication_plugin", false),
        ] {
            assert_eq!(changes_plans(setting), changes, "{setting}");
        }
    }
}
