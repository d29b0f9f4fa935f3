//! What this user's assay knows of studies outside of their ledger: which it began itself, which are being measured.
//!
//! One file per unfinished study among the user's own state, locked while the study is measured. Its name is a digest
//! of the study and of what it names, so that no ledger can claim a study of the user's with other systems.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_ledger::Ledger;
use assay_model::{Hint, Origin, StudySummary, System};
use assay_servers::is_at;
use fs_err as fs;

use crate::paths;
use crate::systems::key;

/// A study that this assay measures.
pub(crate) struct Claim {
    file: File,
    path: PathBuf,
}

/// Another assay measures the study.
#[derive(Debug, thiserror::Error)]
#[error("study `{study}` is being measured{}", pid.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
pub(crate) struct StillMeasured {
    study: String,
    pid: Option<u32>,
}

impl Hint for StillMeasured {
    fn hints(&self) -> Vec<String> {
        vec![format!("`assay report {}` shows what it has so far", self.study)]
    }
}

impl Claim {
    /// Notes that a study is measured. Without a place for the note it is measured all the same, but not resumed where
    /// that would take the ledger's word.
    pub(crate) fn begin(study: &str, systems: &[System]) -> Option<Self> {
        let made = path(study, systems).and_then(|path| Self::locked(study, path, true));
        made.unwrap_or_else(|error| {
            let is_needed = systems.iter().any(|it| !matches!(it.spec.origin, Origin::Version(_)));
            let level = if is_needed { log::Level::Warn } else { log::Level::Info };
            log::log!(level, "cannot record that study `{study}` was started here: {error:#}");
            None
        })
    }

    /// The claim of a study that was begun here by this user, if it is one.
    ///
    /// # Errors
    /// [`StillMeasured`].
    pub(crate) fn again(study: &str, systems: &[System]) -> Result<Option<Self>> {
        Self::locked(study, path(study, systems)?, false)
    }

    fn locked(study: &str, path: PathBuf, create: bool) -> Result<Option<Self>> {
        if create && let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        if !create && !path.try_exists()? {
            return Ok(None);
        }
        let opened = fs::OpenOptions::new().read(true).write(true).create(create).open(&path)?;
        let mut file = opened.into_parts().0;
        match file.try_lock() {
            Ok(()) if is_at(&file, &path)? => {}
            // It was removed before it was locked, and keeps nobody out.
            Ok(()) => return Self::locked(study, path, create),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let read = file.take(20).read_to_string(&mut text);
                let pid = read.ok().and_then(|_| text.trim().parse().ok());
                return Err(StillMeasured { study: study.to_owned(), pid }.into());
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

    /// The study has run to its end: there is nothing left to claim.
    pub(crate) fn end(self) {
        // One that was removed may have been followed by another assay's.
        let removed = is_at(&self.file, &self.path)
            .and_then(|is_ours| if is_ours { fs::remove_file(&self.path) } else { Ok(()) });
        if let Err(error) = removed {
            log::debug!("{error}");
        }
        drop(self.file);
    }
}

/// Which of these studies of a ledger are being measured by assays of this user.
pub(crate) fn measured(ledger: &Ledger, studies: &[StudySummary]) -> BTreeSet<String> {
    // A study is only read where one is being measured.
    if !is_any_held() {
        return BTreeSet::new();
    }
    let unfinished = studies.iter().filter(|study| !study.finished);
    let ids = unfinished.map(|study| &study.id).filter(|id| {
        let record = ledger.read(id);
        record.is_ok_and(|it| is_measured(id, &it.systems))
    });
    ids.cloned().collect()
}

/// Whether an assay of this user measures the study.
pub(crate) fn is_measured(study: &str, systems: &[System]) -> bool {
    path(study, systems).is_ok_and(|path| is_held(&path))
}

fn is_any_held() -> bool {
    let Ok(directory) = directory() else { return false };
    let claims = fs::read_dir(directory).into_iter().flatten().flatten();
    claims.into_iter().any(|claim| is_held(&claim.path()))
}

fn is_held(path: &Path) -> bool {
    let Ok(file) = fs::File::open(path) else { return false };
    matches!(file.into_parts().0.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn directory() -> Result<PathBuf> {
    Ok(paths::state_dir()?.join("studies"))
}

fn path(study: &str, systems: &[System]) -> Result<PathBuf> {
    let specs = systems.iter().map(|system| serde_json::to_string(&system.spec));
    let specs = specs.collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<&str> = std::iter::once(study).chain(specs.iter().map(String::as_str)).collect();
    Ok(directory()?.join(key(&parts)))
}
