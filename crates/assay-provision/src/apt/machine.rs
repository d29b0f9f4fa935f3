//! The machine's own apt configuration: its Debian archives, proxies and keys.

use std::path::{Path, PathBuf};

use fs_err as fs;

use super::client;
use crate::catalog::{Archive, Catalog};
use crate::error::Error;

/// The parts of the machine's configuration that a private one builds upon.
#[derive(Debug)]
pub(crate) struct Machine {
    entries: Vec<Entry>,
    /// Settings for the way to the archives (proxies, certificates, sandbox), in apt's own syntax.
    pub(super) settings: Vec<String>,
    /// `auth.conf`, its directory, the trusted keys and their directory, by setting name.
    pub(super) paths: Vec<(&'static str, PathBuf)>,
}

/// One configured repository: a stanza of a `.sources` file or a line of a `.list` file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
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

/// Aliases that a configuration may use for a release.
const ALIASES: [&str; 5] = ["oldoldstable", "oldstable", "stable", "testing", "unstable"];

impl Machine {
    /// Reads the machine's configuration by asking apt where it is.
    pub(crate) fn read() -> Result<Self, Error> {
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

    /// The configured repository that carries the given archive of Debian, if there is one.
    ///
    /// Known by what it is: a suite of Debian's by name, component `main`, and where others use
    /// Debian's suite names too, the one with the updates suite beside it or with Debian's keys.
    /// That it *is* Debian's is checked by signature when its index is fetched.
    pub(super) fn archive(&self, catalog: &Catalog, archive: Archive) -> Option<&Entry> {
        let is_suite = |suite: &String| match archive {
            Archive::Security => suite.ends_with("-security"),
            Archive::Main => {
                ALIASES.contains(&suite.as_str())
                    || catalog.releases.iter().any(|release| release.name == *suite)
            }
        };
        let candidates = self.entries.iter().filter(|entry| {
            entry.components.iter().any(|component| component == "main")
                && entry.suites.iter().any(is_suite)
        });
        candidates.max_by_key(|entry| {
            let debian_keys =
                entry.signed_by.as_ref().is_some_and(|key| key.contains("debian-archive"));
            let has_updates = (self.entries.iter())
                .filter(|other| other.uris == entry.uris)
                .any(|other| other.suites.iter().any(|suite| suite.ends_with("-updates")));
            (debian_keys, has_updates)
        })
    }

    /// It is known by its properties: a suite with a name of Debian's, component `main`, and where others use Debian's
    /// suite names too, the updates suite next to it or Debian's keys. The signature check of its index proves that it
    /// *is* Debian's.
    pub(super) fn place() -> PathBuf {
        setting("Dir::Etc/d").unwrap_or_default()
    }
}

/// Lines of `apt-config dump` worth copying.
fn is_copied(line: &str) -> bool {
    COPIED.iter().any(|name| line.starts_with(name))
        && !NEVER_COPIED.iter().any(|name| line.contains(name))
        && !line.ends_with(" \"\";")
}

/// The value of a setting as apt computes it, such as a directory of its configuration.
fn setting(name: &str) -> Result<PathBuf, Error> {
    let answer = client::output("apt-config", &["shell", "VALUE", name])?;
    let value = answer.trim().strip_prefix("VALUE=").unwrap_or_default();
    Ok(PathBuf::from(value.trim_matches('\'')))
}

fn source_files(list: &Path, parts: &Path) -> Result<Vec<PathBuf>, Error> {
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

/// The binary repositories of a deb822 file, disabled stanzas left out.
fn deb822_entries(text: &str) -> Vec<Entry> {
    let without_comments: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let stanzas = without_comments.split(|line| line.trim().is_empty());
    stanzas.filter_map(deb822_entry).collect()
}

fn deb822_entry(stanza: &[&str]) -> Option<Entry> {
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
    let enabled = field("Enabled").is_none_or(|value| value != "no");
    let binary = words(&field("Types")?).iter().any(|kind| kind == "deb");
    (enabled && binary).then_some(Entry {
        uris: words(&field("URIs")?),
        suites: words(&field("Suites")?),
        components: words(&field("Components").unwrap_or_default()),
        signed_by: field("Signed-By"),
    })
}

/// A line `deb [option=value ...] uri suite component...`.
fn one_line_entry(line: &str) -> Option<Entry> {
    let line = line.split('#').next().unwrap_or_default();
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = words(options)
        .iter()
        .find_map(|option| option.strip_prefix("signed-by=").map(|keys| keys.replace(',', " ")));
    let mut fields = words(rest).into_iter();
    let (uri, suite) = (fields.next()?, fields.next()?);
    Some(Entry { uris: vec![uri], suites: vec![suite], components: fields.collect(), signed_by })
}

/// How many repositories a text names, read as either kind of file. For the fuzzer.
pub(crate) fn count_entries(text: &str) -> usize {
    deb822_entries(text).len() + text.lines().filter_map(one_line_entry).count()
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

    fn machine(entries: Vec<Entry>) -> Machine {
        Machine { entries, settings: Vec::new(), paths: Vec::new() }
    }

    #[test]
    fn debian_is_recognised_in_deb822_sources() {
        let machine = machine(deb822_entries(SOURCES));
        let catalog = Catalog::built_in().unwrap();
        let main = machine.archive(&catalog, Archive::Main).unwrap();
        assert_eq!(main.uris, ["http://mirror.example/debian/"]);
        let key = "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc";
        assert_eq!(main.signed_by.as_deref(), Some(key));
        assert_eq!(machine.archive(&catalog, Archive::Security), None);
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
        let main = machine.archive(&catalog, Archive::Main).unwrap();
        assert_eq!(main.signed_by.as_deref(), Some("/a.gpg /b.gpg"));
        let security = machine.archive(&catalog, Archive::Security).unwrap();
        assert_eq!(security.uris, ["http://security.example/debian-security"]);
        assert_eq!(security.signed_by, None);
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
}
