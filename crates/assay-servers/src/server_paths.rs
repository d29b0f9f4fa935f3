//! Paths of a server's files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::supervise::hand_over;

pub(crate) struct ServerPaths {
    pub(crate) data_dir: PathBuf,
    pub(crate) tmp_dir: PathBuf,
    pub(crate) socket_dir: PathBuf,
    pub(crate) log: PathBuf,
}

/// Name of the socket's directory. It is in the run directory, the rest of which the server cannot write to.
pub(crate) const SOCKET_DIR: &str = "u";

impl ServerPaths {
    /// Makes `nobody` the owner of all files that the server writes to, before it runs as that user.
    pub(crate) fn hand_over(&self) -> std::io::Result<()> {
        [&self.data_dir, &self.tmp_dir, &self.socket_dir]
            .into_iter()
            .try_for_each(|it| hand_over(it))
    }
}

/// `--option=` followed by a path, which need not be UTF-8.
pub(crate) fn with_path(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}
