//! Simulated faults and their probabilities.

use crate::Noise;

/// Probabilities, 0 to 1, per item concerned: action, recorded item, instance, cell and system, or slice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
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

impl Faults {
    pub const NONE: Self = Self {
        kill: 0.0,
        interrupt: 0.0,
        full: 0.0,
        start: 0.0,
        stays_down: 0.0,
        connect: 0.0,
        slice: 0.0,
        hang: 0.0,
        clock: 0.0,
        trouble: 0.0,
    };

    #[must_use]
    pub fn random(noise: &mut Noise) -> Self {
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
