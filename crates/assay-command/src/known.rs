//! What a wing knows of releases without measuring them, for other commands. This module knows no such wing.

use std::sync::OnceLock;

use assay_model::{Estimate, Product};

/// Counts of releases that were made elsewhere.
pub trait KnownCounts: Sync {
    /// Instructions per operation of a test on releases of a product, as far as they are comparable with each other:
    /// one for each version, `None` if unknown.
    fn instructions(&self, product: Product, versions: &[&str], test: &str) -> Vec<Option<f64>>;

    /// A sentence on the change of a test from one release to another, with the source of the knowledge; `None` if
    /// nothing is known.
    fn sentence(&self, product: Product, versions: [&str; 2], test: &str) -> Option<String>;

    /// Instructions per operation of a test on the second release, divided by those on the first; `None` if unknown.
    /// A series means its newest release.
    fn ratio(&self, releases: [(Product, &str); 2], test: &str) -> Option<Estimate>;
}

static KNOWN: OnceLock<&'static dyn KnownCounts> = OnceLock::new();

/// Sets the counts that are known; only the first call counts.
pub fn set_known_counts(known: &'static dyn KnownCounts) {
    KNOWN.get_or_init(|| known);
}

/// As of [`KnownCounts::instructions`]; `None` for all if nothing is known.
pub fn known_instructions(product: Product, versions: &[&str], test: &str) -> Vec<Option<f64>> {
    match KNOWN.get() {
        Some(known) => known.instructions(product, versions, test),
        None => vec![None; versions.len()],
    }
}

/// As of [`KnownCounts::sentence`].
pub fn known_sentence(product: Product, versions: [&str; 2], test: &str) -> Option<String> {
    KNOWN.get()?.sentence(product, versions, test)
}

/// As of [`KnownCounts::ratio`].
pub fn known_ratio(releases: [(Product, &str); 2], test: &str) -> Option<Estimate> {
    KNOWN.get()?.ratio(releases, test)
}
