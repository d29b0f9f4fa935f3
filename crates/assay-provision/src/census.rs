//! Counts of a tree's files and bytes, to detect a damaged prefix.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileCensus {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl FileCensus {
    /// Counts everything in the directories below `root`. Files directly in it belong to the cache and do not count.
    pub(crate) fn below(root: &Path) -> io::Result<Self> {
        let mut census = Self::default();
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                census.add(&entry.path())?;
            }
        }
        Ok(census)
    }

    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let mut census = Self::default();
        census.add(path)?;
        Ok(census)
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_dir() {
            for entry in fs::read_dir(path)? {
                self.add(&entry?.path())?;
            }
        } else {
            self.files += 1;
            self.bytes += if metadata.is_file() { metadata.len() } else { 0 };
        }
        Ok(())
    }
}

pub fn belongs_to_another(found: &Metadata) -> bool {
    found.uid() != 0 && found.uid() != geteuid().as_raw()
}

/// The first part of a tree that every user may change or that belongs to another user; `None` if it has none or does
/// not exist. Nothing may be executed or loaded from a tree with such a part.
pub fn part_of_others(path: &Path) -> io::Result<Option<PathBuf>> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if belongs_to_another(&found) {
        return Ok(Some(path.to_owned()));
    }
    // Links within a tree stay within it.
    if found.is_symlink() {
        return fs::canonicalize(path).map_or(Ok(None), |target| part_within(&target));
    }
    part_within(path)
}

fn part_within(path: &Path) -> io::Result<Option<PathBuf>> {
    let found = fs::symlink_metadata(path)?;
    let is_open = !found.is_symlink() && found.mode() & 0o002 != 0;
    if is_open || belongs_to_another(&found) {
        return Ok(Some(path.to_owned()));
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            if let Some(part) = part_within(&entry?.path())? {
                return Ok(Some(part));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_others_may_change_is_found_wherever_it_is() {
        let [place, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        symlink(place.path(), elsewhere.path().join("link")).unwrap();
        let (sbin, program) = (place.path().join("usr/sbin"), place.path().join("usr/sbin/mysqld"));
        fs::create_dir_all(&sbin).unwrap();
        fs::write(&program, "").unwrap();
        symlink("mysqld", sbin.join("mariadbd")).unwrap();
        let set = |path: &Path, mode| {
            fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&sbin, 0o755);
        set(&program, 0o755);
        assert_eq!(part_of_others(place.path()).unwrap(), None);
        assert_eq!(part_of_others(&place.path().join("none")).unwrap(), None);
        for (path, mode) in [(&sbin, 0o777), (&sbin, 0o1777), (&program, 0o757)] {
            set(path, mode);
            assert_eq!(part_of_others(place.path()).unwrap().as_ref(), Some(path));
            let link = elsewhere.path().join("link");
            assert_eq!(part_of_others(&link).unwrap().as_ref(), Some(path));
            set(path, 0o755);
        }
        // Only root can change the owner of a file.
        if geteuid().is_root() {
            std::os::unix::fs::lchown(sbin.join("mariadbd"), Some(4711), None).unwrap();
            assert_eq!(part_of_others(place.path()).unwrap(), Some(sbin.join("mariadbd")));
        }
    }
}
