//! Certainty of verdicts: for changes, that they exceed the threshold; for "same", the bound.

use assay_model::Verdict;
use assay_verdict::{CellJudgement, threshold};

use super::study::JudgedStudy;
use crate::number::{confidence, share};

pub(crate) fn beyond_threshold(cell: &CellJudgement) -> Option<f64> {
    cell.beyond_threshold.filter(|_| cell.verdict != Verdict::Failed)
}

pub(crate) fn same_within(cell: &CellJudgement) -> Option<f64> {
    cell.bound.filter(|_| cell.verdict == Verdict::Same)
}

/// Confidence from which on a change is said to exceed the threshold.
const CERTAIN: f64 = 0.95;

/// Maximum number of changes named because they may be smaller than the threshold.
const NAMES: usize = 5;

pub(crate) fn of_changes(study: &JudgedStudy) -> Option<String> {
    let is_called = |cell: &&CellJudgement| {
        matches!(cell.verdict, Verdict::Faster | Verdict::Slower)
            && study.compared.contains(&cell.system)
    };
    let called = study.judgement.cells.iter().filter(is_called);
    let called: Vec<(&CellJudgement, f64)> =
        called.filter_map(|cell| Some((cell, cell.beyond_threshold?))).collect();
    let mut rest: Vec<_> = called.iter().filter(|(_, beyond)| *beyond < CERTAIN).collect();
    rest.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let what = format!(
        "exceed {} with at least {} confidence",
        share(threshold(&study.record.study)),
        share(CERTAIN)
    );
    let name = |(cell, beyond): &&(&CellJudgement, f64)| {
        let system = match study.compared.len() {
            1 => String::new(),
            _ => format!(" {}", study.label(cell.system)),
        };
        format!("{}{system} ({})", study.cell_name(cell.cell), confidence(*beyond))
    };
    let mut names: Vec<String> = rest.iter().take(NAMES).map(name).collect();
    if rest.len() > NAMES {
        names.push(format!("{} more", rest.len() - NAMES));
    }
    match (called.len(), names.len()) {
        (0, _) => None,
        (_, 0) => Some(format!("all called changes {what}")),
        _ => Some(format!("all called changes {what} except {}", names.join(", "))),
    }
}
