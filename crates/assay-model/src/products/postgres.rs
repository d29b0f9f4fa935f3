//! Postgres.

use super::ProductFacts;
use crate::{Dialect, Engine};

pub(super) const FACTS: ProductFacts = ProductFacts {
    word: "postgres",
    aliases: &["postgresql"],
    other_names: &["pg", "pgsql", "psql", "postgre"],
    example: "17",
    dialect: Dialect::Postgres,
    engines: &[Engine::Heap],
    says: None,
    one_number_since: Some(10),
    isolation: "READ-COMMITTED",
    log_files: None,
    words_since: (0, 0, 0),
    engine_elsewhere: None,
    servers: &["postgres"],
    client: "psql",
    connections: 1024 + 64,
    refuses_root: true,
    config_groups: &[],
    reserved: RESERVED,
    published_as: &[("pg", Engine::Heap)],
    version_files: &["configure", "meson.build"],
    version_in,
    sorts_groups: |_| None,
};

/// Includes commands that the server executes, and code that its procedural languages run, such as `plperl.on_init`.
const RESERVED: &[&str] = &[
    "_command",
    "_init",
    "_proc",
    "archive_library",
    "bonjour",
    "bonjour_name",
    "config_file",
    "data_directory",
    "dynamic_shared_memory_type",
    "event_source",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "include",
    "include_dir",
    "include_if_exists",
    "listen_addresses",
    "log_destination",
    "log_directory",
    "log_filename",
    "logging_collector",
    "port",
    "ssl",
    "ssl_",
    "stats_temp_directory",
    "syslog_",
    "unix_socket_",
];

fn version_in(text: &str) -> Option<String> {
    let is_there =
        |line: &&str| line.starts_with("PACKAGE_VERSION='") || line.starts_with("version: '");
    let line = text.lines().map(str::trim).find(is_there)?;
    Some(line.split('\'').nth(1)?.to_owned())
}
