//! pgbench's `permute`: a pseudorandom permutation of numbers that depends on a seed.
//!
//! The values are those of pgbench 15 and later, because a script may load rows with a permutation and look them up
//! with the same one.

const ROUNDS: u32 = 6;

/// The image of `value` among the numbers below `size`; `None` if the size is not positive.
pub(crate) fn permuted(value: i64, size: i64, seed: i64) -> Option<i64> {
    let size = u64::try_from(size).ok().filter(|size| *size > 0)?;
    if size == 1 {
        return Some(0);
    }
    let mut stream = Xoroshiro::new(seed as u64);
    // The largest power of two not above the size: the halves are the numbers below it from either end.
    let half = Half { bits: size.ilog2() };
    let mut place = (value as u64) % size;
    for _ in 0..ROUNDS {
        place = half.mixed(place, &mut stream);
        place = size - 1 - half.mixed(size - 1 - place, &mut stream);
        place = (place + stream.below(size)) % size;
    }
    i64::try_from(place).ok()
}

struct Half {
    bits: u32,
}

impl Half {
    /// Permutes the numbers of the half, and leaves others unchanged. Draws the same in both cases.
    fn mixed(&self, number: u64, stream: &mut Xoroshiro) -> u64 {
        let mask = (1_u64 << self.bits) - 1;
        let odd = (stream.next() & mask) | 1;
        let flips = stream.next() & mask;
        if number > mask {
            return number;
        }
        let number = (number.wrapping_mul(odd) ^ flips) & mask;
        ((number << 1) & mask) | (number >> (self.bits - 1))
    }
}

/// xoroshiro128** (David Blackman and Sebastiano Vigna), seeded with SplitMix64, as in Postgres.
struct Xoroshiro([u64; 2]);

impl Xoroshiro {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([(); 2].map(|()| split_mix(&mut state)))
    }

    fn next(&mut self) -> u64 {
        let [first, second] = self.0;
        let mixed = first ^ second;
        self.0 = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number below `limit`, which is at least 2. Redraws while the bits of the limit give a larger one.
    fn below(&mut self, limit: u64) -> u64 {
        let shift = 63 - (limit - 1).ilog2();
        loop {
            let number = self.next() >> shift;
            if number < limit {
                return number;
            }
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of pgbench 15.
    #[test]
    fn values_are_those_of_pgbench() {
        assert_eq!(
            [0, 1, 2, 3].map(|it| permuted(it, 4, 42)),
            [Some(0), Some(2), Some(3), Some(1)]
        );
        for ((value, size, seed), expected) in [
            ((0, 4, 5432), 3),
            ((11, 100, 1), 42),
            ((-3, 100, 1), 60),
            ((5, 1_000_000, 99), 349_798),
            ((5, i64::MAX, 3), 882_093_455_554_196_304),
            ((123_456_789_012, 1_000_000_007, -5), 690_178_375),
        ] {
            assert_eq!(permuted(value, size, seed), Some(expected), "{value} of {size}, {seed}");
        }
        assert_eq!(
            (permuted(5, 1, 1), permuted(5, 0, 1), permuted(5, -7, 1)),
            (Some(0), None, None)
        );
    }

    #[test]
    fn every_number_is_taken_once() {
        for size in [2, 3, 7, 8, 1000] {
            let mut all: Vec<i64> = (0..size).filter_map(|it| permuted(it, size, 9)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..size), "{size}");
        }
    }
}
