//! Random numbers: one cheap generator per row or event, seeded from its coordinates.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Derives a key from a parent key and one more coordinate. Keys of different coordinates are unrelated for all
/// practical purposes, so streams can be nested: seed, test, client, sequence number.
pub(crate) fn mix(key: u64, coordinate: u64) -> u64 {
    let spread = coordinate.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut z = key.rotate_left(32) ^ spread;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub(crate) fn mix_word(key: u64, word: &str) -> u64 {
    word.bytes().fold(mix(key, word.len() as u64), |key, byte| mix(key, u64::from(byte)))
}

/// A stream of random numbers (xoshiro256++), the same on every machine for the same key.
#[derive(Debug, Clone)]
pub(crate) struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    pub(crate) fn new(key: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(key))
    }

    /// Uniform in [0, 1) with 53 random bits.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, n). The bias is below n / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Appends groups of eleven random decimal digits joined by `-`.
    pub(crate) fn digit_groups(&mut self, groups: usize, out: &mut Vec<u8>) {
        for group in 0..groups {
            if group > 0 {
                out.push(b'-');
            }
            let mut digits = [b'0'; 11];
            let mut value = self.below(100_000_000_000);
            for digit in digits.iter_mut().rev() {
                *digit += (value % 10) as u8;
                value /= 10;
            }
            out.extend_from_slice(&digits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If these values change, so does the data of every study.
    #[test]
    fn streams_are_pinned() {
        let mut stream = RandomStream::new(mix(mix_word(1, "point-query"), 2));
        let first = [stream.below(1000), stream.below(1000), stream.below(1000)];
        assert_eq!(first, [483, 309, 270]);
    }

    #[test]
    fn neighbouring_keys_give_unrelated_streams() {
        let mut equal = 0;
        for coordinate in 0..10_000 {
            let mut a = RandomStream::new(mix(7, coordinate));
            let mut b = RandomStream::new(mix(7, coordinate + 1));
            equal += u32::from(a.below(100) == b.below(100));
        }
        assert!(
            (50..200).contains(&equal),
            "{equal} of 10000 first draws equal, expected about 100"
        );
    }

    #[test]
    fn digits_are_uniform_in_every_place() {
        let mut stream = RandomStream::new(3);
        let mut counts = [[0u32; 10]; 23];
        for _ in 0..10_000 {
            let mut text = Vec::new();
            stream.digit_groups(2, &mut text);
            for (place, byte) in text.iter().enumerate().filter(|(_, byte)| **byte != b'-') {
                counts[place][usize::from(byte - b'0')] += 1;
            }
        }
        for (place, digits) in counts.iter().enumerate().filter(|(place, _)| *place != 11) {
            assert!(digits.iter().all(|n| (850..1150).contains(n)), "place {place}: {digits:?}");
        }
    }
}
