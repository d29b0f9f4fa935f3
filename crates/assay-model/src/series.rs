//! What belongs to a slice and is read only when asked for: counts over time, and files.

use serde::{Deserialize, Serialize};

/// Counts of one thing in equal steps of a slice's measured part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// What is counted, such as `events`.
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
    /// What it is, as an internet media type, such as `text/plain`.
    pub media_type: String,
    /// Its content.
    pub bytes: Vec<u8>,
}
