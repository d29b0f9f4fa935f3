//! What a row of the catalog says of a release of Debian or Ubuntu.

use serde::Deserialize;

use crate::catalog::{Catalog, Release};
use crate::error::Error;

/// The source's name.
pub(super) const WORD: &str = "apt";

/// The suites of a release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suites {
    #[serde(default)]
    pub(super) distribution: Distribution,
    pub(super) suites: Vec<Suite>,
}

impl Suites {
    pub(super) fn of(release: &Release) -> Result<Self, Error> {
        let parts = release.parts.clone().try_into();
        parts.map_err(|error: toml::de::Error| {
            Error::Catalog(format!("release `{}`: {}", release.name, error.message()))
        })
    }
}

/// The distribution of a release; `None` if it is another source's.
pub(super) fn distribution_of(release: &Release) -> Option<Distribution> {
    (release.source == WORD).then(|| Suites::of(release).ok())?.map(|it| it.distribution)
}

/// Whether a distribution has a release of that name.
pub(super) fn is_known(catalog: &Catalog, distribution: Distribution, name: &str) -> bool {
    let mut of_name = catalog.releases.iter().filter(|it| it.name == name);
    of_name.any(|it| distribution_of(it) == Some(distribution))
}

/// A part of a release with an index of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    pub(super) name: String,
    pub(super) archive: Archive,
}

/// Whose packages a release consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Distribution {
    #[default]
    Debian,
    Ubuntu,
}

impl Distribution {
    pub(super) const ALL: [Self; 2] = [Self::Debian, Self::Ubuntu];

    /// The name, as it is signed in each index: the field `Origin`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Debian => "Debian",
            Self::Ubuntu => "Ubuntu",
        }
    }

    /// The components that servers and their libraries come from.
    pub(super) fn components(self) -> &'static str {
        match self {
            Self::Debian => "main",
            Self::Ubuntu => "main universe",
        }
    }
}

/// One of a distribution's archives; a machine has each of them at a root of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Archive {
    Main,
    Security,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_of_the_catalog_has_suites() {
        let catalog = Catalog::built_in().unwrap();
        let mut of_apt = catalog.releases.iter().filter(|it| it.source == WORD);
        assert!(of_apt.all(|release| !Suites::of(release).unwrap().suites.is_empty()));
    }
}
