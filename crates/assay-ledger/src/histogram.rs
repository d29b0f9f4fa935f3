//! Checks that the bytes of a latency histogram can be decoded safely. A malicious header makes decoders allocate
//! gigabytes, and counts near 2^64 overflow their sums.

use crate::limits::COUNT_MAX;

/// The first bytes of an uncompressed HDR histogram in V2 encoding.
const V2_COOKIE: u32 = 0x1c84_9313;

/// The largest number of significant digits. Histograms of assay have three.
const DIGITS_MAX: u32 = 3;

/// The largest value that a histogram may be able to hold, nanoseconds: about a hundred days.
const VALUE_MAX: u64 = 1 << 53;

/// Whether the bytes can be decoded safely. No bytes mean that nothing was measured.
pub(crate) fn is_sound(bytes: &[u8]) -> bool {
    bytes.is_empty() || total(bytes).is_some_and(|total| total <= COUNT_MAX)
}

/// The sum of all counts; `None` if the bytes are not a histogram of a sensible size.
fn total(mut bytes: &[u8]) -> Option<u64> {
    let rest = &mut bytes;
    let cookie = u32::from_be_bytes(take(rest)?);
    let length = u32::from_be_bytes(take(rest)?);
    let offset = u32::from_be_bytes(take(rest)?);
    let digits = u32::from_be_bytes(take(rest)?);
    let lowest = u64::from_be_bytes(take(rest)?);
    let highest = u64::from_be_bytes(take(rest)?);
    let ratio = f64::from_be_bytes(take(rest)?);
    let is_sound = cookie == V2_COOKIE
        && usize::try_from(length) == Ok(rest.len())
        && offset == 0
        && digits <= DIGITS_MAX
        && (1..=VALUE_MAX).contains(&lowest)
        && highest <= VALUE_MAX
        && ratio == 1.0;
    if !is_sound {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        // A negative number is the length of a run of zeros.
        match u64::try_from(number(rest)?) {
            Ok(count) => total = total.checked_add(count)?,
            Err(_) => continue,
        }
    }
    Some(total)
}

/// The next number, in ZigZag encoding: seven bits in each of the first eight bytes, eight bits in the ninth.
fn number(bytes: &mut &[u8]) -> Option<i64> {
    let mut coded = 0;
    for index in 0..9 {
        let [byte] = take(bytes)?;
        if index == 8 {
            coded |= u64::from(byte) << 56;
        } else {
            coded |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    let magnitude = (coded >> 1) as i64;
    // `i64::MIN` has no opposite, so it is refused.
    let number = if coded & 1 == 0 { magnitude } else { !magnitude };
    (number != i64::MIN).then_some(number)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
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
            values in proptest::collection::vec((1..VALUE_MAX, 0..1_u64 << 30), 0..50),
        ) {
            let mut histogram = Histogram::new_with_bounds(1, VALUE_MAX, 3).unwrap();
            for (value, count) in values {
                histogram.record_n(value, count).unwrap();
            }
            prop_assert_eq!(total(&encoded(&histogram)), Some(histogram.len()));
        }

        /// If changed bytes pass, the decoder decodes or refuses them without allocating much memory.
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
