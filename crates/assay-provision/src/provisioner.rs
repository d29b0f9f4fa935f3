//! The flow from a request to a prefix.

use std::path::Path;

use assay_model::{Build, Engine, Login, Origin, Prefix, Product, SystemSpec};
use fs_err as fs;

use crate::agree::is_from;
use crate::apt::{Apt, CURRENT_FOR, Index, Refreshed};
use crate::catalog::{Catalog, Offer, Packaged, Release};
use crate::choose::{Chosen, Opened, offered, survey};
use crate::dir;
use crate::error::Error;
use crate::store::{Resolution, Store, age, now_seconds};
use crate::version::{answers, compare};

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
    /// The server was in the cache.
    Cached,
}

/// A version that a source has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
    /// The family.
    pub product: Product,
    /// Upstream version, such as `10.11.19`.
    pub version: String,
    /// Source class, such as `apt` or `maven`, or the vendor of a tarball, such as `mysql.com`.
    pub source: String,
    /// Part of the source, such as the suite `bookworm-security` or a package's name; `tarball`.
    pub channel: String,
    /// Whether the channel is a released one.
    pub released: bool,
    /// Whether its bytes are known beforehand, by a signed index or a checksum in the catalog.
    /// Otherwise they must match the registry's checksum, and later the one pinned on first use.
    pub verified: bool,
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
}

/// The sources available on this machine.
pub(crate) struct Sources<'a> {
    /// Debian's archive, or the reason why there is none.
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
        Ok(Self { store, catalog: Catalog::built_in()?, options, logins: Vec::new(), source: None })
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

    /// The prefix of a system: from the cache, or fetched, verified and unpacked into it.
    ///
    /// An answer is reused without network for a day. Offline, any fitting prefix in the cache is used.
    ///
    /// # Errors
    /// When no source has it, or fetching, verifying or unpacking fails.
    pub fn get(
        &self,
        spec: &SystemSpec,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        self.get_from(spec, None, progress)
    }

    /// The same from one source, such as [`Provisioner::agree`] names.
    ///
    /// # Errors
    /// When it does not have it, or fetching, verifying or unpacking fails.
    pub fn get_from(
        &self,
        spec: &SystemSpec,
        agreed: Option<&str>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let from = agreed.or(self.source.as_deref());
        let wanted = match &spec.origin {
            Origin::Version(wanted) => wanted,
            Origin::Dir(path) => return dir::prefix(&self.catalog, spec.product, path),
            Origin::Git(reference) => return self.built(spec, reference, progress),
            Origin::Url(_) => return Err(Error::Unsupported(spec.to_string())),
        };
        if self.options.offline {
            let prefix = self.newest_cached(spec, wanted, from)?;
            progress(Progress::Cached);
            return Ok(prefix);
        }
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture(std::env::consts::ARCH));
        }
        let request = request(spec.product, wanted, spec.engine, from);
        if let Some(prefix) = self.answered(&request) {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        let lock = self.store.lock(|| progress(Progress::Waiting))?;
        // The previous holder of the lock may have fetched the same.
        if let Some(prefix) = self.answered(&request) {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        let sources = self.sources(lock)?;
        let guessed = self.catalog.guessed(spec.product, wanted);
        let (prefix, expired) = match self.choose(&sources, spec, from, &guessed, progress)? {
            Chosen::Debian(found) => {
                let (opened, root) = *found;
                let apt = sources.apt?;
                let prefix = self.fetch_release(&apt, spec, &opened, &root, progress)?;
                (prefix, opened.refreshed.expired.is_some())
            }
            Chosen::Packages(packages) => {
                (self.fetch_first(&sources, spec, &packages, progress)?, false)
            }
            Chosen::Tarballs(tarballs, none) => {
                let fetched = self.fetch_first(&sources, spec, &tarballs, progress);
                (fetched.map_err(|error| not_at_the_vendor(error, none))?, false)
            }
        };
        let directory = prefix.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.store.remember(&request, Resolution { directory, at: now_seconds(), expired })?;
        Ok(prefix)
    }

    /// Every available version, oldest first; offline, those in the cache.
    ///
    /// Unreleased channels whose index cannot be used are left out.
    ///
    /// # Errors
    /// When the index of a released channel cannot be fetched or verified.
    pub fn available(&self, product: Product) -> Result<Vec<Available>, Error> {
        let mut available: Vec<_> = if self.options.offline {
            let cached = self.cached()?.into_iter().filter(|prefix| prefix.product == product);
            cached.map(as_available).collect()
        } else {
            let sources = self.sources(self.store.lock(|| {})?)?;
            let mut all = Vec::new();
            if let Ok(apt) = &sources.apt {
                for offer in self.catalog.offers(product) {
                    match self.open(apt, offer.release, &mut |_| {}) {
                        Err(error) if !offer.release.released => log::info!("{error}"),
                        opened => all.push(opened.map(|it| it.of(offer))?),
                    }
                }
            }
            let packages = self.catalog.packaged(product).map(|it| offered(product, it));
            survey(product, &all).into_iter().chain(packages).collect()
        };
        available.sort_by(|a, b| compare(&a.version, &b.version));
        Ok(available)
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

    /// The prefix of an earlier answer to a request, if the answer is less than a day old.
    pub(crate) fn answered(&self, request: &str) -> Option<Prefix> {
        let resolution = self.store.resolution(request)?;
        let fit = !resolution.expired || self.options.accept_expired_index;
        let current = age(resolution.at) < CURRENT_FOR;
        if fit && current { self.store.prefix(&resolution.directory) } else { None }
    }

    /// The newest fitting prefix in the cache, released ones first.
    fn newest_cached(
        &self,
        spec: &SystemSpec,
        wanted: &str,
        from: Option<&str>,
    ) -> Result<Prefix, Error> {
        let product = spec.product;
        let mut prefixes = self.cached()?;
        prefixes.retain(|prefix| prefix.product == product);
        prefixes.retain(|it| is_from(from, &it.build.source, &it.build.channel));
        let cached = prefixes.iter().map(|prefix| prefix.version.clone()).collect();
        let fitting = prefixes.into_iter().filter(|prefix| {
            let has_engine = spec.engine != Engine::RocksDb
                || prefix.layout.plugin_dir.join("ha_rocksdb.so").exists();
            has_engine && answers(&prefix.version, wanted)
        });
        let newest = fitting.max_by(|a, b| {
            (a.build.released.cmp(&b.build.released))
                .then_with(|| compare(&a.version, &b.version))
                .then_with(|| (a.build.source == "apt").cmp(&(b.build.source == "apt")))
                .then_with(|| compare(&a.build.package_version, &b.build.package_version))
                .then_with(|| b.packages.len().cmp(&a.packages.len()))
        });
        newest.ok_or_else(|| Error::NotCached {
            product,
            wanted: wanted.to_owned(),
            from: from.map(str::to_owned),
            cached,
        })
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

    /// The prefix of the first package that exists and whose client is installed.
    fn fetch_first(
        &self,
        sources: &Sources<'_>,
        spec: &SystemSpec,
        packages: &[Packaged<'_>],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let mut lack = None;
        for packaged in packages {
            match self.fetch_package(sources, spec, *packaged, progress) {
                Err(error @ (Error::ClientMissing { .. } | Error::NotPublished { .. })) => {
                    lack = lack.or(Some(error));
                }
                other => return other,
            }
        }
        Err(lack.unwrap_or_else(|| Error::Unsupported(spec.to_string())))
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

/// Whether the machine has no Debian archive, so that only the other sources remain.
fn is_lack(error: &Error) -> bool {
    matches!(error, Error::AptMissing(_) | Error::NoDebianArchive(_))
}

fn as_available(prefix: Prefix) -> Available {
    let Prefix { product, version, build, .. } = prefix;
    let Build { source, channel, released, .. } = build;
    Available { product, version, source, channel, released, verified: true }
}

/// The error for a version that no source has, not even its vendor. `none` has the places searched before.
fn not_at_the_vendor(lack: Error, mut none: Error) -> Error {
    let Error::NoVersion { unread, wanted, .. } = &mut none else { return lack };
    let is_cut_off = matches!(lack, Error::Download { .. });
    // A series may be in a place that could not be looked into; the vendor lists the full versions that it has.
    let is_series = wanted.split('.').count() < 3;
    let lacks_series =
        matches!(lack, Error::NotPublished { .. }) && is_series && !unread.is_empty();
    if !is_cut_off && !lacks_series {
        return lack;
    }
    // Debian comes before vendors, and the user can accept its index.
    if let Some(at) = unread.iter().position(|error| matches!(error, Error::ExpiredIndex { .. })) {
        return unread.swap_remove(at);
    }
    if is_cut_off {
        unread.push(lack);
    }
    none
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_vendor_lacks_is_told_with_what_there_is() {
        let lack = || Error::Download { url: "u".to_owned(), detail: "d".to_owned() };
        let none = || {
            let unread = vec![Error::Network { release: "sid".to_owned(), detail: "d".to_owned() }];
            let (wanted, available) = ("9.7".to_owned(), vec!["8.0.33".to_owned()]);
            Error::NoVersion {
                product: Product::MySql,
                wanted,
                engine: None,
                from: None,
                available,
                unread,
            }
        };
        let told = not_at_the_vendor(lack(), none());
        let words = told.to_string();
        for part in ["are 8.0.33", "`sid`", "`u` cannot be downloaded"] {
            assert!(words.contains(part), "{words}");
        }
        let hints = assay_model::Hint::hints(&told).concat();
        assert!(hints.contains("--offline") && hints.contains("goes on where"), "{hints}");
        let wrong = not_at_the_vendor(Error::malformed("archive", "torn"), none());
        assert!(matches!(wrong, Error::Malformed { .. }));
    }
}
