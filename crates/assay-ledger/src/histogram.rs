//! Checks that a latency histogram can be decoded safely. A malicious header makes decoders allocate gigabytes, and
//! counts near 2^64 overflow their sums.

use assay_model::recorded_values;

use crate::limits::COUNT_MAX;

/// Empty bytes mean that nothing was measured.
pub(crate) fn is_sound(bytes: &[u8]) -> bool {
    bytes.is_empty() || total(bytes).is_some_and(|total| total <= COUNT_MAX)
}

/// Sum of all counts; `None` if the bytes are no histogram of sensible size.
fn total(bytes: &[u8]) -> Option<u64> {
    let mut total = Some(0_u64);
    recorded_values(bytes, |_, count| total = total.and_then(|sum| sum.checked_add(count)))?;
    total
}

#[cfg(test)]
mod tests {
    use assay_model::HISTOGRAM_VALUE_MAX;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
    use proptest::prelude::*;

    use super::*;

    fn encoded(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn recorded_histograms_are_valid_and_counted(
            values in proptest::collection::vec((1..HISTOGRAM_VALUE_MAX, 0..1_u64 << 30), 0..50),
        ) {
            let mut histogram = Histogram::new_with_bounds(1, HISTOGRAM_VALUE_MAX, 3).unwrap();
            for (value, count) in values {
                histogram.record_n(value, count).unwrap();
            }
            prop_assert_eq!(total(&encoded(&histogram)), Some(histogram.len()));
        }

        /// The library decodes the same values.
        #[test]
        fn recorded_values_are_those_that_were_recorded(
            digits in 0..4_u8,
            lowest in 1..5000_u64,
            values in proptest::collection::vec((any::<u64>(), 1..9_u64), 0..50),
        ) {
            let mut histogram =
                Histogram::new_with_bounds(lowest, HISTOGRAM_VALUE_MAX / 2, digits).unwrap();
            for (value, count) in values {
                let value = lowest + value % (HISTOGRAM_VALUE_MAX / 4);
                histogram.record_n(value, count).unwrap();
            }
            let mut found = Vec::new();
            let read = recorded_values(&encoded(&histogram), |value, count| {
                found.push((value, count));
            });
            prop_assert!(read.is_some());
            let message: Vec<(u64, u64)> = histogram
                .iter_recorded()
                .map(|it| {
                    let value = histogram.lowest_equivalent(it.value_iterated_to());
                    (value, it.count_at_value())
                })
                .collect();
            prop_assert_eq!(found, message);
        }

        /// If changed bytes are accepted, the decoder decodes or refuses them without allocating much memory.
        #[test]
        fn accepted_histograms_decode(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        ) {
            let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
            histogram.record_n(12_345_678, 1000).unwrap();
            let mut bytes = encoded(&histogram);
            for (index, byte) in changes {
                let length = bytes.len();
                bytes[index.index(length)] = byte;
            }
            if is_sound(&bytes) {
                let _: Result<Histogram<u64>, _> =
                    Deserializer::new().deserialize(&mut bytes.as_slice());
            }
        }
    }

    #[test]
    fn malicious_histograms_are_refused() {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        histogram.record(1_000_000).unwrap();
        let good = encoded(&histogram);
        assert!(is_sound(&good) && is_sound(&[]));
        assert!(!is_sound(&good[..good.len() - 1]) && !is_sound(&good[..20]));
        // A length of gigabytes, five digits, the range of all numbers, a compressed histogram.
        for (at, byte) in [(4, 0xff), (15, 5), (24, 0xff), (3, 0x14)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert!(!is_sound(&bad), "byte {at}");
        }
        histogram.record_n(2_000_000, 1 << 41).unwrap();
        assert!(!is_sound(&encoded(&histogram)));
        let mut no_opposite = good[..40].to_vec();
        no_opposite.extend([0xff; 9]);
        no_opposite[7] = 9;
        assert!(!is_sound(&no_opposite));
    }
}
