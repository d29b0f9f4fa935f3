//! Configured repositories of a machine, from the files and variables of dnf.

use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Deserialize;

use crate::catalog::Release;
use crate::error::Error;

pub(super) const WORD: &str = "dnf";

pub(super) const ARCHITECTURE: &str = std::env::consts::ARCH;

/// Longest configuration file, bytes.
const FILE: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    repos: Vec<PathBuf>,
    /// Directories of variables, one file each.
    #[serde(default)]
    vars: Vec<PathBuf>,
    /// File with the release of the machine.
    os_release: Option<PathBuf>,
    /// Files whose section `[main]` has defaults for repositories.
    #[serde(default)]
    main: Vec<PathBuf>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) id: String,
    pub(super) places: Vec<String>,
    pub(super) mirrors: Option<String>,
    pub(super) keys: Vec<String>,
    pub(super) signs_index: bool,
    pub(super) signs_packages: bool,
    pub(super) unfit: Option<&'static str>,
}

pub(super) fn repositories(release: &Release) -> Result<Vec<Repository>, Error> {
    let row: Row = release.parts.clone().try_into().map_err(|error: toml::de::Error| {
        Error::Catalog(format!("release `{}`: {}", release.name, error.message()))
    })?;
    let variables = variables(&row)?;
    let mut main = Vec::new();
    for file in row.main.iter().filter(|it| it.is_file()) {
        main.extend(main_fields(&text(file)?));
    }
    let mut all = Vec::new();
    for directory in &row.repos {
        for file in files(directory, Some("repo"))? {
            all.extend(parse(&text(&file)?, &main, &variables));
        }
    }
    Ok(all)
}

impl Repository {
    pub(super) fn key_files(&self) -> Vec<PathBuf> {
        let files = self.keys.iter().filter_map(|it| it.strip_prefix("file://"));
        files.map(PathBuf::from).filter(|it| it.is_absolute()).collect()
    }
}

/// In order; empty if the directory does not exist.
fn files(directory: &Path, extension: Option<&str>) -> Result<Vec<PathBuf>, Error> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut files = entries.collect::<Result<Vec<_>, std::io::Error>>()?;
    let fits = |path: &PathBuf| path.extension().and_then(|it| it.to_str()) == extension;
    files.retain(|path| path.is_file() && (extension.is_none() || fits(path)));
    files.sort();
    Ok(files)
}

fn text(file: &Path) -> Result<String, Error> {
    if fs::metadata(file)?.len() > FILE {
        return Err(Error::malformed(format!("file `{}`", file.display()), "it is too long"));
    }
    Ok(String::from_utf8_lossy(&fs::read(file)?).into_owned())
}

fn variables(row: &Row) -> Result<Vec<(String, String)>, Error> {
    let mut all: Vec<(String, String)> = Vec::new();
    for file in row.vars.iter().map(|it| files(it, None)).collect::<Result<Vec<_>, _>>()?.concat() {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let value = text(&file)?.lines().next().unwrap_or_default().trim().to_owned();
        all.push((name, value));
    }
    if let Some(file) = row.os_release.as_ref().filter(|it| it.is_file())
        && let Some(version) = release_version(&text(file)?)
    {
        let (major, minor) = version.split_once('.').unwrap_or((version.as_str(), ""));
        let parts = [("releasever_major", major), ("releasever_minor", minor)];
        all.extend(parts.map(|(name, value)| (name.to_owned(), value.to_owned())));
        all.push(("releasever".to_owned(), version));
    }
    all.extend(["basearch", "arch"].map(|name| (name.to_owned(), ARCHITECTURE.to_owned())));
    Ok(all)
}

/// The version in a file `os-release`: `9` of Red Hat's 9.4, `42` of Fedora's.
fn release_version(text: &str) -> Option<String> {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
        Some(value.trim().trim_matches(['"', '\'']).to_owned())
    };
    let platform = value("PLATFORM_ID").and_then(|it| {
        let (_, name) = it.split_once(':')?;
        Some(name.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned())
    });
    platform.filter(|it| !it.is_empty()).or_else(|| value("VERSION_ID"))
}

type Fields = Vec<(String, String)>;

/// Settings that repositories inherit from the section `[main]`.
const OF_MAIN: [&str; 3] = ["gpgcheck", "pkg_gpgcheck", "repo_gpgcheck"];

fn main_fields(text: &str) -> Fields {
    let main = sections(text).into_iter().filter(|(id, _)| id == "main");
    let mut fields: Fields = main.flat_map(|(_, fields)| fields).collect();
    fields.retain(|(key, _)| OF_MAIN.contains(&key.as_str()));
    fields
}

/// The enabled repositories of a `.repo` file. `main` has the fields that they inherit.
pub(super) fn parse(
    text: &str,
    main: &[(String, String)],
    variables: &[(String, String)],
) -> Vec<Repository> {
    let repositories = sections(text).into_iter().map(|(id, fields)| {
        let fields = [main, &fields].concat();
        repository(filled(&id, variables), &fields, variables)
    });
    repositories.flatten().collect()
}

fn sections(text: &str) -> Vec<(String, Fields)> {
    let mut sections: Vec<(String, Fields)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
        let is_continued = line.starts_with([' ', '\t']);
        let line = line.trim();
        if let Some(id) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            sections.push((id.to_owned(), Vec::new()));
        } else if let Some((_, fields)) = sections.last_mut() {
            match (is_continued, fields.last_mut(), line.split_once('=')) {
                (true, Some((_, value)), _) => *value = format!("{value} {line}"),
                (_, _, Some((key, value))) => {
                    fields.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
                }
                _ => {}
            }
        }
    }
    sections
}

fn repository(
    id: String,
    fields: &[(String, String)],
    variables: &[(String, String)],
) -> Option<Repository> {
    let field = |name: &str| {
        let value = fields.iter().rev().find(|(key, _)| key == name)?;
        Some(filled(&value.1, variables)).filter(|it| !it.is_empty())
    };
    // The words that dnf recognizes.
    let is_on = |name: &str, otherwise: bool| match field(name).map(|it| it.to_ascii_lowercase()) {
        Some(word) => matches!(word.as_str(), "1" | "yes" | "true" | "on"),
        None => otherwise,
    };
    let words = |name: &str| -> Vec<String> {
        let text = field(name).unwrap_or_default();
        let words = text.split([' ', ',', '\t']).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    if id == "main" || !is_on("enabled", true) {
        return None;
    }
    let signs_packages = is_on("gpgcheck", false) || is_on("pkg_gpgcheck", false);
    let mut places = words("baseurl");
    places.retain(|it| it.starts_with("https://") || it.starts_with("http://"));
    let mut found = Repository {
        id,
        places,
        mirrors: field("metalink").or_else(|| field("mirrorlist")),
        keys: words("gpgkey"),
        signs_index: is_on("repo_gpgcheck", false),
        signs_packages,
        unfit: None,
    };
    found.unfit = if !found.signs_index && !found.signs_packages {
        Some("neither its index nor its packages are verified (`gpgcheck=0`)")
    } else if found.signs_index && found.key_files().is_empty() {
        Some("the key of its index is no file of this machine (`gpgkey`)")
    } else if field("sslclientcert").is_some() {
        Some("it asks for a client's certificate, which assay does not send")
    } else if found.places.is_empty() && found.mirrors.is_none() {
        Some("it has no address for HTTP")
    } else {
        None
    };
    Some(found)
}

/// Expands `$name`, `${name}`, `${name:-word}` and `${name:+word}`: the word is used if the variable has no value, or
/// if it has one. Names without a value stay.
fn filled(text: &str, variables: &[(String, String)]) -> String {
    let value = |name: &str| {
        let found = variables.iter().rev().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut all, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        all.push_str(before);
        let (name, default, left) = match after.strip_prefix('{').and_then(|it| it.split_once('}'))
        {
            Some((inner, left)) => {
                let (name, word) = inner.split_once(':').unwrap_or((inner, ""));
                (name, word, left)
            }
            None => {
                let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
                let (name, left) = after.split_at(end);
                (name, "", left)
            }
        };
        let known = value(name);
        match (known.filter(|it| !it.is_empty()), default.split_at_checked(1)) {
            (None, Some(("-", word))) | (Some(_), Some(("+", word))) => all.push_str(word),
            (None, Some(("+", _))) => {}
            (found, _) => match found.or(known) {
                Some(value) => all.push_str(value),
                None => {
                    let name = rest.get(before.len()..rest.len() - left.len());
                    all.push_str(name.unwrap_or_default());
                }
            },
        }
        if all.len() as u64 > FILE {
            return String::new();
        }
        rest = left;
    }
    all.push_str(rest);
    all
}

/// Number of repositories in a text. For the fuzzer.
pub(crate) fn count(text: &str) -> usize {
    let variables = [("releasever".to_owned(), release_version(text).unwrap_or_default())];
    parse(text, &main_fields(text), &variables).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Rocky Linux 9 and Fedora 42.
    const REPOS: &str = "\
[baseos]
name=Rocky Linux $releasever - BaseOS
mirrorlist=https://mirrors.example/mirrorlist?arch=$basearch&repo=BaseOS-$releasever$rltype
#baseurl=http://dl.example/$contentdir/$releasever/BaseOS/$basearch/os/
gpgcheck=1
enabled=1
gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-9

[baseos-source]
baseurl=http://dl.example/source/
gpgcheck=1
enabled=0

[fedora]
metalink=https://mirrors.example/metalink?repo=fedora-${releasever}&arch=$basearch
enabled=1
repo_gpgcheck=0
type=rpm
gpgcheck = True
gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-fedora-$releasever-$basearch
skip_if_unavailable=False
[two]
baseurl=http://a.example/,ftp://b.example/
  https://c.example/
repo_gpgcheck=yes
[open]
baseurl=http://d.example/
gpgcheck=0
[subscribed]
baseurl=https://cdn.example/
gpgcheck=1
sslclientcert=/etc/pki/entitlement/1.pem
";

    #[test]
    fn repositories_are_read_with_their_variables() {
        let variables = [("releasever", "9"), ("rltype", ""), ("basearch", "x86_64")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = parse(REPOS, &[], &variables);
        let ids: Vec<_> = found.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["baseos", "fedora", "two", "open", "subscribed"]);
        let mirrors: Vec<_> = found.iter().flat_map(|it| &it.mirrors).collect();
        assert_eq!(
            mirrors,
            [
                "https://mirrors.example/mirrorlist?arch=x86_64&repo=BaseOS-9",
                "https://mirrors.example/metalink?repo=fedora-9&arch=x86_64"
            ]
        );
        assert_eq!(found[1].keys, ["file:///etc/pki/rpm-gpg/RPM-GPG-KEY-fedora-9-x86_64"]);
        assert!(found[1].signs_packages && !found[1].signs_index);
        assert_eq!(found[2].places, ["http://a.example/", "https://c.example/"]);
        assert!(found[2].signs_index && !found[2].signs_packages);
        let unfit: Vec<_> = found.iter().map(|it| it.unfit.is_some()).collect();
        // The index of the third one is signed, but its key is nowhere.
        assert_eq!(unfit, [false, false, true, true, true]);
        let main = main_fields("[main]\ngpgcheck=1\nkeepcache=0\n[other]\nrepo_gpgcheck=1\n");
        assert_eq!(main, [("gpgcheck".to_owned(), "1".to_owned())]);
        let open = "[a]\nbaseurl=http://a.example/\n[b]\nbaseurl=http://b.example/\ngpgcheck=0\n";
        let found = parse(open, &main, &variables);
        let signs: Vec<_> = found.iter().map(|it| it.signs_packages).collect();
        assert_eq!(signs, [true, false]);
    }

    /// From EPEL 10.
    #[test]
    fn variables_may_have_words_for_what_they_lack() {
        let variables = [("releasever", "10.1"), ("releasever_major", "10"), ("none", "")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (text, expected) in [
            ("epel-${releasever_major}${releasever_minor:+-z}", "epel-10"),
            ("epel-$releasever_major/$releasever", "epel-10/10.1"),
            ("${releasever_major:+-z}${none:-other}${gone:-x}$none", "-zotherx"),
            ("$gone ${gone} $ ${ $1", "$gone ${gone} $ ${ $1"),
        ] {
            assert_eq!(filled(text, &variables), expected);
        }
    }

    #[test]
    fn the_release_is_that_of_the_platform() {
        let rhel =
            "NAME=\"Red Hat Enterprise Linux\"\nVERSION_ID=\"9.4\"\nPLATFORM_ID=\"platform:el9\"\n";
        assert_eq!(release_version(rhel).as_deref(), Some("9"));
        assert_eq!(
            release_version("VERSION_ID=42\nPLATFORM_ID=\"platform:f42\"").as_deref(),
            Some("42")
        );
        assert_eq!(release_version("VERSION_ID='2023'\n").as_deref(), Some("2023"));
        assert_eq!(release_version("ID=arch\n"), None);
    }

    #[test]
    fn any_text_is_read() {
        for text in
            ["", "=", "[", "]", "[]", "[a]\n b=c\n=\n", " x\n[a]\n x\n", "[main]\ngpgcheck=1"]
        {
            assert!(count(text) < 2, "{text}");
        }
    }
}
