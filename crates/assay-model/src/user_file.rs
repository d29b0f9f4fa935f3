//! Files of a workload, as referenced by its definition.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRowsFile {
    pub path: String,
    /// A changed checksum means different work.
    pub sha256: String,
}
