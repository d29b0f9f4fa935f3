//! The centre of a block: robust against the spikes of a shared machine.

/// Part of the values cut off at either end before averaging.
pub const TRIM: f64 = 0.1;

/// A robust centre and the variance of that centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Centre {
    pub(crate) value: f64,
    /// Winsorised variance of the trimmed mean; `None` for a single value.
    pub(crate) variance: Option<f64>,
}

/// The mean without the lowest and highest [`TRIM`] of the values, and its variance; `None` without values. Sorts the
/// values and pulls the outer ones in.
pub(crate) fn centre(values: &mut [f64]) -> Option<Centre> {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    let cut = (TRIM * count as f64) as usize;
    let kept = values.get(cut..count - cut).filter(|kept| !kept.is_empty())?;
    let value = mean(kept);
    let share = kept.len() as f64 / count as f64;
    let (lowest, highest) = (*kept.first()?, *kept.last()?);
    values.iter_mut().for_each(|value| *value = value.clamp(lowest, highest));
    let variance = variance(values).map(|variance| variance / (share * share * count as f64));
    Some(Centre { value, variance })
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

    #[test]
    fn spikes_are_cut_off() {
        let mut values = vec![1.0; 20];
        values[3] = 100.0;
        values[7] = -50.0;
        assert_eq!(centre(&mut values).map(|it| it.value), Some(1.0));
    }

    #[test]
    fn few_values_are_all_used() {
        assert_eq!(centre(&mut [1.0, 2.0, 6.0]).map(|it| it.value), Some(3.0));
        assert_eq!(centre(&mut []), None);
    }

    #[test]
    fn median_of_even_and_odd() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
