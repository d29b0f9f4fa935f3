//! Centres of blocks: robust against the spikes of a shared machine.

/// Part of the values of a cell cut off at either end before averaging.
pub const TRIM: f64 = 0.1;

/// A block with fewer values has no centre of its own from which the cut could be measured.
const MEDIAN_MIN: usize = 10;

/// A value, and the block and round that it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) block: u32,
    pub(crate) round: u32,
    pub(crate) value: f64,
}

/// The robust centre of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Centre {
    pub(crate) block: u32,
    pub(crate) value: f64,
    /// The number of values in the block.
    pub(crate) count: f64,
}

/// The centres of the blocks of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Centres {
    /// In the order of blocks.
    pub(crate) blocks: Vec<Centre>,
    /// The variance of a block's centre within the block, times its number of values; `None` without two rounds in
    /// any block.
    pub(crate) spread: Option<f64>,
    /// Rounds in all blocks.
    pub(crate) rounds: usize,
    /// What each round adds to the deviation of its block's centre, in the order of the values.
    pub(crate) influences: Vec<f64>,
}

/// Trimmed means of blocks; `None` without values. Values must come in the order of blocks and rounds.
///
/// The cut is made in all blocks together, because a block may have too few values to say what is usual: it takes the
/// [`TRIM`] of the values that lie furthest below, and the same part of those above, the median of their block.
///
/// Values of one round depend on each other, and rounds do not. The variance is therefore that of the sums of rounds
/// (the cluster-robust variance of a mean), after winsorising.
pub(crate) fn centres(values: &[Value]) -> Option<Centres> {
    let deviations = deviations(values)?;
    let mut sorted = deviations.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = (TRIM * values.len() as f64) as usize;
    let (lowest, highest) = (*sorted.get(cut)?, *sorted.get(values.len() - 1 - cut)?);
    let (mut blocks, mut influences) = (Vec::new(), Vec::new());
    let (mut squares, mut kept_of_all) = (0.0, 0.0);
    let mut deviations = deviations.as_slice();
    for block in values.chunk_by(|one, next| one.block == next.block) {
        let (mine, rest) = deviations.split_at_checked(block.len())?;
        deviations = rest;
        let is_kept = |deviation: &f64| (lowest..=highest).contains(deviation);
        let kept = block.iter().zip(mine).filter(|(_, it)| is_kept(it)).map(|(it, _)| it.value);
        let (sum, kept) = kept.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        let count = block.len() as f64;
        let pulled_in: Vec<f64> = mine.iter().map(|it| it.clamp(lowest, highest)).collect();
        let middle = mean(&pulled_in);
        let first = block.first()?;
        // Where a single spike makes up half of a block, all of it may have been cut off.
        let own = first.value - mine.first()?;
        let value = if kept > 0.0 { sum / kept } else { own + middle };
        blocks.push(Centre { block: first.block, value, count });
        kept_of_all += kept;
        let mut pulled_in = pulled_in.as_slice();
        for round in block.chunk_by(|one, next| one.round == next.round) {
            let (of_round, rest) = pulled_in.split_at_checked(round.len())?;
            pulled_in = rest;
            let influence: f64 = of_round.iter().map(|it| it - middle).sum();
            squares += influence * influence;
            influences.push(influence / count);
        }
    }
    let (count, rounds) = (values.len() as f64, influences.len());
    let share = (kept_of_all / count).max(1.0 - 2.0 * TRIM);
    influences.iter_mut().for_each(|influence| *influence /= share);
    let free = rounds - blocks.len();
    let correction = rounds as f64 / free as f64;
    let spread = (free > 0).then(|| correction * squares / (count * share * share));
    Some(Centres { blocks, spread, rounds, influences })
}

/// How far each value lies above the median of its block, or of all values if the block has few.
fn deviations(values: &[Value]) -> Option<Vec<f64>> {
    let middle_of =
        |values: &[Value]| median(&values.iter().map(|it| it.value).collect::<Vec<_>>());
    let of_all = middle_of(values)?;
    let mut deviations = Vec::with_capacity(values.len());
    for block in values.chunk_by(|one, next| one.block == next.block) {
        let middle = if block.len() < MEDIAN_MIN { of_all } else { middle_of(block)? };
        deviations.extend(block.iter().map(|it| it.value - middle));
    }
    Some(deviations)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance; `None` with fewer than two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let sum: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| sum / (values.len() - 1) as f64)
}

/// The middle of the values; `None` without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    sorted.get(sorted.len() / 2 - 1).map(|lower| 0.5 * (lower + upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each_of_a_round(values: &[f64]) -> Vec<Value> {
        (0..).zip(values).map(|(round, &value)| Value { block: 0, round, value }).collect()
    }

    fn centre(values: &[Value]) -> (f64, Option<f64>) {
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
        let threefold: Vec<Value> = threefold.into_iter().flat_map(|it| [it; 3]).collect();
        let (_, variance) = centre(&threefold);
        assert!((variance.unwrap() - 7.0 / 3.0).abs() < 1e-12, "{variance:?}");
        let one_round = Value { block: 0, round: 5, value: 1.0 };
        assert_eq!(centre(&[one_round; 4]), (1.0, None));
    }

    #[test]
    fn spikes_are_cut_off() {
        let mut values = each_of_a_round(&[1.0; 20]);
        values[3].value = 100.0;
        values[7].value = -50.0;
        assert_eq!(centre(&values).0, 1.0);
    }

    /// Four blocks of five values: none of them could be trimmed alone.
    #[test]
    fn the_cut_is_made_in_all_blocks_together() {
        let values = |spike: f64| -> Vec<Value> {
            let of = |index: u32| if index == 7 { spike } else { f64::from(index % 5) };
            let value = |index| Value { block: index / 5, round: index % 5, value: of(index) };
            (0..20).map(value).collect()
        };
        let (calm, spiked) = (centres(&values(2.0)).unwrap(), centres(&values(1e6)).unwrap());
        for (calm, spiked) in calm.blocks.iter().zip(&spiked.blocks) {
            assert!((calm.value - spiked.value).abs() < 1.0, "{calm:?} {spiked:?}");
        }
        assert!(spiked.spread.unwrap() < 4.0 * calm.spread.unwrap());
    }

    #[test]
    fn few_values_are_all_used() {
        assert_eq!(centre(&each_of_a_round(&[1.0, 2.0, 6.0])).0, 3.0);
        assert_eq!(centres(&[]), None);
    }

    /// A bad instance is not mistaken for spikes.
    #[test]
    fn blocks_far_from_each_other_keep_their_centres() {
        let value = |index: u32| {
            let (block, noise) = (index / 40, 0.01 * f64::from(index % 7));
            Value { block, round: index % 40, value: f64::from(block) + noise }
        };
        let values: Vec<Value> = (0..160).map(value).collect();
        for (block, centre) in (0..).zip(&centres(&values).unwrap().blocks) {
            assert!((centre.value - f64::from(block) - 0.03).abs() < 0.005, "{centre:?}");
        }
    }

    #[test]
    fn median_of_even_and_odd() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
