//! Checks of single values.

use assay_model::Distribution;
use assay_model::limits::user::{PARETO_H, ZIPF_S};
pub(crate) use assay_model::limits::within;

pub(super) fn distribution(draw: Distribution) -> Result<(), String> {
    match draw {
        Distribution::Zipfian { s } => within("s", s, &ZIPF_S),
        Distribution::Pareto { h } => within("h", h, &PARETO_H),
        Distribution::Uniform | Distribution::Gaussian | Distribution::Special => Ok(()),
    }
}
