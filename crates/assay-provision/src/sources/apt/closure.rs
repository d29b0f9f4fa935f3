//! The libraries that a server needs in addition to its packages.
//!
//! A full dependency closure would include perl, debconf and init scripts, which no server process opens.

use std::collections::BTreeMap;

use super::index::Index;
use crate::error::Error;
use crate::sources::kind::Record;

/// Only dependencies on libraries are followed.
fn is_library(name: &str) -> bool {
    let named_so = name.starts_with("lib") || name == "zlib1g";
    named_so
        && !NOT_NEEDED.iter().any(|prefix| name.starts_with(prefix))
        && !name.ends_with("-common")
}

/// Packages named like libraries that are programs, or that only unused features load (PAM, perl).
const NOT_NEEDED: [&str; 3] = ["libc-bin", "libpam-", "libperl"];

/// The roots at the given version (if `None`, each at its newest) and every library that they need, by name.
pub(crate) fn closure<'a>(
    index: &'a Index,
    roots: &[String],
    version: Option<&str>,
    release: &str,
) -> Result<Vec<&'a Record>, Error> {
    let missing = |name: &str| Error::MissingPackage(name.to_owned(), release.to_owned());
    let mut found = BTreeMap::new();
    let mut open = Vec::new();
    for root in roots {
        let record = match version {
            Some(version) => index.versions(root).find(|it| it.record.version == version),
            None => index.best(root, None),
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
                let by_name = index.best(&wanted.name, wanted.exact.as_deref());
                by_name.or_else(|| index.provider(&wanted.name))
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

#[cfg(test)]
mod tests {
    use super::super::index::tests::stanza;
    use super::*;

    fn names(index: &Index, roots: &[&str], version: &str) -> Result<Vec<String>, Error> {
        let roots: Vec<_> = roots.iter().map(|&root| root.to_owned()).collect();
        let found = closure(index, &roots, Some(version), "here")?;
        Ok(found.iter().map(|record| format!("{}={}", record.name, record.version)).collect())
    }

    fn index(stanzas: &[String]) -> Index {
        let mut index = Index::default();
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
