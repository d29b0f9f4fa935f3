//! The machine's apt configuration (its archives of Debian and Ubuntu, proxies and keys), and the suites of a release.

use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Deserialize;

use crate::catalog::{Catalog, Release};
use crate::error::{ProvisionError, Result};
use crate::sources::apt::client;

pub(crate) const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };

/// The parts of the machine's configuration that a private one builds upon.
#[derive(Debug)]
pub(super) struct AptMachine {
    entries: Vec<AptEntry>,
    /// Settings for access to the archives (proxies, certificates, sandbox), in apt's syntax.
    pub(super) settings: Vec<String>,
    /// `auth.conf`, its directory, the trusted keys and their directory, by setting name.
    pub(super) paths: Vec<(&'static str, PathBuf)>,
}

/// A configured repository: a stanza of a `.sources` file or a line of a `.list` file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AptEntry {
    pub(super) uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    /// Empty for all that apt is configured for.
    architectures: Vec<String>,
    /// A path, a fingerprint or, over several lines, the key itself; `None` means any trusted key.
    pub(super) signed_by: Option<String>,
}

/// Settings that are copied. None of them runs a command or weakens verification.
const COPIED: [&str; 6] = [
    "Acquire::http::",
    "Acquire::https::",
    "Acquire::ForceIPv4 ",
    "Acquire::ForceIPv6 ",
    "APT::Sandbox::User ",
    "APT::Sandbox::Seccomp",
];

const NEVER_COPIED: [&str; 3] = ["Verify-Peer", "Verify-Host", "AllowRedirect"];

const PATHS: [&str; 4] =
    ["Dir::Etc::netrc", "Dir::Etc::netrcparts", "Dir::Etc::trusted", "Dir::Etc::trustedparts"];

const ALIASES: [&str; 5] = ["oldoldstable", "oldstable", "stable", "testing", "unstable"];

impl AptMachine {
    pub(super) fn read() -> Result<Self> {
        let list = setting("Dir::Etc::sourcelist/f")?;
        let parts = setting("Dir::Etc::sourceparts/d")?;
        let mut entries = Vec::new();
        for file in source_files(&list, &parts)? {
            let text = fs::read_to_string(&file)?;
            if file.extension().is_some_and(|extension| extension == "sources") {
                entries.extend(deb822_entries(&text));
            } else {
                entries.extend(text.lines().filter_map(one_line_entry));
            }
        }
        let dump = client::output("apt-config", &["dump"])?;
        let settings = dump.lines().filter(|line| is_copied(line)).map(str::to_owned).collect();
        let mut paths = Vec::new();
        for name in PATHS {
            let kind = if name.ends_with("parts") { "d" } else { "f" };
            paths.push((name, setting(&format!("{name}/{kind}"))?));
        }
        Ok(Self { entries, settings, paths })
    }

    pub(super) fn distributions(&self, catalog: &Catalog) -> Vec<AptDistribution> {
        let mut all = AptDistribution::ALL.to_vec();
        all.retain(|&it| self.archive(catalog, it, AptArchive::Main).is_some());
        all
    }

    /// The configured repository that carries an archive of a distribution. It is recognized by its properties: vendors
    /// use the distributions' suite names too, so keys and other suites at the same place decide. The signature and the
    /// origin of its index prove that it *is* the distribution's.
    pub(super) fn archive(
        &self,
        catalog: &Catalog,
        distribution: AptDistribution,
        archive: AptArchive,
    ) -> Option<&AptEntry> {
        let known = |distribution, name: &str| {
            is_known(catalog, distribution, name)
                || (distribution == AptDistribution::Debian && ALIASES.contains(&name))
        };
        let is_suite = |entry: &AptEntry, suite: &String| {
            let security = suite.strip_suffix("-security");
            match (archive, distribution) {
                (AptArchive::Main, AptDistribution::Debian) => known(distribution, suite),
                // Its archive has all supported releases, whichever this machine has.
                (AptArchive::Main, AptDistribution::Ubuntu) => {
                    (security.is_none() && entry.is_like_ubuntu())
                        || (known(distribution, suite) && self.has_updates(entry))
                }
                (AptArchive::Security, AptDistribution::Debian) => {
                    security.is_some_and(|release| !known(AptDistribution::Ubuntu, release))
                }
                (AptArchive::Security, AptDistribution::Ubuntu) => security
                    .is_some_and(|release| known(distribution, release) || entry.is_like_ubuntu()),
            }
        };
        let candidates = self.entries.iter().filter(|entry| {
            entry.is_for_this_machine()
                && entry.has_component("main")
                && (distribution == AptDistribution::Ubuntu || !entry.is_like_ubuntu())
                && entry.suites.iter().any(|suite| is_suite(entry, suite))
        });
        candidates.max_by_key(|entry| (entry.has_keys_of(distribution), self.has_updates(entry)))
    }

    fn has_updates(&self, entry: &AptEntry) -> bool {
        (self.entries.iter())
            .filter(|other| other.uris == entry.uris)
            .any(|other| other.suites.iter().any(|suite| suite.ends_with("-updates")))
    }

    pub(super) fn place() -> PathBuf {
        setting("Dir::Etc/d").unwrap_or_default()
    }
}

impl AptEntry {
    fn has_component(&self, name: &str) -> bool {
        self.components.iter().any(|component| component == name)
    }

    fn has_keys_of(&self, distribution: AptDistribution) -> bool {
        let file = match distribution {
            AptDistribution::Debian => "debian-archive",
            AptDistribution::Ubuntu => "ubuntu-archive",
        };
        self.signed_by.as_ref().is_some_and(|key| key.contains(file))
    }

    /// Returns whether it has components that only Ubuntu's archive has.
    fn is_like_ubuntu(&self) -> bool {
        self.has_component("universe") || self.has_keys_of(AptDistribution::Ubuntu)
    }

    /// Returns whether it has packages for this machine's architecture. Ubuntu's ports are a separate archive.
    fn is_for_this_machine(&self) -> bool {
        let is_listed = self.architectures.iter().any(|it| it == ARCHITECTURE);
        let is_port = |uri: &String| uri.trim_end_matches('/').ends_with("/ubuntu-ports");
        (is_listed || self.architectures.is_empty())
            && !(ARCHITECTURE == "amd64" && self.uris.iter().any(is_port))
    }
}

fn is_copied(line: &str) -> bool {
    COPIED.iter().any(|name| line.starts_with(name))
        && !NEVER_COPIED.iter().any(|name| line.contains(name))
        && !line.ends_with(" \"\";")
}

/// The value of a setting as apt computes it, such as a directory of its configuration.
fn setting(name: &str) -> Result<PathBuf> {
    let answer = client::output("apt-config", &["shell", "VALUE", name])?;
    let value = answer.trim().strip_prefix("VALUE=").unwrap_or_default();
    Ok(PathBuf::from(value.trim_matches('\'')))
}

fn source_files(list: &Path, parts: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if parts.is_dir() {
        for entry in fs::read_dir(parts)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "list" || end == "sources") {
                files.push(path);
            }
        }
    }
    files.sort();
    if list.is_file() {
        files.insert(0, list.to_owned());
    }
    Ok(files)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn deb822_entries(text: &str) -> Vec<AptEntry> {
    let without_comments: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let stanzas = without_comments.split(|line| line.trim().is_empty());
    stanzas.filter_map(deb822_entry).collect()
}

fn deb822_entry(stanza: &[&str]) -> Option<AptEntry> {
    let field = |name: &str| {
        let is_field = |line: &&str| {
            line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name))
        };
        let start = stanza.iter().position(is_field)?;
        let (_, first) = stanza.get(start)?.split_once(':')?;
        let rest = stanza.iter().skip(start + 1);
        let continued = rest.take_while(|line| line.starts_with([' ', '\t']));
        let lines = [first.trim()].into_iter().chain(continued.copied());
        Some(lines.collect::<Vec<_>>().join("\n"))
    };
    // The words that apt recognizes.
    let off = ["no", "false", "without", "off", "disable", "0"];
    let enabled =
        field("Enabled").is_none_or(|value| !off.contains(&value.to_lowercase().as_str()));
    let binary = words(&field("Types")?).iter().any(|kind| kind == "deb");
    (enabled && binary).then_some(AptEntry {
        uris: words(&field("URIs")?),
        suites: words(&field("Suites")?),
        components: words(&field("Components").unwrap_or_default()),
        architectures: words(&field("Architectures").unwrap_or_default()),
        signed_by: field("Signed-By"),
    })
}

/// A line `deb [option=value ...] uri suite component...`.
fn one_line_entry(line: &str) -> Option<AptEntry> {
    let line = line.split('#').next().unwrap_or_default();
    let (kind, rest) = line.trim().split_once([' ', '\t'])?;
    if kind != "deb" {
        return None;
    }
    let rest = rest.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => ("", rest),
    };
    let option = |name: &str| {
        let all = words(options);
        all.iter().find_map(|option| Some(option.strip_prefix(name)?.replace(',', " ")))
    };
    let signed_by = option("signed-by=");
    let architectures = words(&option("arch=").unwrap_or_default());
    let mut fields = words(rest).into_iter();
    let (uri, suite) = (fields.next()?, fields.next()?);
    let (uris, suites, components) = (vec![uri], vec![suite], fields.collect());
    Some(AptEntry { uris, suites, components, architectures, signed_by })
}

/// Number of repositories in a text, parsed as either kind of file. For the fuzzer.
pub(crate) fn count_entries(text: &str) -> usize {
    deb822_entries(text).len() + text.lines().filter_map(one_line_entry).count()
}

pub(crate) const WORD: &str = "apt";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suites {
    #[serde(default)]
    pub(super) distribution: AptDistribution,
    pub(super) suites: Vec<AptSuite>,
}

impl Suites {
    pub(super) fn read(release: &Release) -> Result<Self> {
        let parts = release.parts.clone().try_into();
        parts.map_err(|error: toml::de::Error| {
            ProvisionError::Catalog(format!("release `{}`: {}", release.name, error.message()))
        })
    }
}

/// `None` for a release of another source.
pub(super) fn distribution_of(release: &Release) -> Option<AptDistribution> {
    (release.source == WORD).then(|| Suites::read(release).ok())?.map(|it| it.distribution)
}

pub(super) fn is_known(catalog: &Catalog, distribution: AptDistribution, name: &str) -> bool {
    let mut of_name = catalog.releases.iter().filter(|it| it.name == name);
    of_name.any(|it| distribution_of(it) == Some(distribution))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AptSuite {
    pub(super) name: String,
    pub(super) archive: AptArchive,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AptDistribution {
    #[default]
    Debian,
    Ubuntu,
}

impl AptDistribution {
    pub(super) const ALL: [Self; 2] = [Self::Debian, Self::Ubuntu];

    /// The name as signed in each index: the field `Origin`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Debian => "Debian",
            Self::Ubuntu => "Ubuntu",
        }
    }

    pub(super) fn components(self) -> &'static str {
        match self {
            Self::Debian => "main",
            Self::Ubuntu => "main universe",
        }
    }
}

/// An archive of a distribution; a machine has each of them at a separate root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AptArchive {
    Main,
    Security,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str = "\
# other people use Debian's suite names too
Types: deb
URIs: http://vendor.example/debian
Suites: bookworm
Components: main
Signed-By: /keys/vendor.gpg

Types: deb deb-src
# a comment in a stanza
URIs: http://mirror.example/debian/
Suites: bookworm
  bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Enabled: no
Types: deb
URIs: http://disabled.example/
Suites: bookworm-security
Components: main
";

    fn machine(entries: Vec<AptEntry>) -> AptMachine {
        AptMachine { entries, settings: Vec::new(), paths: Vec::new() }
    }

    #[test]
    fn debian_is_recognised_in_deb822_sources() {
        let machine = machine(deb822_entries(SOURCES));
        let catalog = Catalog::built_in().unwrap();
        let main = machine.archive(&catalog, AptDistribution::Debian, AptArchive::Main).unwrap();
        assert_eq!(main.uris, ["http://mirror.example/debian/"]);
        let key = "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc";
        assert_eq!(main.signed_by.as_deref(), Some(key));
        assert_eq!(machine.archive(&catalog, AptDistribution::Debian, AptArchive::Security), None);
    }

    #[test]
    fn one_line_sources_are_read_with_their_options() {
        let text = "
            deb-src http://mirror.example/debian stable main
            deb [arch=amd64 signed-by=/a.gpg,/b.gpg] http://mirror.example/debian stable main # x
            deb http://security.example/debian-security stable-security main contrib
            # deb http://off.example/ stable main";
        let machine = machine(text.lines().filter_map(one_line_entry).collect());
        let catalog = Catalog::built_in().unwrap();
        let main = machine.archive(&catalog, AptDistribution::Debian, AptArchive::Main).unwrap();
        assert_eq!(main.signed_by.as_deref(), Some("/a.gpg /b.gpg"));
        let security =
            machine.archive(&catalog, AptDistribution::Debian, AptArchive::Security).unwrap();
        assert_eq!(security.uris, ["http://security.example/debian-security"]);
        assert_eq!(security.signed_by, None);
    }

    /// From Ubuntu 24.04.
    const NOBLE: &str = "\
Types: deb
URIs: http://archive.example/ubuntu/
Suites: noble noble-updates noble-backports
Components: main universe restricted multiverse
Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg

Types: deb
URIs: http://security.example/ubuntu/
Suites: noble-security
Components: main universe restricted multiverse
Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg
";

    /// From Ubuntu 22.04.
    const JAMMY: &str = "
# See http://help.ubuntu.com/community/UpgradeNotes
deb http://archive.example/ubuntu/ jammy main restricted
# deb-src http://archive.example/ubuntu/ jammy main restricted
deb http://archive.example/ubuntu/ jammy-updates main restricted
deb\thttp://archive.example/ubuntu/ jammy universe
deb http://archive.example/ubuntu/ jammy-updates universe
deb http://security.example/ubuntu/ jammy-security main restricted
deb http://security.example/ubuntu/ jammy-security universe
";

    /// Vendors use the names of Ubuntu's suites.
    const VENDORS: &str = "
deb [arch=amd64,arm64 signed-by=/etc/apt/keyrings/mariadb.gpg] http://mariadb.example/repo/10.11/ubuntu jammy main
deb [signed-by=/etc/apt/keyrings/ppa.gpg] http://ppa.example/someone/ppa/ubuntu noble main
deb http://postgres.example/pub/repos/apt noble-pgdg main
";

    fn places(machine: &AptMachine, distribution: AptDistribution) -> [Option<&str>; 2] {
        let catalog = Catalog::built_in().unwrap();
        [AptArchive::Main, AptArchive::Security].map(|archive| {
            let uri = machine.archive(&catalog, distribution, archive)?.uris[0].as_str();
            Some(uri)
        })
    }

    fn one_line(text: &str) -> Vec<AptEntry> {
        text.lines().filter_map(one_line_entry).collect()
    }

    #[test]
    fn ubuntu_is_recognised_beside_vendors_that_use_its_names() {
        let both =
            [Some("http://archive.example/ubuntu/"), Some("http://security.example/ubuntu/")];
        let catalog = Catalog::built_in().unwrap();
        for entries in [deb822_entries(NOBLE), one_line(JAMMY)] {
            for of_vendors in [Vec::new(), one_line(VENDORS)] {
                let machine = machine([of_vendors, entries.clone()].concat());
                assert_eq!(places(&machine, AptDistribution::Ubuntu), both);
                assert_eq!(places(&machine, AptDistribution::Debian), [None, None]);
                assert_eq!(machine.distributions(&catalog), [AptDistribution::Ubuntu]);
            }
        }
        let machine = machine(one_line(VENDORS));
        assert_eq!(machine.distributions(&catalog), []);
    }

    #[test]
    fn another_release_of_ubuntu_has_the_archive_of_all() {
        let machine = machine(deb822_entries(&NOBLE.replace("noble", "resolute")));
        let both =
            [Some("http://archive.example/ubuntu/"), Some("http://security.example/ubuntu/")];
        assert_eq!(places(&machine, AptDistribution::Ubuntu), both);
    }

    #[test]
    fn a_machine_may_have_the_archives_of_both_distributions() {
        let debian = one_line(
            "deb http://mirror.example/debian stable main\n\
             deb http://mirror.example/debian-security stable-security main",
        );
        let machine = machine([deb822_entries(NOBLE), debian].concat());
        let debian =
            [Some("http://mirror.example/debian"), Some("http://mirror.example/debian-security")];
        assert_eq!(places(&machine, AptDistribution::Debian), debian);
        let ubuntu =
            [Some("http://archive.example/ubuntu/"), Some("http://security.example/ubuntu/")];
        assert_eq!(places(&machine, AptDistribution::Ubuntu), ubuntu);
    }

    #[test]
    fn archives_of_other_architectures_are_left_out() {
        let (own, other) =
            if ARCHITECTURE == "amd64" { ("amd64", "arm64") } else { ("arm64", "amd64") };
        let entries = |architecture: &str, at: &str| {
            deb822_entries(
                &NOBLE.replace("Suites:", &format!("Architectures: {architecture}\nSuites:")),
            )
            .into_iter()
            .map(|it| AptEntry { uris: vec![at.to_owned()], ..it })
            .collect::<Vec<_>>()
        };
        let machine = machine(
            [entries(other, "http://a.example/"), entries(own, "http://b.example/")].concat(),
        );
        assert_eq!(places(&machine, AptDistribution::Ubuntu), [Some("http://b.example/"); 2]);
        let line = format!("deb [arch={other}] http://mirror.example/debian stable main");
        let machine = self::machine(one_line(&line));
        assert_eq!(places(&machine, AptDistribution::Debian), [None, None]);
    }

    /// The ports archive has no packages for x86-64, even if its entry lists no architectures.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_ports_of_ubuntu_are_for_other_architectures() {
        let ports = NOBLE.replace("archive.example/ubuntu/", "ports.example/ubuntu-ports/");
        let machine = machine(deb822_entries(&ports));
        assert_eq!(places(&machine, AptDistribution::Ubuntu)[0], None);
    }

    #[test]
    fn proxies_are_copied_but_not_hooks_or_weakened_checks() {
        assert!(is_copied("Acquire::http::Proxy \"http://proxy.example:3128\";"));
        assert!(is_copied("APT::Sandbox::User \"root\";"));
        assert!(!is_copied("APT::Update::Post-Invoke:: \"rm -rf /\";"));
        assert!(!is_copied("Acquire::Check-Valid-Until \"false\";"));
        assert!(!is_copied("Acquire::https::Verify-Peer \"false\";"));
        assert!(!is_copied("Acquire::http::Proxy-Auto-Detect \"\";"));
    }

    #[test]
    fn every_release_of_the_catalog_has_suites() {
        let catalog = Catalog::built_in().unwrap();
        let mut of_apt = catalog.releases.iter().filter(|it| it.source == WORD);
        assert!(of_apt.all(|release| !Suites::read(release).unwrap().suites.is_empty()));
    }
}
