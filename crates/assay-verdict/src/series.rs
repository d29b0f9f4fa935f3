//! Slices sorted into cells, systems, blocks and rounds.

use std::collections::BTreeMap;

use assay_model::{CellId, Slice, SliceOutcome, StudyRecord};

/// The values of one quantity in one cell, by block; rounds in order within a block.
pub(crate) type Series = BTreeMap<u32, Vec<f64>>;

/// All good slices of a cell by (block, round), then system.
pub(crate) struct CellSlices<'a> {
    rounds: BTreeMap<(u32, u32), BTreeMap<usize, &'a Slice>>,
}

/// Sorts the good slices of a record by cell.
pub(crate) fn sort(record: &StudyRecord) -> BTreeMap<CellId, CellSlices<'_>> {
    let mut cells: BTreeMap<CellId, CellSlices<'_>> = BTreeMap::new();
    for slice in &record.slices {
        if slice.outcome == SliceOutcome::Good {
            let cell =
                cells.entry(slice.cell).or_insert_with(|| CellSlices { rounds: BTreeMap::new() });
            cell.rounds.entry((slice.block, slice.round)).or_default().insert(slice.system, slice);
        }
    }
    cells
}

impl<'a> CellSlices<'a> {
    /// The good slices of a system in order of block and round.
    pub(crate) fn of(&self, system: usize) -> impl Iterator<Item = &'a Slice> + '_ {
        self.rounds.values().filter_map(move |round| round.get(&system).copied())
    }

    /// Logarithms of a quantity of a system.
    pub(crate) fn logs(&self, system: usize, quantity: impl Fn(&Slice) -> Option<f64>) -> Series {
        let mut series = Series::new();
        for slice in self.of(system) {
            push(&mut series, slice.block, quantity(slice).map(f64::ln));
        }
        series
    }

    /// Logarithms of the ratio of a quantity of a system to the base's of the same round: the pairs.
    pub(crate) fn log_ratios(
        &self,
        system: usize,
        base: usize,
        quantity: impl Fn(&Slice) -> Option<f64>,
    ) -> Series {
        let mut series = Series::new();
        for ((block, _), round) in &self.rounds {
            if let (Some(mine), Some(bases)) = (round.get(&system), round.get(&base)) {
                let ratio = quantity(mine).zip(quantity(bases)).map(|(a, b)| (a / b).ln());
                push(&mut series, *block, ratio);
            }
        }
        series
    }
}

fn push(series: &mut Series, block: u32, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        series.entry(block).or_default().push(value);
    }
}
