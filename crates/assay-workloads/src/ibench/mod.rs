//! The Insert Benchmark: its tables, statements, values and pace.

mod query;
mod rows;
mod schema;
mod steps;

pub use query::{IbenchKeys, IbenchQueryText, IbenchStatement, ibench_statements};
pub use rows::{IbenchRows, RandomText};
pub use schema::IbenchTable;
pub use steps::{IbenchPace, IbenchSizes, ibench_steps};

/// Exclusive upper bounds of the random columns.
const CASH_REGISTERS: u64 = 1000;
const CUSTOMERS: u64 = 100_000;
const PRODUCTS: u64 = 10_000;
const PRICES: u64 = 500;
