//! Bounds on the numbers of a study, for requests and ledgers alike.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Maximum counter of a slice. The sum of a few does not overflow.
pub const COUNTER_MAX: u64 = 1 << 60;

/// Maximum events or errors of a slice. The sum over all slices does not overflow.
pub const COUNT_MAX: u64 = 1 << 40;

/// Refuses a value outside its range.
pub fn within<T: PartialOrd + Display>(
    name: &str,
    value: T,
    range: &RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("`{name}` is {value}, not between {} and {}", range.start(), range.end()))
}

/// Refuses a long name, as reports repeat names for each result.
pub fn name(owner: &str, text: &str) -> Result<(), String> {
    within(&format!("length of the name of a {owner}"), text.len(), &(0..=NAME_BYTES))
}

pub const CLIENTS: RangeInclusive<u32> = 1..=4096;

/// Numbers of CPUs in the kernel's smallest set of them.
pub const CPUS: RangeInclusive<u32> = 0..=1023;

pub const TABLES: RangeInclusive<u32> = 1..=1000;

/// Rows of each table: tests read rows that smaller tables lack; `id` cannot number larger ones.
pub const ROWS: RangeInclusive<u32> = 1000..=2_000_000_000;

pub const BLOCKS: RangeInclusive<u32> = 1..=1000;

pub const SHARDS: RangeInclusive<u32> = 1..=1000;

/// Rounds of a block, which come in pairs.
pub const ROUNDS: RangeInclusive<u32> = 2..=10_000;

/// Longest slice: a day.
pub const SLICE_MS: u32 = 86_400_000;

pub const TURNS: u32 = 100_000;

/// Cells of a study: all tests in some two hundred setups.
pub const CELLS: usize = 10_000;

pub const SYSTEMS: usize = 100;

/// Cells times systems of a study. Reports have a line for each.
pub const RESULTS: usize = 20_000;

/// Counts of a series: a day in steps of a second, a quarter of an hour in steps of ten milliseconds.
pub const SERIES_COUNTS: usize = 90_000;

/// Bytes of the name of a system, test, group, series or attachment. Reports repeat names for each result.
pub const NAME_BYTES: usize = 200;

pub const ATTACHMENT_BYTES: usize = 8 << 20;

pub const PROFILE_NODES: usize = 60_000;

/// Bytes of the name of a function of a server.
pub const FUNCTION_BYTES: usize = 500;

/// Modules of a server without a complete symbol table.
pub const MODULES: usize = 1000;

pub const DISPERSION_MAX: f64 = 1e6;

pub mod search {
    use std::ops::RangeInclusive;

    pub const VERSIONS: usize = 2000;

    pub const COMPARISONS: u32 = 300;

    /// Number of the range in a series of nested searches.
    pub const LEVELS: RangeInclusive<u32> = 0..=1;
}

pub mod user {
    use std::ops::RangeInclusive;

    pub const TABLES: usize = 200;

    pub const COLUMNS: usize = 1000;

    /// Bytes of the name of a table, column or test, accepted by all servers.
    pub const NAME_BYTES: usize = 60;

    pub const STATEMENT_BYTES: usize = 4 << 20;

    /// Approximate bytes of the values of a row.
    pub const ROW_BYTES: u64 = 16 << 20;

    pub const VALUES: usize = 10_000;

    pub const TEXT: u32 = 1_000_000;

    pub const ZIPF_S: RangeInclusive<f64> = 0.0..=100.0;

    pub const PARETO_H: RangeInclusive<f64> = 0.001..=0.999;

    /// Kinds of events of a test: its own, or those of all tests it mixes.
    pub const KINDS: usize = 1000;

    pub const STEPS: usize = 1000;

    pub const SETTINGS: usize = 64;

    pub const VARIABLES: usize = 65_535;

    pub const TERMS: usize = 1000;

    /// Values used by a statement: the maximum of a prepared statement.
    pub const USES: usize = 65_535;

    /// Scale factors of pgbench's tables: row counts overflow above.
    pub const SCALE: RangeInclusive<u32> = 1..=40_000;

    pub const WEIGHT: RangeInclusive<u32> = 1..=1_000_000;

    pub const SCRIPTS: usize = 100;

    pub const TIMES: u32 = 10_000;

    /// Statements of an event including repetitions; all of them are in memory together.
    pub const STATEMENTS: u64 = 100_000;

    /// Approximate bytes of the values of an event, repetitions included.
    pub const EVENT_BYTES: u64 = 256 << 20;
}

pub mod captured {
    pub const FILE_BYTES: u64 = 512 << 20;

    pub const LINES: usize = 5_000_000;

    pub const LINE_BYTES: usize = 16 << 20;

    pub const WIDTH: usize = 1000;

    pub const LIST: usize = 10_000;

    pub const FAULTS: usize = 10;
}

pub mod tpcc {
    use std::ops::RangeInclusive;

    /// Warehouses: with more, the number of rows does not fit a setup.
    pub const WAREHOUSES: RangeInclusive<u32> = 1..=4000;
}

pub mod ibench {
    use std::ops::RangeInclusive;

    pub const INDEXES: RangeInclusive<u32> = 0..=3;

    pub const PARTITIONS: RangeInclusive<u32> = 2..=1000;

    pub const ROWS_PER_COMMIT: RangeInclusive<u32> = 1..=10_000;

    pub const PER_SECOND: RangeInclusive<u32> = 1..=1_000_000;

    pub const ROWS: RangeInclusive<u64> = 1000..=2_000_000_000;

    /// Duration of a query step: up to a day.
    pub const QUERY_S: RangeInclusive<u32> = 1..=86_400;

    pub const TRANSACTION_S: RangeInclusive<u32> = 1..=86_400;

    /// Segments of a step as users choose them. A step may have up to twice as many.
    pub const SEGMENTS: RangeInclusive<u32> = 1..=1000;
}

pub mod oltp {
    use std::ops::RangeInclusive;

    pub const TIMES: RangeInclusive<u32> = 0..=10_000;
    /// Rows that an event deletes and inserts again.
    pub const DELETE_INSERTS: RangeInclusive<u32> = 0..=100;
    /// Values in a list, and ranges in a statement: a prepared statement has at most 65,535 parameters.
    pub const LISTED: RangeInclusive<u32> = 1..=30_000;
    pub const RANGE: RangeInclusive<u32> = 1..=1_000_000_000;
    pub const DELTA: RangeInclusive<u32> = 0..=1_000_000_000;
}
