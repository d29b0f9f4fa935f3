//! Differences requested in the specifications of systems.

use std::collections::BTreeSet;

use assay_model::{SystemSpec, may_be_secret};
use assay_terms::variable;

use crate::audit::facts::{AuditedSystem, ServerSettings, differ};

pub(super) struct RequestedOptions {
    variables: BTreeSet<String>,
    pub(super) engines_differ: bool,
}

impl RequestedOptions {
    pub(super) fn new(systems: &[AuditedSystem]) -> Self {
        let overrides = systems.iter().flat_map(|it| &it.spec.overrides);
        Self {
            variables: overrides.map(|(name, _)| variable(name)).collect(),
            engines_differ: differ(systems.iter().map(|it| it.spec.engine)),
        }
    }

    pub(super) fn names(&self, name: &str) -> bool {
        self.variables.contains(&variable(name))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names(name)
            || self.engines_differ && is_of_engine(name)
            || name.split_once('.').is_some_and(|(of, _)| self.variables.contains(of))
    }
}

/// The options, as `name=value`, requested for only one of two systems.
pub(super) fn options_between(one: &AuditedSystem, other: &AuditedSystem) -> Vec<(String, String)> {
    let options_of = |spec: &SystemSpec, than: &SystemSpec| {
        let unlike = spec.options_unlike(than, variable).into_iter();
        let shown = unlike.map(|(name, value)| {
            let shown =
                if may_be_secret(name) { name.to_owned() } else { format!("{name}={value}") };
            (variable(name), shown)
        });
        shown.collect::<Vec<_>>()
    };
    let mut options = options_of(other.spec, one.spec);
    for option in options_of(one.spec, other.spec) {
        if options.iter().all(|(known, _)| *known != option.0) {
            options.push(option);
        }
    }
    options
}

/// Options from which a version computes other settings. Sources: the manuals on server variables and on server
/// configuration, where they say that a default depends on another setting.
const DERIVED: [(&str, &[&str]); 9] = [
    (
        "innodb_buffer_pool_size",
        &["innodb_buffer_pool_chunk_size", "innodb_buffer_pool_instances", "innodb_page_cleaners"],
    ),
    ("innodb_buffer_pool_instances", &["innodb_buffer_pool_chunk_size", "innodb_page_cleaners"]),
    (
        "innodb_dedicated_server",
        &[
            "innodb_buffer_pool_size",
            "innodb_buffer_pool_instances",
            "innodb_flush_method",
            "log_size",
        ],
    ),
    (
        "max_connections",
        &["open_files_limit", "performance_schema", "table_definition_cache", "table_open_cache"],
    ),
    ("open_files_limit", &["max_connections", "table_definition_cache", "table_open_cache"]),
    ("shared_buffers", &["wal_buffers"]),
    ("sql_mode", &["old_mode"]),
    ("innodb_log_file_size", &["log_size"]),
    ("innodb_log_files_in_group", &["log_size"]),
];

/// Properties of sessions, tables and data: a user who asked for another default should know that these differ too.
const NEVER_EXPLAINED: [&str; 6] =
    ["data.", "database.", "schema.", "session.cannot_run", "session.unprepared", "table."];

/// The option, as `name=value`, that explains a difference in a setting between two systems. Systems of one build that
/// assay starts differ only in the requested options and their effects.
pub(super) fn follows_from(
    name: &str,
    one: (&AuditedSystem, &ServerSettings),
    other: (&AuditedSystem, &ServerSettings),
) -> Option<String> {
    if NEVER_EXPLAINED.iter().any(|it| name.starts_with(it)) {
        return None;
    }
    let ((one, of_one), (other, of_other)) = (one, other);
    let options = options_between(one, other);
    let plain = name.strip_prefix("session.").unwrap_or(name);
    let derives = |option: &str| {
        DERIVED.iter().any(|(from, derived)| *from == option && derived.contains(&plain))
    };
    if let Some((_, option)) = options.iter().find(|(option, _)| derives(option)) {
        return Some(option.clone());
    }
    let is_one_build = one.spec.product == other.spec.product
        && !one.is_attached()
        && !other.is_attached()
        && is_one_build(of_one, of_other);
    let named: Vec<String> = options.into_iter().take(OPTIONS).map(|(_, option)| option).collect();
    (is_one_build && !named.is_empty()).then(|| named.join("`, `"))
}

pub(super) const OPTIONS: usize = 3;

fn is_one_build(one: &ServerSettings, other: &ServerSettings) -> bool {
    let facts = |settings: &ServerSettings| -> Vec<(String, String)> {
        let is_fact = |name: &str| {
            name.starts_with("build.") || ["version", "server_version"].contains(&name)
        };
        let facts = settings.iter().filter(|(name, _)| is_fact(name));
        facts.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let (one, other) = (facts(one), facts(other));
    one == other && one.iter().any(|(name, _)| name.ends_with("version"))
}

fn is_of_engine(name: &str) -> bool {
    ["table.engine", "table.row_format", "innodb_buffer_pool_size"].contains(&name)
        || name.starts_with("rocksdb_")
}
