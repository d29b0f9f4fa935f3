//! Provides servers from package clients and vendors: resolved, verified, unpacked into prefixes in a cache, without
//! root.
//!
//! Flow of [`Provisioner::get`]: catalog row → source index → packages with their libraries → download → checksums →
//! unpack → layout → rename into the cache. Everything before the rename happens in a directory that the next call
//! removes after a crash.

mod agree;
mod available;
mod build;
mod carry;
mod catalog;
mod census;
mod choose;
mod entry;
mod error;
mod extensions;
#[doc(hidden)]
pub mod fuzzing;
mod get;
mod hints;
mod host;
mod http;
mod keep;
mod layout;
mod old_release;
mod pins;
mod programs;
mod provisioner;
mod reach;
mod reference;
mod releases;
mod sha256;
mod sources;
mod store;
mod typo;
mod unpack;
mod upkeep;
mod valgrind;
mod version;

pub use agree::maker;
pub use available::{Available, catalog_names};
pub use census::{belongs_to_another, part_of_others};
pub use error::Error;
pub use programs::halt;
pub use provisioner::{Options, Progress, Provisioner};
pub use reference::version_table;
pub use releases::Releases;
pub use sources::git::compiled;
pub use sources::git::history::Change;
pub use upkeep::{Cleaned, Cleaning, Entry, EntryKind, Hold};
pub use valgrind::Valgrind;
