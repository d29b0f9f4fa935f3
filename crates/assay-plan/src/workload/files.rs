//! Files that a workload file names.

/// A file that a workload file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    /// Where it is, from any directory.
    pub path: String,
    /// The checksum of its content, hexadecimal.
    pub sha256: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// Reads a file that a workload file names; the error says why it cannot.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<UserFile, String>;
