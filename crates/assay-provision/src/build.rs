//! Builds a prefix from the chosen packages: download, verify, unpack, keep.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_model::{Build, Package, Prefix, SystemSpec};
use fs_err as fs;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::catalog::{Packaged, Release};
use crate::error::Error;
use crate::keep::{Built, prefix_name};
use crate::layout::Libraries;
use crate::pins::{PINS, Pins};
use crate::provisioner::{Progress, Provisioner};
use crate::reach::{Opened, Read, Sources};
use crate::sha256;
use crate::sources;
use crate::sources::kind::{Archives, Record, Registry};
use crate::sources::registry::{self, Directories};
use crate::store::check_trust;
use crate::unpack::{Limits, Tree};
use crate::version::upstream;

/// Directory in a tree for libraries that a registry's server lacks.
const RUNTIME: &str = "runtime";

/// Part of the names of trees made from packages of registries. Increase it when the same packages would produce a
/// different tree.
const TREE: u32 = 1;

pub(crate) struct Downloaded {
    _directory: TempDir,
    files: Vec<PathBuf>,
}

impl Provisioner {
    /// Returns the prefix of a version in a release, from the cache if it has exactly that build.
    pub(crate) fn fetch_release(
        &self,
        archives: &dyn Archives,
        spec: &SystemSpec,
        opened: &Opened<'_>,
        root: &Record,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let server = opened.offer.server;
        let release = opened.offer.release;
        let roots = [server.roots.as_slice(), server.engine_packages(spec.engine)].concat();
        let records = opened.index.closure(&roots, Some(&root.version), &release.name)?;
        let packages: Vec<_> = records.iter().map(|record| record.as_package()).collect();
        let (sha256, version) = (identity(&packages), upstream(&root.version));
        let name = prefix_name(spec, &version, &sha256);
        if let Some(prefix) = self.store.prefix(&name) {
            progress(Progress::Cached);
            return Ok(prefix);
        }
        let downloaded = self.packages(archives, release, &records, progress)?;
        let built = self.store.new_tree()?;
        let mut tree = Tree::new(built.path(), Limits::SERVER);
        unpack(archives, &downloaded, &mut tree, progress)?;
        let build = Build {
            source: release.source.clone(),
            channel: root.channel.clone(),
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

    pub(crate) fn fetch_package(
        &self,
        sources: &Sources<'_>,
        spec: &SystemSpec,
        packaged: Packaged<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Prefix, Error> {
        let (mut releases, roots) = self.catalog.runtimes();
        let found = releases.find_map(|release| Some((sources.archives(release)?, release)));
        let runtime = found.map(|(archives, release)| {
            Ok::<_, Error>((archives, release, self.open(archives, release, progress)?))
        });
        let runtime = runtime.transpose()?;
        let records = match &runtime {
            Some((_, release, Read { index, .. })) => index.closure(roots, None, &release.name)?,
            None => Vec::new(),
        };
        let libraries: Vec<_> = records.iter().map(|record| record.as_package()).collect();
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
        let registry = registry_of(packaged)?;
        self.store.check_room(registry.room())?;
        let downloads = self.store.downloads()?;
        let fetched =
            self.download(sources, registry, packaged, known.as_deref(), &downloads, progress);
        let (file, file_sha256) =
            fetched.map_err(|error| error.of_pin(pinned.as_deref(), pins.path()))?;
        let (name, sha256, packages) = named(file_sha256.clone());
        let beside = runtime.as_ref().map(|(archives, release, _)| {
            Ok::<_, Error>((archives, self.packages(*archives, release, &records, progress)?))
        });
        let beside = beside.transpose()?;
        let built = self.store.new_tree()?;
        let total = 1 + beside.as_ref().map_or(0, |(_, it)| it.files.len());
        progress(Progress::Unpacking { done: 0, total });
        registry::unpack(registry, &file, packaged, &mut Tree::new(built.path(), Limits::SERVER))?;
        let below = built.path().join(RUNTIME);
        // Fails if the package brought one.
        fs::create_dir(&below)?;
        if let Some((archives, downloaded)) = &beside {
            unpack(**archives, downloaded, &mut Tree::new(&below, Limits::SERVER), progress)?;
        }
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

    fn download(
        &self,
        sources: &Sources<'_>,
        registry: &dyn Registry,
        packaged: Packaged<'_>,
        known: Option<&str>,
        downloads: &TempDir,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(PathBuf, String), Error> {
        let state = self.store.path(&packaged.package.source);
        // Clients such as `mvn` execute files in their state.
        check_trust(&state)?;
        let directories = Directories { state: &state, into: downloads.path() };
        progress(Progress::Downloading { done: 0, total: 0 });
        let mut seen = |done, total| progress(Progress::Downloading { done, total });
        registry::fetch(registry, packaged, known, directories, &sources.lock, &mut seen)
    }

    pub(crate) fn packages(
        &self,
        archives: &dyn Archives,
        release: &Release,
        records: &[&Record],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Downloaded, Error> {
        let bytes = |record: &&Record| record.size.saturating_add(record.installed_kb << 10);
        self.store.check_room(records.iter().map(bytes).fold(0, u64::saturating_add))?;
        let directory = self.store.downloads()?;
        let total = records.iter().map(|record| record.size).sum::<u64>();
        archives.download(release, records, directory.path(), &mut |share| {
            progress(Progress::Downloading { done: (share * total as f64) as u64, total });
        })?;
        let files = verified(records, directory.path())?;
        Ok(Downloaded { _directory: directory, files })
    }
}

fn build_of(packaged: Packaged<'_>, file: &Path, mut notes: Vec<String>) -> Build {
    let tarball = packaged.package.is_vendors();
    if !packaged.is_verified() {
        let note = match tarball {
            true => "not verified: checksum pinned on first use",
            false => "verified only by its registry's checksum",
        };
        notes.push(note.to_owned());
    }
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let package_version = match tarball {
        true => registry::stem(&file_name).to_owned(),
        false => packaged.package_version().to_owned(),
    };
    let (source, channel) = packaged.origin();
    Build { source, channel, package_version, released: true, notes }
}

fn registry_of(packaged: Packaged<'_>) -> Result<&'static dyn Registry, Error> {
    let source = &packaged.package.source;
    sources::registry(source).ok_or_else(|| Error::Catalog(format!("no source `{source}`")))
}

pub(crate) fn unpack(
    archives: &dyn Archives,
    downloaded: &Downloaded,
    tree: &mut Tree,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Error> {
    for (done, archive) in downloaded.files.iter().enumerate() {
        progress(Progress::Unpacking { done, total: downloaded.files.len() });
        archives.unpack(archive, tree)?;
    }
    Ok(())
}

/// SHA-256 over names, versions and checksums, one package a line, sorted by name.
pub(crate) fn identity(packages: &[Package]) -> String {
    let mut lines: Vec<_> = (packages.iter())
        .map(|package| format!("{} {} {}\n", package.name, package.version, package.sha256))
        .collect();
    lines.sort();
    hex::encode(Sha256::digest(lines.concat()))
}

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

    fn record(name: &str, content: &str) -> Record {
        let [name, version, channel] = [name, "1", "suite"].map(str::to_owned);
        let sha256 = hex::encode(Sha256::digest(content));
        Record { name, version, channel, size: 1, installed_kb: 1, sha256 }
    }

    #[test]
    fn identity_is_that_of_the_packages_whatever_their_order() {
        let package = |name, content| record(name, content).as_package();
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
