//! What all imports share.

use std::io::{BufRead, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Result;
use assay_import::{About, Fault, Gathered};
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
    // The last one may say how many more there are.
    if let Some((last, hidden)) = faults.get(FAULTS_SHOWN..).and_then(<[Fault]>::split_last) {
        if !hidden.is_empty() {
            print(&format!("warning: {}", counted(hidden.len() as u64, "more bad line")));
        }
        print(&format!("warning: {last}"));
    }
}

/// The largest content of a compressed file that is read.
const CONTENT_MAX: u64 = 16 << 30;

/// The first bytes of a file compressed by gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The content of a file, which gzip may have compressed.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let mut options = fs_err::OpenOptions::new();
    // Opening a pipe would wait for its writer.
    options.options_mut().custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.read(true).open(path)?;
    // A device or a pipe may have no end.
    anyhow::ensure!(file.metadata()?.is_file(), "it is not a regular file");
    let mut content = BufReader::new(file);
    if !content.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(content));
    }
    let content = flate2::bufread::MultiGzDecoder::new(content).take(CONTENT_MAX);
    Ok(Box::new(BufReader::new(content)))
}

/// The name of a file without the ending of compressed ones.
pub(super) fn plain_name(path: &Path) -> String {
    let name = name(path);
    name.strip_suffix(".gz").map(str::to_owned).unwrap_or(name)
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
    let mut is_new = !ledger.contains(id)?;
    if is_new && let Err(error) = ledger.add_record(record) {
        // Another import may have been faster.
        if !ledger.contains(id)? {
            return Err(error.into());
        }
        is_new = false;
    }
    let record = report::read(ledger, id)?;
    if is_new {
        report::conclude(ledger, &record)?;
    }
    Ok(record)
}

/// Names what could not become part of a study. The result is whether there is anything.
pub(super) fn tell_left_out(gathered: &Gathered) -> bool {
    for repeated in &gathered.repeated {
        print(&format!("warning: left out, because there is one already: {repeated}"));
    }
    for left_out in &gathered.left_out {
        print(&format!("warning: left out: {left_out}"));
    }
    !(gathered.repeated.is_empty() && gathered.left_out.is_empty())
}
