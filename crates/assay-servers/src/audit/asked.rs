//! The differences that the specifications of systems ask for.

use std::collections::BTreeSet;

use assay_model::{Origin, may_be_secret};
use assay_terms::variable;

use super::difference::differ;
use super::facts::{Audited, Settings};

/// The differences that the specifications request.
pub(super) struct Asked {
    variables: BTreeSet<String>,
    pub(super) engines_differ: bool,
}

impl Asked {
    pub(super) fn of(systems: &[Audited]) -> Self {
        let overrides = systems.iter().flat_map(|it| &it.spec.overrides);
        Self {
            variables: overrides.map(|(name, _)| variable(name)).collect(),
            engines_differ: differ(systems.iter().map(|it| it.spec.engine)),
        }
    }

    /// Whether a requested option sets it.
    pub(super) fn names(&self, name: &str) -> bool {
        self.variables.contains(&variable(name))
    }

    /// Whether a request explains a difference in it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names(name)
            || self.engines_differ && is_of_engine(name)
            || name.split_once('.').is_some_and(|(of, _)| self.variables.contains(of))
    }
}

/// The options that were asked for of one of two systems and not of the other, as `name=value`.
pub(super) fn options_between(one: &Audited, other: &Audited) -> Vec<(String, String)> {
    let of = |spec: &'_ assay_model::SystemSpec, than| {
        let unlike = spec.options_unlike(than, variable).into_iter();
        let shown = unlike.map(|(name, value)| match may_be_secret(name) {
            true => (variable(name), name.to_owned()),
            false => (variable(name), format!("{name}={value}")),
        });
        shown.collect::<Vec<_>>()
    };
    let mut options = of(other.spec, one.spec);
    for option in of(one.spec, other.spec) {
        if options.iter().all(|(known, _)| *known != option.0) {
            options.push(option);
        }
    }
    options
}

/// Options from whose values a version computes other settings. Sources: the manuals on server variables and on server
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

/// What sessions, tables and data are like: a user who asked for another default should know that these differ too.
const NEVER_EXPLAINED: [&str; 6] =
    ["data.", "database.", "schema.", "session.cannot_run", "session.unprepared", "table."];

/// The option from which a difference in a setting between two systems follows, as `name=value`. Systems of one build
/// that assay starts differ only in what was asked for and what follows from it.
pub(super) fn follows_from(
    name: &str,
    one: (&Audited, &Settings),
    other: (&Audited, &Settings),
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
    let is_attached = |it: &Audited| matches!(it.spec.origin, Origin::Url(_));
    let is_one_build = one.spec.product == other.spec.product
        && !is_attached(one)
        && !is_attached(other)
        && is_one_build(of_one, of_other);
    let named: Vec<String> = options.into_iter().take(OPTIONS).map(|(_, option)| option).collect();
    (is_one_build && !named.is_empty()).then(|| named.join("`, `"))
}

/// The most options that a finding names.
pub(super) const OPTIONS: usize = 3;

/// Whether two servers report the same version and the same facts about their builds.
fn is_one_build(one: &Settings, other: &Settings) -> bool {
    let facts = |settings: &Settings| -> Vec<(String, String)> {
        let is_fact = |name: &str| {
            name.starts_with("build.") || ["version", "server_version"].contains(&name)
        };
        let facts = settings.iter().filter(|(name, _)| is_fact(name));
        facts.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let (one, other) = (facts(one), facts(other));
    one == other && one.iter().any(|(name, _)| name.ends_with("version"))
}

/// Whether a setting depends on the storage engine, such as the size of its cache.
fn is_of_engine(name: &str) -> bool {
    ["table.engine", "table.row_format", "innodb_buffer_pool_size"].contains(&name)
        || name.starts_with("rocksdb_")
}
