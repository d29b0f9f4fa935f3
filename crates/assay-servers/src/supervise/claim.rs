//! Claims on directories of a cache, by a lock beside each: whoever shares the cache sees what is in use, even from a
//! container that sees none of the processes. A directory that is there is locked too, so that it stays claimed when
//! somebody removes the lock beside it.

use std::collections::BTreeSet;
use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::fs::OFlags;

/// What the name of a lock ends with; before that it is the name of the directory.
const ENDING: &str = ".lock";

/// Between two attempts to claim what somebody collects at this moment.
const ATTEMPT_EVERY: Duration = Duration::from_millis(1);

/// A directory, there or not yet, that is in use until this is dropped or the process ends.
#[derive(Debug)]
pub struct Claim {
    directory: PathBuf,
    lock: PathBuf,
    file: fs::File,
    /// The directory, locked; none where it is not there or its file system locks no directories.
    held: Option<fs::File>,
}

impl Claim {
    /// Claims a directory that is to be made. Only a collector may be in the way, for a moment.
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

    /// Claims a directory, which is in one that exists; none while somebody else does.
    ///
    /// # Errors
    /// When its lock cannot be made or taken.
    pub fn try_take(directory: &Path) -> io::Result<Option<Self>> {
        let mut lock = directory.as_os_str().to_owned();
        lock.push(ENDING);
        let lock = PathBuf::from(lock);
        let file = fs::OpenOptions::new().create(true).append(true).open(&lock)?;
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

    /// Locks the directory itself, once it is there.
    pub(super) fn hold(&mut self) -> io::Result<()> {
        // Only a collector may be in the way, for a moment, before it sees the lock beside it.
        while !self.try_hold()? {
            std::thread::sleep(ATTEMPT_EVERY);
        }
        Ok(())
    }

    /// False where somebody else holds the directory: whoever claimed it before the lock beside it was removed.
    fn try_hold(&mut self) -> io::Result<bool> {
        if self.held.is_some() {
            return Ok(true);
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let opened = fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.directory);
        // It is not there yet, or is no directory.
        let Ok(directory) = opened else { return Ok(true) };
        match directory.try_lock() {
            Ok(()) => self.held = Some(directory),
            Err(TryLockError::WouldBlock) => return Ok(false),
            // Some file systems of networks lock only what can be written to; the lock beside it has to do.
            Err(TryLockError::Error(error)) => log::debug!("{error}"),
        }
        Ok(true)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes the directory, if it is there, then its lock.
    ///
    /// # Errors
    /// When either cannot be removed.
    pub fn remove(self) -> io::Result<()> {
        remove(&self.directory)?;
        // The cache may have been emptied meanwhile, and another's lock may be there.
        if is_at(self.file.file(), &self.lock)? { fs::remove_file(&self.lock) } else { Ok(()) }
    }
}

impl Drop for Claim {
    /// The lock of a directory that was not made is of no use to anyone.
    fn drop(&mut self) {
        if !self.directory.exists() && is_at(self.file.file(), &self.lock).is_ok_and(|it| it) {
            // What cannot be removed is collected later.
            let _ = fs::remove_file(&self.lock);
        }
    }
}

/// Whether a file that was locked is still the one at its path: it may have been removed before it was locked.
///
/// # Errors
/// When that cannot be seen.
pub fn is_at(file: &std::fs::File, path: &Path) -> io::Result<bool> {
    let locked = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (locked.dev(), locked.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes those directories of `root` that no supervisor holds and whose names `may_go`; gives how many.
///
/// # Errors
/// When something cannot be locked or removed.
pub fn collect_unheld(root: &Path, may_go: impl Fn(&str) -> bool) -> io::Result<usize> {
    if !root.is_dir() {
        return Ok(0);
    }
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        // Assay gives no other names.
        let Ok(name) = entry.file_name().into_string() else { continue };
        match name.strip_suffix(ENDING) {
            Some(directory) => names.insert(directory.to_owned()),
            None => entry.file_type()?.is_dir() && names.insert(name),
        };
    }
    names.retain(|name| !name.is_empty() && may_go(name));
    let mut count = 0;
    for name in names {
        if let Some(claim) = Claim::try_take(&root.join(name))? {
            count += usize::from(claim.directory.is_dir());
            claim.remove()?;
        }
    }
    Ok(count)
}

/// Removes a directory with everything in it. A missing directory is no error.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_claims_is_collected() {
        let root = tempfile::tempdir().unwrap();
        let [held, dead, unborn, kept] =
            ["held", "dead", "unborn", "kept"].map(|it| root.path().join(it));
        for directory in [&held, &dead, &kept] {
            fs::create_dir_all(directory.join("data")).unwrap();
        }
        let claim = Claim::take(&held).unwrap();
        let claim_before = Claim::take(&unborn).unwrap();
        assert_eq!(collect_unheld(root.path(), |name| name != "kept").unwrap(), 1);
        assert!(held.is_dir() && !dead.exists() && kept.is_dir());
        fs::create_dir(&unborn).unwrap();
        assert_eq!(collect_unheld(root.path(), |name| name != "kept").unwrap(), 0);
        drop((claim, claim_before));
        assert_eq!(collect_unheld(root.path(), |_| true).unwrap(), 3);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_whose_lock_was_removed_stays_claimed() {
        let root = tempfile::tempdir().unwrap();
        let [before, later] = ["before", "later"].map(|it| root.path().join(it));
        fs::create_dir(&before).unwrap();
        let mut claims = [&before, &later].map(|it| Claim::take(it).unwrap());
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
        assert_eq!(collect_unheld(root.path(), |_| true).unwrap(), 1);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
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
