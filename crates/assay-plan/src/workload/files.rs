//! Files of a workload, and files that a workload file names.

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

/// The same, given the path of the workload file too.
pub type ReadFileOf<'a> = &'a dyn Fn(&str, &str) -> Result<UserFile, String>;

/// A file of a workload.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadFile<'a> {
    /// What errors call it.
    pub path: &'a str,
    /// The weight that the request gives it.
    pub weight: Option<&'a str>,
    /// Its content.
    pub text: &'a str,
}

/// The name of a file without directory and ending.
pub(super) fn stem(path: &str) -> String {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |(name, _)| name).to_owned()
}
