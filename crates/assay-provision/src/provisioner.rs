//! The provisioner: its cache, its catalog, and the sources of this machine.

use std::path::Path;
use std::sync::OnceLock;

use assay_model::{Engine, Login, Prefix, Product};
use fs_err as fs;

use crate::apt::{self, Apt, CURRENT_FOR, Index, Record, Refreshed};
use crate::catalog::{Catalog, Distribution, Offer, Release};
use crate::error::Error;
use crate::store::{Store, age};

/// Options for getting servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Use only the cache.
    pub offline: bool,
    /// Accept an index past its validity; recorded in the build's
    /// notes.
    pub accept_expired_index: bool,
}

/// Room for the index of a release, packed and unpacked, with a margin; bytes.
const INDEX_ROOM: u64 = 200 << 20;

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
    options: Options,
    /// Logins for repositories.
    pub(crate) logins: Vec<Login>,
    /// The only source to use, if one is set.
    pub(crate) source: Option<String>,
    distributions: OnceLock<Vec<Distribution>>,
}

/// The sources available on this machine.
pub(crate) struct Sources<'a> {
    /// The archives of Debian and Ubuntu, or the reason why there are none.
    pub(crate) apt: Result<Apt<'a>, Error>,
    /// Lock of the cache.
    pub(crate) lock: fs::File,
}

impl Provisioner {
    /// A provisioner that keeps everything under `cache_dir`, which it creates if necessary.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn new(cache_dir: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let store = Store::open(cache_dir.as_ref())?;
        let catalog = Catalog::built_in()?.for_this_machine();
        let distributions = OnceLock::new();
        Ok(Self { store, catalog, options, logins: Vec::new(), source: None, distributions })
    }

    /// The same, with the rows of a user's catalog file before the built-in ones.
    ///
    /// # Errors
    /// When the file cannot be read or is not a catalog.
    pub fn with_catalog(self, path: &Path) -> Result<Self, Error> {
        Ok(Self { catalog: self.catalog.with(path)?, ..self })
    }

    /// The same, but takes servers from one source only: a kind, such as `maven`, a vendor, such as `mysql.com`, or
    /// the name of a package.
    ///
    /// # Errors
    /// When there is no such source.
    pub fn with_source(self, source: Option<String>) -> Result<Self, Error> {
        let known = self.catalog.sources();
        match source {
            Some(word) if !known.contains(&word) && !self.catalog.has_package(&word) => {
                Err(Error::NoSource { word, known })
            }
            source => Ok(Self { source, ..self }),
        }
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
    ///
    /// # Errors
    /// When the cache directory cannot be read.
    pub fn cached(&self) -> Result<Vec<Prefix>, Error> {
        self.store.prefixes()
    }

    /// The sources of this machine. Without apt, or without Debian's archive, only the others remain.
    pub(crate) fn sources(&self, lock: fs::File) -> Result<Sources<'_>, Error> {
        let apt = Apt::new(&self.catalog, self.store.path("apt"), lock.try_clone()?);
        match apt {
            Err(error) if !is_lack(&error) => Err(error),
            apt => Ok(Sources { apt, lock }),
        }
    }

    /// The distributions whose packages this machine's apt can have.
    pub(crate) fn distributions(&self) -> &[Distribution] {
        self.distributions.get_or_init(|| apt::distributions(&self.catalog))
    }

    /// The rows of a product that this machine's apt can have, released ones first.
    pub(crate) fn offers(&self, product: Product) -> Vec<Offer<'_>> {
        let mut offers = self.catalog.offers(product);
        offers.retain(|offer| self.distributions().contains(&offer.release.distribution));
        offers
    }

    /// The prefix of an earlier answer to a request, if the answer is less than a day old.
    pub(crate) fn answered(&self, request: &str) -> Option<Prefix> {
        let resolution = self.store.resolution(request)?;
        let fit = !resolution.expired || self.options.accept_expired_index;
        let current = age(resolution.at) < CURRENT_FOR;
        if fit && current { self.store.prefix(&resolution.directory) } else { None }
    }

    /// The index of a release, fetched again if it is older than a day.
    pub(crate) fn open(
        &self,
        apt: &Apt<'_>,
        release: &Release,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Read, Error> {
        let accept = self.options.accept_expired_index;
        let refreshed = match apt.current(release, accept) {
            Some(refreshed) => refreshed,
            None => {
                // apt waits forever for its own helpers when they run out of disk space.
                self.store.check_room(INDEX_ROOM)?;
                progress(Progress::RefreshingIndex { release: release.name.clone() });
                apt.refresh(release, accept)?
            }
        };
        progress(Progress::Resolving { release: release.name.clone() });
        Ok(Read { index: apt.index(release)?, refreshed })
    }
}

/// The index of a release, as it was read.
pub(crate) struct Read {
    pub(crate) index: Index,
    pub(crate) refreshed: Refreshed,
}

impl Read {
    pub(crate) fn of(self, offer: Offer<'_>) -> Opened<'_> {
        Opened { offer, index: self.index, refreshed: self.refreshed }
    }
}

/// A row of the catalog with its index.
pub(crate) struct Opened<'a> {
    pub(crate) offer: Offer<'a>,
    pub(crate) index: Index,
    pub(crate) refreshed: Refreshed,
}

impl Opened<'_> {
    /// The versions that the row covers.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Record> {
        let root = self.offer.server.roots.first();
        root.into_iter().flat_map(|root| self.index.versions(root))
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

/// Whether the machine has no archive of a distribution, so that only the other sources remain.
fn is_lack(error: &Error) -> bool {
    matches!(error, Error::AptMissing(_) | Error::NoArchive(_))
}
