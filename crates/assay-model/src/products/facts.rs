//! What the code must know of a product besides how to run it.

use crate::{Dialect, Engine};

/// What is the same for all versions of a product.
#[derive(Debug)]
pub struct ProductFacts {
    /// The word used in system names.
    pub word: &'static str,
    /// Other words that system names may have in its place.
    pub aliases: &'static [&'static str],
    /// Names that people use for it, from which errors suggest the right one.
    pub other_names: &'static [&'static str],
    /// A version for examples in errors.
    pub example: &'static str,
    /// The protocol and the SQL that its clients speak.
    pub dialect: Dialect,
    /// Its storage engines, the default one first.
    pub engines: &'static [Engine],
    /// What its servers say of themselves where another product has the same dialect, in lower case.
    pub says: Option<&'static str>,
    /// The first major version from which on one number names a series; before that, two do.
    pub one_number_since: Option<u32>,
    /// The isolation level of transactions by default.
    pub isolation: &'static str,
    /// The number of redo logs by default, if `innodb_log_files_in_group` changes it.
    pub log_files: Option<u64>,
    /// The first version whose switches all take `ON` and `OFF`; those before it take `1` and `0`.
    pub words_since: (u32, u32, u32),
    /// What to ask for instead of a version that lacks an engine, for errors.
    pub engine_elsewhere: Option<&'static str>,
    /// The names of its servers' programs.
    pub servers: &'static [&'static str],
    /// The command-line client that comes with it.
    pub client: &'static str,
    /// Connections that a sandbox accepts: as many clients as a benchmark may have, and a few spare; fewer where each
    /// costs a process and shared memory.
    pub connections: u32,
    /// Whether its servers refuse to run as root.
    pub refuses_root: bool,
    /// Groups of a config file that its servers read; none if its config files have no groups.
    pub config_groups: &'static [&'static str],
    /// Options that only assay sets: for directories, sockets, ports, users and logs, and those that turn the server
    /// into another program. An entry that ends in `_` stands for all names that begin with it, and one that begins
    /// with `_` for all that end with it. Files with relative names are not listed: they lie in the data directory.
    pub reserved: &'static [&'static str],
    /// Words by which published results name it, each with the engine that it means.
    pub published_as: &'static [(&'static str, Engine)],
    /// Files of a source tree that have the version, in the order in which they are looked for.
    pub version_files: &'static [&'static str],
    /// The version in one of these files.
    pub version_in: fn(&str) -> Option<String>,
    /// Why the rows of `GROUP BY` come in the order of the groups in a version; `None` if they do not.
    pub sorts_groups: fn(&str) -> Option<&'static str>,
}
