//! Files of a workload, as its definition knows them.

use serde::{Deserialize, Serialize};

/// A file that belongs to a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRowsFile {
    /// Where it is.
    pub path: String,
    /// Its checksum. Another content is other work.
    pub sha256: String,
}
