//! The sources that this machine can use, and the indexes of those that have one.

use std::path::Path;

use assay_model::Product;
use fs_err as fs;

use crate::catalog::{Offer, Release, is_from};
use crate::error::Error;
use crate::provisioner::{Progress, Provisioner};
use crate::sources;
use crate::sources::kind::{Archives, Index, Record, Refreshed};

/// Room for the index of a release, packed and unpacked, with a margin; bytes.
const INDEX_ROOM: u64 = 200 << 20;

/// The sources available on this machine.
pub(crate) struct Sources<'a> {
    /// The archives of distributions, by the names of their sources.
    archives: Vec<(&'static str, Box<dyn Archives + 'a>)>,
    /// Lock of the cache.
    pub(crate) lock: fs::File,
}

impl Sources<'_> {
    pub(crate) fn archives(&self, release: &Release) -> Option<&dyn Archives> {
        let mut of_source = self.archives.iter().filter(|(word, _)| *word == release.source);
        of_source.find(|(_, it)| it.has(release)).map(|(_, it)| it.as_ref())
    }
}

impl Provisioner {
    /// The same, with the rows of a user's catalog file before the built-in ones.
    pub fn with_catalog(self, path: &Path) -> Result<Self, Error> {
        Ok(Self {
            catalog: self.catalog.with(path, sources::check, sources::check_release)?,
            ..self
        })
    }

    /// The same, but takes servers from one source only: a kind, such as `maven`, a vendor, such as `mysql.com`, or
    /// the name of a package.
    pub fn with_source(self, source: Option<String>) -> Result<Self, Error> {
        let known = sources::words(&self.catalog);
        match source {
            Some(word) if !known.contains(&word) && !self.catalog.has_package(&word) => {
                Err(Error::NoSource { word, known })
            }
            source => Ok(Self { source, ..self }),
        }
    }

    /// The sources of this machine. A distribution that it has no archive of is left out.
    pub(crate) fn sources(&self, lock: fs::File) -> Result<Sources<'_>, Error> {
        let mut archives = Vec::new();
        for (word, distribution) in sources::distributions() {
            match distribution.open(&self.catalog, self.store.path(word), lock.try_clone()?) {
                Ok(opened) => archives.push((word, opened)),
                Err(error) if error.is_lack() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Sources { archives, lock })
    }

    /// Whether this machine can have the packages of a release.
    pub(crate) fn reaches(&self, release: &Release) -> bool {
        let all = self.reachable.get_or_init(|| {
            let distributions = sources::distributions();
            distributions.flat_map(|(_, it)| it.reachable(&self.catalog)).collect()
        });
        all.contains(&release.name)
    }

    /// The rows of a product that this machine can have, from one source if one is named; released ones first.
    pub(crate) fn offers(&self, product: Product, from: Option<&str>) -> Vec<Offer<'_>> {
        let mut offers = self.catalog.offers(product);
        offers.retain(|it| is_from(from, &it.release.source, "") && self.reaches(it.release));
        offers
    }

    /// The index of a release, fetched again if it is older than a day.
    pub(crate) fn open(
        &self,
        archives: &dyn Archives,
        release: &Release,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Read, Error> {
        let accept = self.options.accept_expired_index;
        let refreshed = match archives.current(release, accept) {
            Some(refreshed) => refreshed,
            None => {
                // Clients may wait forever for their own helpers when they run out of disk space.
                self.store.check_room(INDEX_ROOM)?;
                progress(Progress::RefreshingIndex { release: release.name.clone() });
                archives.refresh(release, accept)?
            }
        };
        progress(Progress::Resolving { release: release.name.clone() });
        Ok(Read { index: archives.index(release)?, refreshed })
    }
}

/// The index of a release, as it was read.
pub(crate) struct Read {
    pub(crate) index: Box<dyn Index>,
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
    pub(crate) index: Box<dyn Index>,
    pub(crate) refreshed: Refreshed,
}

impl Opened<'_> {
    /// The versions that the row covers.
    pub(crate) fn versions(&self) -> Vec<&Record> {
        let root = self.offer.server.roots.first();
        root.into_iter().flat_map(|root| self.index.versions(root)).collect()
    }
}
