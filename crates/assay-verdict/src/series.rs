//! Slices sorted into cells, systems, blocks and rounds.

use std::collections::BTreeMap;

use assay_model::{CellId, Slice, SliceOutcome, StudyRecord, Trouble};

/// The values of one quantity in one cell, by block; rounds in order within a block.
pub(crate) type Series = BTreeMap<u32, Vec<f64>>;

/// Below this share of rounds without machine trouble a cell is judged with those in trouble as well, and says so: on a
/// machine that is always busy an answer that is marked is better than none.
pub const QUIET_SHARE: f64 = 0.25;

/// The slices of a cell that are judged, by (block, round), then system.
pub(crate) struct CellSlices<'a> {
    rounds: BTreeMap<(u32, u32), BTreeMap<usize, &'a Slice>>,
    /// Whether slices in machine trouble are among them.
    pub(crate) is_disturbed: bool,
}

/// Sorts the slices of a record by cell.
pub(crate) fn sort(record: &StudyRecord) -> BTreeMap<CellId, CellSlices<'_>> {
    let mut by_cell: BTreeMap<CellId, Vec<&Slice>> = BTreeMap::new();
    for slice in record.slices.iter().filter(|slice| is_usable(slice)) {
        by_cell.entry(slice.cell).or_default().push(slice);
    }
    by_cell
        .into_iter()
        .map(|(cell, slices)| (cell, of_cell(&slices, record.systems.len())))
        .collect()
}

/// Measured to its end, by a clock that can be trusted.
fn is_usable(slice: &Slice) -> bool {
    !matches!(slice.outcome, SliceOutcome::Failed(_))
        && !slice.trouble.contains(&Trouble::ClockJump)
}

fn of_cell<'a>(slices: &[&'a Slice], systems: usize) -> CellSlices<'a> {
    let rounds_of = |wanted: fn(&Slice) -> bool| {
        let mut rounds: BTreeMap<(u32, u32), BTreeMap<usize, &'a Slice>> = BTreeMap::new();
        for slice in slices.iter().filter(|slice| wanted(slice)) {
            rounds.entry((slice.block, slice.round)).or_default().insert(slice.system, slice);
        }
        rounds
    };
    let good = rounds_of(|slice| slice.outcome == SliceOutcome::Good);
    let all = rounds_of(|_| true);
    let complete = |rounds: &BTreeMap<_, BTreeMap<usize, _>>| {
        rounds.values().filter(|round| round.len() == systems).count() as f64
    };
    let is_disturbed = complete(&good) < QUIET_SHARE * complete(&all);
    CellSlices { rounds: if is_disturbed { all } else { good }, is_disturbed }
}

impl<'a> CellSlices<'a> {
    /// The slices of a system in order of block and round.
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
