//! Random values for programs that draw at run time, such as scripts: sysbench's distributions, from a generator seeded
//! for each client and event.

use std::ops::Range;

use assay_model::Distribution;

use crate::distribution::RandomSampler;
use crate::random::{RandomStream, mix, mix_word};

/// Ranges whose constants are cached. Those of a Zipf distribution take long to compute.
const KEPT: usize = 16;

/// The random values of one client. The same seed, client and event give the same values on every system.
#[derive(Debug, Clone)]
pub struct RandomDraws {
    key: u64,
    client: u32,
    clients: u32,
    part: u64,
    /// Start of the unique numbers, once known, and how many this client has drawn.
    unique: (Option<u64>, u64),
    stream: RandomStream,
    usual: Distribution,
    samplers: Vec<(Distribution, u32, u32, RandomSampler)>,
}

impl RandomDraws {
    /// `part` separates the values from those of other parts of the study, such as its load. `usual` is the
    /// distribution of [`RandomDraws::default`].
    pub fn new(seed: u64, part: &str, client: u32, clients: u32, usual: Distribution) -> Self {
        let part = mix_word(seed, part);
        let key = mix(part, u64::from(client));
        let (unique, samplers) = ((None, 0), Vec::new());
        Self { key, client, clients, part, unique, stream: RandomStream::new(key), usual, samplers }
    }

    pub fn begin_event(&mut self, sequence: u64, attempt: u32) {
        // All clients begin with the same event number, and other sessions with another.
        self.unique.0.get_or_insert_with(|| mix(self.part, sequence));
        self.stream = RandomStream::new(mix(mix(self.key, sequence), u64::from(attempt)));
    }

    /// Draws from [`low`, `high`]. A `high` below `low` counts as `low`.
    pub fn draw(&mut self, distribution: Distribution, low: u32, high: u32) -> u32 {
        let is_it = |kept: &(Distribution, u32, u32, RandomSampler)| {
            (kept.0, kept.1, kept.2) == (distribution, low, high)
        };
        if let Some((.., sampler)) = self.samplers.iter().find(|kept| is_it(kept)) {
            return sampler.draw(&mut self.stream);
        }
        let sampler = RandomSampler::new(distribution, low, high);
        let drawn = sampler.draw(&mut self.stream);
        if self.samplers.len() == KEPT {
            self.samplers.remove(0);
        }
        self.samplers.push((distribution, low, high, sampler));
        drawn
    }

    pub fn default(&mut self, low: u32, high: u32) -> u32 {
        self.draw(self.usual, low, high)
    }

    pub fn uniform(&mut self, low: u32, high: u32) -> u32 {
        let size = u64::from(high.max(low) - low) + 1;
        low + self.stream.below(size) as u32
    }

    pub fn unit(&mut self) -> f64 {
        self.stream.unit()
    }

    pub fn bits(&mut self) -> u64 {
        (self.stream.below(1 << 32) << 32) | self.stream.below(1 << 32)
    }

    /// A 32-bit number not yet drawn by any client of the session, until all are used. The numbers are unordered. Those
    /// of two sessions, or of the load and a session, start at unrelated places, so they collide only if there are
    /// many.
    pub fn unique(&mut self) -> u32 {
        let (begin, number) = self.next_unique();
        scattered((begin as u32).wrapping_add(number as u32))
    }

    /// Like `unique`, in [`low`, `high`]. A `high` below `low` counts as `low`.
    pub fn unique_in(&mut self, low: u32, high: u32) -> u32 {
        let size = u64::from(high.max(low) - low) + 1;
        let (begin, number) = self.next_unique();
        let place = (begin % size + number % size * stride(size)) % size;
        low + place as u32
    }

    fn next_unique(&mut self) -> (u64, u64) {
        let begin = *self.unique.0.get_or_insert_with(|| mix(self.part, u64::MAX));
        let clients = u64::from(self.clients.max(1));
        let number = self.unique.1.wrapping_mul(clients).wrapping_add(u64::from(self.client));
        self.unique.1 += 1;
        (begin, number)
    }

    /// Appends a template, with each `#` replaced by a random digit and each `@` by a random lower-case letter.
    pub fn string(&mut self, template: &[u8], out: &mut Vec<u8>) {
        for &byte in template {
            out.push(match byte {
                b'#' => self.byte_of(b'0'..b'0' + 10),
                b'@' => self.byte_of(b'a'..b'a' + 26),
                other => other,
            });
        }
    }

    /// Appends `min` to `max` random lower-case letters and digits.
    pub fn letters(&mut self, min: u32, max: u32, out: &mut Vec<u8>) {
        for _ in 0..self.uniform(min, max) {
            let letter = self.stream.below(36) as u8;
            out.push(if letter < 10 { b'0' + letter } else { b'a' + (letter - 10) });
        }
    }

    fn byte_of(&mut self, range: Range<u8>) -> u8 {
        range.start + self.stream.below(u64::from(range.end - range.start)) as u8
    }
}

/// A permutation of the 32-bit numbers: multiplications by odd numbers and shifts are invertible.
fn scattered(mut number: u32) -> u32 {
    number = (number ^ (number >> 16)).wrapping_mul(0x7FEB_352D);
    number = (number ^ (number >> 15)).wrapping_mul(0x846C_A68B);
    number ^ (number >> 16)
}

/// A step that visits every position of a range of this size, and avoids consecutive neighbors if possible.
fn stride(size: u64) -> u64 {
    let golden = (size as f64 * 0.618_033_988_75) as u64;
    (golden.max(1)..=size).find(|step| greatest_divisor(*step, size) == 1).unwrap_or(1)
}

fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn draws(client: u32) -> RandomDraws {
        RandomDraws::new(1, "run", client, 2, Distribution::Special)
    }

    #[test]
    fn an_event_draws_the_same_values_again() {
        let values = |sequence, attempt| {
            let mut it = draws(0);
            it.begin_event(sequence, attempt);
            let mut text = Vec::new();
            it.string(b"##-@@", &mut text);
            (it.default(1, 1000), it.uniform(5, 5), it.bits(), it.unit().to_bits(), text)
        };
        assert_eq!(values(3, 0), values(3, 0));
        assert_ne!(values(3, 0), values(4, 0));
        assert_ne!(values(3, 0), values(3, 1));
        assert_eq!(values(3, 0).1, 5);
        let text = values(3, 0).4;
        assert!(text[0].is_ascii_digit() && text[2] == b'-' && text[4].is_ascii_lowercase());
    }

    #[test]
    fn unique_numbers_are_unique_among_clients_events_and_slices() {
        let mut seen = BTreeSet::new();
        for client in 0..2 {
            let mut it = draws(client);
            for slice in 0..3 {
                for event in 0..200 {
                    for attempt in 0..2 {
                        // A study numbers the events of its slices like this.
                        it.begin_event((slice << 27) + event, attempt);
                        for _ in 0..10 {
                            assert!(seen.insert(it.unique()));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn unique_numbers_of_a_range_stay_in_it_and_are_all_drawn() {
        for (low, high) in [(1, 1), (1, 2), (5, 14), (1, 1000), (0, 1023)] {
            let size = high - low + 1;
            let mut clients = [draws(0), draws(1)];
            let of_each = (size / 2).max(1);
            let numbers: BTreeSet<u32> = (0..2 * of_each)
                .map(|at| clients[(at % 2) as usize].unique_in(low, high))
                .collect();
            assert!(numbers.iter().all(|it| (low..=high).contains(it)), "{numbers:?}");
            assert_eq!(numbers.len() as u32, (2 * of_each).min(size), "{low} to {high}");
        }
        let mut it = draws(0);
        assert!((0..100).all(|_| it.unique_in(7, u32::MAX) >= 7));
    }

    #[test]
    fn every_distribution_stays_in_its_range() {
        let mut it = draws(0);
        let all = [
            Distribution::Uniform,
            Distribution::Gaussian,
            Distribution::Special,
            Distribution::Pareto { h: 0.2 },
            Distribution::Zipfian { s: 0.8 },
        ];
        for high in 0..40 {
            for distribution in all {
                let drawn = it.draw(distribution, 10, high);
                assert!((10..=high.max(10)).contains(&drawn));
            }
        }
        let mut text = Vec::new();
        it.letters(3, 3, &mut text);
        assert_eq!(text.len(), 3);
    }
}
