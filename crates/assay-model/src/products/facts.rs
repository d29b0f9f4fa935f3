//! Facts about a product, except how to run it.

use crate::{Dialect, Engine};

#[derive(Debug)]
pub struct ProductFacts {
    pub word: &'static str,
    pub aliases: &'static [&'static str],
    /// Colloquial names, for suggestions in errors.
    pub other_names: &'static [&'static str],
    pub example: &'static str,
    pub dialect: Dialect,
    /// The default first.
    pub engines: &'static [Engine],
    /// Lower-case word in its servers' version string, for a product that shares another's dialect.
    pub says: Option<&'static str>,
    /// First major version whose series is one number; earlier ones have two.
    pub one_number_since: Option<u32>,
    pub isolation: &'static str,
    /// Default number of redo logs, if `innodb_log_files_in_group` changes it.
    pub log_files: Option<u64>,
    /// First version whose switches all take `ON` and `OFF`; earlier ones take `1` and `0`.
    pub words_since: (u32, u32, u32),
    /// Alternative to a version without an engine, for errors.
    pub engine_elsewhere: Option<&'static str>,
    pub servers: &'static [&'static str],
    pub client: &'static str,
    /// Connections accepted by a sandbox: the maximum clients of a benchmark and a few spare; fewer if each costs a
    /// process and shared memory.
    pub connections: u32,
    pub refuses_root: bool,
    /// Config file groups read by its servers; empty if its config files have none.
    pub config_groups: &'static [&'static str],
    /// Options that only assay sets: directories, sockets, ports, users, logs, and options that turn the server into
    /// another program. An entry with a trailing `_` is a prefix, one with a leading `_` a suffix. Files with relative
    /// names are not listed: they lie in the data directory.
    pub reserved: &'static [&'static str],
    /// Words for it in published results, with the engine that each implies.
    pub published_as: &'static [(&'static str, Engine)],
    /// Files of a source tree that may have the version, in search order.
    pub version_files: &'static [&'static str],
    pub version_in: fn(&str) -> Option<String>,
    /// Why a version returns `GROUP BY` rows in group order; `None` if it does not.
    pub sorts_groups: fn(&str) -> Option<&'static str>,
}
