//! Limits of a gate.

use serde::{Deserialize, Serialize};

/// Tolerated regressions, fixed before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Largest change that passes, for each cell in the study's order: slowdown as a share of the base's QPS, or
    /// additional instructions as a share of the base's if the study only counts. Between 0 and 1, exclusive.
    pub margins: Vec<f64>,
    pub allow_undecided: bool,
}
