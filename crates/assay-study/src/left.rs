//! Systems on which a cell is still measured.

use std::collections::BTreeSet;

use assay_model::System;

/// Systems of each cell: a test that fails on one of them is measured on the others.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    /// Whether a system is compared: neither the base nor its twin.
    is_compared: Vec<bool>,
    base: usize,
    /// Failed cells and systems; the cell is measured on the others.
    failed: BTreeSet<(usize, usize)>,
    /// Cells and systems with a hanging event. The cell is measured on the others, which are compared with the
    /// resulting bound.
    silent: BTreeSet<(usize, usize)>,
}

impl Left {
    pub(crate) fn new(systems: &[System]) -> Self {
        Self {
            is_compared: systems.iter().map(|it| !it.is_base && !it.is_twin).collect(),
            base: systems.iter().position(|it| it.is_base).unwrap_or(0),
            failed: BTreeSet::new(),
            silent: BTreeSet::new(),
        }
    }

    pub(crate) fn failed(&mut self, cell: usize, system: usize) {
        self.failed.insert((cell, system));
    }

    pub(crate) fn is_silent(&mut self, cell: usize, system: usize) {
        self.silent.insert((cell, system));
    }

    pub(crate) fn compares(&self, system: usize) -> bool {
        self.is_compared.get(system) == Some(&true)
    }

    /// Filters systems to those without failure or silence in a cell.
    pub(crate) fn of(&self, cell: usize, mut systems: Vec<usize>) -> Vec<usize> {
        let is_left = |of: (usize, usize)| !self.failed.contains(&of) && !self.silent.contains(&of);
        systems.retain(|&system| is_left((cell, system)));
        systems
    }

    pub(crate) fn is_closed(&self, cell: usize) -> bool {
        let systems = 0..self.is_compared.len();
        if self.of(cell, systems.clone().collect()).is_empty() {
            return true;
        }
        let can_be_compared = |system: usize| !self.failed.contains(&(cell, system));
        let compares_any = self.is_compared.contains(&true);
        let is_other = |system: usize| match compares_any {
            true => self.compares(system),
            false => system != self.base,
        };
        let mut others = systems.filter(|system| is_other(*system));
        !can_be_compared(self.base) || !others.any(can_be_compared)
    }

    pub(crate) fn lacks_a_system(&self, cell: usize) -> bool {
        let of_cell = (cell, 0)..=(cell, usize::MAX);
        let mut absent = self.failed.range(of_cell.clone()).chain(self.silent.range(of_cell));
        absent.next().is_some()
    }
}
