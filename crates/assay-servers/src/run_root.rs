//! The usual place for run directories, whose sockets need short paths.

use std::path::{Path, PathBuf};

use crate::listen::Listen;
use crate::postgres;
use crate::server_paths::SOCKET_DIR;
use crate::supervise::unique_name;

/// Longest path of a unix socket, bytes, without the zero that ends it.
const SOCKET_PATH_MAX: usize = 107;

/// The usual place for run directories: below `runtime_dir` (the value of `XDG_RUNTIME_DIR`) if there is one and the
/// paths of sockets in it are short enough, otherwise below `/tmp`.
#[must_use]
pub fn run_root(runtime_dir: Option<&Path>) -> PathBuf {
    let usual = runtime_dir.filter(|path| path.is_absolute()).map(|path| path.join("assay"));
    usual.filter(|path| socket_fits(path)).unwrap_or_else(|| {
        PathBuf::from(format!("/tmp/assay-{}", rustix::process::geteuid().as_raw()))
    })
}

/// Whether the path of a socket in a run directory below `run_root` is short enough.
pub(crate) fn socket_fits(run_root: &Path) -> bool {
    // The longest path of any product.
    let socket_dir = run_root.join(unique_name()).join(SOCKET_DIR);
    let longest = postgres::socket_in(&socket_dir, Listen::Loopback(u16::MAX));
    longest.as_os_str().len() <= SOCKET_PATH_MAX
}
