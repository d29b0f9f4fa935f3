//! On which systems a cell is still measured.

use std::collections::BTreeSet;

use assay_model::System;

/// The systems that take part in each cell: a test that one of them cannot run is measured on the others.
#[derive(Debug, Clone)]
pub(crate) struct Left {
    /// Whether a system is compared with the base: neither the base nor its twin.
    is_compared: Vec<bool>,
    base: usize,
    /// Systems that failed in a cell, which is measured on the others. By cell and system.
    failed: BTreeSet<(usize, usize)>,
    /// Systems on which an event of a cell took too long. The cell is measured on the others, which are compared with
    /// the bound that this sets.
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

    /// Whether a system is compared with the base.
    pub(crate) fn compares(&self, system: usize) -> bool {
        self.is_compared.get(system) == Some(&true)
    }

    /// Those of some systems on which a cell is measured: they have not failed in it, and answer.
    pub(crate) fn of(&self, cell: usize, mut systems: Vec<usize>) -> Vec<usize> {
        let is_left = |of: (usize, usize)| !self.failed.contains(&of) && !self.silent.contains(&of);
        systems.retain(|&system| is_left((cell, system)));
        systems
    }

    /// Whether a cell is measured no further: nothing is left that can be compared.
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

    /// Whether a cell is measured without a system.
    pub(crate) fn lacks_a_system(&self, cell: usize) -> bool {
        let of_cell = (cell, 0)..=(cell, usize::MAX);
        let mut absent = self.failed.range(of_cell.clone()).chain(self.silent.range(of_cell));
        absent.next().is_some()
    }
}
