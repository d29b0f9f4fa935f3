//! Files of a workload with their options, and files referenced by a workload file.

use assay_model::test_name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    /// Absolute path.
    pub path: String,
    pub sha256: String,
    pub content: Vec<u8>,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileExtent {
    Whole,
    /// The beginning of its content, decompressed. The file may be larger than memory.
    Head,
}

/// Reads a file referenced by a workload file. The error is a reason.
pub type ReadFile<'a> = &'a dyn Fn(&str, FileExtent) -> Result<UserFile, String>;

/// The same, with the path of the workload file as first argument.
pub type ReadFileOf<'a> = &'a dyn Fn(&str, &str, FileExtent) -> Result<UserFile, String>;

#[derive(Debug, Clone, Copy)]
pub struct WorkloadFile<'a> {
    pub path: &'a str,
    pub weight: Option<&'a str>,
    pub text: &'a str,
}

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
