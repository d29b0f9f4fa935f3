//! Replacements for options in a config file that newer versions no longer have.

use assay_model::{Dialect, Product};

use crate::refused::RefusedOption;

/// Removed options and their current equivalents. Sources: the manuals' lists of removed options.
const REPLACED: &[(&str, &str)] = &[
    ("expire_logs_days", "binlog_expire_logs_seconds"),
    ("innodb_log_file_size", "innodb_redo_log_capacity"),
    ("innodb_log_files_in_group", "innodb_redo_log_capacity"),
    ("innodb_undo_logs", "innodb_rollback_segments"),
    ("log_slave_updates", "log_replica_updates"),
    ("log_warnings", "log_error_verbosity"),
    ("skip_slave_start", "skip_replica_start"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_load_tmpdir", "replica_load_tmpdir"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("storage_engine", "default_storage_engine"),
    ("thread_concurrency", "innodb_thread_concurrency"),
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("checkpoint_segments", "max_wal_size"),
    ("force_parallel_mode", "debug_parallel_query"),
    ("replacement_sort_tuples", "work_mem"),
    ("vacuum_defer_cleanup_age", "hot_standby_feedback"),
    ("wal_keep_segments", "wal_keep_size"),
];

/// Options of features that no longer exist, or are always on.
const GONE: &[(&str, &str)] = &[
    (
        "default_authentication_plugin",
        "`authentication_policy` is in its place, and does not take `mysql_native_password`: users need another \
         plugin, such as `caching_sha2_password`",
    ),
    ("query_cache_", "there is no query cache any more"),
    ("have_query_cache", "there is no query cache any more"),
    ("innodb_file_format", "every table has the newest format"),
    ("innodb_large_prefix", "long prefixes are always allowed"),
    ("innodb_support_xa", "it is always on"),
    (
        "mysql_native_password",
        "there is no such plugin any more; users need another one, such as `caching_sha2_password`",
    ),
    ("secure_auth", "it is always on"),
    ("sync_frm", "there are no such files any more"),
    ("old_passwords", "there are no such passwords any more"),
];

impl RefusedOption {
    /// Advice for the line of a config file that sets the option.
    #[must_use]
    pub fn remedy(&self, product: Product) -> String {
        let name = self.name.as_str();
        if self.said.is_some() {
            return "give it a value that this version takes".to_owned();
        }
        if let Some((_, why)) = GONE.iter().find(|(gone, _)| name.starts_with(gone)) {
            return format!("remove the line: {why}");
        }
        if let Some((_, new)) = REPLACED.iter().find(|(old, _)| *old == name) {
            return format!("remove the line; `{new}` is in its place");
        }
        match (self.meant(), product.dialect()) {
            (Some(meant), _) => format!("write `{meant}`"),
            (None, Dialect::MySql) => {
                format!(
                    "remove the line, or write `loose_{name}`, which versions without the option ignore"
                )
            }
            (None, Dialect::Postgres) => "remove the line".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refused_option_has_a_remedy() {
        let remedy = |name: &str, said: Option<&str>, nearest: Option<&str>| {
            let [said, nearest] = [said, nearest].map(|it| it.map(str::to_owned));
            RefusedOption { name: name.to_owned(), said, nearest }.remedy(Product::MySql)
        };
        assert_eq!(
            remedy("query_cache_size", None, Some("query_alloc_block_size")),
            "remove the line: there is no query cache any more"
        );
        assert!(remedy("expire_logs_days", None, None).contains("`binlog_expire_logs_seconds`"));
        assert_eq!(remedy("sql_mod", None, Some("sql_mode")), "write `sql_mode`");
        assert!(remedy("xyz", None, None).contains("`loose_xyz`"));
        assert!(remedy("sql_mode", Some("wrong value"), None).starts_with("give it a value"));
    }
}
