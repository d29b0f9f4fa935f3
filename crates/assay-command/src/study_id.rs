//! Finds a study of a ledger by its id or name, a unique prefix of either, or `latest`.

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::StudySummary;
use assay_run::clock;

const LATEST: &str = "latest";

/// Finds a study. Without a name, and for `latest`, it is the latest match. A study that failed before anything was
/// measured, or with a start in the future, counts only if there is no other.
pub fn find(
    ledger: &Ledger,
    name: Option<&str>,
    fits: impl Fn(&StudySummary) -> bool,
) -> Result<Option<String>> {
    match name {
        Some(name) if name != LATEST => Ok(Some(ledger.find(name)?)),
        _ => Ok(latest(ledger.studies()?, clock::now_ms(), fits)),
    }
}

fn latest(
    mut studies: Vec<StudySummary>,
    now_ms: i64,
    fits: impl Fn(&StudySummary) -> bool,
) -> Option<String> {
    studies.retain(|study| fits(study));
    // Ties go to the last.
    let rank = |study: &StudySummary| (study.started_ms <= now_ms, study.slices + study.counts > 0);
    studies.into_iter().max_by_key(rank).map(|study| study.id)
}

#[cfg(test)]
mod tests {
    use assay_model::{Preset, TestSet};

    use super::*;

    fn study(id: &str, slices: u64, finished: bool) -> StudySummary {
        StudySummary {
            id: id.to_owned(),
            name: None,
            started_ms: 0,
            preset: Preset::Quick,
            set: TestSet::Set32,
            systems: Vec::new(),
            cells: 1,
            slices,
            counts: 0,
            finished,
            elapsed_s: 0.0,
            is_reported: false,
            foreign: false,
        }
    }

    #[test]
    fn a_study_without_results_is_the_latest_only_if_it_is_the_only_one() {
        let studies = || vec![study("a", 5, false), study("b", 9, true), study("c", 0, false)];
        assert_eq!(latest(studies(), 9, |_| true).as_deref(), Some("b"));
        assert_eq!(latest(studies(), 9, |study| !study.finished).as_deref(), Some("a"));
        let empty = vec![study("a", 0, false), study("b", 0, false)];
        assert_eq!(latest(empty, 9, |_| true).as_deref(), Some("b"));
        let counted = StudySummary { counts: 2, ..study("d", 0, true) };
        let with_counted = studies().into_iter().chain([counted]).collect();
        assert_eq!(latest(with_counted, 9, |_| true).as_deref(), Some("d"));
        let future = StudySummary { started_ms: 10, ..study("z", 5, true) };
        let with_future = || studies().into_iter().chain([future.clone()]).collect();
        assert_eq!(latest(with_future(), 9, |_| true).as_deref(), Some("b"));
        assert_eq!(latest(vec![future.clone()], 9, |_| true).as_deref(), Some("z"));
        assert_eq!(latest(Vec::new(), 9, |_| true), None);
    }
}
