//! Clients, pacing, latency, error policy, slices.
//!
//! [`survey()`] looks at what a load would replace, [`fill`] creates and loads the tables, [`content()`] tells what
//! they hold; a [`Session`] holds the clients of one microbenchmark on one server, connected and prepared, and runs
//! slice after slice.

mod connection;
mod content;
mod error;
mod fill;
mod handshake;
mod live;
mod oversee;
mod session;
mod share;
mod survey;
mod tally;
mod worker;

pub use content::{Content, content, fill_cache};
pub use error::Error;
pub use fill::{LoadProgress, LoadReport, Tables, fill, fill_over};
pub use live::SoFar;
pub use oversee::Watch;
pub use session::{Bound, Finished, Session, Work};
pub use survey::{Survey, Unfit, check_engine, numbers, survey};
pub use tally::latencies;

/// What a fallible operation of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
