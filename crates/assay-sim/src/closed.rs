//! What failed in a study, and where nothing is left to compare.

use std::collections::BTreeSet;

use assay_model::{CellId, Slice, SliceOutcome, StudyRecord};
use assay_study::Outcome;

pub(crate) fn failed_systems(record: &StudyRecord, cell: CellId) -> BTreeSet<usize> {
    let slices = record
        .slices
        .iter()
        .filter(|it| it.cell == cell && matches!(it.outcome, SliceOutcome::Failed(_)));
    slices.map(|it| it.system).collect()
}

/// The systems that a cell is measured without: those that failed in it, and those that did not answer.
pub(crate) fn absent_systems(record: &StudyRecord, cell: CellId) -> BTreeSet<usize> {
    let silent = |it: &&Slice| matches!(it.outcome, SliceOutcome::Unanswered(_));
    let slices = record.slices.iter().filter(|it| it.cell == cell).filter(silent);
    slices.map(|it| it.system).chain(failed_systems(record, cell)).collect()
}

/// The cells in which nothing is left to compare: the base failed, or all others did.
pub(crate) fn closed(record: &StudyRecord) -> BTreeSet<CellId> {
    let compares_any = record.systems.iter().any(|it| !it.is_base && !it.is_twin);
    let is_closed = |cell: &CellId| {
        let failed = failed_systems(record, *cell);
        let mut left = record.systems.iter().enumerate().filter(|(it, _)| !failed.contains(it));
        let has_base = left.clone().any(|(_, it)| it.is_base);
        !has_base || left.all(|(_, it)| it.is_base || compares_any && it.is_twin)
    };
    record.study.cells.iter().map(|it| it.id).filter(is_closed).collect()
}

/// These systems, at least one, could not do something.
pub(crate) fn failed(struck: &[usize]) -> Outcome {
    let mut all = struck.iter().map(|system| (*system, "struck".to_owned()));
    let (system, why) = all.next().unwrap_or_default();
    Outcome::Failed { system, why, also: all.collect() }
}
