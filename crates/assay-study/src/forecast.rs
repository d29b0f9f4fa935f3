//! Forecast of what fits before a study continues.

use assay_plan::Fitting;

#[derive(Debug, Clone)]
pub struct Forecast {
    /// Indices of the cells that are measured further.
    pub cells: Vec<usize>,
    /// Whether a block begun by an earlier run continues first, however short the time.
    pub is_begun: bool,
    pub fitting: Fitting,
}
