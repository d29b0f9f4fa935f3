//! Files of a workload, and files that a workload file names.

use assay_model::test_name;

/// A file that a workload file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    /// Where it is, from any directory.
    pub path: String,
    /// The checksum of its content, hexadecimal.
    pub sha256: String,
    /// Its content, or the beginning of it.
    pub content: Vec<u8>,
    /// Bytes of all of its content, about.
    pub bytes: u64,
}

/// What is wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// All of its content.
    Whole,
    /// The beginning of its content, decompressed. The file may be larger than the memory.
    Head,
}

/// Reads a file that a workload file names; the error says why it cannot.
pub type ReadFile<'a> = &'a dyn Fn(&str, Wanted) -> Result<UserFile, String>;

/// The same, given the path of the workload file too.
pub type ReadFileOf<'a> = &'a dyn Fn(&str, &str, Wanted) -> Result<UserFile, String>;

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

/// The name of a test after a file: that of the file without directory and ending.
pub(super) fn stem(path: &str) -> String {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = file.rsplit_once('.').map_or(file, |(name, _)| name);
    test_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_test_is_a_word() {
        assert_eq!(stem("a/b c.sql"), "b_c");
        assert_eq!(stem("a/b\nc\x1b[1m.sql"), "b_c__1m");
    }
}
