//! Packages and archives: whatever they contain, nothing gets outside the tree.

use std::path::Path;

use assay_provision::{ProvisionError, fuzzing};
use fs_err as fs;

pub(crate) fn deb(bytes: &[u8]) {
    unpack(bytes, fuzzing::deb);
}

pub(crate) fn tar(bytes: &[u8]) {
    unpack(bytes, fuzzing::tar);
}

fn unpack(bytes: &[u8], into: fn(&[u8], &Path) -> Result<(), ProvisionError>) {
    let outside = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let root = outside.path().join("root");
    let done =
        fs::create_dir(&root).map_err(ProvisionError::from).and_then(|()| into(bytes, &root));
    // Any other kind of error is the fuzzer's own trouble, such as a full disk.
    drop(done);
    let count = fs::read_dir(outside.path()).map_or(0, Iterator::count);
    assert_eq!(count, 1, "something was made outside of the tree");
    inside(&root, &root);
}

/// Checks that every link, when followed, stays below `root`.
fn inside(root: &Path, directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            inside(root, &path);
        } else if kind.is_symlink() {
            let reached = fs::canonicalize(&path);
            let out = reached.is_ok_and(|reached| !reached.starts_with(root));
            assert!(!out, "`{}` leads out", path.display());
        }
    }
}
