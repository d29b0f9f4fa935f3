//! Client protocols of database servers, apart from anything that is measured with them.
//!
//! Parsers and encoders are pure functions over byte slices (`mysql::codec`, `mysql::Walker`): they
//! never block and never panic, whatever the bytes. Sockets are a thin layer under them.

mod error;
pub mod mysql;
mod stream;
mod waiter;

pub use error::Error;
pub use stream::Address;
