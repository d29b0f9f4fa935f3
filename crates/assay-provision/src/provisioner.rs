//! The flow from a request to a prefix.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_model::{Build, Origin, Package, Prefix, Product, SystemSpec};
use fs_err as fs;
use sha2::{Digest as _, Sha256};

use crate::apt::{Apt, CURRENT_FOR, Index, Record, Refreshed, closure};
use crate::catalog::{Catalog, Offer, Source};
use crate::deb;
use crate::error::Error;
use crate::layout;
use crate::store::{Resolution, Store, age, now_seconds};
use crate::unpack::{Limits, Tree};
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
        /// Bytes in all.
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
pub struct AvailableVersion {
    /// Upstream version, such as `10.11.19`.
    pub version: String,
    /// Where in the source, such as the suite `bookworm-security`.
    pub channel: String,
    /// Whether the channel is a released one.
    pub released: bool,
}

/// Gets servers into a cache directory and from it.
#[derive(Debug)]
pub struct Provisioner {
    pub(crate) store: Store,
    catalog: Catalog,
    options: Options,
}

/// A row of the catalog with its index.
struct Opened<'a> {
    offer: Offer<'a>,
    index: Index,
    refreshed: Refreshed,
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
        let Origin::Version(wanted) = &spec.origin else {
            return Err(Error::Unsupported(spec.to_string()));
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
        let apt = self.apt(lock)?;
        let (opened, root) = self.choose(&apt, spec.product, wanted, progress)?;
        let prefix = self.fetch(&apt, spec, &opened, &root, progress)?;
        let directory = prefix.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let expired = opened.refreshed.expired.is_some();
        self.store.remember(&request, Resolution { directory, at: now_seconds(), expired })?;
        Ok(prefix)
    }

    /// Every version that can be had, oldest first; offline, those in the cache.
    ///
    /// Unreleased channels whose index cannot be used are left out.
    ///
    /// # Errors
    /// When the index of a released channel cannot be fetched or verified.
    pub fn available(&self, product: Product) -> Result<Vec<AvailableVersion>, Error> {
        if self.options.offline {
            let cached = self.cached()?.into_iter().filter(|prefix| prefix.product == product);
            return Ok(cached.map(as_available).collect());
        }
        let apt = self.apt(self.store.lock(|| {})?)?;
        let mut all = Vec::new();
        for offer in self.catalog.offers(product) {
            match self.open(&apt, offer, &mut |_| {}) {
                Err(error) if !offer.release.released => log::info!("{error}"),
                opened => all.push(opened?),
            }
        }
        Ok(survey(&all))
    }

    /// Every prefix in the cache.
    ///
    /// # Errors
    /// When the cache directory cannot be read.
    pub fn cached(&self) -> Result<Vec<Prefix>, Error> {
        self.store.prefixes()
    }

    fn apt(&self, lock: fs::File) -> Result<Apt<'_>, Error> {
        Apt::new(&self.catalog, self.store.path("apt"), lock)
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
        let offers = self.catalog.offers(product);
        let needed: Vec<_> =
            (offers.iter()).flat_map(|offer| offer.server.engine_packages(spec.engine)).collect();
        let fitting = prefixes.into_iter().filter(|prefix| {
            let has_engine = needed.is_empty()
                || prefix.packages.iter().any(|package| needed.contains(&&package.name));
            has_engine && in_series(&prefix.version, wanted)
        });
        let newest = fitting.max_by(|a, b| {
            (a.build.released.cmp(&b.build.released))
                .then_with(|| compare(&a.build.package_version, &b.build.package_version))
                .then_with(|| b.packages.len().cmp(&a.packages.len()))
        });
        newest.ok_or_else(|| Error::NotCached { product, wanted: wanted.to_owned(), cached })
    }

    /// The index of a row, fetched anew when it is older than a day.
    fn open<'a>(
        &self,
        apt: &Apt<'_>,
        offer: Offer<'a>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Opened<'a>, Error> {
        let Source::Apt = offer.server.source;
        let accept = self.options.accept_expired_index;
        let release = offer.release;
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
        Ok(Opened { offer, index: apt.index(release)?, refreshed })
    }

    /// The newest fitting package of the released rows, else of the others; and the row it is of.
    fn choose<'a>(
        &'a self,
        apt: &Apt<'_>,
        product: Product,
        wanted: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Opened<'a>, Record), Error> {
        let (fitting, rest): (Vec<_>, Vec<_>) =
            self.catalog.offers(product).into_iter().partition(|offer| offer.may_have(wanted));
        let (released, others): (Vec<_>, Vec<_>) =
            fitting.into_iter().partition(|offer| offer.release.released);
        let (mut all, mut unread) = (Vec::new(), Vec::new());
        for offer in released {
            all.push(self.open(apt, offer, progress)?);
        }
        if let Some(best) = newest(&mut all, wanted) {
            return Ok(best);
        }
        // What follows matters only because no released suite has it, so one that fails spoils no
        // other.
        let mut look = |offers: Vec<Offer<'a>>, all: &mut Vec<_>| {
            for offer in offers {
                match self.open(apt, offer, progress) {
                    Ok(opened) => all.push(opened),
                    Err(error) => unread.push(error),
                }
            }
        };
        look(others, &mut all);
        if let Some(best) = newest(&mut all, wanted) {
            return Ok(best);
        }
        look(rest, &mut all);
        let available = survey(&all);
        let available = available.iter().map(|it| format!("{} ({})", it.version, it.channel));
        let (wanted, available) = (wanted.to_owned(), available.collect());
        Err(Error::NoVersion { product, wanted, available, unread })
    }

    /// The prefix of a chosen package: downloaded and unpacked unless the cache has the very same.
    fn fetch(
        &self,
        apt: &Apt<'_>,
        spec: &SystemSpec,
        opened: &Opened<'_>,
        root: &Record,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let Opened { offer: Offer { server, release }, index, refreshed } = opened;
        let roots = [server.roots.as_slice(), server.engine_packages(spec.engine)].concat();
        let records = closure(index, &roots, &root.version, &release.name)?;
        let (sha256, version) = (identity(&records), upstream(&root.version));
        let name = format!("{}-{version}-{}", spec.product, sha256.get(..16).unwrap_or(&sha256));
        if let Some(prefix) = self.store.prefix(&name) {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        let bytes = |record: &&Record| record.size.saturating_add(record.installed_kb << 10);
        self.store.check_room(records.iter().map(bytes).fold(0, u64::saturating_add))?;
        let downloads = self.store.downloads()?;
        let total = records.iter().map(|record| record.size).sum::<u64>();
        apt.download(release, &records, downloads.path(), &mut |share| {
            progress(Progress::Downloading { done: (share * total as f64) as u64, total });
        })?;
        let archives = verified(&records, downloads.path())?;
        let built = self.store.new_tree()?;
        let mut tree = Tree::new(built.path(), Limits::SERVER);
        for (done, archive) in archives.iter().enumerate() {
            progress(Progress::Unpacking { done, total: archives.len() });
            deb::unpack(archive, &mut tree)?;
        }
        let stored = Prefix {
            path: PathBuf::new(),
            sha256,
            product: spec.product,
            version: version.to_owned(),
            build: Build {
                source: "apt".to_owned(),
                channel: root.suite.clone(),
                package_version: root.version.clone(),
                released: release.released,
                notes: refreshed.notes.clone(),
            },
            packages: records.iter().map(|record| as_package(record)).collect(),
            layout: layout::find(built.path(), self.catalog.layout(spec.product)?)?,
        };
        tree.seal()?;
        self.store.keep(built, &name, &stored)
    }
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
    let fitting = versions.filter(|(_, it)| in_series(upstream(&it.version), series));
    let (row, root) = fitting.max_by(|(_, a), (_, b)| compare(&a.version, &b.version))?;
    let root = root.clone();
    Some((all.swap_remove(row), root))
}

/// All versions of all rows, oldest first.
fn survey(all: &[Opened<'_>]) -> Vec<AvailableVersion> {
    let rows = all.iter().flat_map(|opened| opened.versions().map(move |it| (opened, it)));
    let mut versions: Vec<_> = rows.collect();
    versions.sort_by(|(_, a), (_, b)| compare(&a.version, &b.version));
    let available = versions.into_iter().map(|(opened, record)| AvailableVersion {
        version: upstream(&record.version).to_owned(),
        channel: record.suite.clone(),
        released: opened.offer.release.released,
    });
    available.collect()
}

fn as_package(record: &Record) -> Package {
    let (name, version) = (record.name.clone(), record.version.clone());
    Package { name, version, sha256: record.sha256.clone() }
}

fn as_available(prefix: Prefix) -> AvailableVersion {
    let Build { channel, released, .. } = prefix.build;
    AvailableVersion { version: prefix.version, channel, released }
}

/// SHA-256 over names, versions and checksums, one package a line, sorted by name.
fn identity(records: &[&Record]) -> String {
    let mut lines: Vec<_> = (records.iter())
        .map(|record| format!("{} {} {}\n", record.name, record.version, record.sha256))
        .collect();
    lines.sort();
    hex(&Sha256::digest(lines.concat()))
}

/// The downloaded archives in the order of `records`, each found by its checksum.
fn verified(records: &[&Record], downloads: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut by_sum = HashMap::new();
    for entry in fs::read_dir(downloads)? {
        let path = entry?.path();
        let mut hasher = Sha256::new();
        std::io::copy(&mut fs::File::open(&path)?, &mut HashWriter(&mut hasher))?;
        by_sum.insert(hex(&hasher.finalize()), path);
    }
    let find = |record: &&Record| {
        by_sum.get(&record.sha256).cloned().ok_or_else(|| Error::Checksum {
            package: format!("{} {}", record.name, record.version),
            wanted: record.sha256.clone(),
        })
    };
    records.iter().map(find).collect()
}

struct HashWriter<'a>(&'a mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, content: &str) -> Record {
        let sha256 = hex(&Sha256::digest(content));
        let text = format!("Package: {name}\nVersion: 1\nSHA256: {sha256}\n");
        let mut index = Index::default();
        index.add("suite", &text).unwrap();
        index.versions(name).next().unwrap().clone()
    }

    #[test]
    fn identity_is_that_of_the_packages_whatever_their_order() {
        let (a, b, changed) = (record("a", "x"), record("b", "y"), record("b", "z"));
        assert_eq!(identity(&[&a, &b]), identity(&[&b, &a]));
        assert_ne!(identity(&[&a, &b]), identity(&[&a, &changed]));
        assert_eq!(identity(&[&a]).len(), 64);
    }

    #[test]
    fn an_archive_that_is_not_the_signed_one_is_refused() {
        let downloads = tempfile::tempdir().unwrap();
        fs::write(downloads.path().join("one.deb"), "good").unwrap();
        let good = record("good", "good");
        assert_eq!(verified(&[&good], downloads.path()).unwrap().len(), 1);
        let error = verified(&[&good, &record("bad", "other")], downloads.path()).unwrap_err();
        assert!(error.to_string().starts_with("checksum of `bad 1` does not match"), "{error}");
    }

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
