//! Phases: the cells of a block that are measured on the same instances.

use assay_model::{CellId, DataSet, PlannedCell, StartFrom};

/// The part of a block whose cells are measured on the same instances: they start from the same data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The phases of cells in the order of their first cells; on each data set, fresh before aged.
pub(crate) fn phases<'a>(cells: impl Iterator<Item = &'a PlannedCell>) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for data in cells.map(|cell| cell.id.setup.data()) {
        if !phases.iter().any(|phase| phase.data == data) {
            let both = [StartFrom::Fresh, StartFrom::Aged];
            phases.extend(both.map(|start_from| Phase { data, start_from }));
        }
    }
    phases
}
