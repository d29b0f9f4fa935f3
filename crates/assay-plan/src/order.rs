//! The order in which systems take turns: balanced, random, seeded.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Order of systems in a round of a cell. Rounds come in pairs: a random permutation, then its reverse (ABBA for two
/// systems), so that linear drift of the machine within a pair affects all systems alike.
pub fn round_order(seed: u64, block: u32, cell: usize, round: u32, systems: usize) -> Vec<usize> {
    let mut order =
        permutation(seed, [1, u64::from(block), cell as u64, u64::from(round / 2)], systems);
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

pub fn start_order(seed: u64, block: u32, phase: u32, systems: usize) -> Vec<usize> {
    permutation(seed, [2, u64::from(block), u64::from(phase), 0], systems)
}

pub fn connect_order(seed: u64, block: u32, cell: usize, systems: usize) -> Vec<usize> {
    permutation(seed, [3, u64::from(block), cell as u64, 0], systems)
}

fn permutation(seed: u64, key: [u64; 4], len: usize) -> Vec<usize> {
    let mut state = seed;
    for part in key {
        state = Xoshiro256PlusPlus::seed_from_u64(state ^ part).random();
    }
    let mut order: Vec<usize> = (0..len).collect();
    order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(state));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rounds_mirror_each_other() {
        for round in (0..20).step_by(2) {
            let mut second = round_order(7, 0, 3, round + 1, 4);
            second.reverse();
            assert_eq!(round_order(7, 0, 3, round, 4), second);
        }
    }

    #[test]
    fn both_orders_of_two_occur_about_equally() {
        let first_is_base =
            (0..1000).filter(|&block| round_order(7, block, 0, 0, 2)[0] == 0).count();
        assert!((400..600).contains(&first_is_base), "{first_is_base}");
    }

    #[test]
    fn the_seed_decides() {
        let orders = |seed| (0..64).map(|b| round_order(seed, b, 0, 0, 3)).collect::<Vec<_>>();
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
    }

    #[test]
    fn each_system_is_the_first_to_be_connected_about_equally_often() {
        let cells = || (0..20).flat_map(|block| (0..32).map(move |cell| (block, cell)));
        let first = |system| {
            cells().filter(|&(block, cell)| connect_order(7, block, cell, 2)[0] == system).count()
        };
        assert_eq!(first(0) + first(1), 640);
        assert!((270..370).contains(&first(0)), "{}", first(0));
    }
}
