//! Servers from the machine's own package clients: resolved, verified, unpacked into prefixes in a
//! cache. No root needed.
//!
//! The flow of [`Provisioner::get`]: catalog row → source index → closure of packages → download →
//! checksums → unpack → layout → rename into the cache. Everything before the rename happens in a
//! directory that a crash leaves without harm and the next call collects.

mod apt;
mod catalog;
mod census;
mod deb;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod layout;
mod provisioner;
mod store;
mod unpack;
mod upkeep;
mod version;

pub use error::Error;
pub use provisioner::{AvailableVersion, Options, Progress, Provisioner};
pub use upkeep::{Cleaned, Cleaning, Entry, EntryKind, Hold};
