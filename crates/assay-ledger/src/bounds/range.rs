//! Checks of single values.

use std::fmt::Display;
use std::ops::RangeInclusive;

use assay_model::Distribution;
use assay_model::limits::user::{PARETO_H, ZIPF_S};

pub(crate) fn within<T: PartialOrd + Display>(
    name: &str,
    value: T,
    range: &RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("`{name}` is {value}, not between {} and {}", range.start(), range.end()))
}

pub(super) fn distribution(draw: Distribution) -> Result<(), String> {
    match draw {
        Distribution::Zipfian { s } => within("s", s, &ZIPF_S),
        Distribution::Pareto { h } => within("h", h, &PARETO_H),
        Distribution::Uniform | Distribution::Gaussian | Distribution::Special => Ok(()),
    }
}
