//! Claims on directories of a cache, by a lock file next to each. All users of the cache see which directories are in
//! use, even from a container that does not see the processes. An existing directory is locked itself too, so it stays
//! claimed if its lock file is removed.

use std::collections::BTreeSet;
use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;

const ENDING: &str = ".lock";

/// Interval between two attempts to claim a directory that a collector holds briefly.
const ATTEMPT_EVERY: Duration = Duration::from_millis(1);

/// A directory in use, whether it exists yet or not, until this is dropped or the process ends.
#[derive(Debug)]
pub struct DirectoryClaim {
    directory: PathBuf,
    lock: PathBuf,
    file: fs::File,
    /// The locked directory; `None` if it does not exist or its file system cannot lock directories.
    held: Option<fs::File>,
}

impl DirectoryClaim {
    /// Claims a directory that will be created. Only a collector can hold it, and only briefly.
    pub(super) fn take(directory: &Path) -> io::Result<Self> {
        if let Some(parent) = directory.parent() {
            fs::create_dir_all(parent)?;
        }
        loop {
            if let Some(claim) = Self::try_take(directory)? {
                return Ok(claim);
            }
            std::thread::sleep(ATTEMPT_EVERY);
        }
    }

    /// Claims a directory whose parent exists. `None` if somebody else holds it.
    pub fn try_take(directory: &Path) -> io::Result<Option<Self>> {
        let mut lock = directory.as_os_str().to_owned();
        lock.push(ENDING);
        let lock = PathBuf::from(lock);
        // Every user who can read a file can lock it, so only this user may read it.
        let file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&lock)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if !is_at(file.file(), &lock)? {
            return Ok(None);
        }
        let mut claim = Self { directory: directory.to_owned(), lock, file, held: None };
        Ok(claim.try_hold()?.then_some(claim))
    }

    pub(super) fn hold(&mut self) -> io::Result<()> {
        // Only a collector can hold it, until it sees the lock file.
        while !self.try_hold()? {
            std::thread::sleep(ATTEMPT_EVERY);
        }
        Ok(())
    }

    /// False if somebody else holds the directory, having claimed it before its lock file was removed.
    fn try_hold(&mut self) -> io::Result<bool> {
        if self.held.is_some() {
            return Ok(true);
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let opened = fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.directory);
        // It does not exist yet, or is no directory.
        let Ok(directory) = opened else { return Ok(true) };
        match directory.try_lock() {
            Ok(()) => self.held = Some(directory),
            Err(TryLockError::WouldBlock) => return Ok(false),
            // Some network file systems lock only writable files. Then the lock file has to suffice.
            Err(TryLockError::Error(error)) => log::debug!("{error}"),
        }
        Ok(true)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn remove(self) -> io::Result<()> {
        remove(&self.directory)?;
        // The cache may have been emptied meanwhile, and the path may hold another process' lock file.
        if is_at(self.file.file(), &self.lock)? { fs::remove_file(&self.lock) } else { Ok(()) }
    }
}

impl Drop for DirectoryClaim {
    /// Removes the lock file of a directory that was not created.
    fn drop(&mut self) {
        if !self.directory.exists() && is_at(self.file.file(), &self.lock).is_ok_and(|it| it) {
            // A file that cannot be removed now is collected later.
            let _ = fs::remove_file(&self.lock);
        }
    }
}

/// Returns whether a locked file is still the one at its path. It may have been removed before it was locked.
pub fn is_at(file: &std::fs::File, path: &Path) -> io::Result<bool> {
    let locked = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (locked.dev(), locked.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the directories of `root` that no supervisor holds and whose names `may_go`. Returns how many.
pub fn collect_unheld(root: &Path, may_go: impl Fn(&str) -> bool) -> io::Result<usize> {
    if !root.is_dir() {
        return Ok(0);
    }
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        // The names that assay gives are UTF-8.
        let Ok(name) = entry.file_name().into_string() else { continue };
        match name.strip_suffix(ENDING) {
            Some(directory) => names.insert(directory.to_owned()),
            None => entry.file_type()?.is_dir() && names.insert(name),
        };
    }
    names.retain(|name| !name.is_empty() && may_go(name));
    let mut count = 0;
    for name in names {
        if let Some(claim) = DirectoryClaim::try_take(&root.join(name))? {
            count += usize::from(claim.directory.is_dir());
            claim.remove()?;
        }
    }
    Ok(count)
}

/// A missing directory is no error.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removes all directories, of which `expected` must exist. A process that another test starts also has this test's
    /// locks until it executes its program.
    #[track_caller]
    fn collect_all(root: &Path, expected: usize) {
        let mut found = 0;
        for _ in 0..10_000 {
            found += collect_unheld(root, |_| true).expect("a directory that can be removed");
            if found >= expected {
                break;
            }
            std::thread::sleep(ATTEMPT_EVERY);
        }
        assert_eq!(found, expected);
        assert_eq!(fs::read_dir(root).expect("the root").count(), 0);
    }

    #[test]
    fn only_unclaimed_directories_are_collected() {
        let root = tempfile::tempdir().unwrap();
        let [held, dead, unborn, kept] =
            ["held", "dead", "unborn", "kept"].map(|it| root.path().join(it));
        for directory in [&held, &dead, &kept] {
            fs::create_dir_all(directory.join("data")).unwrap();
        }
        let claim = DirectoryClaim::take(&held).unwrap();
        let claim_before = DirectoryClaim::take(&unborn).unwrap();
        assert_eq!(collect_unheld(root.path(), |name| name != "kept").unwrap(), 1);
        assert!(held.is_dir() && !dead.exists() && kept.is_dir());
        fs::create_dir(&unborn).unwrap();
        assert_eq!(collect_unheld(root.path(), |name| name != "kept").unwrap(), 0);
        drop((claim, claim_before));
        collect_all(root.path(), 3);
    }

    #[test]
    fn a_directory_whose_lock_was_removed_stays_claimed() {
        let root = tempfile::tempdir().unwrap();
        let [before, later] = ["before", "later"].map(|it| root.path().join(it));
        fs::create_dir(&before).unwrap();
        let mut claims = [&before, &later].map(|it| DirectoryClaim::take(it).unwrap());
        fs::create_dir(&later).unwrap();
        for claim in &mut claims {
            claim.hold().unwrap();
            fs::remove_file(&claim.lock).unwrap();
        }
        assert_eq!(collect_unheld(root.path(), |_| true).unwrap(), 0);
        assert!(before.is_dir() && later.is_dir());
        let [removed, left] = claims;
        removed.remove().unwrap();
        drop(left);
        collect_all(root.path(), 1);
    }

    #[test]
    fn a_lock_that_was_removed_meanwhile_is_no_claim() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.lock");
        let locked = fs::File::create(&path).unwrap();
        locked.lock().unwrap();
        assert!(is_at(locked.file(), &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(locked.file(), &path).unwrap());
        let _another = fs::File::create(&path).unwrap();
        assert!(!is_at(locked.file(), &path).unwrap());
    }
}
