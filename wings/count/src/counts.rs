//! Counts in progress.

use std::path::Path;

use assay_callgrind::Costs;
use assay_model::CountBatch;
use assay_symbols::{NameDonor, Symbols};

#[derive(Debug, Clone, Default)]
pub(crate) struct CellCounts {
    pub(crate) instances: Vec<Vec<CountBatch>>,
    pub(crate) costs: Costs,
}

impl CellCounts {
    pub(crate) fn add(&mut self, (batches, costs): (Vec<CountBatch>, Costs)) {
        self.instances.push(batches);
        self.costs.add([&costs]);
    }

    /// `donors` returns other builds of a file, whose functions may have names.
    pub(crate) fn named(
        self,
        symbols: &mut Symbols,
        donors: impl Fn(&Path) -> Vec<NameDonor>,
    ) -> Self {
        Self { costs: self.costs.named(symbols, donors), ..self }
    }
}
