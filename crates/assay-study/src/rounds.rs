//! The progress of a cell within a block.

use std::collections::{BTreeMap, BTreeSet};

use assay_plan::ROUNDS_MIN;
use assay_verdict::Fitness;

/// The rounds of a cell that have been taken in a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoundsTaken {
    /// The systems with a good slice in each round.
    good: BTreeMap<u32, BTreeSet<usize>>,
}

impl RoundsTaken {
    /// Counts a slice. A round that was broken off halfway counts as taken.
    pub(crate) fn add(&mut self, round: u32, system: usize, fitness: Fitness) {
        let good = self.good.entry(round).or_default();
        if fitness == Fitness::Good {
            good.insert(system);
        }
    }

    /// The number of rounds that are good on all of these systems.
    pub(crate) fn complete(&self, systems: &[usize]) -> u32 {
        let is_complete = |good: &&BTreeSet<usize>| systems.iter().all(|it| good.contains(it));
        self.good.values().filter(is_complete).count() as u32
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Which systems a round is good on matters, not how many: one of them may take no part any more.
    #[test]
    fn a_round_is_complete_if_it_is_good_on_all_systems_that_are_left() {
        let mut taken = RoundsTaken::default();
        for (system, fitness) in [(0, Fitness::Good), (1, Fitness::Good), (2, Fitness::Troubled)] {
            taken.add(0, system, fitness);
        }
        taken.add(1, 1, Fitness::Failed);
        assert_eq!(taken.complete(&[0, 1, 2]), 0);
        assert_eq!(taken.complete(&[0, 2]), 0);
        assert_eq!(taken.complete(&[0, 1]), 1);
        // The next one begins a pair.
        assert_eq!(taken.next(), 2);
    }
}
