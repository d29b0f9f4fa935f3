//! Entries of archives of any format.

use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) kind: ArchiveEntryKind,
    /// Unix permissions; 0 if the archive has none.
    pub(crate) mode: u32,
}

/// Links have their targets as stored.
#[derive(Debug)]
pub(crate) enum ArchiveEntryKind {
    File,
    Directory,
    Symlink(PathBuf),
    HardLink(PathBuf),
    /// Devices, pipes and everything else.
    Special,
}
