//! What was counted, as it is put together.

use assay_model::CountBatch;
use assay_profile::Symbols;
use assay_profile::callgrind::Costs;

/// What was counted of a system in a cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) instances: Vec<Vec<CountBatch>>,
    pub(super) costs: Costs,
}

impl Counts {
    /// Adds the batches of another instance.
    pub(super) fn add(&mut self, (batches, costs): (Vec<CountBatch>, Costs)) {
        self.instances.push(batches);
        self.costs.add([&costs]);
    }

    /// The same with the names of functions.
    pub(super) fn named(self, symbols: &mut Symbols) -> Self {
        Self { costs: self.costs.named(symbols), ..self }
    }
}
