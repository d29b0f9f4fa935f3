//! Reading latency histograms: HDR histograms in V2 encoding, without building one.
//!
//! A slice has a few hundred recorded values, but a histogram that can hold them has tens of thousands of counts, so
//! merging the recorded values alone is much faster. Layout: the public description of `HdrHistogram`'s V2 encoding.

/// The first bytes of an uncompressed histogram in V2 encoding.
const V2_COOKIE: u32 = 0x1c84_9313;

/// The largest number of significant digits. Histograms of assay have three.
const DIGITS_MAX: u32 = 3;

/// The largest value that a histogram may be able to hold, nanoseconds: about a hundred days.
pub const HISTOGRAM_VALUE_MAX: u64 = 1 << 53;

/// Calls `each` with every recorded value and its count, the smallest value first. A value is the least of those that
/// the histogram does not tell apart. `None` if the bytes are not a histogram of a sensible size; `each` may have been
/// called by then.
pub fn recorded_values(mut bytes: &[u8], mut each: impl FnMut(u64, u64)) -> Option<()> {
    let rest = &mut bytes;
    let scale = Scale::read(rest)?;
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
            // The length of a run of zeros.
            Err(_) => index = index.checked_add(number.unsigned_abs())?,
        }
    }
    Some(())
}

/// How values are mapped to counts.
struct Scale {
    /// Binary logarithm of the smallest distance of values.
    unit: u32,
    /// Binary logarithm of the number of counts in each doubling of values.
    half: u32,
}

impl Scale {
    /// Reads a header, whose length must be that of the rest.
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

    /// The least value of a count.
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
