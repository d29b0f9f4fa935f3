//! Packages of a machine's repositories by name and by what they provide, and the libraries that they need.

use std::collections::{BTreeMap, HashMap};

use super::metadata::Package;
use crate::error::Error;
use crate::sources::kind::{self, Record};
use crate::version;

#[derive(Debug, Default)]
pub(crate) struct Index {
    listed: Vec<Listed>,
    providers: HashMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct Listed {
    record: Record,
    source: String,
    requires: Vec<String>,
}

impl Index {
    pub(super) fn add(&mut self, repository: &str, packages: Vec<Package>) {
        for package in packages {
            let number = self.listed.len();
            let Package { name, version, sha256, href, size, installed, source, .. } = package;
            let mut provides = package.provides;
            provides.push(name.clone());
            provides.sort();
            provides.dedup();
            for name in provides {
                self.providers.entry(name).or_default().push(number);
            }
            let record = Record {
                name,
                version,
                channel: repository.to_owned(),
                location: href,
                size,
                installed_kb: installed >> 10,
                sha256,
            };
            self.listed.push(Listed { record, source, requires: package.requires });
        }
    }

    fn providers(&self, name: &str) -> impl Iterator<Item = &Listed> {
        let numbers = self.providers.get(name).into_iter().flatten();
        numbers.filter_map(|&number| self.listed.get(number))
    }

    /// The packages of that name, or else those that provide it under a longer one, such as Fedora's
    /// `community-mysql-server`. Other products also provide this name, under different names.
    fn named(&self, name: &str) -> Vec<&Listed> {
        let named: Vec<_> = self.providers(name).filter(|it| it.record.name == name).collect();
        let longer = format!("-{name}");
        let provides = || self.providers(name).filter(|it| it.record.name.ends_with(&longer));
        if named.is_empty() { provides().collect() } else { named }
    }

    /// The package to use for what another one requires: one of the same source package first, then the one with the
    /// plainest name, in its newest version.
    fn provider(&self, name: &str, source: &str) -> Option<&Listed> {
        self.providers(name).min_by(|a, b| {
            let is_other = |it: &Listed| it.source != source;
            (is_other(a).cmp(&is_other(b)))
                .then_with(|| a.record.name.len().cmp(&b.record.name.len()))
                .then_with(|| a.record.name.cmp(&b.record.name))
                .then_with(|| version::compare(&b.record.version, &a.record.version))
        })
    }
}

impl kind::Index for Index {
    fn versions(&self, package: &str) -> Vec<&Record> {
        self.named(package).into_iter().map(|it| &it.record).collect()
    }

    /// Follows requirements of libraries, and of packages built from the same source: a server's messages and character
    /// sets are separate packages.
    fn closure(
        &self,
        roots: &[String],
        version: Option<&str>,
        release: &str,
    ) -> Result<Vec<&Record>, Error> {
        let missing = |name: &str| Error::MissingPackage(name.to_owned(), release.to_owned());
        let mut found: BTreeMap<&str, &Record> = BTreeMap::new();
        let mut open = Vec::new();
        for root in roots {
            let mut named = self.named(root);
            named.retain(|it| version.is_none_or(|wanted| it.record.version == wanted));
            let newest = named
                .into_iter()
                .max_by(|a, b| version::compare(&a.record.version, &b.record.version));
            open.push(newest.ok_or_else(|| missing(root))?);
        }
        while let Some(listed) = open.pop() {
            if found.contains_key(listed.record.name.as_str()) {
                continue;
            }
            found.insert(&listed.record.name, &listed.record);
            for name in &listed.requires {
                let Some(needed) = self.provider(name, &listed.source) else {
                    if is_library(name) {
                        return Err(missing(name));
                    }
                    continue;
                };
                let is_followed = is_library(name) || needed.source == listed.source;
                if is_followed && !found.contains_key(needed.record.name.as_str()) {
                    open.push(needed);
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

/// Matches names such as `libaio.so.1()(64bit)`.
fn is_library(name: &str) -> bool {
    name.contains(".so") && name.ends_with("(64bit)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kind::Index as _;

    fn package(
        name: &str,
        version: &str,
        source: &str,
        provides: &[&str],
        requires: &[&str],
    ) -> Package {
        let all = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            source: source.to_owned(),
            provides: all(provides),
            requires: all(requires),
            ..Package::default()
        }
    }

    fn index() -> Index {
        let mut index = Index::default();
        let libc = "libc.so.6(GLIBC_2.34)(64bit)";
        index.add(
            "appstream",
            vec![
                package(
                    "mariadb-server",
                    "3:10.5.22-1.el9",
                    "m5",
                    &[],
                    &["mariadb-errmsg", libc, "perl(x)", "/bin/sh"],
                ),
                package("mariadb-server", "3:10.11.6-1.el9", "m11", &[], &["mariadb-errmsg", libc]),
                package("mariadb-errmsg", "3:10.5.22-1.el9", "m5", &[], &[]),
                package("mariadb-errmsg", "3:10.11.6-1.el9", "m11", &[], &[]),
                package("percona-server-server", "8.0.36-28", "ps", &["mysql-server"], &[]),
                package("MariaDB-server", "11.8.2-1", "ma", &["mysql-server"], &[]),
                package(
                    "community-mysql-server",
                    "8.0.36-1",
                    "my",
                    &["mysql-server"],
                    &["libgone.so.1()(64bit)"],
                ),
            ],
        );
        index.add(
            "baseos",
            vec![
                package("glibc", "2.34-1", "glibc", &[libc], &["glibc-common"]),
                package("glibc", "2.34-2", "glibc2", &[libc], &[]),
                package("glibc-compat", "2.34-9", "glibc3", &[libc], &[]),
                package("glibc-common", "2.34-1", "glibc", &[], &[]),
                package("perl-x", "1", "perl", &["perl(x)"], &[]),
            ],
        );
        index
    }

    #[test]
    fn libraries_and_packages_of_the_same_source_are_followed() {
        let index = index();
        let names = |version| {
            let found =
                index.closure(&["mariadb-server".to_owned()], Some(version), "here").unwrap();
            let told = found.iter().map(|it| format!("{}={}", it.name, it.version));
            told.collect::<Vec<_>>()
        };
        assert_eq!(
            names("3:10.11.6-1.el9"),
            ["glibc=2.34-2", "mariadb-errmsg=3:10.11.6-1.el9", "mariadb-server=3:10.11.6-1.el9"]
        );
        assert_eq!(names("3:10.5.22-1.el9").last().unwrap(), "mariadb-server=3:10.5.22-1.el9");
    }

    #[test]
    fn a_package_is_found_by_what_it_provides() {
        let index = index();
        let found = index.versions("mysql-server");
        let [found_one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(found_one.name, "community-mysql-server");
        assert_eq!(found.first().unwrap().channel, "appstream");
        let error = index.closure(&["mysql-server".to_owned()], None, "here").unwrap_err();
        assert_eq!(error.to_string(), "package `libgone.so.1()(64bit)` is not in `here`");
        assert!(index.versions("x").is_empty());
    }
}
