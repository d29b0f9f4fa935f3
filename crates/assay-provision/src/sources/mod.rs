//! Sources of servers. A source is a module here, a line in [`ALL`], and rows in the catalog.

pub(crate) mod apt;
mod dir;
pub(crate) mod git;
pub(crate) mod kind;
mod maven;
mod npm;
mod pip;
pub(crate) mod registry;
mod tarball;

use kind::ServerSource;
use kind::SourceKind::{self, Distribution, Named, Registry};

use crate::catalog::{Catalog, CatalogPackage, Release};
use crate::error::{ProvisionError, Result};

/// In the order in which errors list them.
pub(crate) const ALL: &[ServerSource] = &[
    source(apt::WORD, &["deb", "debian", "apt-get", "dpkg"], Distribution(&apt::Packages)),
    source("maven", &["mvn", "jar"], Registry(&maven::Maven)),
    source("npm", &["npmjs", "node"], Registry(&npm::Npm)),
    source("pip", &["pypi", "pip3", "python"], Registry(&pip::Pip)),
    source("tarball", &["tar", "tgz", "tarballs"], Registry(&tarball::Tarball)),
    source("dir", &[], Named(&dir::DirectorySource)),
    source(git::SOURCE, &[], Named(&git::Git)),
];

const fn source(
    word: &'static str,
    other_words: &'static [&'static str],
    kind: SourceKind,
) -> ServerSource {
    ServerSource { word, other_words, kind }
}

/// In order of preference.
pub(crate) fn distributions()
-> impl Iterator<Item = (&'static str, &'static dyn kind::DistributionSource)> {
    ALL.iter().filter_map(|source| match source.kind {
        Distribution(distribution) => Some((source.word, distribution)),
        _ => None,
    })
}

fn registries() -> impl Iterator<Item = (&'static str, &'static dyn kind::Registry)> {
    ALL.iter().filter_map(|source| match source.kind {
        Registry(registry) => Some((source.word, registry)),
        _ => None,
    })
}

pub(crate) fn named() -> impl Iterator<Item = &'static dyn kind::NamedSource> {
    ALL.iter().filter_map(|source| match source.kind {
        Named(named) => Some(named),
        _ => None,
    })
}

pub(crate) fn distribution(word: &str) -> Option<&'static dyn kind::DistributionSource> {
    distributions().find(|(it, _)| *it == word).map(|(_, it)| it)
}

pub(crate) fn registry(word: &str) -> Option<&'static dyn kind::Registry> {
    registries().find(|(it, _)| *it == word).map(|(_, it)| it)
}

/// Returns whether each package of a source has a separate maker.
pub(crate) fn has_makers(word: &str) -> bool {
    registry(word).is_some_and(|it| !it.has_vendors())
}

/// A registry is not a maker: each of its packages has its own. A vendor is one.
pub(crate) fn maker_of<'a>(source: &'a str, channel: &'a str) -> &'a str {
    if has_makers(source) { channel } else { source }
}

/// Words that `--source` accepts besides packages: kinds of sources, then vendors.
pub(crate) fn words(catalog: &Catalog) -> Vec<String> {
    let distributions = distributions().map(|(word, _)| word);
    let kinds = distributions.chain(registries().map(|(word, _)| word)).map(str::to_owned);
    let mut words = Vec::new();
    for word in kinds.chain(catalog.vendors()) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

pub(crate) fn meant(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let found = ALL.iter().find(|it| it.other_words.contains(&word.as_str()));
    found.map(|it| it.word)
}

pub(crate) fn check(package: &CatalogPackage) -> Result<()> {
    let words: Vec<_> = registries().map(|(word, _)| word).collect();
    let registry = registry(&package.source).ok_or_else(|| {
        let (source, words) = (&package.source, words.join("`, `"));
        ProvisionError::Catalog(format!("unknown source `{source}`, expected one of `{words}`"))
    })?;
    if registry.has_vendors() == package.is_vendors() {
        return Ok(());
    }
    Err(ProvisionError::Catalog(format!("`{}`: `tarballs` go with source tarball", package.name)))
}

pub(crate) fn check_release(release: &Release) -> Result<()> {
    let words: Vec<_> = distributions().map(|(word, _)| word).collect();
    let Release { name, source, .. } = release;
    let unknown = || {
        let words = words.join("`, `");
        ProvisionError::Catalog(format!(
            "release `{name}`: unknown source `{source}`, expected one of `{words}`"
        ))
    };
    distribution(source).map(drop).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use assay_model::Product;

    use super::*;

    #[test]
    fn the_rows_of_the_catalog_are_those_of_sources() {
        let catalog = Catalog::built_in().unwrap();
        let packaged = Product::ALL.into_iter().flat_map(|product| catalog.packaged(product));
        packaged.for_each(|it| check(it.package).unwrap());
        for release in &catalog.releases {
            check_release(release).unwrap();
        }
    }

    #[test]
    fn words_are_those_of_one_source() {
        let mut words: Vec<_> = ALL.iter().map(|it| it.word).collect();
        words.extend(ALL.iter().flat_map(|it| it.other_words));
        let number = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), number);
        assert_eq!((meant("PyPI"), meant("deb"), meant("x")), (Some("pip"), Some("apt"), None));
    }
}
