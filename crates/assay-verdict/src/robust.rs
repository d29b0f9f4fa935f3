//! The centre of a block: robust against the spikes of a shared machine.

/// Part of the values cut off at either end before averaging.
pub const TRIM: f64 = 0.1;

/// A robust centre and the variance of that centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Centre {
    pub(crate) value: f64,
    /// Winsorised variance of the trimmed mean; `None` for a single round.
    pub(crate) variance: Option<f64>,
    /// Rounds that the values come from.
    pub(crate) rounds: usize,
}

/// A value and the round that it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) round: u32,
    pub(crate) value: f64,
}

/// The mean without the lowest and highest [`TRIM`] of the values, and its variance; `None` without values. Sorts the
/// values and pulls the outer ones in.
///
/// Values of one round depend on each other, and rounds do not. The variance is therefore that of the sums of rounds
/// (the cluster-robust variance of a mean), after winsorising.
pub(crate) fn centre(values: &mut [Value]) -> Option<Centre> {
    values.sort_unstable_by(|one, other| one.value.total_cmp(&other.value));
    let count = values.len();
    let cut = (TRIM * count as f64) as usize;
    let kept = values.get(cut..count - cut).filter(|kept| !kept.is_empty())?;
    let sum: f64 = kept.iter().map(|it| it.value).sum();
    let (share, value) = (kept.len() as f64, sum / kept.len() as f64);
    let (lowest, highest) = (kept.first()?.value, kept.last()?.value);
    values.iter_mut().for_each(|it| it.value = it.value.clamp(lowest, highest));
    let middle = values.iter().map(|it| it.value).sum::<f64>() / count as f64;
    values.sort_unstable_by(|one, other| {
        one.round.cmp(&other.round).then(one.value.total_cmp(&other.value))
    });
    let (mut squares, mut rounds) = (0.0, 0);
    for round in values.chunk_by(|one, next| one.round == next.round) {
        squares += round.iter().map(|it| it.value - middle).sum::<f64>().powi(2);
        rounds += 1;
    }
    let correction = rounds as f64 / (rounds as f64 - 1.0);
    let variance = (rounds > 1).then(|| squares * correction / (share * share));
    Some(Centre { value, variance, rounds })
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
        (0..).zip(values).map(|(round, &value)| Value { round, value }).collect()
    }

    /// With one value in each round, it is the variance of the mean; equal values within rounds add nothing.
    #[test]
    fn values_of_a_round_count_as_one() {
        let alone = centre(&mut each_of_a_round(&[1.0, 2.0, 6.0])).unwrap();
        assert!((alone.variance.unwrap() - 7.0 / 3.0).abs() < 1e-12, "{alone:?}");
        let threefold = each_of_a_round(&[1.0, 2.0, 6.0]).repeat(3);
        let threefold = centre(&mut threefold.clone()).unwrap();
        assert!((threefold.variance.unwrap() - 7.0 / 3.0).abs() < 1e-12, "{threefold:?}");
        assert_eq!((alone.rounds, threefold.rounds), (3, 3));
        let one_round = Value { round: 5, value: 1.0 };
        assert_eq!(centre(&mut [one_round; 4]).unwrap().variance, None);
    }

    #[test]
    fn spikes_are_cut_off() {
        let mut values = each_of_a_round(&[1.0; 20]);
        values[3].value = 100.0;
        values[7].value = -50.0;
        assert_eq!(centre(&mut values).map(|it| it.value), Some(1.0));
    }

    #[test]
    fn few_values_are_all_used() {
        assert_eq!(centre(&mut each_of_a_round(&[1.0, 2.0, 6.0])).map(|it| it.value), Some(3.0));
        assert_eq!(centre(&mut []), None);
    }

    #[test]
    fn median_of_even_and_odd() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
