//! Reads studies of the ledger with their conclusions.

use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use assay_ledger::{Ledger, PUBLISHED_PREFIX, StudyRows};
use assay_model::{
    CellCount, CellProfile, Conclusions, Slice, StudyDocuments, StudyRecord, UnreadableDocument,
};

use sha2::{Digest as _, Sha256};

use crate::progress::print;

/// Checks the documents of a type that only a wing knows.
pub type DocumentCheck = fn(&StudyDocuments) -> Result<(), UnreadableDocument>;

static CHECKS: OnceLock<Vec<DocumentCheck>> = OnceLock::new();

/// Only the first call counts.
pub(crate) fn set_checks(checks: Vec<DocumentCheck>) {
    CHECKS.get_or_init(|| checks);
}

/// Checks the documents of known names.
pub fn check(documents: &StudyDocuments) -> Result<(), UnreadableDocument> {
    CHECKS.get().into_iter().flatten().try_for_each(|check| check(documents))
}

pub fn read(ledger: &Ledger, id: &str) -> Result<StudyRecord> {
    whole(ledger, ledger.read(id)?)
}

/// Says which study of which ledger an error is about.
pub fn cannot_read(ledger: &Ledger, id: &str) -> String {
    format!("cannot read study `{id}` of ledger `{}`", ledger.path().display())
}

/// Adds the parts that are read separately. The commands that repeat the study are generated again: they must only run
/// assay, whatever the ledger contains.
pub fn whole(ledger: &Ledger, mut record: StudyRecord) -> Result<StudyRecord> {
    let id = record.study.id.clone();
    let cannot = || cannot_read(ledger, &id);
    (record.study.recipe, record.study.count_command) = match record.is_reported() {
        true => (String::new(), None),
        false => {
            let request = assay_plan::request_of(&record.study).with_context(cannot)?;
            (assay_plan::write_study(&request), assay_plan::count_command(&request))
        }
    };
    let mut documents = ledger.documents(&id)?;
    let profile = |(system, cell, profile)| CellProfile { system, cell, profile };
    record.profiles = documents.take().with_context(cannot)?.into_iter().map(profile).collect();
    let count = |(system, cell, count)| CellCount { system, cell, count };
    record.counts = documents.take().with_context(cannot)?.into_iter().map(count).collect();
    check(&documents).with_context(cannot)?;
    record.documents = documents;
    if record.study.is_insert_benchmark() {
        for slice in record.slices.iter().map(Slice::id) {
            let series = ledger.series(&id, slice)?;
            record.series.extend(series.into_iter().map(|series| (slice, series)));
        }
    }
    Ok(record)
}

/// All studies in the order of the ledger. An unreadable one is skipped with a warning.
pub fn readable(ledger: &Ledger) -> Result<impl Iterator<Item = StudyRecord>> {
    let summaries = ledger.studies()?;
    Ok(summaries.into_iter().filter_map(|summary| match ledger.read(&summary.id) {
        Ok(record) => Some(record),
        Err(error) => {
            print(&format!("warning: study `{}` is left out: {error}", summary.id));
            None
        }
    }))
}

pub fn conclusions(record: &StudyRecord) -> Conclusions {
    let cells = assay_verdict::judge(record).conclusions();
    Conclusions { judged_by: env!("CARGO_PKG_VERSION").to_owned(), cells }
}

/// The name of a study of published results is a digest of its content.
pub fn published_id(rows: &StudyRows) -> String {
    let mut id = hex::encode(Sha256::digest(rows.content()));
    id.truncate(12);
    format!("{PUBLISHED_PREFIX}{id}")
}
