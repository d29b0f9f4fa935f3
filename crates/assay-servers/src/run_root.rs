//! Default place for run directories, whose sockets need short paths.

use std::path::{Path, PathBuf};

use crate::listen::Listen;
use crate::products;
use crate::server_paths::SOCKET_DIR;
use crate::supervise::{is_own, unique_name};

/// Longest path of a unix socket, bytes, without its terminating zero.
const SOCKET_PATH_MAX: usize = 107;

/// Number of places tried below `/tmp`: another user may have created the first ones.
const PLACES: u32 = 9;

/// Below `runtime_dir` (the value of `XDG_RUNTIME_DIR`) if it exists and the paths of sockets in it are short enough,
/// otherwise below `/tmp`.
#[must_use]
pub fn run_root(runtime_dir: Option<&Path>) -> PathBuf {
    let usual = runtime_dir.filter(|path| path.is_absolute()).map(|path| path.join("assay"));
    let own = format!("assay-{}", rustix::process::geteuid().as_raw());
    usual.filter(|path| socket_fits(path)).unwrap_or_else(|| own_place(Path::new("/tmp"), &own))
}

/// The first place with that name, or with a number after it, that is free or this user's.
fn own_place(parent: &Path, name: &str) -> PathBuf {
    let places = (1..=PLACES).map(|number| match number {
        1 => parent.join(name),
        _ => parent.join(format!("{name}-{number}")),
    });
    let mut places = places.filter(|place| match fs_err::symlink_metadata(place) {
        Ok(_) => is_own(place),
        Err(_) => true,
    });
    // The error about the first one has the remedy.
    places.next().unwrap_or_else(|| parent.join(name))
}

pub(crate) fn socket_fits(run_root: &Path) -> bool {
    let socket_dir = run_root.join(unique_name()).join(SOCKET_DIR);
    let listen = Listen::Loopback(u16::MAX);
    let mut sockets = products::all().map(|servers| servers.socket_in(&socket_dir, listen));
    sockets.all(|socket| socket.as_os_str().len() <= SOCKET_PATH_MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_directory_that_another_user_made_first_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        assert_eq!(own_place(dir.path(), "a"), place("a"));
        // Like another user's, as far as this user can create one: writable by others, or a link.
        fs_err::create_dir(place("a")).unwrap();
        fs_err::set_permissions(place("a"), std::fs::Permissions::from_mode(0o777)).unwrap();
        symlink("/", place("a-2")).unwrap();
        assert_eq!(own_place(dir.path(), "a"), place("a-3"));
        fs_err::set_permissions(place("a"), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(own_place(dir.path(), "a"), place("a"));
    }
}
