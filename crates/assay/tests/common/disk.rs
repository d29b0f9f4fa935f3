//! Disks that become full.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::FallocateFlags;

/// A file system with this many bytes, which only root can make.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(path: PathBuf, bytes: u64) -> Self {
        fs_err::create_dir_all(&path).unwrap();
        let size = format!("size={bytes},mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path);
        assert!(mount.status().unwrap().success(), "{} cannot be mounted", path.display());
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Fills all free space repeatedly, because rewritten log files free some.
pub(crate) fn fill_up(filler: &Path, on: &Path) {
    let disk = || rustix::fs::statvfs(on).unwrap();
    let file = fs_err::OpenOptions::new().create(true).append(true).open(filler).unwrap();
    let (length, free) = (file.metadata().unwrap().len(), disk().f_bavail * disk().f_frsize);
    // Most is taken at once, and space freed meanwhile below.
    if free > 0 {
        let _ = rustix::fs::fallocate(file.file(), FallocateFlags::empty(), length, free);
    }
    let block = vec![1; 1 << 20];
    while disk().f_bavail > 0 && std::io::Write::write(&mut file.file(), &block).is_ok() {}
}
