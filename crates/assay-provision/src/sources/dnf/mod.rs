//! The dnf source: rpm packages of the machine's configured repositories, without dnf itself, which would need root. An
//! index or its packages must be signed with a key that the repository names.

mod index;
mod machine;
mod metadata;
pub(crate) mod rpm;
mod verify;

use std::io::BufReader;
use std::path::{Path, PathBuf};

use assay_decompress::decompressed;
use assay_model::address_without_login;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::kind::{self, Archives, Kind, Record, Refreshed, Source};
use crate::catalog::{Catalog, Release};
use crate::census::Census;
use crate::error::{Absence, Error};
use crate::http::{self, Failure, Limits};
use crate::sha256;
use crate::store::{CURRENT_FOR, age, now_seconds, read_json, write_json};
use crate::unpack::Tree;
use index::Index;
use machine::{ARCHITECTURE, Repository, WORD};
use verify::Keys;

/// Longest unpacked list of packages, bytes: ten times Fedora's.
const LIST: u64 = 4 << 30;

/// The longest list is 60 MB.
const LISTS: Limits = Limits { bytes: 1 << 30, attempts: 2, ..Limits::SERVER };

#[derive(Debug)]
pub(super) struct Packages;

impl Source for Packages {
    fn word(&self) -> &'static str {
        WORD
    }

    fn other_words(&self) -> &'static [&'static str] {
        &["rpm", "yum", "fedora", "rhel"]
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Distribution(self)
    }
}

impl kind::Distribution for Packages {
    fn reachable(&self, catalog: &Catalog) -> Vec<String> {
        let of_dnf = catalog.releases.iter().filter(|it| it.source == WORD);
        let has_some = |release: &&Release| usable(release).is_ok_and(|it| !it.is_empty());
        of_dnf.filter(has_some).map(|it| it.name.clone()).collect()
    }

    fn open<'a>(
        &self,
        _catalog: &'a Catalog,
        directory: PathBuf,
        _lock: fs::File,
    ) -> Result<Box<dyn Archives + 'a>, Error> {
        Ok(Box::new(Dnf { directory }))
    }

    fn absence(&self) -> Absence {
        Absence { has: "no such repository in dnf's configuration", add: "" }
    }
}

fn usable(release: &Release) -> Result<Vec<Repository>, Error> {
    let mut all = machine::repositories(release)?;
    all.retain(|it| it.unfit.is_none());
    Ok(all)
}

/// The repositories of this machine, with the state of each release below a directory.
#[derive(Debug)]
struct Dnf {
    directory: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Fetched {
    id: String,
    /// The first has answered.
    places: Vec<String>,
    list: String,
    signs_packages: bool,
}

impl Dnf {
    fn state(&self, release: &Release) -> PathBuf {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let plain = |c: char| if is_plain(c) { c } else { '-' };
        self.directory.join(release.name.chars().map(plain).collect::<String>())
    }
}

impl Archives for Dnf {
    fn has(&self, release: &Release) -> bool {
        usable(release).is_ok_and(|it| !it.is_empty())
    }

    fn current(&self, release: &Release, _accept_expired: bool) -> Option<Refreshed> {
        let state = self.state(release);
        let refreshed: Refreshed = read_json(&state.join("refreshed.json"))?;
        let whole = Census::all(&state.join("lists")).ok() == Some(refreshed.lists);
        let then: Option<String> = read_json(&state.join(CONFIGURED));
        let configured = machine::repositories(release).ok().map(|it| configured(&it));
        (whole && then.is_some() && then == configured && age(refreshed.at) < CURRENT_FOR)
            .then_some(refreshed)
    }

    fn refresh(&self, release: &Release, _accept_expired: bool) -> Result<Refreshed, Error> {
        let state = self.state(release);
        let lists = state.join("lists");
        let _ = fs::remove_dir_all(&lists);
        fs::create_dir_all(&lists)?;
        let (mut fetched, mut notes, mut failed) = (Vec::new(), Vec::new(), None);
        let repositories = machine::repositories(release)?;
        for (number, repository) in repositories.iter().enumerate() {
            let without = |why: &str| format!("without repository `{}`: {why}", repository.id);
            match repository.unfit {
                Some(why) => notes.push(without(why)),
                // The others may have all that is needed; if not, the note explains what is missing.
                None => match refresh(release, repository, &lists, number) {
                    Ok(it) => fetched.push(it),
                    Err(error) => {
                        notes.push(without(&error.to_string()));
                        // An untrusted repository matters more than an unreachable one.
                        if !error.is_of_reach() {
                            failed.get_or_insert(error);
                        }
                    }
                },
            }
        }
        if fetched.is_empty() {
            let detail = notes.join("; ");
            let unusable = || Error::Network { release: release.name.clone(), detail };
            return Err(failed.unwrap_or_else(unusable));
        }
        write_json(&state.join(CONFIGURED), &configured(&repositories))?;
        write_json(&state.join("repositories.json"), &fetched)?;
        let (at, lists) = (now_seconds(), Census::all(&lists)?);
        let refreshed = Refreshed { at, lists, expired: None, notes };
        write_json(&state.join("refreshed.json"), &refreshed)?;
        Ok(refreshed)
    }

    fn index(&self, release: &Release) -> Result<Box<dyn kind::Index>, Error> {
        let state = self.state(release);
        let mut index = Index::default();
        for Fetched { id, list, .. } in fetched(&state)? {
            let what = format!("list of packages of repository `{id}`");
            let broken = |error: std::io::Error| Error::malformed(what.clone(), error);
            let file = fs::File::open(state.join("lists").join(&list))?;
            let end = list.find('.').and_then(|at| list.get(at..)).unwrap_or_default();
            let stream = decompressed(end, Box::new(file)).map_err(broken)?;
            let unknown = || broken(std::io::Error::other("its compression is not known"));
            let stream = std::io::Read::take(stream.ok_or_else(unknown)?, LIST);
            let packages = metadata::packages(BufReader::new(stream), ARCHITECTURE);
            index.add(&id, packages.map_err(broken)?);
        }
        Ok(Box::new(index))
    }

    fn download(
        &self,
        release: &Release,
        packages: &[&Record],
        directory: &Path,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), Error> {
        let configured = machine::repositories(release)?;
        let total = packages.iter().map(|it| it.size).sum::<u64>().max(1) as f64;
        let (mut done, mut number) = (0.0, 0);
        for Fetched { id, places, signs_packages, .. } in fetched(&self.state(release))? {
            let mut files = Vec::new();
            for record in packages.iter().filter(|it| it.channel == id) {
                let (before, size) = (done, record.size as f64);
                let mut seen = |bytes: u64, _| progress(((before + bytes as f64) / total).min(1.0));
                let name = record.location.rsplit('/').next().unwrap_or_default();
                let name = format!("{number}-{name}");
                number += 1;
                let file = first(
                    release,
                    &places,
                    &record.location,
                    directory,
                    &name,
                    Limits::SERVER,
                    &mut seen,
                )?;
                if sha256::of_file(&file)? != record.sha256 {
                    return Err(Error::Checksum {
                        package: format!("{} {}", record.name, record.version),
                        wanted: record.sha256.clone(),
                    });
                }
                check_identity(record, &file, &release.name)?;
                files.push(file);
                done += size;
            }
            // Packages must still be signed if they were when the index was fetched.
            let repository = configured.iter().find(|it| it.id == id);
            if signs_packages && !files.is_empty() {
                let repository = repository.ok_or_else(|| {
                    Error::malformed("configuration of dnf", format!("repository `{id}` is gone"))
                })?;
                Keys::of(repository)?.check_packages(&release.name, &files)?;
            }
        }
        Ok(())
    }

    fn unpack(&self, package: &Path, tree: &mut Tree) -> Result<(), Error> {
        rpm::unpack(package, tree)
    }
}

/// Number of repositories, mirrors and packages in a text, parsed as each kind of file. For the fuzzer.
pub(crate) fn count(text: &str) -> usize {
    let text = text.as_bytes();
    let mirrors = metadata::mirrors(text).map_or(0, |it| it.places.len());
    let packages = metadata::packages(text, ARCHITECTURE).unwrap_or_default();
    let names: Vec<_> = packages.iter().map(|it| it.name.clone()).collect();
    let mut index = Index::default();
    index.add("fuzzed", packages);
    let closure = kind::Index::closure(&index, &names, None, "fuzzed").map_or(0, |it| it.len());
    let repositories = machine::count(&String::from_utf8_lossy(text));
    repositories + mirrors + closure + usize::from(metadata::repomd(text).is_ok())
}

/// A package must match the index: an unsigned index may list an old package as a new one.
fn check_identity(record: &Record, file: &Path, release: &str) -> Result<(), Error> {
    let what = || format!("package `{}`", record.name);
    let (name, version) = rpm::identity(file).map_err(|it| Error::malformed(what(), it))?;
    if name == record.name && version == record.version {
        return Ok(());
    }
    let detail = format!(
        "`{} {}` of the index is the package `{name} {version}`",
        record.name, record.version
    );
    Err(Error::Altered { release: release.to_owned(), detail })
}

/// File with the digest of the configuration with which lists were fetched.
const CONFIGURED: &str = "configured.json";

fn configured(repositories: &[Repository]) -> String {
    sha256::of_bytes(format!("{repositories:?}").as_bytes())
}

fn fetched(state: &Path) -> Result<Vec<Fetched>, Error> {
    read_json(&state.join("repositories.json"))
        .ok_or_else(|| Error::malformed("state of dnf", "there are no repositories"))
}

fn refresh(
    release: &Release,
    repository: &Repository,
    lists: &Path,
    number: usize,
) -> Result<Fetched, Error> {
    let broken = |what: &str, error: std::io::Error| {
        Error::malformed(format!("{what} of repository `{}`", repository.id), error)
    };
    let work = tempfile::Builder::new().prefix("assay-lists-").tempdir()?;
    let get = |places: &[String], path: &str, name: &str| {
        first(release, places, path, work.path(), name, LISTS, &mut |_, _| {})
    };
    let mut places = repository.places.clone();
    let mut allowed = Vec::new();
    if let (true, Some(address)) = (places.is_empty(), &repository.mirrors) {
        let file = get(std::slice::from_ref(address), "", "mirrors")?;
        let found =
            metadata::mirrors(&fs::read(file)?).map_err(|it| broken("list of mirrors", it))?;
        (places, allowed) = (found.places, found.sha256);
    }
    let (mut last, mut repomd) = (None, None);
    // All files come from one mirror: mirrors change at different times.
    for place in &places {
        let here = std::slice::from_ref(place);
        match get(here, "repodata/repomd.xml", "repomd.xml") {
            Ok(file) if !allowed.is_empty() && !allowed.contains(&sha256::of_file(&file)?) => {
                let detail = format!(
                    "the index of repository `{}` is not the one of its list of mirrors",
                    repository.id
                );
                last = Some(Error::Altered { release: release.name.clone(), detail });
            }
            Ok(file) => {
                repomd = Some((place.clone(), file));
                break;
            }
            Err(error) => last = Some(error),
        }
    }
    let Some((place, file)) = repomd else {
        return Err(
            last.unwrap_or_else(|| broken("list of mirrors", std::io::Error::other("it is empty")))
        );
    };
    let here = std::slice::from_ref(&place);
    if repository.signs_index {
        let signature = get(here, "repodata/repomd.xml.asc", "repomd.xml.asc")?;
        Keys::of(repository)?.check_index(&release.name, &file, &signature)?;
    }
    let primary = metadata::repomd(&fs::read(&file)?).map_err(|it| broken("index", it))?;
    let name = primary.href.rsplit('/').next().unwrap_or_default();
    let end = name.split_once(".xml").map_or("", |(_, end)| end);
    let list = get(here, &primary.href, "primary")?;
    if sha256::of_file(&list)? != primary.sha256 {
        let detail = format!("the list of packages of repository `{}`", repository.id);
        return Err(Error::Altered { release: release.name.clone(), detail });
    }
    let known = [".gz", ".xz", ".zst", ""];
    let end = known.into_iter().find(|it| *it == end).unwrap_or(".unknown");
    let name = format!("{number}{end}");
    fs::copy(list, lists.join(&name))?;
    places.retain(|it| *it != place);
    places.insert(0, place);
    let (id, signs_packages) = (repository.id.clone(), repository.signs_packages);
    Ok(Fetched { id, places, list: name, signs_packages })
}

fn first(
    release: &Release,
    places: &[String],
    path: &str,
    directory: &Path,
    name: &str,
    limits: Limits,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<PathBuf, Error> {
    let release = release.name.clone();
    let mut last = None;
    for place in places {
        let slash = if path.is_empty() || place.ends_with('/') { "" } else { "/" };
        let url = format!("{place}{slash}{path}");
        let shown = address_without_login(&url);
        match http::download(&url, directory, name, limits, progress) {
            Ok(file) => return Ok(file),
            Err(Failure::Absent) => {
                let detail = format!("nothing is at `{shown}`");
                last = Some(Error::Gone { release: release.clone(), detail });
            }
            Err(Failure::Other(detail)) => {
                let detail = format!("`{shown}`: {detail}");
                last = Some(Error::Network { release: release.clone(), detail });
            }
        }
    }
    let nowhere = || Error::Network { release, detail: "there is no address".to_owned() };
    Err(last.unwrap_or_else(nowhere))
}
