//! The file system and the block device that hold a directory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MountInfo, Process};

use crate::Error;

/// The longest mount point above an existing path, the last one mounted.
pub(crate) fn mount_of(path: &Path) -> Result<Option<MountInfo>, Error> {
    let path = fs_err::canonicalize(path)?;
    let mounts = Process::myself()?.mountinfo()?;
    let above = mounts.into_iter().filter(|mount| path.starts_with(&mount.mount_point));
    Ok(above.max_by_key(|mount| mount.mount_point.components().count()))
}

/// The statistics file of the block device below `directory`; `None` for memory, network and layered file systems.
pub(crate) fn block_device(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let mut device = fs_err::metadata(directory)?.dev();
    if rustix::fs::major(device) == 0 {
        // File systems with subvolumes have separate device numbers, but name their device.
        let source = mount_of(directory)?.and_then(|mount| mount.mount_source);
        match source.and_then(|source| fs_err::metadata(source).ok()) {
            Some(source) => device = source.rdev(),
            None => return Ok(None),
        }
    }
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Ok((major != 0).then(|| PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_a_block_device_is_accepted() {
        assert_eq!(block_device(Path::new("/proc/self")).unwrap(), None);
    }
}
