//! Random distributions.

use serde::{Deserialize, Serialize};

use crate::limits::user::{PARETO_H, ZIPF_S};
use crate::limits::within;

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

impl Distribution {
    pub fn check_bounds(self) -> Result<(), String> {
        match self {
            Self::Zipfian { s } => within("s", s, &ZIPF_S),
            Self::Pareto { h } => within("h", h, &PARETO_H),
            Self::Uniform | Self::Gaussian | Self::Special => Ok(()),
        }
    }
}
