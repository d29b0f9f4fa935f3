//! Limits of regressions.

use serde::{Deserialize, Serialize};

/// Word of users for a study with limits: its command, the table of study files, and the key in JSON and in ledgers.
pub const LIMITED_STUDY: &str = "gate";

/// Tolerated regressions, fixed before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegressionLimits {
    /// Largest change that passes, for each cell in the study's order: slowdown as a share of the base's QPS, or
    /// additional instructions as a share of the base's if the study only counts. Between 0 and 1, exclusive.
    pub margins: Vec<f64>,
    pub allow_undecided: bool,
}
