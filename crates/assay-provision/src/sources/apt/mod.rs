//! The apt source: packages of Debian and Ubuntu from the machine's mirrors, through its apt.
//!
//! Nothing on the host counts as installed, and nothing on it is changed. Every release has a private state, so that
//! suites never mix, and an expired or missing one does not affect the others.

mod client;
pub(crate) mod deb;
mod index;
mod machine;

use std::path::{Path, PathBuf};

use client::PrivateConfiguration;
use fs_err as fs;
use machine::{AptArchive, AptMachine, Suites, distribution_of};

use super::kind::{self, Archives, IndexRefresh, PackageRecord};
use crate::catalog::{Catalog, Release};
use crate::census::FileCensus;
use crate::error::{Absence, ProvisionError, Result};
use crate::store::{CURRENT_FOR, age, now_seconds, read_json, write_json, write_private};
use crate::unpack::UnpackTree;

pub(crate) use index::AptIndex;
pub(crate) use machine::{ARCHITECTURE, WORD, count_entries};

/// Limit on the length of an unpacked index, bytes: ten times Debian's longest.
const INDEX: u64 = 600 << 20;

const CONFIGURATION: &str = "apt.conf";

const REFRESHED: &str = "refreshed.json";

pub(super) struct Packages;

impl kind::DistributionSource for Packages {
    fn reachable(&self, catalog: &Catalog) -> Vec<String> {
        let Ok(machine) = AptMachine::read() else { return Vec::new() };
        let distributions = machine.distributions(catalog);
        let is_there = |release: &&Release| {
            distribution_of(release).is_some_and(|it| distributions.contains(&it))
        };
        catalog.releases.iter().filter(is_there).map(|it| it.name.clone()).collect()
    }

    fn open<'a>(
        &self,
        catalog: &'a Catalog,
        directory: PathBuf,
        lock: fs::File,
    ) -> Result<Box<dyn Archives + 'a>> {
        Ok(Box::new(Apt::new(catalog, directory, lock)?))
    }

    fn absence(&self) -> Absence {
        match AptMachine::read() {
            Err(ProvisionError::DistributionMissing { .. }) => Absence { has: "no apt", add: "" },
            _ => Absence {
                has: "no such archive in apt's sources",
                add: "add that archive to apt's sources, ",
            },
        }
    }

    fn title(&self, release: &Release) -> String {
        let distribution = distribution_of(release).unwrap_or_default();
        format!("{} {}", distribution.name(), release.name)
    }
}

fn no_archive() -> ProvisionError {
    ProvisionError::NoArchive {
        what: "Debian or Ubuntu in this machine's apt configuration",
        place: AptMachine::place(),
        hint: "add an archive of Debian or Ubuntu to apt's sources",
    }
}

#[derive(Debug)]
struct Apt<'a> {
    machine: AptMachine,
    catalog: &'a Catalog,
    directory: PathBuf,
    lock: fs::File,
}

impl<'a> Apt<'a> {
    /// Reads the machine's configuration; private state goes under `directory`, guarded by `lock`.
    fn new(catalog: &'a Catalog, directory: PathBuf, lock: fs::File) -> Result<Self> {
        let machine = AptMachine::read()?;
        if machine.distributions(catalog).is_empty() {
            return Err(no_archive());
        }
        Ok(Self { machine, catalog, directory, lock })
    }

    fn state(&self, release: &Release) -> PathBuf {
        self.directory.join(&release.name)
    }

    fn run(
        &self,
        release: &Release,
        arguments: &[&str],
        directory: &Path,
        each: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let configuration = self.state(release).join(CONFIGURATION);
        let private = PrivateConfiguration { configuration: &configuration, lock: &self.lock };
        client::run("apt-get", arguments, Some(private), directory, &release.name, each)
    }

    /// Writes the private configuration; the notes name omitted parts of the release.
    fn configure(&self, release: &Release) -> Result<Vec<String>> {
        let state = self.state(release);
        let root = state.display().to_string();
        if root.contains(['"', '\n', '\\', '%']) {
            return Err(ProvisionError::malformed(
                "cache directory",
                format!("`{root}` contains quotes or other special characters"),
            ));
        }
        for directory in ["lists/partial", "archives/partial", "empty"] {
            fs::create_dir_all(state.join(directory))?;
        }
        let (sources, notes) = self.sources(release)?;
        write_private(&state.join("debian.sources"), &sources)?;
        fs::write(state.join("status"), "")?;
        let mut lines = vec![
            format!("Dir::State \"{root}\";"),
            format!("Dir::State::lists \"{root}/lists\";"),
            format!("Dir::State::status \"{root}/status\";"),
            format!("Dir::Cache \"{root}\";"),
            format!("Dir::Cache::archives \"{root}/archives\";"),
            format!("Dir::Etc \"{root}/empty\";"),
            format!("Dir::Etc::parts \"{root}/empty\";"),
            format!("Dir::Etc::preferencesparts \"{root}/empty\";"),
            format!("Dir::Etc::sourcelist \"{root}/debian.sources\";"),
            format!("Dir::Etc::sourceparts \"{root}/empty\";"),
        ];
        lines.extend(self.machine.settings.iter().cloned());
        lines.extend(FIXED.lines().map(str::to_owned));
        lines.push(format!("APT::Architecture \"{ARCHITECTURE}\";"));
        lines.push(format!("APT::Architectures {{ \"{ARCHITECTURE}\"; }};"));
        for (name, path) in &self.machine.paths {
            lines.push(format!("{name} \"{}\";", path.display()));
        }
        write_private(&state.join(CONFIGURATION), &(lines.join("\n") + "\n"))?;
        Ok(notes)
    }

    fn sources(&self, release: &Release) -> Result<(String, Vec<String>)> {
        let (mut text, mut notes) = (String::new(), Vec::new());
        let Suites { distribution, suites } = Suites::read(release)?;
        for suite in &suites {
            let entry = self.machine.archive(self.catalog, distribution, suite.archive);
            let Some(entry) = entry else {
                if suite.archive == AptArchive::Main {
                    return Err(no_archive());
                }
                notes.push(format!(
                    "without `{}`: no security archive in the apt configuration of this machine",
                    suite.name
                ));
                continue;
            };
            let uris = entry.uris.join(" ");
            let signed_by = entry
                .signed_by
                .as_ref()
                .map(|key| format!("Signed-By: {key}\n"))
                .unwrap_or_default();
            text += &format!(
                "Types: deb\nURIs: {uris}\nSuites: {}\nComponents: {}\n{signed_by}\n",
                suite.name,
                distribution.components()
            );
        }
        Ok((text, notes))
    }
}

impl Archives for Apt<'_> {
    fn has(&self, release: &Release) -> bool {
        let archive = |it| self.machine.archive(self.catalog, it, AptArchive::Main);
        distribution_of(release).and_then(archive).is_some()
    }

    fn current(&self, release: &Release, accept_expired: bool) -> Option<IndexRefresh> {
        let state = self.state(release);
        let refreshed: IndexRefresh = read_json(&state.join(REFRESHED))?;
        let fit =
            age(refreshed.at) < CURRENT_FOR && (refreshed.expired.is_none() || accept_expired);
        let whole = FileCensus::at(&state.join("lists")).ok() == Some(refreshed.lists);
        (fit && whole).then_some(refreshed)
    }

    fn refresh(&self, release: &Release, accept_expired: bool) -> Result<IndexRefresh> {
        let state = self.state(release);
        let lists = state.join("lists");
        let before: Option<IndexRefresh> = read_json(&state.join(REFRESHED));
        if before.is_none_or(|before| FileCensus::at(&lists).ok() != Some(before.lists)) {
            // The directory is damaged or left by a killed run, so it cannot be used.
            let _ = fs::remove_dir_all(&lists);
        }
        let notes = self.configure(release)?;
        let update = |more: &[&str]| {
            let arguments = [
                &["-qq", "-o", "pkgCacheFile::Generate=false", "-o", "APT::Status-Fd=1"],
                more,
                &["update"],
            ];
            self.run(release, &arguments.concat(), &state, &mut |_| {})
        };
        let expired = match update(&[]) {
            Err(ProvisionError::ExpiredIndex { detail, .. }) if accept_expired => {
                update(&["-o", "Acquire::Check-Valid-Until=false"])?;
                Some(detail)
            }
            other => other.map(|()| None)?,
        };
        let lists = FileCensus::at(&lists)?;
        let mut refreshed = IndexRefresh { at: now_seconds(), lists, expired, notes };
        if let Some(detail) = &refreshed.expired {
            refreshed.notes.push(format!("expired index, accepted on request ({detail})"));
        }
        write_json(&state.join(REFRESHED), &refreshed)?;
        Ok(refreshed)
    }

    fn index(&self, release: &Release) -> Result<Box<dyn kind::PackageIndex>> {
        let Suites { distribution, .. } = Suites::read(release)?;
        let mut targets = Vec::new();
        let format = "$(FILENAME)\t$(RELEASE)\t$(ORIGIN)";
        let arguments = ["indextargets", "--format", format, "Created-By: Packages"];
        self.run(release, &arguments, &self.state(release), &mut |line| {
            targets.push(line.split('\t').map(str::to_owned).collect::<Vec<_>>());
        })?;
        let mut index = AptIndex::default();
        for target in &targets {
            let [file, suite, origin] = target.as_slice() else {
                return Err(ProvisionError::malformed("list of index files", target.join(" ")));
            };
            if origin != distribution.name() {
                let detail = format!("`{suite}` is signed, but its origin is `{origin}`");
                let release = release.name.clone();
                return Err(ProvisionError::UnverifiedIndex {
                    release,
                    detail,
                    hint: client::KEYS,
                });
            }
            if fs::metadata(file)?.len() > INDEX {
                let detail = format!("it is longer than {} MB", INDEX >> 20);
                return Err(ProvisionError::malformed(
                    format!("package index of `{suite}`"),
                    detail,
                ));
            }
            index.add(suite, &fs::read_to_string(file)?)?;
        }
        if targets.is_empty() {
            let detail = "no index was fetched".to_owned();
            return Err(ProvisionError::Network { release: release.name.clone(), detail });
        }
        Ok(Box::new(index))
    }

    fn download(
        &self,
        release: &Release,
        packages: &[&PackageRecord],
        directory: &Path,
        progress: &mut dyn FnMut(f64),
    ) -> Result<()> {
        let named: Vec<_> = packages
            .iter()
            .map(|package| format!("{}={}", package.name, package.version))
            .collect();
        let mut arguments = vec!["-qq", "-o", "APT::Status-Fd=1", "download"];
        arguments.extend(named.iter().map(String::as_str));
        self.run(release, &arguments, directory, &mut |line| {
            let mut fields = line.split(':');
            if fields.next() == Some("dlstatus")
                && let Some(percent) = fields.nth(1).and_then(|field| field.parse::<f64>().ok())
            {
                progress(percent / 100.0);
            }
        })
    }

    fn unpack(&self, package: &Path, tree: &mut UnpackTree) -> Result<()> {
        deb::unpack(package, tree)
    }
}

/// Strict verification and bounded waits. Nothing is installed, and only the indexes are kept.
const FIXED: &str = r#"Dir::Etc::main "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
Acquire::Check-Valid-Until "true";
Acquire::Check-Date "true";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";"#;
