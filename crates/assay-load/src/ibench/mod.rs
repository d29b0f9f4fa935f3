//! The clients of a step of the Insert Benchmark.
//!
//! Each client has an inserter and, depending on the step, a deleter, a query thread, a generator, which schedules
//! statements, and a holder of an open transaction. Each has its own thread and connection.

mod counted;
mod roles;
mod session;
mod tally;

/// Maximum connections of a client: inserts, deletes, queries, the lowest key, and an open transaction.
pub const IBENCH_CONNECTIONS: u32 = 5;

pub(crate) use counted::{
    CountedIbenchClient, counted_content, counted_tables, fill_counted, fill_counted_cache,
};
pub use session::{IbenchProgress, IbenchSession, IbenchStepRun, IbenchWork, create_ibench_tables};
