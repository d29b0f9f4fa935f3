//! Numbers as the page shows them: the text, and the key by which a column is sorted.

use assay_model::{Estimate, Setup};

use crate::number::{NONE, interval, quantity, thousands};

/// A ratio and its interval, apart, so that the page can set them differently.
pub(crate) struct Ratio {
    pub(crate) value: String,
    /// `[0.91, 0.95]`; none where nothing is known of it.
    pub(crate) interval: Option<String>,
    /// The value for sorting; empty where nothing was measured.
    pub(crate) key: String,
}

impl Ratio {
    pub(crate) fn new(estimate: Option<Estimate>) -> Self {
        let known = estimate.filter(|e| e.has_interval());
        Self {
            value: estimate.map_or_else(|| NONE.to_owned(), |e| format!("{:.2}", e.value)),
            interval: known.map(interval),
            key: key(estimate.map(|e| e.value)),
        }
    }
}

/// A number for sorting; empty where there is none.
pub(crate) fn key(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or_else(String::new, |v| format!("{v:.4}"))
}

/// A quantity, or a dash where nothing was measured.
pub(crate) fn figure(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or_else(|| NONE.to_owned(), quantity)
}

/// `4 × 1 × 100,000`: clients, tables, rows.
pub(crate) fn setup_words(setup: Setup) -> String {
    format!("{} × {} × {}", setup.clients, setup.tables, thousands(f64::from(setup.rows)))
}
