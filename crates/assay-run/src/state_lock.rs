//! Lock files in the user's state directory, which contain the process id.

use std::fs::{File, Permissions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_servers::is_at;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use crate::advice::HintedError;

pub struct StateLock {
    file: File,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("locked{}", pid.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
pub struct LockBusy {
    pub pid: Option<u32>,
}

impl StateLock {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Locks a file, creating it if missing. `busy` makes the error from ` by process N`, or from an empty text if the
    /// process is unknown.
    pub fn hold(path: PathBuf, busy: impl FnOnce(&str) -> HintedError) -> Result<Self> {
        let lock = Self::take(path, true).map_err(|error| match error.downcast::<LockBusy>() {
            Ok(LockBusy { pid }) => {
                let by = pid.map(|pid| format!(" by process {pid}")).unwrap_or_default();
                busy(&by).into()
            }
            Err(error) => error,
        })?;
        lock.context("the file of the lock was not made")
    }

    /// Locks a file; `None` if it is missing and not `create`. Fails with [`LockBusy`] while another process has it.
    pub fn take(path: PathBuf, create: bool) -> Result<Option<Self>> {
        if create && let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        if !create && !path.try_exists()? {
            return Ok(None);
        }
        // Every user who can read a file can lock it, so only this user may read it.
        let opened =
            fs::OpenOptions::new().read(true).write(true).create(create).mode(0o600).open(&path)?;
        if opened.metadata()?.permissions().mode() & 0o077 != 0 {
            opened.set_permissions(Permissions::from_mode(0o600))?;
        }
        let mut file = opened.into_parts().0;
        match file.try_lock() {
            Ok(()) if is_at(&file, &path)? => {}
            // The file was removed before it was locked, so the lock keeps no other process out.
            Ok(()) => return Self::take(path, create),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let read = file.take(20).read_to_string(&mut text);
                let pid = read.ok().and_then(|_| text.trim().parse().ok());
                return Err(LockBusy { pid }.into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock `{}`", path.display()));
            }
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Some(Self { file, path }))
    }

    pub fn remove(self) {
        // A removed file may have been replaced by that of another process.
        let removed = is_at(&self.file, &self.path)
            .and_then(|is_ours| if is_ours { fs::remove_file(&self.path) } else { Ok(()) });
        if let Err(error) = removed {
            log::debug!("{error}");
        }
        drop(self.file);
    }
}

pub fn is_held(path: &Path) -> bool {
    let Ok(file) = fs::File::open(path) else { return false };
    matches!(file.into_parts().0.try_lock_shared(), Err(TryLockError::WouldBlock))
}
