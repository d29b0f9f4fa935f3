//! Parts of a slice read only on request: time series and attachments.

use serde::{Deserialize, Serialize};

/// Counts in equal steps of a slice's measured part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    pub name: String,
    pub step_ms: u32,
    pub counts: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
}
