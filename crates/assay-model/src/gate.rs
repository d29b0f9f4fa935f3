//! The limits of a gate, as a study keeps them.

use serde::{Deserialize, Serialize};

/// The changes for the worse that a gate tolerates. They are fixed before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The largest change that passes, for each cell of the study in its order: how much slower, a fraction of the
    /// base's QPS, or how many more instructions, a fraction of the base's, if the study only counts. More than 0 and
    /// less than 1.
    pub margins: Vec<f64>,
    /// Whether undecided cells let the gate pass.
    pub allow_undecided: bool,
}
