//! Counts of a tree's files and bytes, which show whether a prefix has lost any.

use std::io;
use std::path::Path;

use fs_err as fs;
use serde::{Deserialize, Serialize};

/// Files, links and bytes of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Census {
    /// Files and links.
    pub(crate) files: u64,
    /// Lengths of all files together.
    pub(crate) bytes: u64,
}

impl Census {
    /// Counts everything in the directories below `root`. Files directly in it do not count, because they are
    /// the cache's own.
    pub(crate) fn of(root: &Path) -> io::Result<Self> {
        let mut census = Self::default();
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                census.count(&entry.path())?;
            }
        }
        Ok(census)
    }

    /// Counts everything under a path, which may be a file.
    pub(crate) fn all(path: &Path) -> io::Result<Self> {
        let mut census = Self::default();
        if fs::symlink_metadata(path)?.is_dir() {
            census.count(path)?;
        } else {
            census.file(path)?;
        }
        Ok(census)
    }

    fn count(&mut self, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => self.count(&entry.path())?,
                false => self.file(&entry.path())?,
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        self.files += 1;
        let metadata = fs::symlink_metadata(path)?;
        self.bytes += if metadata.is_file() { metadata.len() } else { 0 };
        Ok(())
    }
}
