//! Between which bounds a number makes sense.

use std::ops::RangeInclusive;

pub(crate) use assay_model::limits::{BLOCKS, CLIENTS, ROUNDS, ROWS, TABLES};

use crate::Error;

/// The value itself when it lies in the range.
pub(crate) fn in_range(
    option: &'static str,
    value: u32,
    range: &RangeInclusive<u32>,
) -> Result<u32, Error> {
    if range.contains(&value) {
        Ok(value)
    } else {
        let why = format!("it must lie between {} and {}", range.start(), range.end());
        Err(Error::OutOfRange { option, value: value.to_string(), why })
    }
}
