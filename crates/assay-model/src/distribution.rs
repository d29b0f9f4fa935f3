//! Random distributions.

use serde::{Deserialize, Serialize};

/// Shape of a random distribution over rows, as sysbench defines it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    Uniform,
    /// A bell around the middle: the mean of twelve uniforms.
    Gaussian,
    /// A quarter of the draws form a bell over the whole range, the rest fall into the central hundredth (the default
    /// of sysbench 1.0.20).
    Special,
    /// Prefers low values: a share 1 - `h` of the draws falls on the lowest share `h` of the range.
    Pareto {
        /// Strictly between 0 and 1; sysbench's default is 0.2.
        h: f64,
    },
    /// The j-th lowest value has probability proportional to j^-s.
    Zipfian {
        /// At least 0; sysbench's default is 0.8.
        s: f64,
    },
}
