//! The noise of a machine.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Random numbers of one seed.
#[derive(Debug, Clone)]
pub struct Noise(Xoshiro256PlusPlus);

impl Noise {
    /// The random numbers that follow from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number evenly distributed between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// A normally distributed number with mean 0 and standard deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Whether an event of this probability happens.
    pub fn strikes(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// One of the choices, each as likely as the others.
    pub fn one_of<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        choices[self.0.random_range(0..N)]
    }

    /// A whole number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }
}
