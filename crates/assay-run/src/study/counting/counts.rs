//! Counts in progress.

use assay_model::CountBatch;
use assay_profile::Symbols;
use assay_profile::callgrind::Costs;

#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) instances: Vec<Vec<CountBatch>>,
    pub(super) costs: Costs,
}

impl Counts {
    pub(super) fn add(&mut self, (batches, costs): (Vec<CountBatch>, Costs)) {
        self.instances.push(batches);
        self.costs.add([&costs]);
    }

    pub(super) fn named(self, symbols: &mut Symbols) -> Self {
        Self { costs: self.costs.named(symbols), ..self }
    }
}
