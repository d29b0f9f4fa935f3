//! A study as the ledger has it, and what is concluded from it.

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{Conclusions, Slice, StudyRecord};

use crate::progress::print;

/// Reads a study of the ledger with everything that reports show.
pub(crate) fn read(ledger: &Ledger, id: &str) -> Result<StudyRecord> {
    whole(ledger, ledger.read(id)?)
}

/// A study that was read of the ledger, with what is read separately. The command that repeats the study is generated
/// again: a user who follows it must only run assay, whatever the ledger has in its place.
pub(crate) fn whole(ledger: &Ledger, mut record: StudyRecord) -> Result<StudyRecord> {
    let id = record.study.id.clone();
    record.study.recipe = match record.is_reported() {
        true => String::new(),
        false => assay_plan::write_study(&assay_plan::request_of(&record.study)?),
    };
    record.profiles = ledger.profiles(&id)?;
    record.counts = ledger.counts(&id)?;
    record.soaks = ledger.soaks(&id)?;
    if record.study.is_insert_benchmark() {
        for slice in record.slices.iter().map(Slice::id) {
            let series = ledger.series(&id, slice)?;
            record.series.extend(series.into_iter().map(|series| (slice, series)));
        }
    }
    Ok(record)
}

/// All studies of the ledger, in its order. One that cannot be read is left out with a warning.
pub(crate) fn readable(ledger: &Ledger) -> Result<impl Iterator<Item = StudyRecord>> {
    let summaries = ledger.studies()?;
    Ok(summaries.into_iter().filter_map(|summary| match ledger.read(&summary.id) {
        Ok(record) => Some(record),
        Err(error) => {
            print(&format!("warning: study `{}` is left out: {error}", summary.id));
            None
        }
    }))
}

/// What is concluded from a study that has ended.
pub(crate) fn conclusions(record: &StudyRecord) -> Conclusions {
    let cells = assay_verdict::judge(record).conclusions();
    Conclusions { judged_by: env!("CARGO_PKG_VERSION").to_owned(), cells }
}
