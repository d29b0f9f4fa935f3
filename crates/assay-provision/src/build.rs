//! Builds a prefix from the chosen packages: download, verify, unpack, keep.

use std::collections::HashMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use assay_model::{Build, Layout, Package, Prefix, SystemSpec};
use fs_err as fs;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::catalog::{PackageVersion, Release};
use crate::error::{ALTERED, ProvisionError, Result};
use crate::keep::prefix_name;
use crate::layout::Libraries;
use crate::provisioner::{OnProgress, ProvisionProgress, Provisioner};
use crate::reach::{OfferIndex, OpenSources, ReleaseIndex};
use crate::sources::kind::{Archives, PackageRecord, Registry};
use crate::sources::registry::client::{Directories, RegistryClient};
use crate::sources::registry::verify::{sha256_of_file, verified};
use crate::sources::{self, registry};
use crate::store::{PINS, check_trust};
use crate::unpack::{UnpackLimits, UnpackTree};
use crate::version::upstream;

/// Directory in a tree for libraries that a registry's server lacks.
const RUNTIME: &str = "runtime";

/// Part of the names of trees made from packages of registries. Increase it when the same packages would produce a
/// different tree.
const TREE: u32 = 1;

pub(crate) struct PackageFiles {
    _directory: TempDir,
    files: Vec<PathBuf>,
}

impl Provisioner {
    /// Returns the prefix of a version in a release, from the cache if it has exactly that build.
    pub(crate) fn fetch_release(
        &self,
        archives: &dyn Archives,
        spec: &SystemSpec,
        opened: &OfferIndex<'_>,
        root: &PackageRecord,
        progress: OnProgress<'_>,
    ) -> Result<Prefix> {
        let server = opened.offer.server;
        let release = opened.offer.release;
        let roots = [server.roots.as_slice(), server.engine_packages(spec.engine)].concat();
        let records = opened.index.closure(&roots, Some(&root.version), &release.name)?;
        let packages: Vec<_> = records.iter().map(|record| record.as_package()).collect();
        let (sha256, version) = (identity(&packages), upstream(&root.version));
        let name = prefix_name(spec, &version, &sha256);
        if let Some(prefix) = self.store.prefix(&name) {
            progress(ProvisionProgress::Cached);
            return Ok(prefix);
        }
        let downloaded = self.packages(archives, release, &records, progress)?;
        let built = self.store.new_tree()?;
        let mut tree = UnpackTree::new(built.path(), UnpackLimits::SERVER);
        unpack(archives, &downloaded, &mut tree, progress)?;
        let build = Build {
            source: release.source.clone(),
            channel: root.channel.clone(),
            package_version: root.version.clone(),
            released: release.released,
            notes: opened.refreshed.notes.clone(),
        };
        let (path, product, layout) = (PathBuf::new(), spec.product, Layout::default());
        let prefix = Prefix { path, sha256, product, version, build, packages, layout };
        self.keep(built, &name, prefix, Libraries::Own)
    }

    pub(crate) fn fetch_package(
        &self,
        sources: &OpenSources<'_>,
        spec: &SystemSpec,
        packaged: PackageVersion<'_>,
        progress: OnProgress<'_>,
    ) -> Result<Prefix> {
        let (mut releases, roots) = self.catalog.runtimes();
        let found = releases.find_map(|release| Some((sources.archives(release)?, release)));
        let runtime = found.map(|(archives, release)| {
            Ok::<_, ProvisionError>((archives, release, self.open(archives, release, progress)?))
        });
        let runtime = runtime.transpose()?;
        let records = match &runtime {
            Some((_, release, ReleaseIndex { index, .. })) => {
                index.closure(roots, None, &release.name)?
            }
            None => Vec::new(),
        };
        let libraries: Vec<_> = records.iter().map(|record| record.as_package()).collect();
        let version = packaged.version.version.clone();
        let named = |sha256: String| package_tree(spec, packaged, &libraries, sha256);
        let in_catalog = packaged.version.sha256.clone();
        let pinned = match in_catalog {
            Some(_) => None,
            None => self.store.pinned(&packaged.coordinate())?,
        };
        let known = in_catalog.or_else(|| pinned.clone());
        let cached = known.clone().and_then(|it| self.store.prefix(&named(it).0));
        if let Some(prefix) = cached {
            progress(ProvisionProgress::Cached);
            return Ok(prefix);
        }
        let source = &packaged.package.source;
        let unknown = || ProvisionError::Catalog(format!("no source `{source}`"));
        let registry = sources::registry(source).ok_or_else(unknown)?;
        self.store.check_room(registry.room())?;
        let downloads = self.store.downloads()?;
        let fetched =
            self.download(sources, registry, packaged, known.as_deref(), &downloads, progress);
        let (file, file_sha256) =
            fetched.map_err(|error| error.of_pin(pinned.as_deref(), &self.store.path(PINS)))?;
        let (name, sha256, packages) = named(file_sha256.clone());
        let beside = match &runtime {
            Some((archives, release, _)) => {
                Some((archives, self.packages(*archives, release, &records, progress)?))
            }
            None => None,
        };
        let built = self.store.new_tree()?;
        let total = 1 + beside.as_ref().map_or(0, |(_, it)| it.files.len());
        progress(ProvisionProgress::Unpacking { done: 0, total });
        let mut tree = UnpackTree::new(built.path(), UnpackLimits::SERVER);
        registry::unpack(registry, &file, packaged, &mut tree)?;
        let below = built.path().join(RUNTIME);
        // Fails if the package brought one.
        fs::create_dir(&below)?;
        if let Some((archives, downloaded)) = &beside {
            let mut tree = UnpackTree::new(&below, UnpackLimits::SERVER);
            unpack(**archives, downloaded, &mut tree, progress)?;
        }
        let notes = match &runtime {
            Some((_, _, read)) => read.refreshed.notes.clone(),
            None => vec!["uses the libraries of this machine".to_owned()],
        };
        let build = build_of(packaged, &file, notes);
        let libraries = runtime.map_or(Libraries::Host, |_| Libraries::Beside(RUNTIME));
        let (path, product, layout) = (PathBuf::new(), spec.product, Layout::default());
        let prefix = Prefix { path, sha256, product, version, build, packages, layout };
        let prefix = self.keep(built, &name, prefix, libraries)?;
        if known.is_none() {
            // Only now: later downloads must not have to match a gateway's error page or a truncated archive.
            self.store.pin(&packaged.coordinate(), &file_sha256)?;
        }
        Ok(prefix)
    }

    /// Downloads a package, checks it, and returns the file and its SHA-256. `known` is the required SHA-256, if known
    /// in advance.
    fn download(
        &self,
        sources: &OpenSources<'_>,
        registry: &dyn Registry,
        packaged: PackageVersion<'_>,
        known: Option<&str>,
        downloads: &TempDir,
        progress: OnProgress<'_>,
    ) -> Result<(PathBuf, String)> {
        let state = self.store.path(&packaged.package.source);
        // Clients such as `mvn` execute files in their state.
        check_trust(&state)?;
        fs::create_dir_all(&state)?;
        // Clients store the mirrors that they used there, with logins.
        fs::set_permissions(&state, Permissions::from_mode(0o700))?;
        progress(ProvisionProgress::Downloading { done: 0, total: 0 });
        let name = packaged.coordinate();
        let mut client = RegistryClient {
            name: &name,
            directories: Directories { state: &state, into: downloads.path() },
            lock: &sources.lock,
            progress: &mut |done, total| progress(ProvisionProgress::Downloading { done, total }),
        };
        let fetched = registry.fetch(packaged, &mut client)?;
        let sha256 = verified(&name, &fetched, known)?;
        Ok((fetched.path, sha256))
    }

    pub(crate) fn packages(
        &self,
        archives: &dyn Archives,
        release: &Release,
        records: &[&PackageRecord],
        progress: OnProgress<'_>,
    ) -> Result<PackageFiles> {
        let bytes = |record: &&PackageRecord| record.size.saturating_add(record.installed_kb << 10);
        self.store.check_room(records.iter().map(bytes).fold(0, u64::saturating_add))?;
        let directory = self.store.downloads()?;
        let total = records.iter().map(|record| record.size).sum::<u64>();
        archives.download(release, records, directory.path(), &mut |share| {
            progress(ProvisionProgress::Downloading { done: (share * total as f64) as u64, total });
        })?;
        let files = signed_files(records, directory.path())?;
        Ok(PackageFiles { _directory: directory, files })
    }
}

/// Name, checksum and packages of the tree of a server with its libraries.
fn package_tree(
    spec: &SystemSpec,
    packaged: PackageVersion<'_>,
    libraries: &[Package],
    sha256: String,
) -> (String, String, Vec<Package>) {
    let server = Package {
        name: packaged.package.name.clone(),
        version: packaged.package_version().to_owned(),
        sha256,
    };
    let packages = [&[server], libraries].concat();
    let sha256 = identity(&packages);
    (format!("{}-{TREE}", prefix_name(spec, &packaged.version.version, &sha256)), sha256, packages)
}

fn build_of(packaged: PackageVersion<'_>, file: &Path, mut notes: Vec<String>) -> Build {
    let tarball = packaged.package.is_vendors();
    if !packaged.is_verified() {
        notes.push(if tarball {
            "not verified: checksum pinned on first use".to_owned()
        } else {
            "verified only by its registry's checksum".to_owned()
        });
    }
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let package_version =
        if tarball { registry::stem(&file_name) } else { packaged.package_version() }.to_owned();
    let (source, channel) = packaged.origin();
    Build { source, channel, package_version, released: true, notes }
}

pub(crate) fn unpack(
    archives: &dyn Archives,
    downloaded: &PackageFiles,
    tree: &mut UnpackTree,
    progress: OnProgress<'_>,
) -> Result<()> {
    for (done, archive) in downloaded.files.iter().enumerate() {
        progress(ProvisionProgress::Unpacking { done, total: downloaded.files.len() });
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

fn signed_files(records: &[&PackageRecord], downloads: &Path) -> Result<Vec<PathBuf>> {
    let mut by_sum = HashMap::new();
    for entry in fs::read_dir(downloads)? {
        let path = entry?.path();
        by_sum.insert(sha256_of_file(&path)?, path);
    }
    let find = |record: &&PackageRecord| {
        by_sum.get(&record.sha256).cloned().ok_or_else(|| {
            ProvisionError::plain(
                format!(
                    "checksum of `{} {}` does not match the signed index: no archive with SHA-256 {}",
                    record.name, record.version, record.sha256
                ),
                ALTERED,
            )
        })
    };
    records.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, content: &str) -> PackageRecord {
        let [name, version, channel] = [name, "1", "suite"].map(str::to_owned);
        let sha256 = hex::encode(Sha256::digest(content));
        PackageRecord { name, version, channel, size: 1, installed_kb: 1, sha256 }
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
        assert_eq!(signed_files(&[&good], downloads.path()).unwrap().len(), 1);
        let error = signed_files(&[&good, &record("bad", "other")], downloads.path()).unwrap_err();
        assert!(error.to_string().starts_with("checksum of `bad 1` does not match"), "{error}");
    }
}
