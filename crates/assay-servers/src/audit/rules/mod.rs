//! The rule base: settings that can decide a comparison, their names on each server, and the meaning of a difference.
//! Data; each fact has its source.

mod engine;
mod postgres;
mod rule;
mod server;

pub(super) use rule::{ProductDefault, SettingRule, spelling};

/// Server rules come first.
pub(super) fn all_rules() -> impl Iterator<Item = &'static SettingRule> {
    server::RULES.iter().chain(engine::RULES).chain(postgres::RULES)
}

/// Settings that differ between any two instances, or that only repeat the version.
const IGNORED: &[&str] = &[
    "basedir",
    "bind_address",
    "character_sets_dir",
    "datadir",
    "gtid_binlog_pos",
    "gtid_current_pos",
    "hostname",
    "innodb_version",
    "ignore_db_dirs",
    "in_transaction",
    "last_gtid",
    "last_insert_id",
    "log_error",
    "plugin_dir",
    "port",
    "pseudo_thread_id",
    "server_uid",
    "server_uuid",
    "session_track_system_variables",
    "binlog_gtid_index",
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "innodb_data_home_dir",
    "krb_server_keyfile",
    "license",
    "listen_addresses",
    "protocol_version",
    "report_host",
    "server_version",
    "server_version_num",
    "statement_timeout",
    "stats_temp_directory",
    "tls_version",
    "unix_socket_directories",
    "version_compile_machine",
    "version_compile_os",
    "version_compile_zlib",
    "shared_memory_size",
    "shared_memory_size_in_huge_pages",
    "socket",
    "system_time_zone",
    "timestamp",
    "tmpdir",
    "version",
    "version_comment",
    "version_source_revision",
    "version_ssl_library",
    "wsrep_provider_options",
];

/// Prefixes of settings without effect here: replication, and sizes of features that are off. The switch of such a
/// feature is judged instead.
const IGNORED_BEGINNINGS: &[&str] =
    &["gtid_", "performance_schema_", "relay_", "replicate_", "rpl_", "slave_", "wsrep_"];

const IGNORED_ENDINGS: &[&str] =
    &["_dir", "_file", "_path", "_basename", "_index", "_tmpdir", "ssl_ca", "ssl_cert", "ssl_key"];

pub fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name)
        || IGNORED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || IGNORED_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
