//! Making a prefix from the chosen packages: download, verify, unpack, keep.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_model::{Build, Package, Prefix, SystemSpec};
use fs_err as fs;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::apt::{Apt, Record, closure};
use crate::catalog::{Packaged, Release, Source};
use crate::deb;
use crate::error::Error;
use crate::host;
use crate::layout::{self, Libraries};
use crate::packages::{self, Directories};
use crate::pins::{PINS, Pins};
use crate::provisioner::{Opened, Progress, Provisioner, Read, Sources};
use crate::sha256;
use crate::unpack::{Limits, Tree};
use crate::version::upstream;

/// Directory in a tree for the libraries of a server from another source than Debian.
const RUNTIME: &str = "runtime";

/// Part of the names of trees made from packages of other registries. It is increased when the same packages
/// would produce a different tree.
const TREE: u32 = 1;

/// Downloaded Debian packages. The directory goes with it.
struct Debs {
    _directory: Option<TempDir>,
    files: Vec<PathBuf>,
}

impl Provisioner {
    /// The prefix of a version in a release: downloaded and unpacked unless the cache has the very
    /// same.
    pub(crate) fn fetch_release(
        &self,
        apt: &Apt<'_>,
        spec: &SystemSpec,
        opened: &Opened<'_>,
        root: &Record,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let server = opened.offer.server;
        let release = opened.offer.release;
        let roots = [server.roots.as_slice(), server.engine_packages(spec.engine)].concat();
        let records = closure(&opened.index, &roots, Some(&root.version), &release.name)?;
        let packages: Vec<_> = records.iter().map(|record| as_package(record)).collect();
        let (sha256, version) = (identity(&packages), upstream(&root.version));
        let name = prefix_name(spec, &version, &sha256);
        if let Some(prefix) = self.store.prefix(&name) {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        let debs = self.debs(apt, release, &records, progress)?;
        let built = self.store.new_tree()?;
        let mut tree = Tree::new(built.path(), Limits::SERVER);
        unpack_debs(&debs, &mut tree, progress)?;
        let build = Build {
            source: "apt".to_owned(),
            channel: root.suite.clone(),
            package_version: root.version.clone(),
            released: release.released,
            notes: opened.refreshed.notes.clone(),
        };
        self.keep(
            spec,
            Built { tree: built, name, version, sha256, build, packages },
            Libraries::Own,
        )
    }

    /// The prefix of a package of another registry: the same, with libraries of a Debian release
    /// beside the server where the machine can have them.
    pub(crate) fn fetch_package(
        &self,
        sources: &Sources<'_>,
        spec: &SystemSpec,
        packaged: Packaged<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let (mut releases, roots) = self.catalog.runtimes();
        let runtime = match &sources.apt {
            Ok(apt) => match releases.find(|release| apt.has(release.distribution)) {
                Some(release) => Some((apt, release, self.open(apt, release, progress)?)),
                None => None,
            },
            Err(_) => None,
        };
        let records = match &runtime {
            Some((_, release, Read { index, .. })) => closure(index, roots, None, &release.name)?,
            None => Vec::new(),
        };
        let libraries: Vec<_> = records.iter().map(|record| as_package(record)).collect();
        let version = packaged.version.version.clone();
        let named = |sha256: String| {
            let server = Package {
                name: packaged.package.name.clone(),
                version: packaged.package_version().to_owned(),
                sha256,
            };
            let packages = [&[server], libraries.as_slice()].concat();
            let sha256 = identity(&packages);
            (format!("{}-{TREE}", prefix_name(spec, &version, &sha256)), sha256, packages)
        };
        let pins = Pins::new(self.store.path(PINS));
        let in_catalog = packaged.version.sha256.clone();
        let pinned = match in_catalog {
            Some(_) => None,
            None => pins.get(&packaged.coordinate())?,
        };
        let known = in_catalog.or_else(|| pinned.clone());
        let cached = known.clone().and_then(|it| self.store.prefix(&named(it).0));
        if let Some(prefix) = cached {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        self.store.check_room(packaged.package.source.room())?;
        let downloads = self.store.downloads()?;
        let fetched = self.download(sources, packaged, known.as_deref(), &downloads, progress);
        let (file, file_sha256) =
            fetched.map_err(|error| error.of_pin(pinned.as_deref(), pins.path()))?;
        let (name, sha256, packages) = named(file_sha256.clone());
        let debs = match &runtime {
            Some((apt, release, _)) => self.debs(apt, release, &records, progress)?,
            None => Debs { _directory: None, files: Vec::new() },
        };
        let built = self.store.new_tree()?;
        progress(Progress::Unpacking { done: 0, total: debs.files.len() + 1 });
        packages::unpack(&file, packaged, &mut Tree::new(built.path(), Limits::SERVER))?;
        let below = built.path().join(RUNTIME);
        // Not one that the package brought.
        fs::create_dir(&below)?;
        unpack_debs(&debs, &mut Tree::new(&below, Limits::SERVER), progress)?;
        let notes = match &runtime {
            Some((_, _, read)) => read.refreshed.notes.clone(),
            None => vec!["uses the libraries of this machine".to_owned()],
        };
        let build = build_of(packaged, &file, notes);
        let libraries = runtime.map_or(Libraries::Host, |_| Libraries::Beside(RUNTIME));
        let built = Built { tree: built, name, version, sha256, build, packages };
        let prefix = self.keep(spec, built, libraries)?;
        if known.is_none() {
            // Only now: later downloads must not have to match a gateway's error page or a truncated archive.
            pins.remember(&packaged.coordinate(), &file_sha256)?;
        }
        Ok(prefix)
    }

    /// Downloads a package and returns it with its checksum.
    fn download(
        &self,
        sources: &Sources<'_>,
        packaged: Packaged<'_>,
        known: Option<&str>,
        downloads: &TempDir,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(PathBuf, String), Error> {
        let state = self.store.path(packaged.package.source.word());
        let directories = Directories { state: &state, into: downloads.path() };
        progress(Progress::Downloading { done: 0, total: 0 });
        let mut seen = |done, total| progress(Progress::Downloading { done, total });
        packages::fetch(packaged, known, directories, &sources.lock, &mut seen)
    }

    /// Downloads and verifies Debian packages.
    fn debs(
        &self,
        apt: &Apt<'_>,
        release: &Release,
        records: &[&Record],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Debs, Error> {
        let bytes = |record: &&Record| record.size.saturating_add(record.installed_kb << 10);
        self.store.check_room(records.iter().map(bytes).fold(0, u64::saturating_add))?;
        let directory = self.store.downloads()?;
        let total = records.iter().map(|record| record.size).sum::<u64>();
        apt.download(release, records, directory.path(), &mut |share| {
            progress(Progress::Downloading { done: (share * total as f64) as u64, total });
        })?;
        let files = verified(records, directory.path())?;
        Ok(Debs { _directory: Some(directory), files })
    }

    /// Completes a tree and moves it into the cache.
    pub(crate) fn keep(
        &self,
        spec: &SystemSpec,
        built: Built,
        libraries: Libraries,
    ) -> Result<Prefix, Error> {
        let Built { tree, name, version, sha256, build, packages } = built;
        let candidates = self.catalog.layout(spec.product)?;
        let mut layout = layout::find(tree.path(), candidates, &version, libraries)?;
        layout::complete(tree.path(), &mut layout, &candidates.programs)?;
        if libraries == Libraries::Host {
            host::check(&tree.path().join(&layout.server))?;
        }
        let product = spec.product;
        let path = PathBuf::new();
        let stored = Prefix { path, sha256, product, version, build, packages, layout };
        Tree::new(tree.path(), Limits::SERVER).seal()?;
        self.store.keep(tree, &name, &stored)
    }
}

/// The build of a package, with notes for the reader of a report.
fn build_of(packaged: Packaged<'_>, file: &Path, mut notes: Vec<String>) -> Build {
    let tarball = packaged.package.source == Source::Tarball;
    if !packaged.is_verified() {
        let note = match tarball {
            true => "not verified: checksum pinned on first use",
            false => "verified only by its registry's checksum",
        };
        notes.push(note.to_owned());
    }
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let package_version = match tarball {
        true => packages::stem(&file_name).to_owned(),
        false => packaged.package_version().to_owned(),
    };
    let (source, channel) = packaged.origin();
    Build { source, channel, package_version, released: true, notes }
}

/// An unpacked tree and what is known of it.
pub(crate) struct Built {
    pub(crate) tree: TempDir,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) sha256: String,
    pub(crate) build: Build,
    pub(crate) packages: Vec<Package>,
}

fn unpack_debs(
    debs: &Debs,
    tree: &mut Tree,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Error> {
    for (done, archive) in debs.files.iter().enumerate() {
        progress(Progress::Unpacking { done, total: debs.files.len() });
        deb::unpack(archive, tree)?;
    }
    Ok(())
}

pub(crate) fn prefix_name(spec: &SystemSpec, version: &str, sha256: &str) -> String {
    format!("{}-{version}-{}", spec.product, sha256.get(..16).unwrap_or(sha256))
}

fn as_package(record: &Record) -> Package {
    let (name, version) = (record.name.clone(), record.version.clone());
    Package { name, version, sha256: record.sha256.clone() }
}

/// SHA-256 over names, versions and checksums, one package a line, sorted by name.
fn identity(packages: &[Package]) -> String {
    let mut lines: Vec<_> = (packages.iter())
        .map(|package| format!("{} {} {}\n", package.name, package.version, package.sha256))
        .collect();
    lines.sort();
    hex::encode(Sha256::digest(lines.concat()))
}

/// The downloaded archives in the order of `records`, each found by its checksum.
fn verified(records: &[&Record], downloads: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut by_sum = HashMap::new();
    for entry in fs::read_dir(downloads)? {
        let path = entry?.path();
        by_sum.insert(sha256::of_file(&path)?, path);
    }
    let find = |record: &&Record| {
        by_sum.get(&record.sha256).cloned().ok_or_else(|| Error::Checksum {
            package: format!("{} {}", record.name, record.version),
            wanted: record.sha256.clone(),
        })
    };
    records.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apt::Index;

    fn record(name: &str, content: &str) -> Record {
        let sha256 = hex::encode(Sha256::digest(content));
        let text = format!("Package: {name}\nVersion: 1\nSHA256: {sha256}\n");
        let mut index = Index::default();
        index.add("suite", &text).unwrap();
        index.versions(name).next().unwrap().clone()
    }

    #[test]
    fn identity_is_that_of_the_packages_whatever_their_order() {
        let package = |name, content| as_package(&record(name, content));
        let (a, b, changed) = (package("a", "x"), package("b", "y"), package("b", "z"));
        assert_eq!(identity(&[a.clone(), b.clone()]), identity(&[b.clone(), a.clone()]));
        assert_ne!(identity(&[a.clone(), b]), identity(&[a.clone(), changed]));
        assert_eq!(identity(&[a]).len(), 64);
    }

    #[test]
    fn an_archive_that_differs_from_the_signed_one_is_refused() {
        let downloads = tempfile::tempdir().unwrap();
        fs::write(downloads.path().join("one.deb"), "good").unwrap();
        let good = record("good", "good");
        assert_eq!(verified(&[&good], downloads.path()).unwrap().len(), 1);
        let error = verified(&[&good, &record("bad", "other")], downloads.path()).unwrap_err();
        assert!(error.to_string().starts_with("checksum of `bad 1` does not match"), "{error}");
    }
}
