//! Lists of counters that are read together. The reader has their names, in the order of the values.

pub(crate) fn add<const N: usize>(sum: &mut [u64; N], more: &[u64; N]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

/// Never negative.
pub(crate) fn since<const N: usize>(later: &[u64; N], earlier: &[u64; N]) -> [u64; N] {
    let mut used = *later;
    for (used, before) in used.iter_mut().zip(earlier) {
        *used = used.saturating_sub(*before);
    }
    used
}

/// Puts a prefix before each name.
pub(crate) fn named<const N: usize>(
    prefix: &str,
    names: [&str; N],
    values: [u64; N],
) -> impl Iterator<Item = (String, u64)> {
    names.into_iter().map(move |name| format!("{prefix}{name}")).zip(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_never_negative() {
        assert_eq!(since(&[0, 7], &[5, 5]), [0, 2]);
    }
}
