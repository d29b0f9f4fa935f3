//! Progress of a cell within a block.

use std::collections::{BTreeMap, BTreeSet};

use assay_plan::ROUNDS_MIN;
use assay_verdict::Fitness;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RoundsTaken {
    /// Systems with a good slice in each round.
    good: BTreeMap<u32, BTreeSet<usize>>,
}

impl RoundsTaken {
    /// Counts a slice. An incomplete round counts as taken.
    pub(crate) fn add(&mut self, round: u32, system: usize, fitness: Fitness) {
        let good = self.good.entry(round).or_default();
        if fitness == Fitness::Good {
            good.insert(system);
        }
    }

    /// Number of rounds that are good on all these systems.
    pub(crate) fn complete(&self, systems: &[usize]) -> u32 {
        let is_complete = |good: &&BTreeSet<usize>| systems.iter().all(|it| good.contains(it));
        self.good.values().filter(is_complete).count() as u32
    }

    /// Number of the next round. Rounds come in pairs, so if the first was broken off, the second is skipped.
    pub(crate) fn next(&self) -> u32 {
        let next = self.good.keys().next_back().map_or(0, |last| last.saturating_add(1));
        next.checked_next_multiple_of(ROUNDS_MIN).unwrap_or(next)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundsLeft {
    pub(crate) good: u32,
    pub(crate) next: u32,
    pub(crate) wanted: u32,
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

    /// The set of systems with good slices matters, not its size, as a system may have dropped out.
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
