//! False discovery rate over cells.

/// Hypotheses rejected at false discovery rate `rate` (Benjamini and Hochberg 1995).
pub fn benjamini_hochberg(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let cut = sorted
        .iter()
        .enumerate()
        .filter(|(index, p)| **p <= rate * (index + 1) as f64 / count)
        .map(|(_, p)| *p)
        .next_back();
    p_values.iter().map(|p| cut.is_some_and(|cut| *p <= cut)).collect()
}

/// Share of `rate` within which each hypothesis is rejected, others unchanged: that of its rank if it were the surest.
pub(crate) fn shares(p_values: &[f64], rate: f64) -> Vec<f64> {
    let count = p_values.len() as f64;
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let keeps_within = |p: f64, rank: usize| p <= rate * rank as f64 / count;
    let rejected = (1..).zip(&order).filter(|(rank, (_, p))| keeps_within(*p, *rank));
    let rejected = rejected.map(|(rank, _)| rank).last().unwrap_or(0);
    let mut shares = vec![0.0; p_values.len()];
    // If a hypothesis were the surest, earlier ones would move back by one rank, and later ones would stay. Its rank is
    // then the last one up to its own that would be rejected.
    let mut moved = 1;
    let mut before = 0.0;
    for (rank, (index, p)) in (1..).zip(&order) {
        if keeps_within(before, rank) {
            moved = rank;
        }
        shares[*index] = rejected.max(moved) as f64 / count;
        before = *p;
    }
    shares
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::looks::ALPHA;

    /// The example of Benjamini and Hochberg (1995), section 3.1: the first four of fifteen.
    #[test]
    fn published_false_discovery_example() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let rejected = benjamini_hochberg(&p, 0.05);
        assert_eq!(rejected.iter().filter(|&&r| r).count(), 4);
        assert!(rejected[..4].iter().all(|&r| r));
    }

    fn shares_one_by_one(p_values: &[f64], rate: f64) -> Vec<f64> {
        let rejected_with = |index: usize| {
            let mut with = p_values.to_vec();
            with[index] = 0.0;
            benjamini_hochberg(&with, rate).into_iter().filter(|rejected| *rejected).count()
        };
        let count = p_values.len() as f64;
        (0..p_values.len()).map(|index| rejected_with(index) as f64 / count).collect()
    }

    #[test]
    fn shares_are_those_of_the_definition() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        for round in 0..2000_u32 {
            // Powers, for small values; of a grid, for ties, some of them with the levels themselves.
            let count = random.random_range(0..12);
            let power = f64::from(round % 5);
            let mut p_value = || match round % 2 {
                0 => random.random::<f64>().powf(power),
                _ => f64::from(random.random_range(0..12)) * ALPHA / 8.0,
            };
            let p_values: Vec<f64> = (0..count).map(|_| p_value()).collect();
            let one_by_one = shares_one_by_one(&p_values, ALPHA);
            assert_eq!(shares(&p_values, ALPHA), one_by_one, "{p_values:?}");
        }
    }

    #[test]
    fn a_hypothesis_is_rejected_where_it_keeps_within_its_share() {
        let p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.3240, 0.7590, 1.0];
        let within: Vec<bool> =
            p.iter().zip(shares(&p, ALPHA)).map(|(p, share)| *p <= share * ALPHA).collect();
        assert_eq!(within, benjamini_hochberg(&p, ALPHA));
        assert_eq!(shares(&[0.9; 4], ALPHA), [0.25; 4]);
        assert_eq!(shares(&[1e-9; 4], ALPHA), [1.0; 4]);
    }
}
