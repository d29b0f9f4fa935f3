//! Phases: the cells of a block that are measured on the same instances.

use std::collections::{BTreeMap, VecDeque};

use assay_model::{CellId, DataSet, StartFrom, Study};

/// The part of a block measured on the same instances, which start from this data set in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase {
    pub data: DataSet,
    pub start_from: StartFrom,
}

impl Phase {
    #[must_use]
    pub fn of(cell: CellId) -> Self {
        Self { data: cell.setup.data(), start_from: cell.test.start_from }
    }
}

/// Phases of some cells, each with its cells: data sets in the order of their first cells; on each, fresh before aged.
pub(crate) fn phases(study: &Study, cells: &[usize]) -> VecDeque<(Phase, Vec<usize>)> {
    let mut data_sets: BTreeMap<DataSet, usize> = BTreeMap::new();
    let mut phases: BTreeMap<(usize, StartFrom), (Phase, Vec<usize>)> = BTreeMap::new();
    for &cell in cells {
        let Some(planned) = study.cells.get(cell) else { continue };
        let phase = Phase::of(planned.id);
        let next = data_sets.len();
        let data_set = *data_sets.entry(phase.data).or_insert(next);
        let entry = phases.entry((data_set, phase.start_from));
        entry.or_insert_with(|| (phase, Vec::new())).1.push(cell);
    }
    phases.into_values().collect()
}
