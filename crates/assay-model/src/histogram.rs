//! Reader of HDR histograms in V2 encoding that builds no histogram.
//!
//! A slice has a few hundred recorded values, but a histogram for them has tens of thousands of counts, so merging only
//! the recorded values is much faster. Layout: the public description of `HdrHistogram`'s V2 encoding.

const V2_COOKIE: u32 = 0x1c84_9313;

/// Maximum number of significant digits. assay's histograms have three.
const DIGITS_MAX: u32 = 3;

/// Maximum trackable value, nanoseconds: about a hundred days.
pub const HISTOGRAM_VALUE_MAX: u64 = 1 << 53;

/// Calls `each` with every recorded value and its count in ascending order. A value is the lowest of its bucket. `None`
/// if the bytes are no histogram of sensible size; `each` may have been called before.
pub fn recorded_values(mut bytes: &[u8], mut each: impl FnMut(u64, u64)) -> Option<()> {
    let rest = &mut bytes;
    let scale = HistogramScale::read(rest)?;
    let mut index: u64 = 0;
    while !rest.is_empty() {
        let number = number(rest)?;
        match u64::try_from(number) {
            Ok(count) => {
                if count > 0 {
                    each(scale.value(index)?, count);
                }
                index = index.checked_add(1)?;
            }
            Err(_) => index = index.checked_add(number.unsigned_abs())?,
        }
    }
    Some(())
}

/// Mapping of values to counts.
struct HistogramScale {
    /// Log2 of the smallest distance of values.
    unit: u32,
    /// Log2 of the number of counts per doubling of values.
    half: u32,
}

impl HistogramScale {
    fn read(rest: &mut &[u8]) -> Option<Self> {
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
            && (1..=HISTOGRAM_VALUE_MAX).contains(&lowest)
            && highest <= HISTOGRAM_VALUE_MAX
            && ratio == 1.0;
        // Twice as many steps as the digits need, rounded up to a power of two.
        let steps = (2 * 10_u64.pow(digits.min(DIGITS_MAX))).next_power_of_two();
        is_sound.then(|| Self { unit: lowest.ilog2(), half: steps.ilog2().max(1) - 1 })
    }

    fn value(&self, index: u64) -> Option<u64> {
        let steps = 1 << self.half;
        let (doubling, step) = (index >> self.half, index & (steps - 1));
        // The first two groups of counts have the same distance of values.
        let (value, shift) = match doubling {
            0 => (step, self.unit),
            _ => (step + steps, self.unit + u32::try_from(doubling - 1).ok()?),
        };
        // A step has at most 11 bits, so nothing is shifted out.
        (shift < 52).then(|| value << shift).filter(|value| *value <= HISTOGRAM_VALUE_MAX)
    }
}

/// Next number in ZigZag encoding: seven bits in each of the first eight bytes, eight bits in the ninth.
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
    // Refused for `i64::MIN`, which has no negation.
    let number = if coded & 1 == 0 { magnitude } else { !magnitude };
    (number != i64::MIN).then_some(number)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}
