//! The progress of a cell within a block.

use std::collections::BTreeMap;

use assay_plan::ROUNDS_MIN;
use assay_verdict::Fitness;

/// The rounds of a cell that have been taken in a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoundsTaken {
    /// The number of good slices of each round.
    good: BTreeMap<u32, usize>,
}

impl RoundsTaken {
    /// Counts a slice. A round that was broken off halfway counts as taken.
    pub(crate) fn add(&mut self, round: u32, fitness: Fitness) {
        *self.good.entry(round).or_default() += usize::from(fitness == Fitness::Good);
    }

    /// The number of rounds that are good on so many systems.
    pub(crate) fn complete(&self, systems: usize) -> u32 {
        self.good.values().filter(|count| **count >= systems).count() as u32
    }

    /// The number of the next round. Rounds come in twos, so if the first of two was broken off, the second is skipped.
    pub(crate) fn next(&self) -> u32 {
        let next = self.good.keys().next_back().map_or(0, |last| last.saturating_add(1));
        next.checked_next_multiple_of(ROUNDS_MIN).unwrap_or(next)
    }
}

/// The rounds that a cell still takes in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundsLeft {
    /// The number of good rounds so far.
    pub(crate) good: u32,
    /// Number of the next round.
    pub(crate) next: u32,
    /// The number of good rounds wanted.
    pub(crate) wanted: u32,
    /// The largest number of rounds that may be taken.
    pub(crate) most: u32,
}

impl RoundsLeft {
    pub(crate) fn are_none(self) -> bool {
        self.good >= self.wanted || self.next >= self.most
    }
}
