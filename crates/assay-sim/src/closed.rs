//! Failed systems and closed cells of a study.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{CellId, SliceOutcome, StudyRecord};
use assay_study::Outcome;

pub(crate) fn failed_systems(record: &StudyRecord) -> BTreeMap<CellId, BTreeSet<usize>> {
    let mut failed: BTreeMap<CellId, BTreeSet<usize>> = BTreeMap::new();
    for slice in record.slices.iter().filter(|it| matches!(it.outcome, SliceOutcome::Failed(_))) {
        failed.entry(slice.cell).or_default().insert(slice.system);
    }
    failed
}

/// Cells without a comparison left: the base failed, or all others did.
pub(crate) fn closed(record: &StudyRecord) -> BTreeSet<CellId> {
    let compares_any = record.systems.iter().any(|it| !it.is_base && !it.is_twin);
    let failed = failed_systems(record);
    let is_closed = |cell: &CellId| {
        let has_failed = |system| failed.get(cell).is_some_and(|all| all.contains(&system));
        let is_left = |(it, _): &(usize, _)| !has_failed(*it);
        let mut left = record.systems.iter().enumerate().filter(is_left);
        let has_base = left.clone().any(|(_, it)| it.is_base);
        !has_base || left.all(|(_, it)| it.is_base || compares_any && it.is_twin)
    };
    record.study.cells.iter().map(|it| it.id).filter(is_closed).collect()
}

pub(crate) fn failed(struck: &[usize]) -> Outcome {
    let mut all = struck.iter().map(|system| (*system, "struck".to_owned()));
    let (system, why) = all.next().unwrap_or_default();
    Outcome::Failed { system, why, also: all.collect() }
}
