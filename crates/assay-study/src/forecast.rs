//! What a study has time for, before it goes on.

use assay_plan::Fitting;

/// What is left to measure of a study, and what fits.
#[derive(Debug, Clone)]
pub struct Forecast {
    /// The cells that are measured further, as indices.
    pub cells: Vec<usize>,
    /// Whether a block that an earlier run began goes on first, however short the time is.
    pub is_begun: bool,
    /// How much fits in the time that is left.
    pub fitting: Fitting,
}
