//! Clients, pacing, latency, error policy, slices.
//!
//! [`fill`] creates and loads the tables, [`content()`] tells what they hold; a [`Session`] holds the
//! clients of one microbenchmark on one server, connected and prepared, and runs slice after slice.

mod connection;
mod content;
mod error;
mod fill;
mod handshake;
mod session;
mod share;
mod tally;
mod worker;

pub use content::{Content, content, fill_cache};
pub use error::Error;
pub use fill::{LoadProgress, LoadReport, Tables, fill};
pub use session::{Bound, Session, Work};
pub use tally::latencies;

/// What a fallible operation of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
