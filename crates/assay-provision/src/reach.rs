//! Sources that this machine can use, and their indexes.

use std::path::Path;

use assay_model::Product;
use fs_err as fs;

use crate::catalog::{Offer, Release, is_from};
use crate::error::{ProvisionError, Result};
use crate::provisioner::{OnProgress, ProvisionProgress, Provisioner};
use crate::sources;
use crate::sources::kind::{Archives, IndexRefresh, PackageIndex, PackageRecord};

/// Room for the index of a release, packed and unpacked, with a margin; bytes.
const INDEX_ROOM: u64 = 200 << 20;

pub(crate) struct OpenSources<'a> {
    archives: Vec<(&'static str, Box<dyn Archives + 'a>)>,
    pub(crate) lock: fs::File,
}

impl OpenSources<'_> {
    pub(crate) fn archives(&self, release: &Release) -> Option<&dyn Archives> {
        let mut of_source = self.archives.iter().filter(|(word, _)| *word == release.source);
        of_source.find(|(_, it)| it.has(release)).map(|(_, it)| it.as_ref())
    }
}

impl Provisioner {
    pub fn with_catalog(self, path: &Path) -> Result<Self> {
        Ok(Self {
            catalog: self.catalog.with(path, sources::check, sources::check_release)?,
            ..self
        })
    }

    /// Restricts servers to one source: a kind, such as `maven`, a vendor, such as `mysql.com`, or the name of a
    /// package.
    pub fn with_source(self, source: Option<String>) -> Result<Self> {
        let known = sources::words(&self.catalog);
        match source {
            Some(word) if !known.contains(&word) && !self.catalog.has_package(&word) => {
                Err(ProvisionError::NoSource { word, known })
            }
            source => Ok(Self { source, ..self }),
        }
    }

    /// Distributions without an archive on this machine are left out.
    pub(crate) fn sources(&self, lock: fs::File) -> Result<OpenSources<'_>> {
        let mut archives = Vec::new();
        for (word, distribution) in sources::distributions() {
            match distribution.open(&self.catalog, self.store.path(word), lock.try_clone()?) {
                Ok(opened) => archives.push((word, opened)),
                Err(
                    ProvisionError::DistributionMissing { .. } | ProvisionError::NoArchive { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(OpenSources { archives, lock })
    }

    pub(crate) fn reaches(&self, release: &Release) -> bool {
        let all = self.reachable.get_or_init(|| {
            let distributions = sources::distributions();
            distributions.flat_map(|(_, it)| it.reachable(&self.catalog)).collect()
        });
        all.contains(&release.name)
    }

    /// The rows of a product available on this machine, from one source if given; released ones first.
    pub(crate) fn offers(&self, product: Product, from: Option<&str>) -> Vec<Offer<'_>> {
        let mut offers = self.catalog.offers(product);
        offers.retain(|it| is_from(from, &it.release.source, "") && self.reaches(it.release));
        offers
    }

    /// The index of a release, fetched again if older than a day.
    pub(crate) fn open(
        &self,
        archives: &dyn Archives,
        release: &Release,
        progress: OnProgress<'_>,
    ) -> Result<ReleaseIndex> {
        let accept = self.options.accept_expired_index;
        let refreshed = match archives.current(release, accept) {
            Some(refreshed) => refreshed,
            None => {
                // Clients may wait forever for their own helpers when the disk is full.
                self.store.check_room(INDEX_ROOM)?;
                progress(ProvisionProgress::RefreshingIndex { release: release.name.clone() });
                archives.refresh(release, accept)?
            }
        };
        progress(ProvisionProgress::Resolving { release: release.name.clone() });
        Ok(ReleaseIndex { index: archives.index(release)?, refreshed })
    }

    /// `None` if this machine has no archive of the offer's release.
    pub(crate) fn open_offer<'a>(
        &self,
        sources: &OpenSources<'_>,
        offer: Offer<'a>,
        progress: OnProgress<'_>,
    ) -> Option<Result<OfferIndex<'a>>> {
        let read = self.open(sources.archives(offer.release)?, offer.release, progress);
        Some(read.map(|ReleaseIndex { index, refreshed }| OfferIndex { offer, index, refreshed }))
    }
}

pub(crate) struct ReleaseIndex {
    pub(crate) index: Box<dyn PackageIndex>,
    pub(crate) refreshed: IndexRefresh,
}

pub(crate) struct OfferIndex<'a> {
    pub(crate) offer: Offer<'a>,
    pub(crate) index: Box<dyn PackageIndex>,
    pub(crate) refreshed: IndexRefresh,
}

impl OfferIndex<'_> {
    pub(crate) fn versions(&self) -> Vec<&PackageRecord> {
        let root = self.offer.server.roots.first();
        root.into_iter().flat_map(|root| self.index.versions(root)).collect()
    }
}
