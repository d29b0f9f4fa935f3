//! Proof that a study is this user's own: their assay began it, or collected it from the shards of their own job.
//! Everything else came from elsewhere, whatever its ledger says, and is read, never run.
//!
//! Each study has a file in the user's state directory, locked while the study is measured. Its name is a digest of the
//! whole plan, so a study that was edited, or made by somebody else, has no such file.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{Hint, PlannedCell, Priority, StudyRecord, StudySummary};
use fs_err as fs;
use rustix::process::geteuid;

use crate::state_lock::{LockBusy, StateLock, is_held};
use crate::systems::key;
use crate::{paths, study_records};

/// Number of claims kept; the latest ones.
const KEPT: usize = 5000;

pub(crate) struct Claim {
    lock: StateLock,
}

#[derive(Debug, thiserror::Error)]
#[error("study `{study}` is being measured{}", pid.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
pub struct StudyBusy {
    study: String,
    pid: Option<u32>,
}

impl Hint for StudyBusy {
    fn hints(&self) -> Vec<String> {
        vec![format!("`assay report {}` shows what it has so far", self.study)]
    }
}

/// A study from elsewhere: imported, collected without a job of this user, opened from a pack, started by somebody
/// else, or edited.
#[derive(Debug, thiserror::Error)]
#[error(
    "study `{study}` is foreign: it was not started here by you, so it can be read, but not {action}"
)]
pub struct ForeignStudy {
    study: String,
    action: &'static str,
}

impl ForeignStudy {
    pub fn new(study: &str, action: &'static str) -> Self {
        Self { study: study.to_owned(), action }
    }
}

impl Hint for ForeignStudy {
    fn hints(&self) -> Vec<String> {
        vec![format!(
            "`assay report {} --verbose` shows how to measure it anew, under \"reproduce\": look at its systems first",
            self.study
        )]
    }
}

/// Reads a study for a command that runs parts of it, and refuses one from elsewhere.
pub fn own(ledger: &Ledger, id: &str, action: &'static str) -> Result<StudyRecord> {
    if_own(ledger, id)?.ok_or_else(|| ForeignStudy::new(id, action).into())
}

pub fn if_own(ledger: &Ledger, id: &str) -> Result<Option<StudyRecord>> {
    let record = ledger.read(id)?;
    if is_foreign(ledger, &record) {
        return Ok(None);
    }
    study_records::whole(ledger, record).map(Some)
}

pub fn read_any(ledger: &Ledger, id: &str) -> Result<StudyRecord> {
    let record = ledger.read(id)?;
    let foreign = is_foreign(ledger, &record);
    Ok(StudyRecord { foreign, ..study_records::whole(ledger, record)? })
}

pub fn is_mine(ledger: &Ledger, id: &str) -> bool {
    ledger.read(id).is_ok_and(|record| !is_foreign(ledger, &record))
}

/// The record must be as the ledger has it.
pub fn is_foreign(ledger: &Ledger, record: &StudyRecord) -> bool {
    ledger.is_of_bytes() || !is_own(record)
}

pub fn is_own(record: &StudyRecord) -> bool {
    !record.foreign && path(record).is_ok_and(|path| is_trusted(&path))
}

/// Whether only this user can have made a claim: the file and its directory are this user's, and no other user can
/// write to them.
fn is_trusted(claim: &Path) -> bool {
    let is_ours = |path: &Path, is_kind: fn(&std::fs::Metadata) -> bool| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|it| {
            is_kind(&it) && it.uid() == geteuid().as_raw() && it.mode() & 0o022 == 0
        })
    };
    let directory = claim.parent().unwrap_or(claim);
    is_ours(claim, std::fs::Metadata::is_file) && is_ours(directory, std::fs::Metadata::is_dir)
}

impl Claim {
    /// Claims a study before measuring. If the claim cannot be written, the study is measured nevertheless, but counts
    /// as one from elsewhere afterwards.
    pub(crate) fn begin(record: &StudyRecord) -> Option<Self> {
        let made = made(record).and_then(|path| Self::locked(record, path, true));
        made.unwrap_or_else(|error| {
            let study = &record.study.id;
            log::warn!(
                "study `{study}` can only be read later, not resumed: cannot record that it was started here: {error:#}"
            );
            None
        })
    }

    pub(crate) fn again(record: &StudyRecord) -> Result<Option<Self>> {
        if !is_own(record) {
            return Ok(None);
        }
        Self::locked(record, path(record)?, false)
    }

    fn locked(record: &StudyRecord, path: PathBuf, create: bool) -> Result<Option<Self>> {
        let taken = StateLock::take(path, create).map_err(|error| {
            error.downcast::<LockBusy>().map_or_else(
                |error| error,
                |LockBusy { pid }| StudyBusy { study: record.study.id.clone(), pid }.into(),
            )
        })?;
        Ok(taken.map(|lock| Self { lock }))
    }

    /// Whether it is the claim of this record, which may have been read after it was taken.
    pub(crate) fn is_of(&self, record: &StudyRecord) -> bool {
        path(record).is_ok_and(|path| path == self.lock.path())
    }

    pub(crate) fn withdraw(self) {
        self.lock.remove();
    }
}

/// Claims a study collected from the shards of the user's own job, perhaps replacing an earlier collection.
pub fn claim_collected(record: &StudyRecord, before: Option<&StudyRecord>) -> Result<()> {
    let claim = made(record)?;
    fs::write(&claim, "")?;
    match before {
        Some(before) if path(before)? != claim => give_up(before),
        _ => Ok(()),
    }
}

pub fn give_up(record: &StudyRecord) -> Result<()> {
    if let Some(claim) = Claim::again(record)? {
        claim.withdraw();
    }
    Ok(())
}

pub fn measured(ledger: &Ledger, studies: &[StudySummary]) -> BTreeSet<String> {
    // Studies are read only if a claim is locked.
    let claims = directory().map(|directory| claims(&directory)).unwrap_or_default();
    if !claims.iter().any(|claim| is_held(claim)) {
        return BTreeSet::new();
    }
    let unfinished = studies.iter().filter(|study| !study.finished);
    let ids = unfinished
        .map(|study| &study.id)
        .filter(|id| ledger.read(id).is_ok_and(|record| is_measured(&record)));
    ids.cloned().collect()
}

pub fn is_measured(record: &StudyRecord) -> bool {
    path(record).is_ok_and(|path| is_held(&path))
}

fn claims(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Removes the oldest claims beyond `most`, except those of running studies.
fn prune(directory: &Path, most: usize) {
    let mut claims = claims(directory);
    if claims.len() <= most {
        return;
    }
    let written = |path: &PathBuf| {
        let found = fs::symlink_metadata(path).and_then(|it| it.modified());
        found.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    claims.sort_by_cached_key(written);
    let excess = claims.len() - most;
    for claim in claims.iter().take(excess).filter(|claim| !is_held(claim)) {
        if let Err(error) = fs::remove_file(claim) {
            log::debug!("{error}");
        }
    }
}

fn directory() -> Result<PathBuf> {
    Ok(paths::state_dir()?.join("studies"))
}

fn made(record: &StudyRecord) -> Result<PathBuf> {
    let directory = directory()?;
    paths::make_own(&directory)?;
    prune(&directory, KEPT - 1);
    path(record)
}

/// The file name is a digest of everything that decides what the study runs.
fn path(record: &StudyRecord) -> Result<PathBuf> {
    let study = &record.study;
    let cells = study.cells.iter().cloned();
    // Values chosen while measuring are no part of the plan.
    let priority = Priority::Normal;
    let cells: Vec<PlannedCell> = cells
        .map(|it| PlannedCell { warm_us: None, turn_ms: 0, events: None, priority, ..it })
        .collect();
    let tests: Vec<_> = study.cells.iter().map(|cell| cell.id.test.definition()).collect();
    let shard = record.shard().map(|it| (&it.study, it.number, it.of, it.first, it.step));
    // The JSON of a study lacks the values that are columns of the ledger.
    let parts = [
        serde_json::to_string(&(&study.id, study.started_ms, &study.request))?,
        serde_json::to_string(study)?,
        serde_json::to_string(&cells)?,
        serde_json::to_string(&tests)?,
        serde_json::to_string(&record.systems)?,
        serde_json::to_string(&shard)?,
    ];
    Ok(directory()?.join(key(&parts.each_ref().map(String::as_str))))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use assay_model::{CellId, Host, Setup, Study, TestSet};

    use super::*;

    #[test]
    fn a_claim_counts_where_only_this_user_can_have_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("studies");
        fs::create_dir(&place).unwrap();
        let mode =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(&place, 0o700);
        let [claim, link, inside] = ["claim", "link", "inside"].map(|name| place.join(name));
        assert!(!is_trusted(&claim), "there is none");
        fs::write(&claim, "").unwrap();
        mode(&claim, 0o600);
        fs::os::unix::fs::symlink(&claim, &link).unwrap();
        fs::create_dir(&inside).unwrap();
        assert!(is_trusted(&claim) && !is_trusted(&link) && !is_trusted(&inside));
        mode(&claim, 0o606);
        assert!(!is_trusted(&claim), "others can write to it");
        mode(&claim, 0o600);
        mode(&place, 0o707);
        assert!(!is_trusted(&claim), "others can make one");
        mode(&place, 0o700);
        let other = folder.path().join("other");
        fs::os::unix::fs::symlink(&place, &other).unwrap();
        assert!(!is_trusted(&other.join("claim")), "a link leads to it");
        assert!(is_trusted(&claim));
    }

    /// The first turns of a cell decide its length, and may decide its priority.
    #[test]
    fn a_claim_outlives_what_is_chosen_while_the_study_is_measured() {
        let setup = Setup { clients: 1, tables: 1, rows: 1000 };
        let cell = CellId { test: assay_workloads::tests_of(TestSet::All)[0], setup };
        let study = Study::published("s".to_owned(), 0, &[cell]);
        let mut record = StudyRecord::new(study, Host::default(), Vec::new());
        record.study.cells[0].priority = Priority::Realtime;
        let before = path(&record).unwrap();
        let planned = &mut record.study.cells[0];
        (planned.priority, planned.turn_ms, planned.warm_us) = (Priority::Normal, 12, Some(7));
        assert_eq!(path(&record).unwrap(), before);
        record.study.cells[0].id.setup.rows += 1;
        assert_ne!(path(&record).unwrap(), before);
    }

    #[test]
    fn the_oldest_claims_go_and_those_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        let written = |number: u64| {
            let path = folder.path().join(number.to_string());
            let file = fs::File::create(&path).unwrap();
            file.file().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(number)).unwrap();
            path
        };
        (1..=4).for_each(|number| drop(written(number)));
        prune(folder.path(), 4);
        assert_eq!(claims(folder.path()).len(), 4);
        let held = StateLock::take(folder.path().join("0"), true).unwrap();
        written(0);
        prune(folder.path(), 2);
        let mut left: Vec<_> =
            claims(folder.path()).iter().map(|it| it.file_name().unwrap().to_owned()).collect();
        left.sort();
        assert_eq!(left, ["0", "3", "4"]);
        drop(held);
    }
}
