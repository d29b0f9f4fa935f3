//! Files that are opened by path once, so that nobody can replace what a path stands for between check and use.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};

/// A file or directory, held without being read. Opening a device or a pipe in this way has no effect on it.
pub(crate) struct Pinned {
    pub(crate) fd: OwnedFd,
    /// Where it is, with all links followed.
    pub(crate) path: PathBuf,
}

impl Pinned {
    /// Follows all links of a path.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Self::of(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// The real place of an open file.
    pub(crate) fn of(fd: OwnedFd) -> io::Result<Self> {
        let path = readlinkat(CWD, handle(&fd), Vec::new())?;
        let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
        Ok(Self { fd, path })
    }

    /// Whether it is a regular file, whose content ends.
    pub(crate) fn is_regular(&self) -> io::Result<bool> {
        Ok(FileType::from_raw_mode(fstat(&self.fd)?.st_mode) == FileType::RegularFile)
    }

    /// A path of this very file, whatever happens to its directory.
    pub(crate) fn handle(&self) -> String {
        handle(&self.fd)
    }
}

fn handle(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
