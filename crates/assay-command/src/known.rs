//! What a wing knows of releases without measuring them, for other commands. This module knows no such wing.

use std::sync::OnceLock;

use assay_model::Product;

/// Counts of releases that were made elsewhere.
pub trait KnownCounts: Sync {
    /// Instructions per operation of a test on releases of a product, as far as they are comparable with each other:
    /// one for each version, `None` if unknown.
    fn instructions(&self, product: Product, versions: &[&str], test: &str) -> Vec<Option<f64>>;
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
