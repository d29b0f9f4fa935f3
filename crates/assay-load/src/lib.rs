//! Clients, pacing, latency, error policy, slices.
//!
//! [`fill`] creates and loads the tables; a [`Session`] holds the clients of one microbenchmark on
//! one server, connected and prepared, and runs slice after slice.

mod connection;
mod error;
mod fill;
mod handshake;
mod session;
mod tally;
mod worker;

pub use assay_workloads::Checksum;
pub use error::Error;
pub use fill::{LoadProgress, LoadReport, Tables, content, fill};
pub use session::{Bound, Session, Work};
pub use tally::latencies;

/// What a fallible operation of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
