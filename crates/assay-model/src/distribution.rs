//! Random distributions.

use serde::{Deserialize, Serialize};

/// The shape of a random distribution over rows, as sysbench defines it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// All values alike.
    Uniform,
    /// A bell around the middle: the mean of twelve uniforms.
    Gaussian,
    /// A quarter of the draws in a bell over the whole range, the rest in the central hundredth (the default of
    /// sysbench 1.0.20).
    Special,
    /// Low values preferred: a share 1 - `h` of the draws falls on the lowest share `h` of the range.
    Pareto {
        /// Strictly between 0 and 1; sysbench's default is 0.2.
        h: f64,
    },
    /// The j-th lowest value has probability proportional to j^-s.
    Zipfian {
        /// The exponent, 0 or more; sysbench's default is 0.8.
        s: f64,
    },
}
