//! The faults that can occur, and their probabilities.

use crate::Noise;

/// Probabilities of faults, from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// assay is killed, before or after an action has had its effect. Once for each action and each slice of a round.
    pub kill: f64,
    /// The user interrupts. Once for each action.
    pub interrupt: f64,
    /// The ledger cannot grow. Once for each thing that is recorded.
    pub full: f64,
    /// An instance does not start. Once for each instance.
    pub start: f64,
    /// A system does not start from some block on, until the study is resumed. Once for each study.
    pub stays_down: f64,
    /// Clients cannot connect. Once for each cell and system.
    pub connect: f64,
    /// A slice fails. Once for each slice.
    pub slice: f64,
    /// A slice hangs before it fails. Once for each failed slice.
    pub hang: f64,
    /// The clock jumps. Once for each slice.
    pub clock: f64,
    /// The machine is in trouble. Once for each slice.
    pub trouble: f64,
}

impl Faults {
    /// No fault ever occurs.
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

    /// Every fault may occur, with probabilities that differ from study to study.
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
