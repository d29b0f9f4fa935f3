//! Centres of blocks, robust against spikes of a shared machine.

/// Share of a cell's values, those with the largest deviations, that are winsorized.
pub const TRIM: f64 = 0.2;

/// Fewest values of a block whose own median can start the search for its centre.
const MEDIAN_MIN: usize = 10;

/// Number of recomputations of limits from better centres. The second hardly changes anything.
const PASSES: u32 = 3;

const STEPS_MAX: u32 = 60;

/// Fewest rounds of a block that show the correlation of neighbours, and the largest correlation in use.
const SEQUENCE_MIN: usize = 8;
const CORRELATION_MAX: f64 = 0.75;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RoundValue {
    pub(crate) block: u32,
    pub(crate) round: u32,
    pub(crate) value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Centre {
    pub(crate) block: u32,
    pub(crate) value: f64,
    pub(crate) count: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Centres {
    /// In the order of blocks.
    pub(crate) blocks: Vec<Centre>,
    /// Variance of a block's centre within the block, times its number of values; `None` without two rounds in any
    /// block.
    pub(crate) spread: Option<f64>,
    pub(crate) plain: Option<f64>,
    pub(crate) rounds: usize,
    /// Contribution of each round to the deviation of its block's centre, in the order of the values.
    pub(crate) influences: Vec<f64>,
    /// Factor by which the correlation of successive rounds raises variances; 1 for independent rounds.
    pub(crate) inflation: f64,
}

impl Centres {
    /// For rounds of one value each that follow each other in time. They are taken for an autoregressive process, whose
    /// mean varies (1 + r) / (1 − r) times as much as that of independent values, where r is the correlation of
    /// neighbours. A linear trend within a block is no correlation: a repeat would show the same one.
    pub(crate) fn in_sequence(mut self) -> Self {
        let blocks = self.blocks.len();
        if self.rounds < SEQUENCE_MIN * blocks {
            return self;
        }
        let (mut products, mut squares) = (0.0, 0.0);
        let mut influences = self.influences.as_slice();
        for block in &self.blocks {
            let length = influences.len().min(block.count as usize);
            let (of_block, others) = influences.split_at(length);
            influences = others;
            let rest = residuals(of_block);
            products += rest.windows(2).map(|two| two[0] * two[1]).sum::<f64>();
            squares += rest.iter().map(|value| value * value).sum::<f64>();
        }
        if squares > 0.0 {
            let (rounds, blocks) = (self.rounds as f64, blocks as f64);
            // The correlation in a short series is too low by about (2 + 4r) / n.
            let correlation =
                (rounds * products / squares + 2.0 * blocks) / (rounds - 4.0 * blocks);
            let correlation = correlation.clamp(0.0, CORRELATION_MAX);
            self.inflation = (1.0 + correlation) / (1.0 - correlation);
            self.spread = self.spread.map(|spread| spread * self.inflation);
            self.plain = self.plain.map(|plain| plain * self.inflation);
        }
        self
    }
}

/// Deviations of values, whose mean is 0, from their regression line.
fn residuals(values: &[f64]) -> Vec<f64> {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let timed = || values.iter().enumerate().map(|(at, value)| (at as f64 - middle, *value));
    let times: f64 = timed().map(|(time, _)| time * time).sum();
    let slope = timed().map(|(time, value)| time * value).sum::<f64>() / times.max(1.0);
    timed().map(|(time, value)| value - slope * time).collect()
}

/// Largest usual deviation from the centre of a block, in either direction.
///
/// Separate limits per direction would fail: if the few spikes of a small cell are uneven, one limit is that of usual
/// values and the other that of a spike, and the recomputed centre drifts to a spike.
#[derive(Debug, Clone, Copy)]
struct Limit(f64);

/// Centres of blocks (Huber's M-estimates); `None` without values. Values must be in order of block and round.
///
/// A value further from its block's centre than the limit counts as one at the limit. The limit excludes the share
/// [`TRIM`] of the largest deviations over all blocks together, because a block may have too few values to show what is
/// usual.
///
/// Values of one round depend on each other, and rounds do not. The variance is therefore that of the sums of rounds
/// (the cluster-robust variance of a mean).
pub(crate) fn centres(values: &[RoundValue]) -> Option<Centres> {
    let blocks = || values.chunk_by(|one, next| one.block == next.block);
    let of_all = middle(values)?;
    let start = |block: &[RoundValue]| match block.len() < MEDIAN_MIN {
        true => Some(of_all),
        false => middle(block),
    };
    let mut found: Vec<f64> = blocks().filter_map(start).collect();
    let mut limit = Limit::from_values(values, &found)?;
    for _ in 0..PASSES {
        found = blocks().zip(&found).map(|(block, from)| limit.centre(block, *from)).collect();
        limit = Limit::from_values(values, &found)?;
    }
    let (mut influences, mut usual) = (Vec::new(), 0_usize);
    let (mut squares, mut plain) = (0.0, 0.0);
    for (block, centre) in blocks().zip(&found) {
        let count = block.len() as f64;
        usual += block.iter().filter(|it| limit.contains(it.value - centre)).count();
        let pulled_in = |it: &RoundValue| limit.pull_in(it.value - centre);
        let rest = block.iter().map(pulled_in).sum::<f64>() / count;
        plain += block.iter().map(|it| (pulled_in(it) - rest).powi(2)).sum::<f64>();
        for round in block.chunk_by(|one, next| one.round == next.round) {
            let sum: f64 = round.iter().map(|it| pulled_in(it) - rest).sum();
            squares += sum * sum;
            influences.push(sum / count);
        }
    }
    let (count, rounds) = (values.len() as f64, influences.len());
    let share = (usual as f64 / count).max(1.0 - TRIM);
    influences.iter_mut().for_each(|influence| *influence /= share);
    let free = rounds - found.len();
    let correction = rounds as f64 / free as f64;
    let free_values = count - found.len() as f64;
    let centre = |(block, value): (&[RoundValue], f64)| {
        Some(Centre { block: block.first()?.block, value, count: block.len() as f64 })
    };
    Some(Centres {
        spread: (free > 0).then(|| correction * squares / (count * share * share)),
        plain: (free_values > 0.0).then(|| plain / (free_values * share * share)),
        blocks: blocks().zip(found).filter_map(centre).collect(),
        rounds,
        influences,
        inflation: 1.0,
    })
}

fn middle(values: &[RoundValue]) -> Option<f64> {
    median(&values.iter().map(|it| it.value).collect::<Vec<_>>())
}

impl Limit {
    fn from_values(values: &[RoundValue], centres: &[f64]) -> Option<Self> {
        let blocks = values.chunk_by(|one, next| one.block == next.block);
        let deviations = |(block, centre): (&[RoundValue], &f64)| {
            block.iter().map(|it| (it.value - centre).abs()).collect::<Vec<_>>()
        };
        let mut sizes: Vec<f64> = blocks.zip(centres).flat_map(deviations).collect();
        let cut = (TRIM * sizes.len() as f64) as usize;
        if cut == 0 {
            return Some(Self(f64::INFINITY));
        }
        let last = sizes.len().checked_sub(1 + cut)?;
        let (_, limit, _) = sizes.select_nth_unstable_by(last, f64::total_cmp);
        Some(Self(*limit))
    }

    fn contains(self, deviation: f64) -> bool {
        deviation.abs() <= self.0
    }

    fn pull_in(self, deviation: f64) -> f64 {
        deviation.max(-self.0).min(self.0)
    }

    /// The centre at which the winsorized deviations of a block add up to zero. Their sum falls as the centre rises, so
    /// Newton's steps are bracketed.
    fn centre(self, block: &[RoundValue], from: f64) -> f64 {
        let values = || block.iter().map(|it| it.value);
        let (mut low, mut high) = values()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
                (low.min(it), high.max(it))
            });
        let mut centre = from.max(low).min(high);
        for _ in 0..STEPS_MAX {
            let (mut sum, mut usual, mut above) = (0.0, 0, 0);
            for value in values() {
                let deviation = value - centre;
                sum += self.pull_in(deviation);
                usual += usize::from(self.contains(deviation));
                above += usize::from(deviation > 0.0);
            }
            // Between two far groups of equal size, any centre will do.
            if usual == 0 && 2 * above == block.len() {
                return centre;
            }
            if sum > 0.0 {
                low = centre;
            } else {
                high = centre;
            }
            let newton = centre + sum / usual as f64;
            let next =
                if newton >= low && newton <= high { newton } else { f64::midpoint(low, high) };
            if (next - centre).abs() <= f64::EPSILON * centre.abs() {
                return next;
            }
            centre = next;
        }
        centre
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Variance of the sample, with n − 1; `None` for a single value.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let sum: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| sum / (values.len() - 1) as f64)
}

/// `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_any_order(&mut values.to_vec())
}

/// Reorders the values.
pub(crate) fn median_of_any_order(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    // Sorting all of them would take several times as long.
    let (below, upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return Some(*upper);
    }
    below.iter().copied().max_by(f64::total_cmp).map(|lower| 0.5 * (lower + *upper))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    fn each_of_a_round(values: &[f64]) -> Vec<RoundValue> {
        (0..).zip(values).map(|(round, &value)| RoundValue { block: 0, round, value }).collect()
    }

    fn centre(values: &[RoundValue]) -> (f64, Option<f64>) {
        let found = centres(values).unwrap();
        assert_eq!(found.blocks.len(), 1);
        let centre = found.blocks[0];
        (centre.value, found.spread.map(|spread| spread / centre.count))
    }

    /// With one value in each round, it is the variance of the mean; equal values within rounds add nothing.
    #[test]
    fn values_of_a_round_count_as_one() {
        let (_, alone) = centre(&each_of_a_round(&[1.0, 2.0, 6.0]));
        assert!((alone.unwrap() - 7.0 / 3.0).abs() < 1e-12, "{alone:?}");
        let threefold = each_of_a_round(&[1.0, 2.0, 6.0]);
        let threefold: Vec<RoundValue> = threefold.into_iter().flat_map(|it| [it; 3]).collect();
        let (_, variance) = centre(&threefold);
        assert!((variance.unwrap() - 7.0 / 3.0).abs() < 1e-12, "{variance:?}");
        let one_round = RoundValue { block: 0, round: 5, value: 1.0 };
        assert_eq!(centre(&[one_round; 4]), (1.0, None));
    }

    /// A trend raises the variance, but is no correlation.
    #[test]
    fn rounds_in_sequence_vary_as_they_claim() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        let mut normal = || Normal::standard().inverse_cdf(random.random_range(1e-12..1.0));
        let (studies, rounds) = (2000, 24);
        let mut claimed_of_true = |correlation: f64, trend: f64| {
            let (mut true_squares, mut independent, mut sequence) = (0.0, 0.0, 0.0);
            for _ in 0..studies {
                let mut state = normal();
                let value = |at: u32| {
                    let more = (1.0 - correlation * correlation).sqrt() * normal();
                    let value = state + trend * (f64::from(at) / 23.0 - 0.5);
                    state = correlation * state + more;
                    value
                };
                let values: Vec<f64> = (0..rounds).map(value).collect();
                let found = centres(&each_of_a_round(&values)).unwrap();
                true_squares += found.blocks[0].value.powi(2);
                independent += found.plain.unwrap() / f64::from(rounds);
                sequence += found.in_sequence().plain.unwrap() / f64::from(rounds);
            }
            [independent / true_squares, sequence / true_squares]
        };
        let [independent, sequence] = claimed_of_true(0.0, 0.0);
        assert!((0.85..1.1).contains(&independent), "{independent}");
        assert!((1.0..1.5).contains(&sequence), "{sequence}");
        let [independent, sequence] = claimed_of_true(0.5, 0.0);
        assert!(independent < 0.5 && (0.9..1.5).contains(&sequence), "{independent} {sequence}");
        let [independent, sequence] = claimed_of_true(0.0, 4.0);
        assert!(sequence < 1.5 * independent, "{independent} {sequence}");
    }

    #[test]
    fn spikes_are_pulled_in() {
        let mut values = each_of_a_round(&[1.0; 20]);
        values[3].value = 100.0;
        values[7].value = -50.0;
        assert!((centre(&values).0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn limits_are_those_of_all_blocks_together() {
        let values = |spike: f64| -> Vec<RoundValue> {
            let value_at = |index: u32| if index == 7 { spike } else { f64::from(index % 5) };
            let value =
                |index| RoundValue { block: index / 5, round: index % 5, value: value_at(index) };
            (0..20).map(value).collect()
        };
        let (calm, spiked) = (centres(&values(2.0)).unwrap(), centres(&values(1e6)).unwrap());
        for (calm, spiked) in calm.blocks.iter().zip(&spiked.blocks) {
            assert!((calm.value - spiked.value).abs() < 1.0, "{calm:?} {spiked:?}");
        }
        assert!(spiked.spread.unwrap() < 4.0 * calm.spread.unwrap());
    }

    /// Normal noise: the variance of the centre is a little above that of the mean, and the claimed one is right.
    #[test]
    fn centres_vary_as_they_claim() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut normal = || Normal::standard().inverse_cdf(random.random_range(1e-12..1.0));
        let (blocks, rounds, per_round) = (4, 20, 5);
        let (mut true_squares, mut claimed) = (0.0, 0.0);
        let studies = 500;
        for _ in 0..studies {
            let mut values = Vec::new();
            for (block, round) in (0..blocks).flat_map(|it| (0..rounds).map(move |at| (it, at))) {
                let of_round = 0.5 * normal();
                values.extend(
                    (0..per_round).map(|_| of_round + normal()).map(|value| RoundValue {
                        block,
                        round,
                        value,
                    }),
                );
            }
            let found = centres(&values).unwrap();
            true_squares += found.blocks.iter().map(|it| it.value * it.value).sum::<f64>();
            claimed += found.spread.unwrap() / f64::from(per_round * rounds) * f64::from(blocks);
        }
        let of_mean = (0.25 + 1.0 / f64::from(per_round)) / f64::from(rounds);
        let each = true_squares / f64::from(studies * blocks);
        assert!((0.95..1.15).contains(&(each / of_mean)), "{}", each / of_mean);
        assert!((0.9..1.1).contains(&(claimed / true_squares)), "{}", claimed / true_squares);
    }

    /// Ratios of two equal servers on a busy machine: three spikes, one of them upwards.
    #[test]
    fn the_centre_of_few_values_is_no_spike() {
        let log_ratios =
            [-0.12, 1.31, 0.01, 0.03, -0.01, -1.14, 0.05, 0.03, 0.02, -0.79, 0.0, 0.01];
        for shift in 0..log_ratios.len() {
            let mut values = each_of_a_round(&log_ratios);
            values.rotate_left(shift);
            let (found, _) = centre(&values);
            assert!((-0.12..0.05).contains(&found), "{found}");
        }
    }

    /// One block of two values has a spike, down or up: its centre stays near those of the others.
    #[test]
    fn blocks_of_two_values_treat_both_directions_alike() {
        let pairs =
            [[-0.01, 0.01], [0.02, 0.04], [-0.04, -0.02], [0.01, 0.03], [-1.0, 0.0], [0.0, 0.01]];
        let found = [1.0, -1.0].map(|sign| {
            let value = |(block, round): (u32, u32)| RoundValue {
                block,
                round,
                value: sign * pairs[block as usize][round as usize],
            };
            let values: Vec<RoundValue> =
                (0..6).flat_map(|block| [(block, 0), (block, 1)]).map(value).collect();
            centres(&values).unwrap().blocks
        });
        for (one, other) in found[0].iter().zip(&found[1]) {
            assert!((one.value + other.value).abs() < 1e-9, "{one:?} {other:?}");
            assert!(one.value > -0.6, "{one:?}");
        }
    }

    #[test]
    fn few_values_are_all_used() {
        assert_eq!(centre(&each_of_a_round(&[1.0, 2.0, 6.0])).0, 3.0);
        assert_eq!(centres(&[]), None);
    }

    /// Two distant groups of values in a block: the centre stays between them.
    #[test]
    fn centres_lie_between_the_values() {
        for stalled in 1..20 {
            let value = |index: u32| match index % 40 < stalled {
                true => -1.6 - 0.01 * f64::from(index % 5),
                false => 0.01 * f64::from(index % 7),
            };
            let values: Vec<RoundValue> = (0..160)
                .map(|it| RoundValue { block: it / 40, round: it % 40, value: value(it) })
                .collect();
            for centre in centres(&values).unwrap().blocks {
                assert!((-1.7..=0.07).contains(&centre.value), "{stalled}: {centre:?}");
            }
        }
    }

    /// A bad instance is not mistaken for spikes.
    #[test]
    fn blocks_far_from_each_other_keep_their_centres() {
        let value = |index: u32| {
            let (block, noise) = (index / 40, 0.01 * f64::from(index % 7));
            RoundValue { block, round: index % 40, value: f64::from(block) + noise }
        };
        let values: Vec<RoundValue> = (0..160).map(value).collect();
        for (block, centre) in (0..).zip(&centres(&values).unwrap().blocks) {
            assert!((centre.value - f64::from(block) - 0.03).abs() < 0.01, "{centre:?}");
        }
    }

    #[test]
    fn median_of_even_and_odd() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
