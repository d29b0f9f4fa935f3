//! An unpacked server: its origin and how to start its programs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Product;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// SHA-256 of the archive, lower-case hex.
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub source: String,
    /// Part of the source, such as the suite `bookworm-security`.
    pub channel: String,
    /// Full version as packaged, such as `1:10.11.19-0+deb12u1`.
    pub package_version: String,
    /// Whether the channel is released (not testing, unstable or experimental).
    pub released: bool,
    pub notes: Vec<String>,
}

/// Absolute paths inside a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    pub loader: Option<PathBuf>,
    pub library_path: Vec<PathBuf>,
    /// Server program (`mysqld`, `mariadbd`, `postgres`), started by the loader if there is one.
    pub server: PathBuf,
    pub basedir: PathBuf,
    /// Error messages and system-table SQL scripts; for Postgres its share directory.
    pub share_dir: PathBuf,
    /// Character sets; the share directory for products without such a directory.
    pub charsets_dir: PathBuf,
    /// Server plugins; for Postgres its package library directory.
    pub plugin_dir: PathBuf,
}

impl Layout {
    /// A program next to the server, such as `initdb` or `pg_ctl`. It finds its loader itself: start it directly.
    pub fn program(&self, name: &str) -> PathBuf {
        self.server.with_file_name(name)
    }
}

/// A verified, read-only, content-addressed tree with one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    pub path: PathBuf,
    /// SHA-256 over the sorted names, versions and checksums of all packages: identity of the binaries.
    pub sha256: String,
    pub product: Product,
    pub version: String,
    pub build: Build,
    pub packages: Vec<Package>,
    pub layout: Layout,
}
