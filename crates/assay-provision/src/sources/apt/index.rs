//! Package indexes of a release's suites, and the libraries that a server needs in addition to its packages.
//!
//! A full dependency closure would include perl, debconf and init scripts, which no server process opens.

use std::collections::{BTreeMap, HashMap};

use crate::error::{ProvisionError, Result};
use crate::sources::kind::{self, PackageRecord};
use crate::version;

#[derive(Debug, Default)]
pub(crate) struct AptIndex {
    records: Vec<IndexedPackage>,
    by_name: HashMap<String, Vec<usize>>,
    providers: HashMap<String, Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexedPackage {
    pub(super) record: PackageRecord,
    /// `Pre-Depends` and `Depends`: all of these, each by one of its alternatives.
    pub(super) depends: Vec<Vec<Dependency>>,
}

/// `name (= version)`. Other relations always hold within one release, and are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) exact: Option<String>,
}

impl AptIndex {
    pub(crate) fn add(&mut self, suite: &str, text: &str) -> Result<()> {
        for stanza in text.split("\n\n").filter(|stanza| !stanza.trim().is_empty()) {
            let number = self.records.len();
            let (listed, provides) = parse(suite, stanza)?;
            self.by_name.entry(listed.record.name.clone()).or_default().push(number);
            for name in provides {
                self.providers.entry(name).or_default().push(number);
            }
            self.records.push(listed);
        }
        Ok(())
    }

    fn listed(&self, name: &str) -> impl Iterator<Item = &IndexedPackage> {
        let numbers = self.by_name.get(name).into_iter().flatten();
        numbers.map(|&number| &self.records[number])
    }

    /// The newest version of a package; `exact` if it exists.
    fn best(&self, name: &str, exact: Option<&str>) -> Option<&IndexedPackage> {
        let is_exact = |it: &&IndexedPackage| Some(it.record.version.as_str()) == exact;
        let wanted = self.listed(name).find(is_exact);
        wanted.or_else(|| newest(self.listed(name)))
    }

    fn provider(&self, name: &str) -> Option<&IndexedPackage> {
        let numbers = self.providers.get(name)?.iter();
        newest(numbers.map(|&number| &self.records[number]))
    }
}

impl kind::PackageIndex for AptIndex {
    fn versions(&self, package: &str) -> Vec<&PackageRecord> {
        self.listed(package).map(|it| &it.record).collect()
    }

    fn closure(
        &self,
        roots: &[String],
        version: Option<&str>,
        release: &str,
    ) -> Result<Vec<&PackageRecord>> {
        let missing =
            |name: &str| ProvisionError::MissingPackage(name.to_owned(), release.to_owned());
        let mut found = BTreeMap::new();
        let mut open = Vec::new();
        for root in roots {
            let record = match version {
                Some(version) => self.listed(root).find(|it| it.record.version == version),
                None => self.best(root, None),
            };
            open.push(record.ok_or_else(|| missing(root))?);
        }
        while let Some(listed) = open.pop() {
            let record = &listed.record;
            if found.insert(record.name.as_str(), record).is_some() {
                continue;
            }
            for alternatives in &listed.depends {
                let existing = alternatives.iter().find_map(|wanted| {
                    let by_name = self.best(&wanted.name, wanted.exact.as_deref());
                    by_name.or_else(|| self.provider(&wanted.name))
                });
                match existing {
                    Some(needed) if !is_library(&needed.record.name) => {}
                    Some(needed) => {
                        if !found.contains_key(needed.record.name.as_str()) {
                            open.push(needed);
                        }
                    }
                    None => {
                        if let Some(wanted) =
                            alternatives.iter().find(|wanted| is_library(&wanted.name))
                        {
                            return Err(missing(&wanted.name));
                        }
                    }
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

fn newest<'a>(records: impl Iterator<Item = &'a IndexedPackage>) -> Option<&'a IndexedPackage> {
    records.max_by(|a, b| version::compare(&a.record.version, &b.record.version))
}

fn parse(suite: &str, stanza: &str) -> Result<(IndexedPackage, Vec<String>)> {
    let (mut name, mut version, mut sha256) = ("", "", "");
    let (mut size, mut installed_kb) = (0, 0);
    let (mut depends, mut provides) = (Vec::new(), Vec::new());
    for (key, value) in stanza.lines().filter_map(|line| line.split_once(": ")) {
        match key {
            "Package" => name = value,
            "Version" => version = value,
            "SHA256" => sha256 = value.trim(),
            "Size" => size = value.trim().parse().unwrap_or(0),
            "Installed-Size" => installed_kb = value.trim().parse::<u32>().unwrap_or(0).into(),
            "Depends" | "Pre-Depends" => depends.extend(value.split(',').map(alternatives)),
            "Provides" => {
                provides.extend(value.split(',').filter_map(dependency).map(|it| it.name));
            }
            _ => {}
        }
    }
    if name.is_empty() || version.is_empty() || sha256.len() != 64 {
        let detail = format!("record of package `{name}` without name, version or SHA-256");
        return Err(ProvisionError::malformed(format!("package index of `{suite}`"), detail));
    }
    let (name, version) = (name.to_owned(), version.to_owned());
    let (channel, sha256) = (suite.to_owned(), sha256.to_owned());
    let record = PackageRecord { name, version, channel, size, installed_kb, sha256 };
    Ok((IndexedPackage { record, depends }, provides))
}

fn alternatives(text: &str) -> Vec<Dependency> {
    text.split('|').filter_map(dependency).collect()
}

/// `name:any (= 1.2) [amd64]` → name and exact version.
fn dependency(text: &str) -> Option<Dependency> {
    let text = text.trim();
    let end = text.find([' ', ':', '(', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let exact = rest.split_once("(=").and_then(|(_, tail)| tail.split_once(')'));
    let exact = exact.map(|(version, _)| version.trim().to_owned());
    (!name.is_empty()).then(|| Dependency { name: name.to_owned(), exact })
}

/// Only dependencies on libraries are followed.
fn is_library(name: &str) -> bool {
    let named_so = name.starts_with("lib") || name == "zlib1g";
    named_so
        && !NOT_NEEDED.iter().any(|prefix| name.starts_with(prefix))
        && !name.ends_with("-common")
}

/// Packages named like libraries that are programs, or that only unused features load (PAM, perl).
const NOT_NEEDED: [&str; 3] = ["libc-bin", "libpam-", "libperl"];

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;
    use crate::sources::kind::PackageIndex as _;

    fn stanza(name: &str, version: &str, more: &str) -> String {
        let sha256 = "0".repeat(64);
        format!("Package: {name}\nVersion: {version}\n{more}Size: 7\nSHA256: {sha256}\n\n")
    }

    #[test]
    fn newest_of_all_suites_wins_and_exact_versions_are_found() {
        let mut index = AptIndex::default();
        index.add("b", &stanza("libc6", "2.36-9+deb12u9", "")).unwrap();
        index
            .add("b-security", &stanza("libc6", "2.36-9+deb12u13", "Provides: libc (= 1)\n"))
            .unwrap();
        assert_eq!(index.best("libc6", None).unwrap().record.channel, "b-security");
        assert_eq!(index.best("libc6", Some("2.36-9+deb12u9")).unwrap().record.channel, "b");
        assert_eq!(index.provider("libc").unwrap().record.name, "libc6");
        assert_eq!(index.best("libc", None), None);
    }

    #[test]
    fn dependencies_are_parsed() {
        let groups = alternatives("default-libfoo:any (>= 1) | libfoo2 (= 1:2-3) [amd64]");
        let expected = [("default-libfoo", None), ("libfoo2", Some("1:2-3"))];
        let found: Vec<_> = groups.iter().map(|d| (d.name.as_str(), d.exact.as_deref())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn record_without_checksum_is_refused() {
        let error = AptIndex::default().add("sid", "Package: x\nVersion: 1\n\n").unwrap_err();
        assert!(error.to_string().contains("index of `sid`"), "{error}");
    }

    proptest! {
        #[test]
        fn any_input_is_read_or_refused(text in "\\PC*(\nDepends: \\PC*\n)?\n\n\\PC*") {
            let _ = AptIndex::default().add("any", &text);
        }
    }

    fn names(index: &AptIndex, roots: &[&str], version: &str) -> Result<Vec<String>> {
        let roots: Vec<_> = roots.iter().map(|&root| root.to_owned()).collect();
        let found = index.closure(&roots, Some(version), "here")?;
        Ok(found.iter().map(|record| format!("{}={}", record.name, record.version)).collect())
    }

    fn index(stanzas: &[String]) -> AptIndex {
        let mut index = AptIndex::default();
        index.add("suite", &stanzas.concat()).unwrap();
        index
    }

    #[test]
    fn dependencies_on_libraries_are_followed_but_not_on_programs() {
        let index = index(&[
            stanza("server", "2", "Depends: libgone | libreal (>= 1), perl, libmirror\n"),
            stanza("server", "1", ""),
            stanza(
                "libreal",
                "1",
                "Pre-Depends: zlib1g, libperl5, libc-bin\nDepends: libreal-common\n",
            ),
            stanza("zlib1g", "1", "Depends: libreal\n"),
            stanza("mirror-impl", "1", "Provides: libmirror\n"),
            stanza("libperl5", "1", ""),
            stanza("perl", "1", "Depends: libunwanted\n"),
        ]);
        let found = names(&index, &["server"], "2").unwrap();
        assert_eq!(found, ["libreal=1", "server=2", "zlib1g=1"]);
    }

    #[test]
    fn an_exact_dependency_gets_that_version() {
        let index = index(&[
            stanza("server", "1", "Depends: libown (= 1)\n"),
            stanza("libown", "1", ""),
            stanza("libown", "2", ""),
        ]);
        assert_eq!(names(&index, &["server"], "1").unwrap(), ["libown=1", "server=1"]);
    }

    #[test]
    fn missing_root_or_library_is_an_error() {
        let index = index(&[stanza("server", "1", "Depends: libnone\n")]);
        let error = names(&index, &["server"], "1").unwrap_err();
        assert_eq!(error.to_string(), "package `libnone` is not in `here`");
        assert!(names(&index, &["server"], "3").is_err());
    }
}
