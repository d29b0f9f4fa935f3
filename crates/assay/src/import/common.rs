//! What all imports share.

use std::io::BufReader;
use std::path::Path;

use anyhow::Result;
use assay_import::{About, Fault};
use assay_ledger::Ledger;
use assay_model::{Setup, StudyRecord, counted};
use sha2::{Digest as _, Sha256};

use crate::clock::now_ms;
use crate::progress::print;
use crate::report;

/// Bad lines of a file that are shown.
const FAULTS_SHOWN: usize = 10;

/// Names the first bad lines.
pub(super) fn tell(faults: &[Fault]) {
    for fault in faults.iter().take(FAULTS_SHOWN) {
        print(&format!("warning: {fault}"));
    }
    if let Some(more @ 1..) = faults.len().checked_sub(FAULTS_SHOWN) {
        print(&format!("warning: {} more", counted(more as u64, "bad line")));
    }
}

pub(super) fn open(path: &Path) -> Result<BufReader<fs_err::File>> {
    let file = fs_err::File::open(path)?;
    // A device or a pipe may have no end.
    anyhow::ensure!(file.metadata()?.is_file(), "it is not a regular file");
    Ok(BufReader::new(file))
}

/// The name of a file. Where it lies on this machine is nobody else's business.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What the results do not tell. The same results make a study of the same name.
pub(super) fn about(reported_in: String, mut digest: Sha256, setup: Setup) -> About {
    digest.update(setup.to_string());
    let mut id = hex::encode(digest.finalize());
    id.truncate(12);
    About {
        reported_in,
        id: format!("imported-{id}"),
        imported_ms: now_ms(),
        setup,
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Adds a study unless it is there, and returns it as it is stored.
pub(super) fn add(ledger: &mut Ledger, record: &StudyRecord) -> Result<StudyRecord> {
    let id = &record.study.id;
    let is_new = !ledger.studies()?.iter().any(|it| it.id == *id);
    if is_new {
        ledger.add_record(record)?;
    }
    let record = report::read(ledger, id)?;
    if is_new {
        report::conclude(ledger, &record)?;
    }
    Ok(record)
}
