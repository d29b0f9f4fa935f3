//! The catalog: which product and series which source has. Data, read from a file compiled in.

use std::collections::BTreeMap;

use assay_model::{Engine, Product};
use serde::Deserialize;

use crate::error::Error;
use crate::version::in_series;

/// The whole catalog.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalog {
    #[serde(rename = "release")]
    pub(crate) releases: Vec<Release>,
    #[serde(rename = "server")]
    servers: Vec<Server>,
    layout: BTreeMap<Product, Candidates>,
}

/// A Debian release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    pub(crate) name: String,
    /// Released, as opposed to testing or unstable.
    pub(crate) released: bool,
    pub(crate) suites: Vec<Suite>,
}

/// A part of a release with an index of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) archive: Archive,
}

/// One of Debian's archives; a machine has each of them at a root of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Archive {
    Main,
    Security,
}

/// How packages are had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    Apt,
}

/// A server in a release.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    product: Product,
    pub(crate) source: Source,
    pub(crate) release: String,
    series: Option<String>,
    pub(crate) roots: Vec<String>,
    #[serde(default)]
    engines: BTreeMap<Engine, Vec<String>>,
}

/// Paths inside a tree, in the order in which they are tried.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candidates {
    pub(crate) base: Vec<String>,
    pub(crate) server: Vec<String>,
    pub(crate) share: Vec<String>,
    pub(crate) plugins: Vec<String>,
}

/// A row of the catalog that may answer a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) server: &'a Server,
    pub(crate) release: &'a Release,
}

impl Catalog {
    /// The catalog compiled in.
    pub(crate) fn built_in() -> Result<Self, Error> {
        let catalog: Self = toml::from_str(include_str!("catalog.toml"))
            .map_err(|error| Error::Catalog(error.to_string()))?;
        match catalog.servers.iter().find(|server| catalog.release(&server.release).is_none()) {
            Some(server) => Err(Error::Catalog(format!("no release `{}`", server.release))),
            None => Ok(catalog),
        }
    }

    fn release(&self, name: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.name == name)
    }

    /// All rows of a product, released ones first, else in the order of the catalog.
    pub(crate) fn offers(&self, product: Product) -> Vec<Offer<'_>> {
        let mut offers: Vec<_> = (self.servers.iter())
            .filter(|server| server.product == product)
            .filter_map(|server| Some(Offer { server, release: self.release(&server.release)? }))
            .collect();
        offers.sort_by_key(|offer| !offer.release.released);
        offers
    }

    /// Where a product's files are.
    pub(crate) fn layout(&self, product: Product) -> Result<&Candidates, Error> {
        self.layout.get(&product).ok_or_else(|| Error::Catalog(format!("no layout of `{product}`")))
    }
}

impl Server {
    /// Packages that a storage engine needs beside the roots.
    pub(crate) fn engine_packages(&self, engine: Engine) -> &[String] {
        self.engines.get(&engine).map_or(&[], Vec::as_slice)
    }
}

impl Offer<'_> {
    /// Whether the row may have a version that `wanted` (a version or a series) names.
    pub(crate) fn may_have(&self, wanted: &str) -> bool {
        match &self.server.series {
            Some(series) => in_series(wanted, series) || in_series(series, wanted),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalog_is_well_formed_and_has_a_layout_for_every_product_in_it() {
        let catalog = Catalog::built_in().unwrap();
        for server in &catalog.servers {
            assert!(catalog.layout(server.product).is_ok());
            assert!(!server.roots.is_empty());
        }
    }

    #[test]
    fn series_narrows_the_rows_and_released_ones_come_first() {
        let catalog = Catalog::built_in().unwrap();
        let rows = |wanted: &str| -> Vec<String> {
            (catalog.offers(Product::MariaDb).into_iter())
                .filter(|offer| offer.may_have(wanted))
                .map(|offer| offer.release.name.clone())
                .collect()
        };
        assert_eq!(rows("10.11"), ["bookworm", "forky", "sid"]);
        assert_eq!(rows("10.5.29"), ["bullseye", "forky", "sid"]);
        assert_eq!(rows("11"), ["trixie", "forky", "sid"]);
        assert_eq!(rows("10"), ["bullseye", "bookworm", "forky", "sid"]);
    }
}
