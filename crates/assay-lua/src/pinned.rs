//! Files opened by path once, so that nobody can replace them between check and use.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};

/// A file or directory, held without being read. Opening a device or a pipe in this way has no effect on it.
pub(crate) struct Pinned {
    pub(crate) fd: OwnedFd,
    /// With all links resolved.
    pub(crate) path: PathBuf,
}

impl Pinned {
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Self::of(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    pub(crate) fn of(fd: OwnedFd) -> io::Result<Self> {
        let path = readlinkat(CWD, handle(&fd), Vec::new())?;
        let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
        Ok(Self { fd, path })
    }

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
