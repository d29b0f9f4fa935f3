//! What this user's assay knows of studies outside of their ledger: which it began itself, which are being measured.
//!
//! One file per study among the user's own state, locked while the study is measured. Its name is a digest of the whole
//! plan, so an edited ledger is not the user's any more. The file goes when the study has ended, unless the study may
//! get more time.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{Hint, PlannedCell, Study, StudyRecord, StudySummary};
use fs_err as fs;

use super::resumable;
use crate::paths;
use crate::state_lock::{Locked, StateLock, is_held};
use crate::systems::key;

/// A study that this assay measures.
pub(crate) struct Claim {
    lock: StateLock,
    /// Whether the study may get more time once it has ended.
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
    /// Notes that a study is measured. Without a place for the note it is measured all the same, but cannot be resumed.
    pub(crate) fn begin(record: &StudyRecord) -> Option<Self> {
        let made = path(record).and_then(|path| Self::locked(record, path, true));
        made.unwrap_or_else(|error| {
            let study = &record.study.id;
            log::warn!("study `{study}` cannot be resumed: cannot record that it was started here: {error:#}");
            None
        })
    }

    /// The claim of a study that was begun here by this user, if it is one.
    pub(crate) fn again(record: &StudyRecord) -> Result<Option<Self>> {
        Self::locked(record, path(record)?, false)
    }

    fn locked(record: &StudyRecord, path: PathBuf, create: bool) -> Result<Option<Self>> {
        let taken = StateLock::take(path, create).map_err(|error| {
            error.downcast::<Locked>().map_or_else(
                |error| error,
                |Locked { pid }| StillMeasured { study: record.study.id.clone(), pid }.into(),
            )
        })?;
        let outlives = resumable::takes_more(&record.study);
        Ok(taken.map(|lock| Self { lock, outlives }))
    }

    /// The study has run to its end.
    pub(crate) fn end(self) {
        if !self.outlives {
            self.withdraw();
        }
    }

    /// There is no such study any more.
    pub(crate) fn withdraw(self) {
        self.lock.remove();
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

fn is_any_held() -> bool {
    let Ok(directory) = directory() else { return false };
    let claims = fs::read_dir(directory).into_iter().flatten().flatten();
    claims.into_iter().any(|claim| is_held(&claim.path()))
}

fn directory() -> Result<PathBuf> {
    Ok(paths::state_dir()?.join("studies"))
}

fn path(record: &StudyRecord) -> Result<PathBuf> {
    let cells = record.study.cells.iter().cloned();
    // What is chosen while the study is measured is no part of its plan.
    let cells =
        cells.map(|cell| PlannedCell { warm_us: None, turn_ms: 0, events: None, ..cell }).collect();
    let plan = serde_json::to_string(&Study { cells, ..record.study.clone() })?;
    let tests: Vec<_> = record.study.cells.iter().map(|cell| cell.id.test.definition()).collect();
    let (tests, systems) =
        (serde_json::to_string(&tests)?, serde_json::to_string(&record.systems)?);
    Ok(directory()?.join(key(&[&plan, &tests, &systems])))
}
