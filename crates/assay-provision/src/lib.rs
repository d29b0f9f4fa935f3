//! Provides servers from package clients and vendors: resolved, verified, unpacked into prefixes in a cache, without
//! root.
//!
//! Flow of [`Provisioner::get`]: catalog row → source index → packages with their libraries → download → checksums →
//! unpack → layout → rename into the cache. Everything before the rename happens in a directory that the next call
//! removes after a crash.

mod agree;
mod available;
mod build;
mod catalog;
mod census;
mod entry;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod get;
mod hints;
mod http;
mod keep;
mod layout;
mod programs;
mod provisioner;
mod reach;
mod sources;
mod store;
mod unpack;
mod upkeep;
mod valgrind;
mod version;

pub use agree::maker;
pub use available::{AvailableServer, Releases, catalog_names, version_table};
pub use census::{belongs_to_another, part_of_others};
pub use error::ProvisionError;
pub use programs::halt;
pub use provisioner::{ProvisionOptions, ProvisionProgress, Provisioner};
pub use sources::git::repository::HistoryCommit;
pub use sources::git::{compiled, fix_table, flag_table};
pub use upkeep::{CacheEntry, CacheEntryKind, Cleaning, CleaningResult, Hold};
pub use valgrind::Valgrind;
