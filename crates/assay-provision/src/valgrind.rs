//! Valgrind, whose tool callgrind counts the instructions of servers: from a distribution of this machine, else the
//! machine's own.
//!
//! It runs on the machine's C library: its tools are linked statically, and only its launcher and `vgdb` need one. So
//! its package alone is enough, and the release that the machine runs comes first.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use assay_model::{Build, Package};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::build::{identity, unpack};
use crate::catalog::Release;
use crate::error::{ProvisionError, Result};
use crate::keep::check_libraries;
use crate::programs;
use crate::provisioner::{OnProgress, ProvisionProgress, Provisioner};
use crate::reach::ReleaseIndex;
use crate::sources::kind::Archives;
use crate::store::{Resolution, TOOLS, now_seconds};
use crate::unpack::{UnpackLimits, UnpackTree};
use crate::upkeep::{Hold, hold_tree};
use crate::version::{compare, upstream};

const REQUEST: &str = "valgrind";

const PACKAGE: &str = "valgrind";

const CALLGRIND: &str =
    if cfg!(target_arch = "aarch64") { "callgrind-arm64-linux" } else { "callgrind-amd64-linux" };

/// Directories of tools relative to that of the launcher's `bin`: Debian's and Fedora's, then older ones.
const LIBRARIES: [&str; 5] = [
    "libexec/valgrind",
    "lib/valgrind",
    "lib64/valgrind",
    "lib/x86_64-linux-gnu/valgrind",
    "lib/aarch64-linux-gnu/valgrind",
];

/// Valgrind, ready to run. While this exists, it is not removed from the cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Valgrind {
    /// Root of its tree in the cache; empty for the machine's own.
    #[serde(skip)]
    pub path: PathBuf,
    /// The program to run in front of a server's, not Debian's wrapper script, which changes the environment.
    pub launcher: PathBuf,
    /// Directory of its tools: the value of `VALGRIND_LIB`.
    pub library: PathBuf,
    pub vgdb: PathBuf,
    pub version: String,
    /// The source `machine` is this machine's own.
    pub build: Build,
    /// Empty for the machine's own.
    pub packages: Vec<Package>,
    #[serde(skip)]
    _hold: Option<Arc<Hold>>,
}

impl Provisioner {
    /// Valgrind from a distribution of this machine, unpacked into the cache. An answer is reused without network for a
    /// day. If no distribution can be reached, it is the newest in the cache, else the machine's own.
    pub fn valgrind(&self, progress: OnProgress<'_>) -> Result<Valgrind> {
        let lack = if self.offline() {
            ProvisionError::plain(
                "valgrind is not in the cache, and this machine has none of its own",
                "run once without `--offline` to fetch it, or install the package `valgrind`",
            )
        } else {
            match self.fetched_valgrind(progress) {
                Err(error @ ProvisionError::NoValgrind { .. }) => error,
                other => return other,
            }
        };
        let Some(found) = self.newest_tool()?.or_else(of_this_machine) else { return Err(lack) };
        if let ProvisionError::NoValgrind { unread } = &lack {
            for error in unread {
                progress(ProvisionProgress::PassedOver { why: error.to_string() });
            }
        }
        progress(ProvisionProgress::Cached);
        Ok(found)
    }

    /// [`ProvisionError::NoValgrind`] if no distribution has it or can be reached.
    fn fetched_valgrind(&self, progress: OnProgress<'_>) -> Result<Valgrind> {
        if let Some(found) = self.answered_tool() {
            progress(ProvisionProgress::Cached);
            return Ok(found);
        }
        let lock = self.store.lock(|| progress(ProvisionProgress::Waiting))?;
        // The previous holder of the lock may have fetched the same.
        if let Some(found) = self.answered_tool() {
            progress(ProvisionProgress::Cached);
            return Ok(found);
        }
        let sources = self.sources(lock)?;
        let mut unread = Vec::new();
        let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        for release in self.own_first(&codenames(&os_release)) {
            let Some(archives) = sources.archives(release) else { continue };
            match self.valgrind_of(archives, release, progress) {
                Ok(found) => return Ok(found),
                Err(error) if is_of_release(&error) => {
                    let is_cut_off = matches!(error, ProvisionError::Network { .. });
                    unread.push(error);
                    // The other releases are at the same place, and each would wait for it.
                    if is_cut_off {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(ProvisionError::NoValgrind { unread })
    }

    /// The releases that this machine can use: its own first, then the released ones, the newest first. The catalog
    /// orders those of a distribution by age.
    fn own_first(&self, own: &[String]) -> Vec<&Release> {
        let mut releases: Vec<_> =
            self.catalog.releases.iter().rev().filter(|it| self.reaches(it)).collect();
        releases.sort_by_key(|release| (!own.contains(&release.name), !release.released));
        releases
    }

    fn valgrind_of(
        &self,
        archives: &dyn Archives,
        release: &Release,
        progress: OnProgress<'_>,
    ) -> Result<Valgrind> {
        let ReleaseIndex { index, refreshed } = self.open(archives, release, progress)?;
        let versions = index.versions(PACKAGE).into_iter();
        let newest = versions.max_by(|a, b| compare(&a.version, &b.version));
        let missing = || ProvisionError::MissingPackage(PACKAGE.to_owned(), release.name.clone());
        let newest = newest.ok_or_else(missing)?;
        let packages = vec![newest.as_package()];
        let (sha256, version) = (identity(&packages), upstream(&newest.version));
        let directory = format!("valgrind-{version}-{}", &sha256[..16]);
        if let Some(found) = self.cached_tool(&directory) {
            progress(ProvisionProgress::Cached);
            runs(&found)?;
        } else {
            let build = Build {
                source: release.source.clone(),
                channel: newest.channel.clone(),
                package_version: newest.version.clone(),
                released: release.released,
                notes: refreshed.notes.clone(),
            };
            let downloaded = self.packages(archives, release, &[newest], progress)?;
            let tree = self.store.new_tree_in(&self.store.path(TOOLS))?;
            unpack(
                archives,
                &downloaded,
                &mut UnpackTree::new(tree.path(), UnpackLimits::SERVER),
                progress,
            )?;
            self.keep_tool(tree, &directory, version, build, packages)?;
        }
        let unreadable =
            || ProvisionError::malformed(format!("tool `{directory}`"), "cannot be read");
        let found = held(self.cached_tool(&directory).ok_or_else(unreadable)?)?;
        let (at, expired) = (now_seconds(), refreshed.expired.is_some());
        self.store.remember(REQUEST, Resolution { directory, at, expired })?;
        Ok(found)
    }

    fn keep_tool(
        &self,
        tree: TempDir,
        name: &str,
        version: String,
        build: Build,
        packages: Vec<Package>,
    ) -> Result<()> {
        let relative = |path: PathBuf| path.strip_prefix(tree.path()).map(Path::to_owned);
        let parts = parts(&tree.path().join("usr"))?.map(relative);
        let [Ok(launcher), Ok(library), Ok(vgdb)] = parts else {
            return Err(ProvisionError::Incomplete(format!("`{PACKAGE}`")));
        };
        for program in [&launcher, &vgdb] {
            check_libraries(&tree.path().join(program))?;
        }
        let (path, _hold) = (PathBuf::new(), None);
        let stored = Valgrind { path, launcher, library, vgdb, version, build, packages, _hold };
        UnpackTree::new(tree.path(), UnpackLimits::SERVER).seal()?;
        self.store.keep_tree(tree, &self.store.path(TOOLS), name, &stored)
    }

    /// The tool in a directory, if complete.
    pub(crate) fn cached_tool(&self, name: &str) -> Option<Valgrind> {
        let path = self.store.path(TOOLS).join(name);
        let stored: Valgrind = self.store.kept(&path)?;
        let [launcher, library, vgdb] =
            [&stored.launcher, &stored.library, &stored.vgdb].map(|part| path.join(part));
        let is_whole = [&launcher, &library, &vgdb].iter().all(|part| part.exists());
        is_whole.then_some(Valgrind { path, launcher, library, vgdb, ..stored })
    }

    fn answered_tool(&self) -> Option<Valgrind> {
        let found = self.cached_tool(&self.answer(REQUEST)?).filter(|tool| runs(tool).is_ok());
        held(found?).ok()
    }

    /// The newest in the cache that runs on this machine: machines with other C libraries may share the cache.
    fn newest_tool(&self) -> Result<Option<Valgrind>> {
        let names = self.store.names(TOOLS)?;
        let all =
            names.iter().filter_map(|name| self.cached_tool(name)).filter(|it| runs(it).is_ok());
        let newest = all.max_by(|a, b| compare(&a.version, &b.version));
        newest.map(held).transpose()
    }
}

/// Returns whether only this release cannot provide it.
fn is_of_release(error: &ProvisionError) -> bool {
    error.is_of_reach()
        || matches!(
            error,
            ProvisionError::MissingPackage(..)
                | ProvisionError::HostLibraries { .. }
                | ProvisionError::NoLoader(_)
        )
}

fn held(found: Valgrind) -> Result<Valgrind> {
    let hold = Some(Arc::new(hold_tree(&found.path)?));
    Ok(Valgrind { _hold: hold, ..found })
}

fn runs(found: &Valgrind) -> Result<()> {
    [&found.launcher, &found.vgdb].into_iter().try_for_each(|program| check_libraries(program))
}

/// The launcher, the directory of tools and `vgdb` below a directory such as `usr`.
fn parts(root: &Path) -> Result<[PathBuf; 3]> {
    let lacking = |what: &str| ProvisionError::Incomplete(format!("`{what}`"));
    let program = |name: &str| Some(root.join("bin").join(name)).filter(|it| it.is_file());
    // Debian's `valgrind` is a wrapper script for this program.
    let launcher = program("valgrind.bin").or_else(|| program("valgrind"));
    let mut libraries = LIBRARIES.iter().map(|library| root.join(library));
    Ok([
        launcher.ok_or_else(|| lacking("valgrind"))?,
        libraries.find(|it| it.join(CALLGRIND).is_file()).ok_or_else(|| lacking(CALLGRIND))?,
        program("vgdb").ok_or_else(|| lacking("vgdb"))?,
    ])
}

fn of_this_machine() -> Option<Valgrind> {
    let mut command = Command::new("sh");
    let output =
        programs::output(command.args(["-c", "command -v valgrind && valgrind --version"]));
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (launcher, version) = text.trim_end().split_once('\n')?;
    let version = version.strip_prefix("valgrind-")?.to_owned();
    let (named, real) = (PathBuf::from(launcher), fs::canonicalize(launcher).ok()?);
    // A link to it may be in a separate directory.
    let roots = [&named, &real].map(|launcher| launcher.parent().and_then(Path::parent));
    let [launcher, library, vgdb] =
        roots.into_iter().flatten().find_map(|root| parts(root).ok())?;
    let build = Build {
        source: "machine".to_owned(),
        channel: named.display().to_string(),
        package_version: version.clone(),
        released: true,
        notes: Vec::new(),
    };
    let (path, packages, _hold) = (PathBuf::new(), Vec::new(), None);
    Some(Valgrind { path, launcher, library, vgdb, version, build, packages, _hold })
}

/// Names in `os-release` for a machine's release and for the one it is derived from.
fn codenames(text: &str) -> Vec<String> {
    let fields = text.lines().filter_map(|line| line.split_once('='));
    let names = fields.filter(|(key, _)| key.ends_with("_CODENAME"));
    names.map(|(_, value)| value.trim_matches(['"', '\'']).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provisioner::ProvisionOptions;

    #[test]
    fn the_program_behind_a_script_is_the_launcher() {
        let place = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let lacks = |what: &str| {
            let error = parts(place.path()).unwrap_err().to_string();
            assert_eq!(error, format!("the unpacked tree has no `{what}`"));
        };
        lacks("valgrind");
        let launcher = put("bin/valgrind");
        put("libexec/valgrind/default.supp");
        lacks(CALLGRIND);
        let tool = put(&format!("lib/valgrind/{CALLGRIND}"));
        lacks("vgdb");
        let vgdb = put("bin/vgdb");
        let library = tool.parent().unwrap().to_owned();
        assert_eq!(parts(place.path()).unwrap(), [launcher, library.clone(), vgdb.clone()]);
        let launcher = put("bin/valgrind.bin");
        assert_eq!(parts(place.path()).unwrap(), [launcher, library, vgdb]);
    }

    #[test]
    fn the_release_of_the_machine_comes_first() {
        let cache = tempfile::tempdir().unwrap();
        let provisioner = Provisioner::new(cache.path(), ProvisionOptions::default()).unwrap();
        let reachable = ["bookworm", "trixie", "sid", "noble"].map(str::to_owned).to_vec();
        provisioner.reachable.set(reachable).unwrap();
        let order = |own: &[&str]| {
            let own: Vec<_> = own.iter().map(|&name| name.to_owned()).collect();
            let names = provisioner.own_first(&own).into_iter().map(|it| it.name.clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(order(&["bookworm"]), ["bookworm", "noble", "trixie", "sid"]);
        assert_eq!(order(&["wilma", "noble"]), ["noble", "trixie", "bookworm", "sid"]);
        assert_eq!(order(&["sid"]), ["sid", "noble", "trixie", "bookworm"]);
    }

    #[test]
    fn names_of_a_release_are_those_of_its_file() {
        let text = "NAME=\"Linux Mint\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME='noble'\n";
        assert_eq!(codenames(text), ["wilma", "noble"]);
    }
}
