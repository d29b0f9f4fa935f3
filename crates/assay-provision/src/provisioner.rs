//! The provisioner: its cache, its catalog, and the sources of this machine.

use std::path::Path;
use std::sync::OnceLock;

use assay_model::{Engine, Login, Prefix, Product};

use crate::catalog::Catalog;
use crate::error::Result;
use crate::store::{CURRENT_FOR, Store, age};

#[derive(Debug, Clone, Copy, Default)]
pub struct ProvisionOptions {
    pub offline: bool,
    pub accept_expired_index: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProvisionProgress {
    Waiting,
    RefreshingIndex {
        release: String,
    },
    Resolving {
        release: String,
    },
    Downloading {
        /// Approximate, bytes.
        done: u64,
        /// Bytes; 0 if the source does not say in advance.
        total: u64,
    },
    Unpacking {
        done: usize,
        total: usize,
    },
    Building {
        what: String,
    },
    PassedOver {
        why: String,
    },
    Cached,
}

pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(ProvisionProgress);

#[derive(Debug)]
pub struct Provisioner {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) options: ProvisionOptions,
    pub(crate) logins: Vec<Login>,
    /// The only source to use, if set.
    pub(crate) source: Option<String>,
    pub(crate) reachable: OnceLock<Vec<String>>,
}

impl Provisioner {
    pub fn new(cache_dir: impl AsRef<Path>, options: ProvisionOptions) -> Result<Self> {
        let store = Store::open(cache_dir.as_ref())?;
        let catalog = Catalog::built_in()?.for_this_machine();
        let reachable = OnceLock::new();
        Ok(Self { store, catalog, options, logins: Vec::new(), source: None, reachable })
    }

    pub fn with_logins(self, logins: Vec<Login>) -> Self {
        Self { logins, ..self }
    }

    pub(crate) fn offline(&self) -> bool {
        self.options.offline
    }

    pub fn cached(&self) -> Result<Vec<Prefix>> {
        self.store.prefixes()
    }

    pub(crate) fn cached_of(&self, product: Product) -> Result<Vec<Prefix>> {
        self.store.prefixes_of(product)
    }

    /// The servers of a product in the cache, those of the nearest versions first.
    pub fn cached_near(&self, product: Product, version: &str) -> Result<Vec<Prefix>> {
        let mut found = self.cached_of(product)?;
        found.sort_by_cached_key(|prefix| version_distance(&prefix.version, version));
        Ok(found)
    }

    /// The directory of an earlier answer, if less than a day old.
    pub(crate) fn answer(&self, request: &str) -> Option<String> {
        let resolution = self.store.resolution(request)?;
        let fits = !resolution.expired || self.options.accept_expired_index;
        (fits && age(resolution.at) < CURRENT_FOR).then_some(resolution.directory)
    }

    pub(crate) fn answered(&self, request: &str) -> Option<Prefix> {
        self.store.prefix(&self.answer(request)?)
    }
}

pub(crate) fn request(
    product: Product,
    wanted: &str,
    engine: Engine,
    from: Option<&str>,
) -> String {
    let from = from.map(|from| format!(" from {from}")).unwrap_or_default();
    format!("{product}@{wanted}/{}{from}", engine.word())
}

/// The differences of the numbers of two versions, of which the first weigh most.
fn version_distance(one: &str, other: &str) -> Vec<u64> {
    let numbers = |version: &str| -> Vec<u64> {
        let parts = version.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    let (one, other) = (numbers(one), numbers(other));
    let number = |numbers: &[u64], at: usize| numbers.get(at).copied().unwrap_or(0);
    let places = 0..one.len().max(other.len());
    places.map(|at| number(&one, at).abs_diff(number(&other, at))).collect()
}

#[cfg(test)]
mod tests {
    use super::version_distance;

    #[test]
    fn the_nearest_version_has_the_smallest_distance() {
        let mut versions = ["11.4.2", "10.6.18", "10.11.19", "10.11.6", "12.1"];
        versions.sort_by_key(|version| version_distance("10.11.14", version));
        assert_eq!(versions, ["10.11.19", "10.11.6", "10.6.18", "11.4.2", "12.1"]);
    }
}
