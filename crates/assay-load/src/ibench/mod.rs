//! The clients of a step of the Insert Benchmark.
//!
//! Each client has an inserter, and as the step asks for them a deleter, a query thread, a generator, which decides
//! when statements are sent, and a holder of an open transaction. Each of them has its own thread and connection.

mod client;
mod generator;
mod precision;
mod roles;
mod session;
mod sla;
mod tables;
mod tally;
mod thread;

/// Connections of a client at most: inserts, deletes, queries, the lowest key, and an open transaction.
pub const IBENCH_CONNECTIONS: u32 = 5;

pub use session::{IbenchProgress, IbenchRun, IbenchSession, IbenchWork};
pub use tables::create_ibench_tables;
