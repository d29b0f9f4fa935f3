//! Suites of Debian and Ubuntu releases, from rows of the catalog.

use serde::Deserialize;

use crate::catalog::{Catalog, Release};
use crate::error::Error;

pub(super) const WORD: &str = "apt";

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

/// `None` for a release of another source.
pub(super) fn distribution_of(release: &Release) -> Option<Distribution> {
    (release.source == WORD).then(|| Suites::of(release).ok())?.map(|it| it.distribution)
}

pub(super) fn is_known(catalog: &Catalog, distribution: Distribution, name: &str) -> bool {
    let mut of_name = catalog.releases.iter().filter(|it| it.name == name);
    of_name.any(|it| distribution_of(it) == Some(distribution))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    pub(super) name: String,
    pub(super) archive: Archive,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Distribution {
    #[default]
    Debian,
    Ubuntu,
}

impl Distribution {
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
