//! Catalog of products and series by source, read from a built-in file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_model::{Engine, Product, masked};
use fs_err as fs;
use serde::Deserialize;

use crate::error::{ProvisionError, Result};
use crate::sources::git::recipe::{BuildRow, Fix};
use crate::version::in_series;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalog {
    #[serde(rename = "release")]
    pub(crate) releases: Vec<Release>,
    #[serde(rename = "server")]
    servers: Vec<CatalogServer>,
    #[serde(rename = "package")]
    packages: Vec<CatalogPackage>,
    runtime: Runtime,
    layout: BTreeMap<Product, Candidates>,
    #[serde(rename = "build")]
    pub(crate) builds: Vec<BuildRow>,
    /// Tried in this order when a source tree does not build.
    #[serde(rename = "fix")]
    pub(crate) fixes: Vec<Fix>,
    /// Release months, such as `2018-07`, of the versions for which they matter.
    released: BTreeMap<Product, BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Release {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) released: bool,
    /// Interpreted only by its source.
    #[serde(flatten)]
    pub(crate) parts: toml::Table,
}

/// Returns whether a source or its channel matches `word`, the argument of `--source` or the agreed source. Without a
/// word, all match.
pub(crate) fn is_from(word: Option<&str>, source: &str, channel: &str) -> bool {
    word.is_none_or(|word| word == source || word == channel)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogPackage {
    product: Product,
    pub(crate) source: String,
    pub(crate) name: String,
    pub(crate) file: Option<String>,
    #[serde(default)]
    pub(crate) parts: Vec<ArchivePart>,
    #[serde(default)]
    pub(crate) only: Vec<PathBuf>,
    #[serde(default)]
    pub(crate) engines: Vec<Engine>,
    #[serde(default)]
    pub(crate) versions: Vec<CatalogVersion>,
    /// `None` for packages of registries.
    pub(crate) tarballs: Option<Tarballs>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tarballs {
    series: Vec<String>,
    /// Whether versions have a build number after a `-`.
    #[serde(default)]
    builds: bool,
    known: Vec<String>,
    at: Vec<String>,
    /// File names below the address, in the order in which they are tried.
    files: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchivePart {
    /// Archive inside the package; `None` for the package itself.
    pub(crate) archive: Option<String>,
    #[serde(default)]
    pub(crate) from: PathBuf,
    #[serde(default)]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogVersion {
    pub(crate) version: String,
    /// `None` if it is that of the server.
    package: Option<String>,
    pub(crate) sha256: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Additions {
    #[serde(rename = "release", default)]
    releases: Vec<Release>,
    #[serde(rename = "server", default)]
    servers: Vec<CatalogServer>,
    #[serde(rename = "package", default)]
    packages: Vec<CatalogPackage>,
    #[serde(rename = "build", default)]
    builds: Vec<BuildRow>,
    #[serde(rename = "fix", default)]
    fixes: Vec<Fix>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PackageVersion<'a> {
    pub(crate) package: &'a CatalogPackage,
    pub(crate) version: &'a CatalogVersion,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Runtime {
    /// In order of preference: a machine may have only some of them.
    releases: Vec<String>,
    roots: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogServer {
    product: Product,
    pub(crate) release: String,
    pub(crate) series: Option<String>,
    pub(crate) roots: Vec<String>,
    #[serde(default)]
    engines: BTreeMap<Engine, Vec<String>>,
}

/// Paths inside a tree, in the order in which they are tried.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candidates {
    pub(crate) base: Vec<String>,
    pub(crate) server: Vec<String>,
    pub(crate) share: Vec<String>,
    /// Directory of the character sets below `share`; `None` if the product has none.
    pub(crate) charsets: Option<PathBuf>,
    pub(crate) plugins: Vec<String>,
    #[serde(default)]
    pub(crate) programs: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) server: &'a CatalogServer,
    pub(crate) release: &'a Release,
}

impl Catalog {
    pub(crate) fn built_in() -> Result<Self> {
        let mut catalog: Self = toml::from_str(include_str!("catalog.toml"))
            .map_err(|error| ProvisionError::Catalog(error.to_string()))?;
        catalog.packages.iter_mut().try_for_each(CatalogPackage::expand)?;
        let mut releases =
            catalog.servers.iter().map(|it| &it.release).chain(&catalog.runtime.releases);
        let unknown = releases.find(|release| catalog.release(release).is_none());
        if let Some(release) = unknown {
            return Err(ProvisionError::Catalog(format!("no release `{release}`")));
        }
        drop(releases);
        Ok(catalog)
    }

    /// Adds the rows of a catalog file. Its rows for builds go after the built-in ones, the others before them.
    pub(crate) fn with(
        mut self,
        path: &Path,
        check: impl Fn(&CatalogPackage) -> Result<()>,
        check_release: impl Fn(&Release) -> Result<()>,
    ) -> Result<Self> {
        // The error names the line of the file.
        let wrong = |detail: String| {
            ProvisionError::plain(format!("catalog `{}`: {}", path.display(), masked(&detail)), "")
        };
        let additions = toml::from_str(&fs::read_to_string(path)?);
        let Additions { releases, servers, mut packages, mut builds, fixes } =
            additions.map_err(|error| wrong(error.to_string()))?;
        for package in &mut packages {
            let checked = package.expand().and_then(|()| check(package));
            checked.map_err(|error| wrong(error.to_string()))?;
        }
        let directory = path.parent().unwrap_or(Path::new(""));
        for patch in builds.iter_mut().flat_map(|row| &mut row.patches) {
            *patch = fs::canonicalize(directory.join(&*patch))?;
        }
        for release in &releases {
            check_release(release).map_err(|error| wrong(error.to_string()))?;
        }
        self.releases.splice(0..0, releases);
        if let Some(lost) = servers.iter().find(|it| self.release(&it.release).is_none()) {
            return Err(wrong(format!("no release `{}`", lost.release)));
        }
        self.servers.splice(0..0, servers);
        self.builds.append(&mut builds);
        self.fixes.splice(0..0, fixes);
        self.packages.splice(0..0, packages);
        Ok(self)
    }

    /// The part with packages for this machine's architecture: those of registries and vendors are for x86-64.
    pub(crate) fn for_this_machine(mut self) -> Self {
        if std::env::consts::ARCH != "x86_64" {
            self.packages.clear();
        }
        self
    }

    pub(crate) fn released(&self, product: Product, version: &str) -> Option<String> {
        self.released.get(&product)?.get(version).cloned()
    }

    #[cfg(test)]
    pub(crate) fn all_released(&self) -> &BTreeMap<Product, BTreeMap<String, String>> {
        &self.released
    }

    fn release(&self, name: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.name == name)
    }

    /// All rows of a product, released ones first, otherwise in catalog order.
    pub(crate) fn offers(&self, product: Product) -> Vec<Offer<'_>> {
        let mut offers: Vec<_> = (self.servers.iter())
            .filter(|server| server.product == product)
            .filter_map(|server| Some(Offer { server, release: self.release(&server.release)? }))
            .collect();
        offers.sort_by_key(|offer| !offer.release.released);
        offers
    }

    pub(crate) fn packaged(&self, product: Product) -> impl Iterator<Item = PackageVersion<'_>> {
        let packages = self.packages.iter().filter(move |package| package.product == product);
        packages.flat_map(CatalogPackage::packaged)
    }

    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }

    pub(crate) fn vendors(&self) -> impl Iterator<Item = String> {
        self.packages.iter().filter(|it| it.is_vendors()).map(|it| it.name.clone())
    }

    /// Packages for an exact version that is not in the catalog but that a vendor may have published since; its tarball
    /// would be named like the others.
    pub(crate) fn guessed(&self, product: Product, wanted: &str) -> Vec<CatalogPackage> {
        let packages = self.packages.iter().filter(|package| package.product == product);
        packages.filter_map(|package| package.guessed(wanted)).collect()
    }

    /// The releases, in order of preference, and the packages needed by servers from other sources.
    pub(crate) fn runtimes(&self) -> (impl Iterator<Item = &Release>, &[String]) {
        let Runtime { releases, roots } = &self.runtime;
        (releases.iter().filter_map(|release| self.release(release)), roots)
    }

    pub(crate) fn layout(&self, product: Product) -> Result<&Candidates> {
        self.layout
            .get(&product)
            .ok_or_else(|| ProvisionError::Catalog(format!("no layout of `{product}`")))
    }
}

impl CatalogPackage {
    pub(crate) fn packaged(&self) -> impl Iterator<Item = PackageVersion<'_>> {
        self.versions.iter().map(move |version| PackageVersion { package: self, version })
    }

    pub(crate) fn has_engine(&self, engine: Engine) -> bool {
        engine == self.product.default_engine() || self.engines.contains(&engine)
    }

    pub(crate) fn is_vendors(&self) -> bool {
        self.tarballs.is_some()
    }

    fn expand(&mut self) -> Result<()> {
        let Some(tarballs) = &self.tarballs else { return Ok(()) };
        for known in &tarballs.known {
            let versions = expanded(known).ok_or_else(|| {
                ProvisionError::Catalog(format!("`{known}` is neither a version nor a range"))
            })?;
            let plain = |version| CatalogVersion { version, package: None, sha256: None };
            let is_new = |it: &String| self.versions.iter().all(|known| known.version != *it);
            let new: Vec<_> = versions.into_iter().filter(is_new).map(plain).collect();
            self.versions.extend(new);
        }
        Ok(())
    }

    /// The package in a version named like the known ones.
    fn guessed(&self, wanted: &str) -> Option<Self> {
        let Tarballs { series, builds, .. } = self.tarballs.as_ref()?;
        let exact = wanted.split('.').count() >= 3 && wanted.contains('-') == *builds;
        let is_known = self.versions.iter().any(|known| known.version == wanted);
        let fits = exact && !is_known && series.iter().any(|series| in_series(wanted, series));
        fits.then(|| {
            let version =
                CatalogVersion { version: wanted.to_owned(), package: None, sha256: None };
            Self { versions: vec![version], ..self.clone() }
        })
    }
}

pub(crate) fn is_own(text: &str) -> bool {
    let Ok(Additions { mut packages, .. }) = toml::from_str(text) else { return false };
    packages.iter_mut().all(|package| package.expand().is_ok())
}

/// Expands an entry of the catalog: `8.0.11..13` is 8.0.11, 8.0.12 and 8.0.13.
fn expanded(text: &str) -> Option<Vec<String>> {
    let Some((first, last)) = text.split_once("..") else {
        return Some(vec![text.to_owned()]);
    };
    let (series, first) = first.rsplit_once('.')?;
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    (first < last && last < 1000)
        .then(|| (first..=last).map(|it| format!("{series}.{it}")).collect())
}

impl<'a> PackageVersion<'a> {
    /// Possible addresses of its tarball, in order of preference; empty for other sources.
    pub(crate) fn urls(self) -> Vec<String> {
        let Some(Tarballs { at, files, .. }) = &self.package.tarballs else { return Vec::new() };
        let version = &self.version.version;
        let series = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        let fill = |text: &String| text.replace("{version}", version).replace("{series}", &series);
        let pairs = files.iter().flat_map(|file| at.iter().map(move |at| (at, file)));
        pairs.map(|(at, file)| fill(at) + &fill(file)).collect()
    }

    /// Versions as the catalog spells them: ranges stay ranges.
    pub(crate) fn spelled(self) -> &'a [String] {
        self.package.tarballs.as_ref().map_or(&[], |tarballs| &tarballs.known)
    }

    pub(crate) fn package_version(self) -> &'a str {
        self.version.package.as_deref().unwrap_or(&self.version.version)
    }

    pub(crate) fn parts(self) -> Vec<ArchivePart> {
        let parts = &self.package.parts;
        if parts.is_empty() { vec![ArchivePart::default()] } else { parts.clone() }
    }

    /// Its maker and its channel. Tarballs of two vendors have two makers.
    pub(crate) fn origin(self) -> (String, String) {
        let (word, name) = (self.package.source.clone(), self.package.name.clone());
        if self.package.is_vendors() { (name, word) } else { (word, name) }
    }

    pub(crate) fn is_verified(self) -> bool {
        self.version.sha256.is_some()
    }

    pub(crate) fn is_unverified_tarball(self) -> bool {
        self.package.is_vendors() && !self.is_verified()
    }

    pub(crate) fn coordinate(self) -> String {
        let CatalogPackage { source, name, file, .. } = self.package;
        let file = file.as_ref().map(|file| format!(":{file}")).unwrap_or_default();
        format!("{source} {name} {}{file}", self.package_version())
    }
}

impl CatalogServer {
    pub(crate) fn has_engine(&self, engine: Engine) -> bool {
        engine == self.product.default_engine() || self.engines.contains_key(&engine)
    }

    pub(crate) fn engine_packages(&self, engine: Engine) -> &[String] {
        self.engines.get(&engine).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Offer<'a> {
    /// The series that the row carries for the life of its release.
    pub(crate) fn series(&self) -> Option<&'a str> {
        self.server.series.as_deref()
    }

    pub(crate) fn has_series(&self, wanted: &str) -> bool {
        self.server.series.as_ref().is_some_and(|series| in_series(series, wanted))
    }

    /// Returns whether the row may have a version that matches `wanted` (a version or a series).
    pub(crate) fn may_have(&self, wanted: &str) -> bool {
        match &self.server.series {
            Some(series) => in_series(wanted, series) || in_series(series, wanted),
            None => true,
        }
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
