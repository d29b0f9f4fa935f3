//! Flow from a request to a prefix.

use assay_model::{Engine, Origin, Prefix, SystemSpec};

use crate::catalog::{Packaged, is_from};
use crate::choose::Chosen;
use crate::error::Error;
use crate::provisioner::{Progress, Provisioner, request};
use crate::reach::Sources;
use crate::sources;
use crate::store::{Resolution, now_seconds};
use crate::version::{answers, compare};

impl Provisioner {
    /// Returns the prefix of a system, from the cache or newly fetched. An answer is reused without network for a day.
    /// Offline, any fitting prefix in the cache is used.
    pub fn get(
        &self,
        spec: &SystemSpec,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        self.get_from(spec, None, progress)
    }

    pub fn get_from(
        &self,
        spec: &SystemSpec,
        agreed: Option<&str>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let from = agreed.or(self.source.as_deref());
        let wanted = match &spec.origin {
            Origin::Version(wanted) => wanted,
            _ => {
                let found = sources::named().find_map(|it| it.prefix(self, spec, progress));
                return found.unwrap_or_else(|| Err(Error::Unsupported(spec.to_string())));
            }
        };
        if self.offline() {
            let prefix = self.newest_cached(spec, wanted, from)?;
            progress(Progress::Cached);
            return Ok(prefix);
        }
        if !matches!(std::env::consts::ARCH, "x86_64" | "aarch64") {
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
            Chosen::Indexed(found) => {
                let (opened, root) = *found;
                let archives = sources.archives(opened.offer.release);
                let archives = archives.ok_or_else(|| Error::Unsupported(spec.to_string()))?;
                let prefix = self.fetch_release(archives, spec, &opened, &root, progress)?;
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
        let is_indexed = |it: &Prefix| sources::distribution(&it.build.source).is_some();
        let newest = fitting.max_by(|a, b| {
            (a.build.released.cmp(&b.build.released))
                .then_with(|| compare(&a.version, &b.version))
                .then_with(|| is_indexed(a).cmp(&is_indexed(b)))
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

/// The error for a version that not even its vendor has. `none` lists the places searched before.
fn not_at_the_vendor(lack: Error, mut none: Error) -> Error {
    let Error::NoVersion { unread, wanted, .. } = &mut none else { return lack };
    let is_cut_off = matches!(lack, Error::Download { .. });
    // A series may be at a place that could not be searched; the vendor lists its full versions.
    let is_series = wanted.split('.').count() < 3;
    let lacks_series =
        matches!(lack, Error::NotPublished { .. }) && is_series && !unread.is_empty();
    if !is_cut_off && !lacks_series {
        return lack;
    }
    if is_cut_off {
        unread.push(lack);
    }
    none
}

#[cfg(test)]
mod tests {
    use assay_model::Product;

    use super::*;

    #[test]
    fn a_missing_vendor_version_is_reported_with_the_available_ones() {
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
        let message = not_at_the_vendor(lack(), none());
        let words = message.to_string();
        for part in ["are 8.0.33", "`sid`", "`u` cannot be downloaded"] {
            assert!(words.contains(part), "{words}");
        }
        let hints = assay_model::Hint::hints(&message).concat();
        assert!(hints.contains("--offline") && hints.contains("continues where"), "{hints}");
        let wrong = not_at_the_vendor(Error::malformed("archive", "torn"), none());
        assert!(matches!(wrong, Error::Malformed { .. }));
    }
}
