//! Sizes and random values as the specification defines them (clauses 1.2, 2.1 and 4.3).

use crate::literal::push_decimal;
use crate::random::{RandomStream, mix_word};

/// Name of the test, which is part of the seed of its inputs.
pub const TPCC: &str = "tpcc";

/// Clause 1.2.1: districts of a warehouse, customers of a district, and items.
pub(super) const DISTRICTS: u32 = 10;
pub(super) const CUSTOMERS: u32 = 3000;
pub(super) const ITEMS: u32 = 100_000;
/// Orders of a district after the load, and the first of those that are not delivered yet.
pub(super) const ORDERS: u32 = 3000;
pub(super) const FIRST_NEW: u32 = 2101;

/// Clause 4.3.2.3: the syllables of last names.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Characters of random texts, one for each of 64 equally likely numbers, so two of them are twice as likely.
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789aE";

const CHARACTER_BITS: u32 = 6;

/// Ranges of the distributions of last names, customers and items.
const LAST_NAME_RANGE: u64 = 255;
const CUSTOMER_RANGE: u64 = 1023;
const ITEM_RANGE: u64 = 8191;

/// Clause 2.1.6: the constants of the non-uniform distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Constants {
    /// For last names while the tables are loaded.
    pub(super) loaded_name: u64,
    /// For last names while transactions run.
    pub(super) name: u64,
    customer: u64,
    item: u64,
}

impl Constants {
    pub(super) fn new(seed: u64) -> Self {
        let mut stream = RandomStream::new(mix_word(seed, "tpcc constants"));
        let loaded_name = stream.below(LAST_NAME_RANGE + 1);
        // Clause 2.1.6.1: both differ by 65 to 119, but neither by 96 nor by 112.
        let difference = loop {
            let difference = between(&mut stream, 65, 119);
            if difference != 96 && difference != 112 {
                break difference;
            }
        };
        let name = match loaded_name + difference {
            higher if higher <= LAST_NAME_RANGE => higher,
            _ => loaded_name - difference,
        };
        let customer = stream.below(CUSTOMER_RANGE + 1);
        Self { loaded_name, name, customer, item: stream.below(ITEM_RANGE + 1) }
    }

    pub(super) fn customer(&self, stream: &mut RandomStream) -> u32 {
        non_uniform(stream, CUSTOMER_RANGE, self.customer, (1, CUSTOMERS.into())) as u32
    }

    pub(super) fn item(&self, stream: &mut RandomStream) -> u32 {
        non_uniform(stream, ITEM_RANGE, self.item, (1, ITEMS.into())) as u32
    }

    pub(super) fn last_name(stream: &mut RandomStream, constant: u64) -> u32 {
        non_uniform(stream, LAST_NAME_RANGE, constant, (0, 999)) as u32
    }
}

/// `NURand` of clause 2.1.6.
fn non_uniform(stream: &mut RandomStream, a: u64, c: u64, (low, high): (u64, u64)) -> u64 {
    let drawn = between(stream, 0, a) | between(stream, low, high);
    (drawn + c) % (high - low + 1) + low
}

/// Uniform, inclusive.
pub(super) fn between(stream: &mut RandomStream, low: u64, high: u64) -> u64 {
    low + stream.below(high - low + 1)
}

pub(super) fn happens(stream: &mut RandomStream, percent: u64) -> bool {
    stream.below(100) < percent
}

pub(super) fn push_last_name(number: u32, out: &mut Vec<u8>) {
    for digit in [number / 100, number / 10 % 10, number % 10] {
        out.extend(SYLLABLES[digit as usize].as_bytes());
    }
}

pub(super) fn push_text(stream: &mut RandomStream, low: u64, high: u64, out: &mut Vec<u8>) {
    let mut left = between(stream, low, high);
    while left > 0 {
        let mut bits = stream.bits();
        let count = left.min(u64::from(u64::BITS / CHARACTER_BITS));
        for _ in 0..count {
            let place = (bits & (CHARACTERS.len() as u64 - 1)) as usize;
            out.push(CHARACTERS[place]);
            bits >>= CHARACTER_BITS;
        }
        left -= count;
    }
}

/// Appends a random text with `ORIGINAL` somewhere in it in one of ten cases (clause 4.3.3.1).
pub(super) fn push_data(stream: &mut RandomStream, low: u64, high: u64, out: &mut Vec<u8>) {
    const ORIGINAL: &[u8] = b"ORIGINAL";
    let start = out.len();
    push_text(stream, low, high, out);
    let length = out.len() - start;
    if happens(stream, 10) {
        let at = start + stream.below((length - ORIGINAL.len() + 1) as u64) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

pub(super) fn push_digits(stream: &mut RandomStream, count: u32, out: &mut Vec<u8>) {
    for _ in 0..count {
        out.push(b'0' + stream.below(10) as u8);
    }
}

/// Appends a fixed-point number, given without its point.
pub(super) fn push_fixed(value: u64, decimals: u32, out: &mut Vec<u8>) {
    let unit = 10_u64.pow(decimals);
    push_decimal(out, value / unit);
    out.push(b'.');
    let mut place = unit / 10;
    while place > 0 {
        out.push(b'0' + (value / place % 10) as u8);
        place /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_three_syllables() {
        let name = |number| {
            let mut name = Vec::new();
            push_last_name(number, &mut name);
            String::from_utf8(name).unwrap()
        };
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(40), "BARPRESBAR");
        assert_eq!(name(999), "EINGEINGEING");
    }

    #[test]
    fn constants_of_names_differ_as_they_must() {
        for seed in 0..2000 {
            let Constants { loaded_name, name, .. } = Constants::new(seed);
            let difference = loaded_name.abs_diff(name);
            assert!((65..=119).contains(&difference) && ![96, 112].contains(&difference));
            assert!(loaded_name <= 255 && name <= 255);
        }
    }

    #[test]
    fn items_are_drawn_from_all_but_not_evenly() {
        let (constants, mut stream) = (Constants::new(7), RandomStream::new(7));
        let mut counts = vec![0_u32; 100_001];
        for _ in 0..1_000_000 {
            counts[constants.item(&mut stream) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let drawn = counts.iter().filter(|count| **count > 0).count();
        // Each of the 13 lower bits is set with a probability of 3/4, so that an item with k of them has about 0.00122
        // * 3^k draws of a million. Summed over k with the numbers of such items, 65,800 have one or more.
        assert!((64_500..68_000).contains(&drawn), "{drawn}");
        counts.sort_unstable();
        let most: u32 = counts.iter().rev().take(10_000).sum();
        assert!(most > 300_000, "a tenth of the items has {most} of a million draws");
    }

    #[test]
    fn texts_have_their_lengths() {
        let mut stream = RandomStream::new(1);
        let mut lengths = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            let mut out = Vec::new();
            push_data(&mut stream, 26, 50, &mut out);
            lengths.insert(out.len());
        }
        assert_eq!(lengths, (26..=50).collect());
        let fixed = |value, decimals| {
            let mut out = Vec::new();
            push_fixed(value, decimals, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!([fixed(5, 4), fixed(1234, 2), fixed(100, 2)], ["0.0005", "12.34", "1.00"]);
    }
}
