//! Bounds on the numbers of a study. Requests and ledgers are checked against the same bounds.

use std::ops::RangeInclusive;

/// Clients of a setup.
pub const CLIENTS: RangeInclusive<u32> = 1..=1024;

/// Tables of a setup.
pub const TABLES: RangeInclusive<u32> = 1..=1000;

/// Rows of each table: below, the tests ask for rows that do not exist; above, `id` does not hold them.
pub const ROWS: RangeInclusive<u32> = 1000..=2_000_000_000;

/// Blocks of a study.
pub const BLOCKS: RangeInclusive<u32> = 1..=1000;

/// Rounds of a block: they come in twos.
pub const ROUNDS: RangeInclusive<u32> = 2..=10_000;

/// Longest slice, milliseconds: a day.
pub const SLICE_MS: u32 = 86_400_000;

/// Turns of a slice at most.
pub const TURNS: u32 = 100_000;

/// Cells of a study at most: all tests in some two hundred setups.
pub const CELLS: usize = 10_000;

/// Systems of a study at most.
pub const SYSTEMS: usize = 100;

/// Counts of a series at most: a day in steps of a second, a quarter of an hour in steps of ten milliseconds.
pub const SERIES_COUNTS: usize = 90_000;

/// Bytes of a series' or attachment's name, or of a media type, at most.
pub const NAME_BYTES: usize = 200;

/// Bytes of an attachment at most.
pub const ATTACHMENT_BYTES: usize = 8 << 20;
