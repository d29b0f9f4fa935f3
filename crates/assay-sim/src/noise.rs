//! Random numbers for the noise of a machine.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug, Clone)]
pub struct Noise(Xoshiro256PlusPlus);

impl Noise {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn strikes(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    pub fn one_of<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        choices[self.0.random_range(0..N)]
    }

    /// `end` must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }
}
