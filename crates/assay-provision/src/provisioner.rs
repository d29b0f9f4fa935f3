//! The provisioner: its cache, its catalog, and the sources of this machine.

use std::path::Path;
use std::sync::OnceLock;

use assay_model::{Engine, Login, Prefix, Product};

use crate::catalog::Catalog;
use crate::error::Error;
use crate::store::{CURRENT_FOR, Store, age};

/// Options for getting servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Use only the cache.
    pub offline: bool,
    /// Accept an index past its validity; recorded in the build's
    /// notes.
    pub accept_expired_index: bool,
}

/// A step of the work, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Waiting for another process that fills the cache.
    Waiting,
    /// The package index of a release is being fetched and verified.
    RefreshingIndex {
        /// The release.
        release: String,
    },
    /// The version and the libraries it needs are being looked up.
    Resolving {
        /// The release.
        release: String,
    },
    /// Packages are being downloaded.
    Downloading {
        /// Approximate number of bytes so far.
        done: u64,
        /// Total number of bytes; 0 if the source does not say beforehand.
        total: u64,
    },
    /// Packages are being unpacked.
    Unpacking {
        /// Packages so far.
        done: usize,
        /// Total number of packages.
        total: usize,
    },
    /// A server is being built from its source.
    Building {
        /// The last line of its tool.
        what: String,
    },
    /// A source that comes before others cannot be used, so the server comes from another one.
    PassedOver {
        /// Why, in words.
        why: String,
    },
    /// The server was in the cache.
    Cached,
}

/// Gets servers into a cache directory and from it.
#[derive(Debug)]
pub struct Provisioner {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) options: Options,
    /// Logins for repositories.
    pub(crate) logins: Vec<Login>,
    /// The only source to use, if one is set.
    pub(crate) source: Option<String>,
    /// The releases of distributions that this machine can have.
    pub(crate) reachable: OnceLock<Vec<String>>,
}

impl Provisioner {
    /// A provisioner that keeps everything under `cache_dir`, which it creates if necessary.
    pub fn new(cache_dir: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let store = Store::open(cache_dir.as_ref())?;
        let catalog = Catalog::built_in()?.for_this_machine();
        let reachable = OnceLock::new();
        Ok(Self { store, catalog, options, logins: Vec::new(), source: None, reachable })
    }

    /// The same, with logins for repositories.
    #[must_use]
    pub fn with_logins(self, logins: Vec<Login>) -> Self {
        Self { logins, ..self }
    }

    /// Whether fetching is forbidden.
    pub(crate) fn offline(&self) -> bool {
        self.options.offline
    }

    /// Every prefix in the cache.
    pub fn cached(&self) -> Result<Vec<Prefix>, Error> {
        self.store.prefixes()
    }

    /// The prefix of an earlier answer to a request, if the answer is less than a day old.
    pub(crate) fn answered(&self, request: &str) -> Option<Prefix> {
        let resolution = self.store.resolution(request)?;
        let fit = !resolution.expired || self.options.accept_expired_index;
        let current = age(resolution.at) < CURRENT_FOR;
        if fit && current { self.store.prefix(&resolution.directory) } else { None }
    }
}

/// Key under which an answer is recorded.
pub(crate) fn request(
    product: Product,
    wanted: &str,
    engine: Engine,
    from: Option<&str>,
) -> String {
    let from = from.map(|from| format!(" from {from}")).unwrap_or_default();
    format!("{product}@{wanted}/{}{from}", engine.word())
}
