//! Random numbers of a simulated machine, its faults with their probabilities, and how a fault ends a run.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Probabilities, 0 to 1, per item concerned: action, recorded item, instance, cell and system, or slice.
#[derive(Debug, Clone, Copy, Default)]
pub struct SimFaults {
    /// assay is killed before or after an action takes effect. Per action and per slice of a round.
    pub kill: f64,
    /// Per action.
    pub interrupt: f64,
    pub full: f64,
    pub start: f64,
    /// From some block on, a system does not start until the study is resumed. Per study.
    pub stays_down: f64,
    pub connect: f64,
    pub slice: f64,
    /// A slice hangs before it fails. Per failed slice.
    pub hang: f64,
    pub clock: f64,
    pub trouble: f64,
}

impl SimFaults {
    pub fn random(noise: &mut NoiseSource) -> Self {
        let mut rare = || noise.one_of([0.0, 0.001, 0.01, 0.05]);
        Self {
            kill: rare(),
            interrupt: rare(),
            full: rare(),
            start: rare(),
            connect: rare(),
            slice: rare(),
            clock: rare(),
            hang: 0.5,
            stays_down: 0.1,
            trouble: noise.one_of([0.0, 0.1, 0.5, 0.95]),
        }
    }
}

/// Reasons for the early end of a simulated run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strike {
    Killed,
    Interrupted,
    LedgerFull,
    ServerGone,
    Broken(String),
}

#[derive(Debug, Clone)]
pub struct NoiseSource(Xoshiro256PlusPlus);

impl NoiseSource {
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
