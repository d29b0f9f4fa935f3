//! The flow from a request to a prefix.

use std::path::Path;

use assay_model::{Build, Engine, Origin, Prefix, Product, SystemSpec};
use fs_err as fs;

use crate::apt::{Apt, CURRENT_FOR, Index, Record, Refreshed};
use crate::catalog::{Catalog, Offer, Packaged, Release};
use crate::dir;
use crate::error::Error;
use crate::store::{Resolution, Store, age, now_seconds};
use crate::version::{compare, in_series, upstream};

/// How servers may be had.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Use the cache alone.
    pub offline: bool,
    /// Take an index past the time until which its signer vouches for it; said in the build's
    /// notes.
    pub accept_expired_index: bool,
}

/// Room for the index of a release, packed and unpacked, with a margin; bytes.
const INDEX_ROOM: u64 = 200 << 20;

/// What is going on, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Another process fills the cache; it goes first.
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
        /// Bytes so far, about.
        done: u64,
        /// Bytes in all; 0 where the source does not say beforehand.
        total: u64,
    },
    /// Packages are being unpacked.
    Unpacking {
        /// Packages so far.
        done: usize,
        /// Packages in all.
        total: usize,
    },
    /// It was in the cache.
    Cached,
}

/// A version that a source has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
    /// The family.
    pub product: Product,
    /// Upstream version, such as `10.11.19`.
    pub version: String,
    /// Source class, such as `apt` or `maven`.
    pub source: String,
    /// Where in the source, such as the suite `bookworm-security` or a package's name.
    pub channel: String,
    /// Whether the channel is a released one.
    pub released: bool,
    /// Whether its bytes are known beforehand, by a signed index or a checksum in the catalog.
    /// Otherwise they are held to what the registry says, and later to what was had first.
    pub verified: bool,
}

/// Gets servers into a cache directory and from it.
#[derive(Debug)]
pub struct Provisioner {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    options: Options,
}

/// A row of the catalog with its index.
pub(crate) struct Opened<'a> {
    pub(crate) offer: Offer<'a>,
    pub(crate) index: Index,
    pub(crate) refreshed: Refreshed,
}

/// What answers a request.
enum Chosen<'a> {
    /// A version in the index of a Debian release.
    Debian(Box<(Opened<'a>, Record)>),
    /// Packages of other registries with one version of the server, in the order of preference.
    Packages(Vec<Packaged<'a>>),
}

/// The sources as they are on this machine.
pub(crate) struct Sources<'a> {
    /// Debian's archive, or why there is none.
    pub(crate) apt: Result<Apt<'a>, Error>,
    /// Of the cache.
    pub(crate) lock: fs::File,
}

impl Provisioner {
    /// A provisioner that keeps everything under `cache_dir`, which is made if need be.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn new(cache_dir: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let store = Store::open(cache_dir.as_ref())?;
        Ok(Self { store, catalog: Catalog::built_in()?, options })
    }

    /// The prefix of a system: from the cache, or fetched, verified and unpacked into it.
    ///
    /// An answer is reused without network for a day; offline, whatever the cache has is used.
    ///
    /// # Errors
    /// When no source has it, or fetching, verifying or unpacking fails.
    pub fn get(
        &self,
        spec: &SystemSpec,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let wanted = match &spec.origin {
            Origin::Version(wanted) => wanted,
            Origin::Dir(path) => return dir::prefix(&self.catalog, spec.product, path),
            Origin::Url(_) | Origin::Git(_) => return Err(Error::Unsupported(spec.to_string())),
        };
        if self.options.offline {
            let prefix = self.newest_cached(spec, wanted)?;
            progress(Progress::Cached);
            return Ok(prefix);
        }
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture(std::env::consts::ARCH));
        }
        let request = format!("{}@{wanted}/{}", spec.product, spec.engine.word());
        if let Some(prefix) = self.answered(&request) {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        let lock = self.store.lock(|| progress(Progress::Waiting))?;
        // Whoever had the lock may have fetched the same.
        if let Some(prefix) = self.answered(&request) {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        let sources = self.sources(lock)?;
        let (prefix, expired) = match self.choose(&sources, spec, wanted, progress)? {
            Chosen::Debian(found) => {
                let (opened, root) = *found;
                let apt = sources.apt?;
                let prefix = self.fetch_release(&apt, spec, &opened, &root, progress)?;
                (prefix, opened.refreshed.expired.is_some())
            }
            Chosen::Packages(packages) => {
                (self.fetch_first(&sources, spec, &packages, progress)?, false)
            }
        };
        let directory = prefix.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.store.remember(&request, Resolution { directory, at: now_seconds(), expired })?;
        Ok(prefix)
    }

    /// Every version that can be had, oldest first; offline, those in the cache.
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

    /// Every prefix in the cache.
    ///
    /// # Errors
    /// When the cache directory cannot be read.
    pub fn cached(&self) -> Result<Vec<Prefix>, Error> {
        self.store.prefixes()
    }

    /// The sources of this machine; without apt, or without Debian's archive, the others are left.
    fn sources(&self, lock: fs::File) -> Result<Sources<'_>, Error> {
        let apt = Apt::new(&self.catalog, self.store.path("apt"), lock.try_clone()?);
        match apt {
            Err(error) if !is_lack(&error) => Err(error),
            apt => Ok(Sources { apt, lock }),
        }
    }

    /// The prefix a request was answered with, if the answer is less than a day old.
    fn answered(&self, request: &str) -> Option<Prefix> {
        let resolution = self.store.resolution(request)?;
        let fit = !resolution.expired || self.options.accept_expired_index;
        let current = age(resolution.at) < CURRENT_FOR;
        if fit && current { self.store.prefix(&resolution.directory) } else { None }
    }

    /// The newest fitting prefix in the cache, released ones first.
    fn newest_cached(&self, spec: &SystemSpec, wanted: &str) -> Result<Prefix, Error> {
        let product = spec.product;
        let mut prefixes = self.cached()?;
        prefixes.retain(|prefix| prefix.product == product);
        let cached = prefixes.iter().map(|prefix| prefix.version.clone()).collect();
        let fitting = prefixes.into_iter().filter(|prefix| {
            let has_engine = spec.engine != Engine::RocksDb
                || prefix.layout.plugin_dir.join("ha_rocksdb.so").exists();
            has_engine && in_series(&prefix.version, wanted)
        });
        let newest = fitting.max_by(|a, b| {
            (a.build.released.cmp(&b.build.released))
                .then_with(|| compare(&a.version, &b.version))
                .then_with(|| (a.build.source == "apt").cmp(&(b.build.source == "apt")))
                .then_with(|| compare(&a.build.package_version, &b.build.package_version))
                .then_with(|| b.packages.len().cmp(&a.packages.len()))
        });
        newest.ok_or_else(|| Error::NotCached { product, wanted: wanted.to_owned(), cached })
    }

    /// The index of a release, fetched anew when it is older than a day.
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
                // apt waits for ever for its own helpers when they run out of room.
                self.store.check_room(INDEX_ROOM)?;
                progress(Progress::RefreshingIndex { release: release.name.clone() });
                apt.refresh(release, accept)?
            }
        };
        progress(Progress::Resolving { release: release.name.clone() });
        Ok(Read { index: apt.index(release)?, refreshed })
    }

    /// The prefix of the first package whose client is installed.
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
                Err(error @ Error::ClientMissing { .. }) => lack = lack.or(Some(error)),
                other => return other,
            }
        }
        Err(lack.unwrap_or_else(|| Error::Unsupported(spec.to_string())))
    }

    /// The newest fitting version of the released rows, else of the other registries, else of the
    /// unreleased rows.
    fn choose<'a>(
        &'a self,
        sources: &Sources<'_>,
        spec: &SystemSpec,
        wanted: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Chosen<'a>, Error> {
        let product = spec.product;
        let (fitting, rest): (Vec<_>, Vec<_>) = (self.catalog.offers(product).into_iter())
            .partition(|offer| offer.may_have(wanted) && offer.server.has_engine(spec.engine));
        let (released, others): (Vec<_>, Vec<_>) =
            fitting.into_iter().partition(|offer| offer.release.released);
        let (mut all, mut unread) = (Vec::new(), Vec::new());
        if let Ok(apt) = &sources.apt {
            for offer in released {
                all.push(self.open(apt, offer.release, progress)?.of(offer));
            }
        }
        if let Some(found) = newest(&mut all, wanted) {
            return Ok(Chosen::Debian(Box::new(found)));
        }
        if spec.engine == SystemSpec::default_engine(product) {
            let packages = self.catalog.packaged(product);
            let mut fitting: Vec<_> =
                packages.filter(|it| in_series(&it.version.version, wanted)).collect();
            fitting.sort_by(|a, b| {
                let known = |it: &Packaged<'_>| it.version.sha256.is_some();
                compare(&b.version.version, &a.version.version)
                    .then_with(|| known(b).cmp(&known(a)))
            });
            if let Some(first) = fitting.first().copied() {
                fitting.retain(|it| it.version.version == first.version.version);
                return Ok(Chosen::Packages(fitting));
            }
        }
        // What follows matters only because nothing released has it, so one that fails spoils no
        // other.
        let mut look = |offers: Vec<Offer<'a>>, all: &mut Vec<_>| {
            for offer in offers {
                match sources.apt.as_ref().map(|apt| self.open(apt, offer.release, progress)) {
                    Ok(Ok(read)) => all.push(read.of(offer)),
                    Ok(Err(error)) => unread.push(error),
                    Err(_) => {}
                }
            }
        };
        look(others, &mut all);
        if let Some(found) = newest(&mut all, wanted) {
            return Ok(Chosen::Debian(Box::new(found)));
        }
        look(rest, &mut all);
        let mut available = survey(product, &all);
        available.extend(self.catalog.packaged(product).map(|it| offered(product, it)));
        available.sort_by(|a, b| compare(&a.version, &b.version));
        // The others are too many to be read.
        let known = available.iter().filter(|it| it.verified);
        let named = known.map(|it| format!("{} ({})", it.version, it.channel));
        let (wanted, available) = (wanted.to_owned(), named.collect());
        Err(Error::NoVersion { product, wanted, available, unread })
    }
}

/// The index of a release, as it was read.
pub(crate) struct Read {
    pub(crate) index: Index,
    pub(crate) refreshed: Refreshed,
}

impl Read {
    fn of(self, offer: Offer<'_>) -> Opened<'_> {
        Opened { offer, index: self.index, refreshed: self.refreshed }
    }
}

/// Whether the machine has no Debian archive to ask, which leaves the other sources.
fn is_lack(error: &Error) -> bool {
    matches!(error, Error::AptMissing(_) | Error::NoDebianArchive(_))
}

impl Opened<'_> {
    /// The versions the row stands for.
    fn versions(&self) -> impl Iterator<Item = &Record> {
        let root = self.offer.server.roots.first();
        root.into_iter().flat_map(|root| self.index.versions(root))
    }
}

/// Takes the row out of `all` that has the newest version of a series, with that version.
fn newest<'a>(all: &mut Vec<Opened<'a>>, series: &str) -> Option<(Opened<'a>, Record)> {
    let numbered = all.iter().enumerate();
    let versions = numbered.flat_map(|(row, opened)| opened.versions().map(move |it| (row, it)));
    let fitting = versions.filter(|(_, it)| in_series(&upstream(&it.version), series));
    let (row, root) = fitting.max_by(|(_, a), (_, b)| compare(&a.version, &b.version))?;
    let root = root.clone();
    Some((all.swap_remove(row), root))
}

/// All versions of all rows.
fn survey(product: Product, all: &[Opened<'_>]) -> Vec<Available> {
    let rows = all.iter().flat_map(|opened| opened.versions().map(move |it| (opened, it)));
    let available = rows.map(|(opened, record)| Available {
        product,
        version: upstream(&record.version),
        source: "apt".to_owned(),
        channel: record.suite.clone(),
        released: opened.offer.release.released,
        verified: true,
    });
    available.collect()
}

fn offered(product: Product, packaged: Packaged<'_>) -> Available {
    Available {
        product,
        version: packaged.version.version.clone(),
        source: packaged.package.source.word().to_owned(),
        channel: packaged.package.name.clone(),
        released: true,
        verified: packaged.version.sha256.is_some(),
    }
}

fn as_available(prefix: Prefix) -> Available {
    let Prefix { product, version, build, .. } = prefix;
    let Build { source, channel, released, .. } = build;
    Available { product, version, source, channel, released, verified: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_without_a_source_are_named() {
        let home = tempfile::tempdir().unwrap();
        let provisioner = Provisioner::new(home.path(), Options::default()).unwrap();
        let spec = SystemSpec {
            product: Product::MySql,
            origin: Origin::Git("../mysql#8.0".to_owned()),
            engine: SystemSpec::default_engine(Product::MySql),
            overrides: Vec::new(),
        };
        let error = provisioner.get(&spec, &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "no source provides `mysql@git:../mysql#8.0`");
    }
}
