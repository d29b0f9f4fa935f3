//! Package indexes of a release's suites, by package name.

use std::collections::HashMap;

use crate::error::Error;
use crate::sources::kind::Record;
use crate::version;

#[derive(Debug, Default)]
pub(crate) struct Index {
    records: Vec<Listed>,
    by_name: HashMap<String, Vec<usize>>,
    providers: HashMap<String, Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) record: Record,
    /// `Pre-Depends` and `Depends`: all of these, each by one of its alternatives.
    pub(super) depends: Vec<Vec<Dependency>>,
}

/// `name (= version)`. Other relations always hold within one release, and are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) exact: Option<String>,
}

impl Index {
    pub(crate) fn add(&mut self, suite: &str, text: &str) -> Result<(), Error> {
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

    pub(super) fn versions(&self, name: &str) -> impl Iterator<Item = &Listed> {
        let numbers = self.by_name.get(name).into_iter().flatten();
        numbers.filter_map(|&number| self.records.get(number))
    }

    /// The newest version of a package; `exact` if it exists.
    pub(super) fn best(&self, name: &str, exact: Option<&str>) -> Option<&Listed> {
        let is_exact = |it: &&Listed| Some(it.record.version.as_str()) == exact;
        let wanted = self.versions(name).find(is_exact);
        wanted.or_else(|| newest(self.versions(name)))
    }

    pub(super) fn provider(&self, name: &str) -> Option<&Listed> {
        let numbers = self.providers.get(name)?.iter();
        newest(numbers.filter_map(|&number| self.records.get(number)))
    }
}

fn newest<'a>(records: impl Iterator<Item = &'a Listed>) -> Option<&'a Listed> {
    records.max_by(|a, b| version::compare(&a.record.version, &b.record.version))
}

fn parse(suite: &str, stanza: &str) -> Result<(Listed, Vec<String>), Error> {
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
        return Err(Error::malformed(format!("package index of `{suite}`"), detail));
    }
    let (name, version) = (name.to_owned(), version.to_owned());
    let (channel, sha256) = (suite.to_owned(), sha256.to_owned());
    let record = Record { name, version, channel, size, installed_kb, sha256 };
    Ok((Listed { record, depends }, provides))
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

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::sources::apt) fn stanza(name: &str, version: &str, more: &str) -> String {
        let sha256 = "0".repeat(64);
        format!("Package: {name}\nVersion: {version}\n{more}Size: 7\nSHA256: {sha256}\n\n")
    }

    #[test]
    fn newest_of_all_suites_wins_and_exact_versions_are_found() {
        let mut index = Index::default();
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
        let error = Index::default().add("sid", "Package: x\nVersion: 1\n\n").unwrap_err();
        assert!(error.to_string().contains("index of `sid`"), "{error}");
    }

    proptest! {
        #[test]
        fn any_input_is_read_or_refused(text in "\\PC*(\nDepends: \\PC*\n)?\n\n\\PC*") {
            let _ = Index::default().add("any", &text);
        }
    }
}
