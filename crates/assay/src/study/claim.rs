//! What this user's assay knows of studies outside of their ledger: which it began itself, which are being measured.
//!
//! One file per study among the user's own state, locked while the study is measured. Its name is a digest of the study
//! and of what it names, so that no ledger can claim a study of the user's with other systems or statements. The file
//! goes when the study is finished, unless only the user can vouch for what the study names: it may get more time.

use std::collections::BTreeSet;
use std::fs::{File, Permissions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_ledger::Ledger;
use assay_model::{Hint, StudyRecord, StudySummary};
use assay_servers::is_at;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::{resumable, trust};
use crate::paths;
use crate::systems::key;

/// A study that this assay measures.
pub(crate) struct Claim {
    file: File,
    path: PathBuf,
    /// Whether the study, once it has ended, cannot get more time without it.
    outlives: bool,
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
    pub(crate) fn begin(record: &StudyRecord) -> Option<Self> {
        let made = path(record).and_then(|path| Self::locked(record, path, true));
        made.unwrap_or_else(|error| {
            let level = if is_needed(record) { log::Level::Warn } else { log::Level::Info };
            let study = &record.study.id;
            log::log!(level, "cannot record that study `{study}` was started here: {error:#}");
            None
        })
    }

    /// The claim of a study that was begun here by this user, if it is one.
    ///
    /// # Errors
    /// [`StillMeasured`].
    pub(crate) fn again(record: &StudyRecord) -> Result<Option<Self>> {
        Self::locked(record, path(record)?, false)
    }

    fn locked(record: &StudyRecord, path: PathBuf, create: bool) -> Result<Option<Self>> {
        if create && let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        if !create && !path.try_exists()? {
            return Ok(None);
        }
        // Whoever can read a file can lock it: nobody else may.
        let opened =
            fs::OpenOptions::new().read(true).write(true).create(create).mode(0o600).open(&path)?;
        if opened.metadata()?.permissions().mode() & 0o077 != 0 {
            opened.set_permissions(Permissions::from_mode(0o600))?;
        }
        let mut file = opened.into_parts().0;
        match file.try_lock() {
            Ok(()) if is_at(&file, &path)? => {}
            // It was removed before it was locked, and keeps nobody out.
            Ok(()) => return Self::locked(record, path, create),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let read = file.take(20).read_to_string(&mut text);
                let pid = read.ok().and_then(|_| text.trim().parse().ok());
                return Err(StillMeasured { study: record.study.id.clone(), pid }.into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock `{}`", path.display()));
            }
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        let outlives = is_needed(record) && resumable::takes_more(&record.study);
        Ok(Some(Self { file, path, outlives }))
    }

    /// Whether this is the claim of that study, with all that the record names.
    pub(crate) fn is_of(&self, record: &StudyRecord) -> bool {
        path(record).is_ok_and(|path| path == self.path)
    }

    /// The study has run to its end. It may still get more time, for which its file is kept where it is needed.
    pub(crate) fn end(self) {
        if !self.outlives {
            self.withdraw();
        }
    }

    /// There is no such study any more.
    pub(crate) fn withdraw(self) {
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
    let ids = unfinished
        .map(|study| &study.id)
        .filter(|id| ledger.read(id).is_ok_and(|record| is_measured(&record)));
    ids.cloned().collect()
}

/// Whether an assay of this user measures the study.
pub(crate) fn is_measured(record: &StudyRecord) -> bool {
    path(record).is_ok_and(|path| is_held(&path))
}

/// Whether the study names what only the user can vouch for.
fn is_needed(record: &StudyRecord) -> bool {
    trust::vouched(record).map_or(true, |all| !all.is_empty())
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

fn path(record: &StudyRecord) -> Result<PathBuf> {
    let mut parts = vec![record.study.id.clone()];
    for system in &record.systems {
        parts.push(serde_json::to_string(&system.spec)?);
    }
    parts.extend(trust::vouched(record)?.into_iter().map(|it| it.text));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Ok(directory()?.join(key(&parts)))
}
