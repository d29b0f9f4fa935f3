//! The catalog: the products and series of each source. It is data, read from a built-in file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_model::{Engine, Product, masked};
use fs_err as fs;
use serde::Deserialize;

use crate::error::Error;
use crate::sources::git::recipe::{Fix, Row};
use crate::version::in_series;

/// The whole catalog.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalog {
    #[serde(rename = "release")]
    pub(crate) releases: Vec<Release>,
    #[serde(rename = "server")]
    servers: Vec<Server>,
    #[serde(rename = "package")]
    packages: Vec<Package>,
    runtime: Runtime,
    layout: BTreeMap<Product, Candidates>,
    #[serde(rename = "build")]
    pub(crate) builds: Vec<Row>,
    /// What is tried, in this order, if a source tree does not build.
    #[serde(rename = "fix")]
    pub(crate) fixes: Vec<Fix>,
    /// The months in which versions were released, such as `2018-07`, as far as they matter.
    released: BTreeMap<Product, BTreeMap<String, String>>,
}

/// A release of a distribution.
#[derive(Debug, Deserialize)]
pub(crate) struct Release {
    pub(crate) name: String,
    /// The distribution's source.
    pub(crate) source: String,
    /// Whether it is released, as opposed to testing or unstable.
    pub(crate) released: bool,
    /// What only its source knows the meaning of.
    #[serde(flatten)]
    pub(crate) parts: toml::Table,
}

/// Whether a source or its channel is the one that `word` names: the argument of `--source`, or the agreed
/// source. Without a word, every source is.
pub(crate) fn is_from(word: Option<&str>, source: &str, channel: &str) -> bool {
    word.is_none_or(|word| word == source || word == channel)
}

/// A package that holds a server, in several versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Package {
    product: Product,
    pub(crate) source: String,
    pub(crate) name: String,
    pub(crate) file: Option<String>,
    #[serde(default)]
    pub(crate) parts: Vec<Part>,
    #[serde(default)]
    pub(crate) only: Vec<PathBuf>,
    #[serde(default)]
    pub(crate) engines: Vec<Engine>,
    #[serde(default)]
    pub(crate) versions: Vec<Version>,
    /// Addresses of tarballs; `None` for packages of registries.
    pub(crate) tarballs: Option<Tarballs>,
}

/// Addresses and names of a vendor's tarballs of some series.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tarballs {
    /// Series whose versions have these names.
    series: Vec<String>,
    /// Whether versions have a build number after a `-`.
    #[serde(default)]
    builds: bool,
    /// Versions known to exist.
    known: Vec<String>,
    /// Beginnings of URLs.
    at: Vec<String>,
    /// File names after the address, in the order in which they are tried.
    files: Vec<String>,
}

/// The part of a package that is unpacked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// The archive inside the package; `None` for the package itself.
    pub(crate) archive: Option<String>,
    #[serde(default)]
    pub(crate) from: PathBuf,
    #[serde(default)]
    pub(crate) to: PathBuf,
}

/// One version of a package.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    /// Version of the server.
    pub(crate) version: String,
    /// Version of the package, if it differs.
    package: Option<String>,
    pub(crate) sha256: Option<String>,
}

/// A user's own rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Additions {
    #[serde(rename = "release", default)]
    releases: Vec<Release>,
    #[serde(rename = "server", default)]
    servers: Vec<Server>,
    #[serde(rename = "package", default)]
    packages: Vec<Package>,
    #[serde(rename = "build", default)]
    builds: Vec<Row>,
    #[serde(rename = "fix", default)]
    fixes: Vec<Fix>,
}

/// A package in one version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packaged<'a> {
    pub(crate) package: &'a Package,
    pub(crate) version: &'a Version,
}

/// Packages of a release that servers from elsewhere need.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Runtime {
    /// In the order of preference: a machine may have only some of them.
    releases: Vec<String>,
    roots: Vec<String>,
}

/// A server in a release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
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
    /// Directory of the character sets below `share`, if the product has any.
    pub(crate) charsets: Option<PathBuf>,
    pub(crate) plugins: Vec<String>,
    /// Programs next to the server that run each other.
    #[serde(default)]
    pub(crate) programs: Vec<String>,
}

/// A row of the catalog that may satisfy a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) server: &'a Server,
    pub(crate) release: &'a Release,
}

impl Catalog {
    /// The built-in catalog.
    pub(crate) fn built_in() -> Result<Self, Error> {
        let mut catalog: Self = toml::from_str(include_str!("catalog.toml"))
            .map_err(|error| Error::Catalog(error.to_string()))?;
        catalog.packages.iter_mut().try_for_each(Package::expand)?;
        let mut releases =
            catalog.servers.iter().map(|it| &it.release).chain(&catalog.runtime.releases);
        let unknown = releases.find(|release| catalog.release(release).is_none());
        if let Some(release) = unknown {
            return Err(Error::Catalog(format!("no release `{release}`")));
        }
        drop(releases);
        Ok(catalog)
    }

    /// The same with the rows of a catalog file: those of builds after its own, the others before them.
    pub(crate) fn with(
        mut self,
        path: &Path,
        check: impl Fn(&Package) -> Result<(), Error>,
        check_release: impl Fn(&Release) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        // The error names the line of the file.
        let wrong =
            |detail: String| Error::OwnCatalog { path: path.to_owned(), detail: masked(&detail) };
        let additions = toml::from_str(&fs::read_to_string(path)?);
        let Additions { mut releases, mut servers, mut packages, mut builds, mut fixes } =
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
        releases.append(&mut self.releases);
        self.releases = releases;
        if let Some(lost) = servers.iter().find(|it| self.release(&it.release).is_none()) {
            return Err(wrong(format!("no release `{}`", lost.release)));
        }
        servers.append(&mut self.servers);
        self.servers = servers;
        self.builds.append(&mut builds);
        fixes.append(&mut self.fixes);
        self.fixes = fixes;
        packages.append(&mut self.packages);
        self.packages = packages;
        Ok(self)
    }

    /// The part whose packages run on this machine's architecture: those of registries and vendors are for x86-64.
    pub(crate) fn for_this_machine(mut self) -> Self {
        if std::env::consts::ARCH != "x86_64" {
            self.packages.clear();
        }
        self
    }

    /// The month in which a version was released, if it is known.
    pub(crate) fn released(&self, product: Product, version: &str) -> Option<String> {
        self.released.get(&product)?.get(version).cloned()
    }

    /// All months that are known.
    #[cfg(test)]
    pub(crate) fn all_released(&self) -> &BTreeMap<Product, BTreeMap<String, String>> {
        &self.released
    }

    fn release(&self, name: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.name == name)
    }

    /// All rows of a product, released ones first, else in the order of the catalog.
    pub(crate) fn offers(&self, product: Product) -> Vec<Offer<'_>> {
        let mut offers: Vec<_> = (self.servers.iter())
            .filter(|server| server.product == product)
            .filter_map(|server| Some(Offer { server, release: self.release(&server.release)? }))
            .collect();
        offers.sort_by_key(|offer| !offer.release.released);
        offers
    }

    /// Every package that holds a server of a product, version by version.
    pub(crate) fn packaged(&self, product: Product) -> impl Iterator<Item = Packaged<'_>> {
        let packages = self.packages.iter().filter(move |package| package.product == product);
        packages.flat_map(Package::packaged)
    }

    /// Whether there is a package of that name.
    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }

    /// The vendors with tarballs.
    pub(crate) fn vendors(&self) -> impl Iterator<Item = String> {
        self.packages.iter().filter(|it| it.is_vendors()).map(|it| it.name.clone())
    }

    /// Packages for an exact version that is not in the catalog, but that a vendor may have
    /// published since. Its tarball would be named like the others.
    pub(crate) fn guessed(&self, product: Product, wanted: &str) -> Vec<Package> {
        let packages = self.packages.iter().filter(|package| package.product == product);
        packages.filter_map(|package| package.guessed(wanted)).collect()
    }

    /// The releases, in the order of preference, with the packages on which servers from other sources run.
    pub(crate) fn runtimes(&self) -> (impl Iterator<Item = &Release>, &[String]) {
        let Runtime { releases, roots } = &self.runtime;
        (releases.iter().filter_map(|release| self.release(release)), roots)
    }

    /// Locations of a product's files.
    pub(crate) fn layout(&self, product: Product) -> Result<&Candidates, Error> {
        self.layout.get(&product).ok_or_else(|| Error::Catalog(format!("no layout of `{product}`")))
    }
}

impl Package {
    /// Every version of the package.
    pub(crate) fn packaged(&self) -> impl Iterator<Item = Packaged<'_>> {
        self.versions.iter().map(move |version| Packaged { package: self, version })
    }

    /// Whether its server has that storage engine.
    pub(crate) fn has_engine(&self, engine: Engine) -> bool {
        engine == self.product.default_engine() || self.engines.contains(&engine)
    }

    /// Whether it is a vendor, who has tarballs.
    pub(crate) fn is_vendors(&self) -> bool {
        self.tarballs.is_some()
    }

    /// Adds the versions of its tarballs to the others.
    fn expand(&mut self) -> Result<(), Error> {
        let Some(tarballs) = &self.tarballs else { return Ok(()) };
        for known in &tarballs.known {
            let versions = expanded(known).ok_or_else(|| {
                Error::Catalog(format!("`{known}` is neither a version nor a range"))
            })?;
            let plain = |version| Version { version, package: None, sha256: None };
            let is_new = |it: &String| self.versions.iter().all(|known| known.version != *it);
            let new: Vec<_> = versions.into_iter().filter(is_new).map(plain).collect();
            self.versions.extend(new);
        }
        Ok(())
    }

    /// The package in a version that is named like the known ones.
    fn guessed(&self, wanted: &str) -> Option<Self> {
        let Tarballs { series, builds, .. } = self.tarballs.as_ref()?;
        let exact = wanted.split('.').count() >= 3 && wanted.contains('-') == *builds;
        let is_known = self.versions.iter().any(|known| known.version == wanted);
        let fits = exact && !is_known && series.iter().any(|series| in_series(wanted, series));
        fits.then(|| {
            let version = Version { version: wanted.to_owned(), package: None, sha256: None };
            Self { versions: vec![version], ..self.clone() }
        })
    }
}

/// Whether a text is a user's catalog, for the fuzzer.
pub(crate) fn is_own(text: &str) -> bool {
    let Ok(Additions { mut packages, .. }) = toml::from_str(text) else { return false };
    packages.iter_mut().all(|package| package.expand().is_ok())
}

/// The versions that an entry of the catalog means: `8.0.11..13` is 8.0.11, 8.0.12 and 8.0.13.
fn expanded(text: &str) -> Option<Vec<String>> {
    let Some((first, last)) = text.split_once("..") else {
        return Some(vec![text.to_owned()]);
    };
    let (series, first) = first.rsplit_once('.')?;
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    (first < last && last < 1000)
        .then(|| (first..=last).map(|it| format!("{series}.{it}")).collect())
}

impl<'a> Packaged<'a> {
    /// Possible addresses of its tarball, in order of preference; empty for other sources.
    pub(crate) fn urls(self) -> Vec<String> {
        let Some(Tarballs { at, files, .. }) = &self.package.tarballs else { return Vec::new() };
        let version = &self.version.version;
        let series = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        let fill = |text: &String| text.replace("{version}", version).replace("{series}", &series);
        let pairs = files.iter().flat_map(|file| at.iter().map(move |at| (at, file)));
        pairs.map(|(at, file)| fill(at) + &fill(file)).collect()
    }

    /// Versions of the package as the catalog spells them: ranges stay ranges.
    pub(crate) fn spelled(self) -> &'a [String] {
        self.package.tarballs.as_ref().map_or(&[], |tarballs| &tarballs.known)
    }

    /// The package's own version.
    pub(crate) fn package_version(self) -> &'a str {
        self.version.package.as_deref().unwrap_or(&self.version.version)
    }

    /// The parts that are unpacked, at least one.
    pub(crate) fn parts(self) -> Vec<Part> {
        let parts = &self.package.parts;
        if parts.is_empty() { vec![Part::default()] } else { parts.clone() }
    }

    /// Its maker, and its place there. Tarballs of two vendors have two makers.
    pub(crate) fn origin(self) -> (String, String) {
        let (word, name) = (self.package.source.clone(), self.package.name.clone());
        if self.package.is_vendors() { (name, word) } else { (word, name) }
    }

    /// Whether its bytes are known beforehand.
    pub(crate) fn is_verified(self) -> bool {
        self.version.sha256.is_some()
    }

    /// Whether it is a tarball without a known checksum.
    pub(crate) fn is_unverified_tarball(self) -> bool {
        self.package.is_vendors() && !self.is_verified()
    }

    /// Its name in errors and in the file of pins.
    pub(crate) fn coordinate(self) -> String {
        let Package { source, name, file, .. } = self.package;
        let file = file.as_ref().map(|file| format!(":{file}")).unwrap_or_default();
        format!("{source} {name} {}{file}", self.package_version())
    }
}

impl Server {
    /// Whether servers with that storage engine can be made of the row's packages.
    pub(crate) fn has_engine(&self, engine: Engine) -> bool {
        engine == self.product.default_engine() || self.engines.contains_key(&engine)
    }

    /// Packages that a storage engine needs in addition to the roots.
    pub(crate) fn engine_packages(&self, engine: Engine) -> &[String] {
        self.engines.get(&engine).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Offer<'a> {
    /// The series that the row has for as long as its release lives.
    pub(crate) fn series(&self) -> Option<&'a str> {
        self.server.series.as_deref()
    }

    /// Whether the row has that series for as long as its release lives.
    pub(crate) fn has_series(&self, wanted: &str) -> bool {
        self.server.series.as_ref().is_some_and(|series| in_series(series, wanted))
    }

    /// Whether the row may have a version that `wanted` (a version or a series) names.
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
