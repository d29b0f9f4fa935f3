//! The limits of a gate, as a study keeps them.

use serde::{Deserialize, Serialize};

/// The slowdowns that a gate tolerates. They are fixed before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The largest slowdown that passes, for each cell of the study in its order: a fraction of the base's QPS, more
    /// than 0 and less than 1.
    pub margins: Vec<f64>,
    /// Whether undecided cells let the gate pass.
    pub allow_undecided: bool,
}
