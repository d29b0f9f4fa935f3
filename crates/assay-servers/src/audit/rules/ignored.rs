//! Settings that are not compared, each with the reason. Data.

/// Names of settings, and why they are not compared. A `*` at one end of a name stands for any text.
type IgnoredNames = (&'static [&'static str], &'static str);

const PLACE: &str = "a path or an address, which differs between any two servers";
const IDENTITY: &str = "it identifies a server, a connection or a moment";
const POSITION: &str = "a position in replication, which every write moves";
const VERSION: &str =
    "it repeats the version or describes the build, and builds are compared separately";
const REPLICA: &str =
    "it decides how a replica applies changes; `semi_sync` shows whether commits wait for replicas";

const IGNORED: &[IgnoredNames] = &[
    (
        &[
            "*_basename",
            "*_dir",
            "*_file",
            "*_tmpdir",
            "basedir",
            "bind_address",
            "data_directory",
            "datadir",
            "dynamic_library_path",
            "extension_control_path",
            "hostname",
            "innodb_data_home_dir",
            "krb_server_keyfile",
            "listen_addresses",
            "log_bin_index",
            "log_error",
            "port",
            "relay_log_index",
            "report_host",
            "report_port",
            "socket",
            "stats_temp_directory",
            "tmpdir",
            "unix_socket_directories",
        ],
        PLACE,
    ),
    (
        &[
            "in_transaction",
            "last_insert_id",
            "pseudo_thread_id",
            "server_uid",
            "server_uuid",
            "system_time_zone",
            "timestamp",
        ],
        IDENTITY,
    ),
    (
        &[
            "gtid_binlog_pos",
            "gtid_binlog_state",
            "gtid_current_pos",
            "gtid_executed",
            "gtid_next",
            "gtid_owned",
            "gtid_purged",
            "gtid_seq_no",
            "gtid_slave_pos",
            "last_gtid",
        ],
        POSITION,
    ),
    (
        &[
            "innodb_version",
            "license",
            "protocol_version",
            "server_version",
            "server_version_num",
            "version",
            "version_comment",
            "version_compile_machine",
            "version_compile_os",
            "version_compile_zlib",
            "version_source_revision",
            "version_ssl_library",
        ],
        VERSION,
    ),
    (
        &["performance_schema_*"],
        "a size of the performance schema, whose switch `performance_schema` is compared",
    ),
    (&["relay_*", "replica_*", "replicate_*", "rpl_*", "slave_*"], REPLICA),
    (&["wsrep_*"], "an option of Galera, whose switch `wsrep_on` is compared"),
    (
        &["*ssl_ca", "*ssl_cert", "*ssl_key", "tls_version"],
        "a certificate or an offer; `session.ssl_cipher` shows the encryption of a session",
    ),
    (
        &["shared_memory_size", "shared_memory_size_in_huge_pages"],
        "the server computes it from other settings",
    ),
    (&["ignore_db_dirs", "search_path"], "names of directories and schemas"),
    (
        &["session_track_system_variables"],
        "names of variables whose changes a session reports; no statement of a test changes one",
    ),
    (&["statement_timeout"], "assay sets it for the connection on which it reads settings"),
];

/// Why a setting is not compared; `None` if it is.
pub(super) fn why_ignored(name: &str) -> Option<&'static str> {
    let is_it = |pattern: &&str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(ending), _) => name.ends_with(ending),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == *pattern,
    };
    IGNORED.iter().find(|(names, _)| names.iter().any(is_it)).map(|(_, why)| *why)
}

/// The names that are ignored as a Markdown table, with the reasons.
pub fn ignored_table() -> String {
    let mut table = "| settings | why they are not compared |\n|---|---|\n".to_owned();
    for (names, why) in IGNORED {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        table += &format!("| {} | {why} |\n", names.join(", "));
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::audit::rules::{all_rules, is_ignored};

    /// Variables of MySQL 9.6, MariaDB 12.2 and Postgres 18 by the reason why they are not compared.
    const KNOWN: &[(&str, &[&str])] = &[
        (
            PLACE,
            &[
                "basedir",
                "bind_address",
                "character_sets_dir",
                "config_file",
                "data_directory",
                "datadir",
                "external_pid_file",
                "general_log_file",
                "hba_file",
                "hostname",
                "ident_file",
                "innodb_data_home_dir",
                "innodb_log_group_home_dir",
                "innodb_tmpdir",
                "lc_messages_dir",
                "listen_addresses",
                "log_bin_basename",
                "log_bin_index",
                "log_error",
                "pid_file",
                "plugin_dir",
                "port",
                "relay_log_basename",
                "relay_log_index",
                "report_host",
                "slow_query_log_file",
                "socket",
                "tmpdir",
                "unix_socket_directories",
            ],
        ),
        (
            IDENTITY,
            &["last_insert_id", "pseudo_thread_id", "server_uid", "server_uuid", "timestamp"],
        ),
        (
            POSITION,
            &["gtid_binlog_pos", "gtid_binlog_state", "gtid_executed", "gtid_next", "gtid_purged"],
        ),
        (VERSION, &["innodb_version", "server_version_num", "version", "version_comment"]),
        (
            REPLICA,
            &[
                "relay_log_purge",
                "replica_parallel_workers",
                "rpl_stop_slave_timeout",
                "slave_skip_errors",
            ],
        ),
    ];

    #[test]
    fn each_ignored_setting_has_its_reason() {
        for (why, names) in KNOWN {
            for name in *names {
                assert_eq!(why_ignored(name), Some(*why), "{name}");
            }
        }
        for (name, word) in [
            ("performance_schema_digests_size", "`performance_schema`"),
            ("wsrep_cluster_size", "`wsrep_on`"),
            ("admin_ssl_cert", "session.ssl_cipher"),
            ("tls_version", "session.ssl_cipher"),
            ("shared_memory_size", "computes it"),
            ("search_path", "schemas"),
            ("statement_timeout", "assay sets it"),
        ] {
            assert!(why_ignored(name).is_some_and(|why| why.contains(word)), "{name}");
        }
    }

    /// A prefix or an ending must not hide a setting that costs writes or CPU.
    #[test]
    fn what_can_matter_is_compared() {
        for name in [
            "binlog_gtid_index",
            "enforce_gtid_consistency",
            "gtid_domain_id",
            "gtid_executed_compression_period",
            "gtid_mode",
            "gtid_pos_auto_engines",
            "gtid_strict_mode",
            "innodb_adaptive_hash_index",
            "innodb_data_file_path",
            "innodb_temp_data_file_path",
            "performance_schema",
            "rpl_semi_sync_master_enabled",
            "rpl_semi_sync_source_enabled",
            "wsrep_on",
        ] {
            assert!(!is_ignored(name), "{name}");
        }
        for rule in all_rules() {
            assert!(rule.variables().all(|name| !is_ignored(name)), "{}", rule.name);
        }
    }

    #[test]
    fn each_pattern_is_listed_once_with_one_star() {
        let mut seen = BTreeSet::new();
        for pattern in IGNORED.iter().flat_map(|(names, _)| *names) {
            assert!(seen.insert(*pattern) && pattern.matches('*').count() < 2, "{pattern}");
        }
        assert!(ignored_table().contains("| `wsrep_*` | an option of Galera"));
    }
}
