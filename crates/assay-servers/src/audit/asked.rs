//! The differences that the specifications of systems ask for.

use std::collections::BTreeSet;

use assay_terms::variable;

use super::difference::differ;
use super::facts::Audited;

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

/// Whether a setting depends on the storage engine, such as the size of its cache.
fn is_of_engine(name: &str) -> bool {
    ["table.engine", "table.row_format", "innodb_buffer_pool_size"].contains(&name)
        || name.starts_with("rocksdb_")
}
