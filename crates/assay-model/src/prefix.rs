//! An unpacked server: where it came from and how its programs are started.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Product;

/// One archive that went into a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Package name.
    pub name: String,
    /// Package version.
    pub version: String,
    /// SHA-256 of the archive, lower-case hex.
    pub sha256: String,
}

/// The builder of a server and how it was built, as far as that is known without starting it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Source class, such as `apt`.
    pub source: String,
    /// The part of the source, such as the suite `bookworm-security`.
    pub channel: String,
    /// Full version as packaged, such as `1:10.11.19-0+deb12u1`.
    pub package_version: String,
    /// Whether the channel is a released one (not testing, unstable or experimental).
    pub released: bool,
    /// Notes for the reader of a report, such as an index past its validity.
    pub notes: Vec<String>,
}

/// Locations inside a prefix, and how programs are started. All paths are absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The dynamic loader to start programs with, when the prefix carries its own C library.
    pub loader: Option<PathBuf>,
    /// Library search path given to that loader.
    pub library_path: Vec<PathBuf>,
    /// The server program (`mysqld`, `mariadbd`, `postgres`), to be started by the loader if there is one.
    pub server: PathBuf,
    /// `--basedir` for MySQL and MariaDB.
    pub basedir: PathBuf,
    /// Directory with error messages and the system-table SQL scripts; for Postgres its share directory.
    pub share_dir: PathBuf,
    /// Directory with character sets; the share directory where a product has none.
    pub charsets_dir: PathBuf,
    /// Directory with server plugins; for Postgres its package library directory.
    pub plugin_dir: PathBuf,
}

impl Layout {
    /// A program next to the server, such as `initdb` or `pg_ctl`. It finds its loader by itself: start it directly.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.server.with_file_name(name)
    }
}

/// A verified, read-only, content-addressed tree with one server in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    /// Root of the tree.
    pub path: PathBuf,
    /// SHA-256 over the sorted names, versions and checksums of all packages: the identity of the binaries.
    pub sha256: String,
    /// The family.
    pub product: Product,
    /// Upstream version, such as `10.11.19`.
    pub version: String,
    /// Its build.
    pub build: Build,
    /// Every archive unpacked into it.
    pub packages: Vec<Package>,
    /// Locations inside it.
    pub layout: Layout,
}
