//! Bounds on the numbers of a study. Requests and ledgers are checked against the same bounds.

use std::ops::RangeInclusive;

/// Clients of a setup.
pub const CLIENTS: RangeInclusive<u32> = 1..=4096;

/// Tables of a setup.
pub const TABLES: RangeInclusive<u32> = 1..=1000;

/// Rows of each table: below, the tests ask for rows that do not exist; above, `id` does not hold them.
pub const ROWS: RangeInclusive<u32> = 1000..=2_000_000_000;

/// Blocks of a study.
pub const BLOCKS: RangeInclusive<u32> = 1..=1000;

/// Shards of a study.
pub const SHARDS: RangeInclusive<u32> = 1..=1000;

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

/// Cells times systems of a study at most. Reports have a line for each.
pub const RESULTS: usize = 20_000;

/// Counts of a series at most: a day in steps of a second, a quarter of an hour in steps of ten milliseconds.
pub const SERIES_COUNTS: usize = 90_000;

/// Bytes of a name at most: of a system, test, group, series or attachment. Reports repeat names for each result.
pub const NAME_BYTES: usize = 200;

/// Bytes of an attachment at most.
pub const ATTACHMENT_BYTES: usize = 8 << 20;

/// Nodes of a call tree, and functions in it, at most.
pub const PROFILE_NODES: usize = 60_000;

/// The largest dispersion of a profile.
pub const DISPERSION_MAX: f64 = 1e6;

/// Bounds on searches for the version that made a change.
pub mod bisect {
    use std::ops::RangeInclusive;

    /// Versions that a search considers at most.
    pub const VERSIONS: usize = 2000;

    /// Comparisons of a search at most.
    pub const COMPARISONS: u32 = 300;

    /// Ranges that are searched one after the other.
    pub const LEVELS: RangeInclusive<u32> = 0..=1;
}

/// Bounds on users' workloads.
pub mod user {
    use std::ops::RangeInclusive;

    /// Tables of a workload.
    pub const TABLES: usize = 200;

    /// Columns of a table that get values.
    pub const COLUMNS: usize = 1000;

    /// Bytes of the values of a row, about.
    pub const ROW_BYTES: u64 = 16 << 20;

    /// Values of a list.
    pub const VALUES: usize = 10_000;

    /// Characters of a random text.
    pub const TEXT: u32 = 1_000_000;

    /// Exponents of Zipf's distribution.
    pub const ZIPF_S: RangeInclusive<f64> = 0.0..=100.0;

    /// Shares of Pareto's distribution.
    pub const PARETO_H: RangeInclusive<f64> = 0.001..=0.999;

    /// Kinds of events of a test: its own, or those of all tests that it mixes.
    pub const KINDS: usize = 1000;

    /// Steps of an event.
    pub const STEPS: usize = 1000;

    /// Settings of a session.
    pub const SETTINGS: usize = 64;

    /// Variables of an event.
    pub const VARIABLES: usize = 65_535;

    /// Terms of an expression.
    pub const TERMS: usize = 1000;

    /// Values that a statement uses: a prepared statement takes no more.
    pub const USES: usize = 65_535;

    /// Scale factors of pgbench's tables: above, their rows are no longer counted.
    pub const SCALE: RangeInclusive<u32> = 1..=40_000;

    /// Weights of pgbench's scripts.
    pub const WEIGHT: RangeInclusive<u32> = 1..=1_000_000;

    /// Scripts of a workload.
    pub const SCRIPTS: usize = 100;

    /// Repetitions of a step.
    pub const TIMES: u32 = 10_000;

    /// Statements of an event, repetitions included: all of them are in memory together.
    pub const STATEMENTS: u64 = 100_000;

    /// Bytes of the values of an event, repetitions included, about.
    pub const EVENT_BYTES: u64 = 256 << 20;
}

/// Bounds on files with captured values.
pub mod captured {
    /// Bytes of a file.
    pub const FILE_BYTES: u64 = 512 << 20;

    /// Lines of a file.
    pub const LINES: usize = 5_000_000;

    /// Bytes of a line.
    pub const LINE_BYTES: usize = 16 << 20;

    /// Values of a line.
    pub const WIDTH: usize = 1000;

    /// Values of a list.
    pub const LIST: usize = 10_000;

    /// Mistakes of a file that are told.
    pub const FAULTS: usize = 10;
}

/// Bounds on the workload in the manner of TPC-C.
pub mod tpcc {
    use std::ops::RangeInclusive;

    /// Warehouses: with more, the number of rows does not fit a setup.
    pub const WAREHOUSES: RangeInclusive<u32> = 1..=4000;
}

/// Bounds on the Insert Benchmark.
pub mod ibench {
    use std::ops::RangeInclusive;

    /// Secondary indexes of a table.
    pub const INDEXES: RangeInclusive<u32> = 0..=3;

    /// Partitions of a table, if it has any.
    pub const PARTITIONS: RangeInclusive<u32> = 2..=1000;

    /// Rows of a statement.
    pub const ROWS_PER_COMMIT: RangeInclusive<u32> = 1..=10_000;

    /// Rows that a client inserts in a second.
    pub const PER_SECOND: RangeInclusive<u32> = 1..=1_000_000;

    /// Rows that each client inserts in a load step.
    pub const ROWS: RangeInclusive<u64> = 1000..=2_000_000_000;

    /// Seconds of a query step: up to a day.
    pub const QUERY_S: RangeInclusive<u32> = 1..=86_400;

    /// Seconds for which a transaction stays open.
    pub const TRANSACTION_S: RangeInclusive<u32> = 1..=86_400;
}

/// Bounds on the options of sysbench's scripts.
pub mod oltp {
    use std::ops::RangeInclusive;

    /// Repetitions of a statement in an event.
    pub const TIMES: RangeInclusive<u32> = 0..=10_000;
    /// Rows that an event deletes and inserts again.
    pub const DELETE_INSERTS: RangeInclusive<u32> = 0..=100;
    /// Values in a list, and ranges in a statement: a prepared statement has at most 65,535 parameters.
    pub const LISTED: RangeInclusive<u32> = 1..=30_000;
    /// Values in a range.
    pub const RANGE: RangeInclusive<u32> = 1..=1_000_000_000;
    /// Distance of the ends of a range.
    pub const DELTA: RangeInclusive<u32> = 0..=1_000_000_000;
}
