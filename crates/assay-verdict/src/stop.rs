//! When a study may stop.

use assay_model::{CellId, StudyRecord, Verdict};

use crate::judge;

/// The cells in which some system is not decided yet, in the study's order: where further blocks should go.
#[must_use]
pub fn open_cells(record: &StudyRecord) -> Vec<CellId> {
    let judgement = judge(record);
    let is_open = |cell: CellId| {
        let mut judged = judgement.cells.iter().filter(|judged| judged.cell == cell);
        judged.any(|judged| judged.verdict == Verdict::Undecided)
    };
    record.study.cells.iter().map(|cell| cell.id).filter(|&cell| is_open(cell)).collect()
}
