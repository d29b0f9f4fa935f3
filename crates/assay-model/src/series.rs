//! Parts of a slice that are read only on request: counts over time, and files.

use serde::{Deserialize, Serialize};

/// Counts of one thing in equal steps of a slice's measured part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The name of the counted thing, such as `events`.
    pub name: String,
    /// Length of a step, milliseconds.
    pub step_ms: u32,
    /// The count of each step, from the first.
    pub counts: Vec<u64>,
}

/// A file made during a slice, such as a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its name, such as `server.folded`.
    pub name: String,
    /// Its internet media type, such as `text/plain`.
    pub media_type: String,
    /// Its content.
    pub bytes: Vec<u8>,
}
