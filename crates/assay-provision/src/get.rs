//! Flow from a request to a prefix, and the choice of a source for it.

use assay_model::{Engine, Origin, Prefix, SystemSpec};

use crate::available::{AvailableServer, offered, survey};
use crate::catalog::{CatalogPackage, Offer, PackageVersion, is_from};
use crate::error::{ProvisionError, Result};
use crate::provisioner::{OnProgress, ProvisionProgress, Provisioner, request};
use crate::reach::{OfferIndex, OpenSources};
use crate::sources;
use crate::sources::kind::PackageRecord;
use crate::store::{Resolution, now_seconds};
use crate::version::{answers, compare, in_series, upstream};

impl Provisioner {
    /// Returns the prefix of a system, from the cache or newly fetched. An answer is reused without network for a day.
    /// Offline, any fitting prefix in the cache is used.
    pub fn get(&self, spec: &SystemSpec, progress: OnProgress<'_>) -> Result<Prefix> {
        self.get_from(spec, None, progress)
    }

    pub fn get_from(
        &self,
        spec: &SystemSpec,
        agreed: Option<&str>,
        progress: OnProgress<'_>,
    ) -> Result<Prefix> {
        let from = agreed.or(self.source.as_deref());
        let wanted = match &spec.origin {
            Origin::Version(wanted) => wanted,
            _ => {
                let found = sources::named().find_map(|it| it.prefix(self, spec, progress));
                return found.unwrap_or_else(|| Err(ProvisionError::Unsupported(spec.to_string())));
            }
        };
        if self.offline() {
            let prefix = self.newest_cached(spec, wanted, from)?;
            progress(ProvisionProgress::Cached);
            return Ok(prefix);
        }
        if !matches!(std::env::consts::ARCH, "x86_64" | "aarch64") {
            return Err(ProvisionError::plain(
                format!(
                    "server packages are for x86-64, but this machine is `{}`",
                    std::env::consts::ARCH
                ),
                "use a server of your own, `PRODUCT@dir:PATH`, or build one from source, `PRODUCT@git:PATH`",
            ));
        }
        let request = request(spec.product, wanted, spec.engine, from);
        if let Some(prefix) = self.answered(&request) {
            progress(ProvisionProgress::Cached);
            return Ok(prefix);
        }
        let lock = self.store.lock(|| progress(ProvisionProgress::Waiting))?;
        // The previous holder of the lock may have fetched the same.
        if let Some(prefix) = self.answered(&request) {
            progress(ProvisionProgress::Cached);
            return Ok(prefix);
        }
        let sources = self.sources(lock)?;
        let guessed = self.catalog.guessed(spec.product, wanted);
        let (prefix, expired) = match self.choose(&sources, spec, from, &guessed, progress)? {
            SourceChoice::Indexed(found) => {
                let (opened, root) = *found;
                let archives = sources.archives(opened.offer.release);
                let archives =
                    archives.ok_or_else(|| ProvisionError::Unsupported(spec.to_string()))?;
                let prefix = self.fetch_release(archives, spec, &opened, &root, progress)?;
                (prefix, opened.refreshed.expired.is_some())
            }
            SourceChoice::Packages(packages) => {
                (self.fetch_first(&sources, spec, &packages, progress)?, false)
            }
            SourceChoice::Tarballs(tarballs, none) => {
                let fetched = self.fetch_first(&sources, spec, &tarballs, progress);
                (fetched.map_err(|error| not_at_the_vendor(error, none))?, false)
            }
        };
        let directory = prefix.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.store.remember(&request, Resolution { directory, at: now_seconds(), expired })?;
        Ok(prefix)
    }

    /// The newest fitting prefix in the cache, released ones first.
    fn newest_cached(&self, spec: &SystemSpec, wanted: &str, from: Option<&str>) -> Result<Prefix> {
        let product = spec.product;
        let mut prefixes = self.cached_of(product)?;
        prefixes.retain(|it| is_from(from, &it.build.source, &it.build.channel));
        let cached = prefixes.iter().map(|prefix| prefix.version.clone()).collect();
        let fitting = prefixes.into_iter().filter(|prefix| {
            let has_engine = spec.engine != Engine::RocksDb
                || prefix.layout.plugin_dir.join("ha_rocksdb.so").exists();
            has_engine && answers(&prefix.version, wanted)
        });
        let is_indexed = |it: &Prefix| sources::distribution(&it.build.source).is_some();
        let newest = fitting.max_by(|a, b| {
            (a.build.released.cmp(&b.build.released))
                .then_with(|| compare(&a.version, &b.version))
                .then_with(|| is_indexed(a).cmp(&is_indexed(b)))
                .then_with(|| compare(&a.build.package_version, &b.build.package_version))
                .then_with(|| b.packages.len().cmp(&a.packages.len()))
        });
        newest.ok_or_else(|| ProvisionError::NotCached {
            product,
            wanted: wanted.to_owned(),
            from: from.map(str::to_owned),
            cached,
        })
    }

    fn fetch_first(
        &self,
        sources: &OpenSources<'_>,
        spec: &SystemSpec,
        packages: &[PackageVersion<'_>],
        progress: OnProgress<'_>,
    ) -> Result<Prefix> {
        let mut lack = None;
        for packaged in packages {
            match self.fetch_package(sources, spec, *packaged, progress) {
                Err(
                    error @ (ProvisionError::ClientMissing { .. }
                    | ProvisionError::NotPublished { .. }),
                ) => {
                    lack = lack.or(Some(error));
                }
                other => return other,
            }
        }
        Err(lack.unwrap_or_else(|| ProvisionError::Unsupported(spec.to_string())))
    }
}

/// The error for a version that not even its vendor has. `none` lists the places searched before.
fn not_at_the_vendor(lack: ProvisionError, mut none: ProvisionError) -> ProvisionError {
    let ProvisionError::NoVersion { unread, wanted, .. } = &mut none else { return lack };
    let is_cut_off = matches!(lack, ProvisionError::Download { .. });
    // A series may be at a place that could not be searched; the vendor lists its full versions.
    let is_series = wanted.split('.').count() < 3;
    let lacks_series =
        matches!(lack, ProvisionError::NotPublished { .. }) && is_series && !unread.is_empty();
    if !is_cut_off && !lacks_series {
        return lack;
    }
    if is_cut_off {
        unread.push(lack);
    }
    none
}

pub(crate) enum SourceChoice<'a> {
    Indexed(Box<(OfferIndex<'a>, PackageRecord)>),
    /// Packages of other sources with one version of the server, in order of preference.
    Packages(Vec<PackageVersion<'a>>),
    /// Tarballs that a vendor may have, in order of preference, and the error if it has none.
    Tarballs(Vec<PackageVersion<'a>>, ProvisionError),
}

impl Provisioner {
    /// The newest fitting version of the released rows, else of the registries, else of the unreleased rows, else of
    /// the vendors: sources without known checksums come last. `guessed` are packages for versions that are not in the
    /// catalog.
    pub(crate) fn choose<'a>(
        &'a self,
        sources: &OpenSources<'_>,
        spec: &SystemSpec,
        from: Option<&str>,
        guessed: &'a [CatalogPackage],
        progress: OnProgress<'_>,
    ) -> Result<SourceChoice<'a>> {
        let Origin::Version(wanted) = &spec.origin else {
            return Err(ProvisionError::Unsupported(spec.to_string()));
        };
        let product = spec.product;
        let (fitting, rest): (Vec<_>, Vec<_>) = (self.offers(product, from).into_iter())
            .partition(|offer| offer.may_have(wanted) && offer.server.has_engine(spec.engine));
        let (released, others): (Vec<_>, Vec<_>) =
            fitting.into_iter().partition(|offer| offer.release.released);
        let mut all = Vec::new();
        let (mut unread, failures): (Vec<_>, Vec<_>) =
            self.look(sources, released, &mut all, progress).into_iter().partition(is_expired);
        if let Some(error) = failures.into_iter().next() {
            return Err(error);
        }
        pass_over(&unread, progress);
        if let Some(found) = newest(&mut all, wanted) {
            return Ok(SourceChoice::Indexed(Box::new(found)));
        }
        let is_wanted = |it: &PackageVersion<'_>| {
            let (source, channel) = it.origin();
            is_from(from, &source, &channel)
        };
        let known = || self.catalog.packaged(product).filter(&is_wanted);
        let (tarballs, packages): (Vec<_>, Vec<_>) =
            known().partition(|it| it.is_unverified_tarball());
        if let Some(found) = best(packages, wanted, spec.engine) {
            return Ok(SourceChoice::Packages(found));
        }
        // These sources matter only because no released one has it, so a failure of one does not affect the others.
        let passed_over = self.look(sources, others, &mut all, progress);
        if let Some(found) = newest(&mut all, wanted) {
            return Ok(SourceChoice::Indexed(Box::new(found)));
        }
        let tarballs = tarballs
            .into_iter()
            .chain(guessed.iter().flat_map(CatalogPackage::packaged).filter(is_wanted));
        let found = best(tarballs, wanted, spec.engine);
        if found.is_some() {
            pass_over(&passed_over, progress);
        }
        unread.extend(passed_over);
        let is_listed = known().any(|it| it.version.version == *wanted);
        let found = match found {
            Some(found) if is_listed => return Ok(SourceChoice::Packages(found)),
            None => {
                unread.extend(self.look(sources, rest, &mut all, progress));
                None
            }
            found => found,
        };
        let with_engine = known().filter(|it| it.package.has_engine(spec.engine));
        all.retain(|it| it.offer.server.has_engine(spec.engine));
        let mut available = survey(product, &all);
        available.extend(with_engine.map(|it| offered(product, it)));
        let available = message(available);
        unread.extend(self.on_other_systems(spec, wanted, from));
        let wanted = wanted.to_owned();
        let engine = (spec.engine != product.default_engine()).then_some(spec.engine);
        let from = from.map(str::to_owned);
        let error = ProvisionError::NoVersion { product, wanted, engine, from, available, unread };
        match found {
            Some(found) => Ok(SourceChoice::Tarballs(found, error)),
            None => Err(error),
        }
    }

    fn on_other_systems(
        &self,
        spec: &SystemSpec,
        wanted: &str,
        from: Option<&str>,
    ) -> Option<ProvisionError> {
        let offers = self.catalog.offers(spec.product).into_iter().filter(|offer| {
            let is_of_series = offer.series().is_some() && offer.may_have(wanted);
            is_of_series
                && offer.release.released
                && offer.server.has_engine(spec.engine)
                && is_from(from, &offer.release.source, "")
                && !self.reaches(offer.release)
        });
        let (mut releases, mut absence) = (Vec::new(), None);
        for Offer { release, .. } in offers {
            let Some(distribution) = sources::distribution(&release.source) else { continue };
            releases.push(distribution.title(release));
            absence = absence.or_else(|| Some(distribution.absence()));
        }
        let system = format!("{}@{wanted}", spec.product.word());
        Some(ProvisionError::OtherSystem { system, releases, absence: absence? })
    }

    fn look<'a>(
        &'a self,
        sources: &OpenSources<'_>,
        offers: Vec<Offer<'a>>,
        all: &mut Vec<OfferIndex<'a>>,
        progress: OnProgress<'_>,
    ) -> Vec<ProvisionError> {
        let mut unread = Vec::new();
        for offer in offers {
            match self.open_offer(sources, offer, progress) {
                None => {}
                Some(Ok(opened)) => all.push(opened),
                Some(Err(error)) => unread.push(error),
            }
        }
        unread
    }
}

fn is_expired(error: &ProvisionError) -> bool {
    matches!(error, ProvisionError::ExpiredIndex { .. })
}

/// Reports the sources with expired indexes. Other errors are reported at the end, if no source has the version.
fn pass_over(unread: &[ProvisionError], progress: OnProgress<'_>) {
    for error in unread.iter().filter(|it| is_expired(it)) {
        progress(ProvisionProgress::PassedOver { why: error.to_string() });
    }
}

/// The verified versions in order; the others are too many to list.
fn message(available: Vec<AvailableServer>) -> Vec<String> {
    let verified = available.into_iter().filter(|it| it.verified);
    let mut versions: Vec<String> = verified.map(|it| it.version).collect();
    versions.sort_by(|a, b| compare(a, b));
    versions.dedup();
    versions
}

fn best<'a>(
    packages: impl IntoIterator<Item = PackageVersion<'a>>,
    wanted: &str,
    engine: Engine,
) -> Option<Vec<PackageVersion<'a>>> {
    let mut fitting: Vec<_> = (packages.into_iter())
        .filter(|it| answers(&it.version.version, wanted) && it.package.has_engine(engine))
        .collect();
    fitting.sort_by(|a, b| {
        let known = |it: &PackageVersion<'_>| it.is_verified();
        compare(&b.version.version, &a.version.version).then_with(|| known(b).cmp(&known(a)))
    });
    let first = fitting.first().copied()?;
    fitting.retain(|it| it.version.version == first.version.version);
    Some(fitting)
}

fn newest<'a>(
    all: &mut Vec<OfferIndex<'a>>,
    series: &str,
) -> Option<(OfferIndex<'a>, PackageRecord)> {
    let numbered = all.iter().enumerate();
    let versions =
        numbered.flat_map(|(row, opened)| opened.versions().into_iter().map(move |it| (row, it)));
    let fitting = versions.filter(|(_, it)| in_series(&upstream(&it.version), series));
    let (row, root) = fitting.max_by(|(_, a), (_, b)| compare(&a.version, &b.version))?;
    let root = root.clone();
    Some((all.swap_remove(row), root))
}

#[cfg(test)]
mod tests {
    use assay_model::Product;

    use super::*;

    #[test]
    fn a_missing_vendor_version_is_reported_with_the_available_ones() {
        let lack = || ProvisionError::Download { url: "u".to_owned(), detail: "d".to_owned() };
        let none = || {
            let unread =
                vec![ProvisionError::Network { release: "sid".to_owned(), detail: "d".to_owned() }];
            let (wanted, available) = ("9.7".to_owned(), vec!["8.0.33".to_owned()]);
            ProvisionError::NoVersion {
                product: Product::MySql,
                wanted,
                engine: None,
                from: None,
                available,
                unread,
            }
        };
        let message = not_at_the_vendor(lack(), none());
        let words = message.to_string();
        for part in ["are 8.0.33", "`sid`", "`u` cannot be downloaded"] {
            assert!(words.contains(part), "{words}");
        }
        let hints = assay_model::Hint::hints(&message).concat();
        assert!(hints.contains("--offline") && hints.contains("continues where"), "{hints}");
        let wrong = not_at_the_vendor(ProvisionError::malformed("archive", "torn"), none());
        assert!(matches!(wrong, ProvisionError::Malformed { .. }));
    }
}
