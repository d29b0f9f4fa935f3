//! The keys of a study file, by table.

use crate::entry::keys_of;
use crate::request::{Request, SetupRequest};

/// Keys at the top that are not options.
pub(super) const TABLES: [&str; 3] = ["compare", "system", "setup"];

pub(super) const SYSTEM_KEYS: [&str; 3] = ["is", "config", "options"];

/// A place in words, and its keys.
pub(super) type Place = (&'static str, &'static [&'static str]);

pub(super) fn in_study() -> Place {
    ("at the top of the file, before all tables", keys_of::<Request>())
}

pub(super) fn in_system() -> Place {
    ("in a `[system.NAME]` table", &SYSTEM_KEYS)
}

pub(super) fn in_setup() -> Place {
    ("in a `[[setup]]` table", keys_of::<SetupRequest>())
}
