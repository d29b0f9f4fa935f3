//! Pages about the studies of a ledger: their list, and the facts of one. Pure: no I/O, no clock.

mod list;
mod study;

pub use list::studies;
pub use study::{ShownStudy, study};
