//! Phases: the cells of a block that are measured on the same instances.

use std::collections::{BTreeMap, VecDeque};

use assay_model::{CellId, DataSet, StartFrom, Study};

/// The part of a block whose cells are measured on the same instances. The instances start from this data set in this
/// state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase {
    /// The data set.
    pub data: DataSet,
    /// Its state.
    pub start_from: StartFrom,
}

impl Phase {
    /// The phase that a cell belongs to.
    #[must_use]
    pub fn of(cell: CellId) -> Self {
        Self { data: cell.setup.data(), start_from: cell.test.start_from }
    }
}

/// The phases of some cells, each with its cells: the data sets in the order of their first cells; on each, fresh
/// before aged.
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
