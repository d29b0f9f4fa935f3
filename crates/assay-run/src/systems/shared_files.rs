//! Hard-links equal files of a template.
//!
//! Postgres' template databases are copies of each other, and so are most files that loading and aging do not touch.
//! Nobody writes to a template: servers run on copies with their own files.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use sha2::{Digest as _, Sha256};

/// Smaller files take hardly any space.
const SMALLEST: u64 = 8 << 10;

/// Larger files are tables, which are rarely equal and take long to read.
const LARGEST: u64 = 64 << 20;

pub(crate) fn share_equal_files(dir: &Path) -> Result<()> {
    let mut alike: BTreeMap<(u64, u32), Vec<PathBuf>> = BTreeMap::new();
    collect(dir, &mut alike)?;
    for paths in alike.into_values().filter(|paths| paths.len() > 1) {
        let mut kept: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
        for path in paths {
            let digest = Sha256::digest(fs_err::read(&path)?).to_vec();
            match kept.get(&digest) {
                Some(same) => link(same, &path),
                None => {
                    kept.insert(digest, path);
                }
            }
        }
    }
    Ok(())
}

fn collect(dir: &Path, alike: &mut BTreeMap<(u64, u32), Vec<PathBuf>>) -> Result<()> {
    for entry in fs_err::read_dir(dir)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            collect(&entry.path(), alike)?;
        } else if found.is_file()
            && (SMALLEST..=LARGEST).contains(&found.len())
            && found.blocks() > 0
        {
            let key = (found.len(), found.permissions().mode());
            alike.entry(key).or_default().push(entry.path());
        }
    }
    Ok(())
}

/// Makes `path` a hard link to `same`. If that is impossible, it takes extra space.
fn link(same: &Path, path: &Path) {
    let unfinished = path.with_extension("new-link");
    let linked = fs_err::hard_link(same, &unfinished)
        .and_then(|()| fs_err::rename(&unfinished, path))
        // Renaming does nothing if both are the same file already.
        .map(|()| drop(fs_err::remove_file(&unfinished)));
    if let Err(error) = linked {
        log::debug!("{error}");
        drop(fs_err::remove_file(&unfinished));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_are_kept_once_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs_err::create_dir(path("sub")).unwrap();
        for (name, byte) in [("a", 1), ("sub/b", 1), ("c", 2), ("d", 1)] {
            fs_err::write(path(name), vec![byte; 20_000]).unwrap();
        }
        fs_err::set_permissions(path("d"), std::fs::Permissions::from_mode(0o600)).unwrap();
        for _ in 0..2 {
            share_equal_files(dir.path()).unwrap();
            let inode = |name: &str| fs_err::metadata(path(name)).unwrap().ino();
            assert_eq!(inode("a"), inode("sub/b"));
            assert!(inode("a") != inode("c") && inode("a") != inode("d"));
            assert_eq!(fs_err::read(path("sub/b")).unwrap(), vec![1; 20_000]);
            assert_eq!(fs_err::read_dir(dir.path()).unwrap().count(), 4);
        }
    }
}
