//! Between which bounds a number makes sense.

use std::ops::RangeInclusive;

use crate::Error;

/// Clients of a setup.
pub(crate) const CLIENTS: RangeInclusive<u32> = 1..=1024;

/// Tables of a setup.
pub(crate) const TABLES: RangeInclusive<u32> = 1..=1000;

/// Rows of each table: below, the tests ask for rows that do not exist; above, `id` does not hold them.
pub(crate) const ROWS: RangeInclusive<u32> = 1000..=2_000_000_000;

/// Blocks of a study.
pub(crate) const BLOCKS: RangeInclusive<u32> = 1..=1000;

/// Rounds of a block: they come in twos.
pub(crate) const ROUNDS: RangeInclusive<u32> = 2..=10_000;

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
