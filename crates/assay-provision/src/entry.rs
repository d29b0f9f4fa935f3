//! The entries of archives, whatever their format.

use std::path::PathBuf;

/// One entry of an archive, as stored.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) kind: ArchiveEntryKind,
    /// Unix permissions; 0 where the archive has none.
    pub(crate) mode: u32,
}

/// The kind of an entry; links have their targets as stored.
#[derive(Debug)]
pub(crate) enum ArchiveEntryKind {
    File,
    Directory,
    Symlink(PathBuf),
    HardLink(PathBuf),
    /// Devices, pipes and everything else.
    Special,
}
