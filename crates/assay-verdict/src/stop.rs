//! When a study may stop.

use std::collections::BTreeSet;

use assay_model::{CellId, StudyRecord, Verdict};

use crate::{CellJudgement, Judgement};

/// The cells in which some system is not decided yet, in the study's order: where further blocks should go.
///
/// The twin counts only where nothing else is compared: nobody waits for it to be the same as itself.
#[must_use]
pub fn open_cells(record: &StudyRecord, judgement: &Judgement) -> Vec<CellId> {
    let has_others = record.systems.iter().any(|system| !system.is_base && !system.is_twin);
    let counts = |system: usize| !has_others || !record.systems[system].is_twin;
    let is_open =
        |judged: &&CellJudgement| judged.verdict == Verdict::Undecided && counts(judged.system);
    let open: BTreeSet<CellId> = judgement.cells.iter().filter(is_open).map(|it| it.cell).collect();
    record.study.cells.iter().map(|cell| cell.id).filter(|cell| open.contains(cell)).collect()
}
