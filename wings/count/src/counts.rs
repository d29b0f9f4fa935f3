//! Counts in progress.

use assay_callgrind::Costs;
use assay_model::CountBatch;
use assay_symbols::Symbols;

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

    pub(crate) fn named(self, symbols: &mut Symbols) -> Self {
        Self { costs: self.costs.named(symbols), ..self }
    }
}
