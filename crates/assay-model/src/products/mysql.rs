//! MySQL.

use super::ProductFacts;
use crate::{Dialect, Engine};

pub(super) const FACTS: ProductFacts = ProductFacts {
    word: "mysql",
    aliases: &[],
    other_names: &["mysql-server", "mysql-community-server"],
    example: "8.0",
    dialect: Dialect::MySql,
    engines: &[Engine::InnoDb, Engine::RocksDb],
    says: None,
    one_number_since: None,
    isolation: "REPEATABLE-READ",
    log_files: Some(2),
    words_since: (5, 6, 0),
    engine_elsewhere: Some("Percona Server has MyRocks: `mysql@8.0.36-28/rocksdb`"),
    servers: &["mysqld"],
    client: "mysql",
    connections: 4096 + 64,
    refuses_root: false,
    config_groups: &["mysqld", "server"],
    reserved: RESERVED,
    published_as: &[("my", Engine::InnoDb), ("rx", Engine::RocksDb)],
    version_files: &["MYSQL_VERSION", "VERSION"],
    version_in,
    sorts_groups,
};

/// Includes plugins, because some listen.
const RESERVED: &[&str] = &[
    "admin_",
    "basedir",
    "bind_address",
    "bootstrap",
    "character_sets_dir",
    "chroot",
    "daemonize",
    "datadir",
    "defaults_",
    "early_plugin_load",
    "extra_port",
    "grant_tables",
    "help",
    "init_file",
    "initialize",
    "initialize_insecure",
    "lc_messages_dir",
    "log_error",
    "log_error_services",
    "log_syslog",
    "login_path",
    "mysqlx",
    "mysqlx_",
    "networking",
    "no_defaults",
    "pid_file",
    "plugin_dir",
    "plugin_load",
    "plugin_load_",
    "port",
    "print_defaults",
    "replica_load_tmpdir",
    "report_",
    "secure_file_priv",
    "slave_load_tmpdir",
    "socket",
    "tmpdir",
    "user",
    "wsrep_",
];

fn version_in(text: &str) -> Option<String> {
    let number = |part: &str| -> Option<u32> {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let (_, value) = lines.find(|(name, _)| name.trim() == part)?;
        value.trim().trim_matches('"').parse().ok()
    };
    let [major, minor, patch] =
        ["MYSQL_VERSION_MAJOR", "MYSQL_VERSION_MINOR", "MYSQL_VERSION_PATCH"].map(number);
    Some(format!("{}.{}.{}", major?, minor?, patch?))
}

/// Versions before 8.0 sort the groups.
fn sorts_groups(version: &str) -> Option<&'static str> {
    let major: u32 = version.split('.').next()?.parse().ok()?;
    (major < 8).then_some("before 8.0, GROUP BY also sorted")
}
