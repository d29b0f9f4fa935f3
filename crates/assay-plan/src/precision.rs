//! Precision of a test's result, from the machine's noise and the time spent.

use assay_model::{Class, CpuPlacement, Noise, PlannedCell, TurnError};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Assumed noise of an unmeasured machine, for fixed work: that of a shared virtual machine with two CPUs in a quiet
/// hour.
const USUAL: [(f64, f64); 6] =
    [(1.0, 0.003), (5.0, 0.008), (10.0, 0.0154), (50.0, 0.035), (200.0, 0.06), (1000.0, 0.12)];

/// Standard error of the log ratio of two equal servers after one second, beyond that of fixed work in turns of the
/// same length: variation of their own threads and queries. From MariaDB 11.8 compared with itself in turns of 1, 2, 3
/// and 5 ms (`docs/lab/turns.md`).
const READS: f64 = 0.0055;
const WRITES: f64 = 0.008;

/// Factor for several unpinned clients: in 100 s, the intervals of five tests with eight clients on two CPUs were one
/// to five times as wide as those with two clients in pairs. Not measured relative to fixed work.
const FREE_CLIENTS: f64 = 4.0;

/// Standard deviations of the log ratio of CPU time per operation between rounds and between instances, beyond which
/// other programs hardly add any. From MariaDB 11.8 compared with itself at a load of 12 to 16 on two CPUs, where they
/// were 3 to 7% and 1.2 to 2.2%.
const CPU_ROUND: f64 = 0.05;
const CPU_INSTANCE: f64 = 0.017;

#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Standard deviation between blocks of the log ratio of two systems.
    pub block_sd: f64,
    /// Level of a study's last look, out of 0.05 for all.
    pub last_level: f64,
    pub threshold: f64,
    /// Whether an earlier command began the study, so that this one can only extend it.
    pub is_resumed: bool,
}

/// Fewer tests share no estimate of the differences between blocks.
const CELLS_MIN: usize = 3;

const PRIOR_MIN: f64 = 6.0;

/// Each test is judged by its rate and by its CPU time per operation.
const QUANTITIES: f64 = 2.0;

/// Probability of detecting a change of the stated size.
const POWER: f64 = 0.8;

#[derive(Debug, Clone)]
pub(crate) struct Precision {
    turns: Vec<TurnError>,
    needs: Needs,
}

impl Precision {
    pub(crate) fn new(noise: Option<&Noise>, needs: Needs) -> Self {
        let usable = |turn: &&TurnError| turn.turn_ms > 0.0 && turn.error > 0.0;
        let measured = noise.iter().flat_map(|noise| noise.turns.iter().filter(usable));
        let measured: Vec<TurnError> = measured.copied().collect();
        let turns = if measured.is_empty() {
            USUAL.map(|(turn_ms, error)| TurnError { turn_ms, error }).to_vec()
        } else {
            measured
        };
        Self { turns, needs }
    }

    /// Standard error of the log ratio of fixed work after one second in turns of this length: interpolated on
    /// logarithmic scales; beyond the longest, it grows with the square root of the length.
    fn of_turn(&self, turn_ms: f64) -> f64 {
        let (Some(first), Some(last)) = (self.turns.first(), self.turns.last()) else {
            return f64::NAN;
        };
        let around = |pair: &&[TurnError]| pair.last().is_some_and(|it| it.turn_ms >= turn_ms);
        match self.turns.windows(2).find(around) {
            _ if turn_ms <= first.turn_ms => first.error,
            Some([below, above]) => {
                let share = (turn_ms / below.turn_ms).ln() / (above.turn_ms / below.turn_ms).ln();
                below.error * (above.error / below.error).powf(share)
            }
            _ => last.error * (turn_ms / last.turn_ms).sqrt(),
        }
    }

    /// Smallest relative change of a cell, one of `cells` judged together, that four of five studies with these blocks
    /// and rounds would detect.
    pub(crate) fn smallest_change(
        &self,
        cell: &PlannedCell,
        CellAmount { blocks, rounds }: CellAmount,
        cells: usize,
    ) -> f64 {
        let own = if cell.id.test.class == Class::Write { WRITES } else { READS };
        let is_free = cell.id.setup.clients > 1 && cell.placement == CpuPlacement::Free;
        let factor = if is_free { FREE_CLIENTS } else { 1.0 };
        // A pair of systems is measured for twice the length of a slice in each round.
        let seconds = 2.0 * f64::from(cell.slice_ms) / 1000.0 * blocks * rounds;
        let of_turn = own.hypot(self.of_turn(f64::from(cell.turn_ms)));
        let of_turns = (factor * of_turn).powi(2) / seconds;
        self.detected(of_turns, self.needs.block_sd, blocks, cells)
    }

    /// The same of CPU time per operation. It depends on neither the test nor the noise of the machine.
    pub(crate) fn smallest_cpu_change(&self, amount: CellAmount, cells: usize) -> f64 {
        let CellAmount { blocks, rounds } = amount;
        let of_rounds = CPU_ROUND.powi(2) / (blocks * rounds);
        self.detected(of_rounds, CPU_INSTANCE, blocks, cells)
    }

    /// Smallest change detected with this variance of a mean within blocks, and this deviation between blocks.
    fn detected(&self, within: f64, block_sd: f64, blocks: f64, cells: usize) -> f64 {
        let of_blocks = block_sd.powi(2) / blocks;
        let variance = within + of_blocks;
        // Noise within blocks is known from many turns, differences between blocks only from blocks, including those of
        // other cells (`docs/lab/derivations.md`).
        let own = blocks - 1.0;
        let of_others = if cells < CELLS_MIN { PRIOR_MIN - own } else { own.max(PRIOR_MIN) };
        let freedom = (own + of_others.max(0.0)) * (variance / of_blocks).powi(2);
        let Ok(student) = StudentsT::new(0.0, 1.0, freedom.clamp(1.0, 1000.0)) else {
            return f64::INFINITY;
        };
        let judged = QUANTITIES * cells.max(1) as f64;
        let critical = student.inverse_cdf(1.0 - self.needs.last_level / 2.0 / judged);
        let error = variance.sqrt();
        let called = (critical * error).max(self.needs.threshold.ln_1p());
        (called + student.inverse_cdf(POWER) * error).exp_m1()
    }
}

/// Measurements of every cell. Rounds may be fractional during the search for their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellAmount {
    pub(crate) blocks: f64,
    pub(crate) rounds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: Needs =
        Needs { block_sd: 0.007, last_level: 0.03, threshold: 0.02, is_resumed: false };

    #[test]
    fn the_error_lies_between_those_of_the_next_lengths() {
        let usual = Precision::new(None, NEEDS);
        assert_eq!(usual.of_turn(0.5), 0.003);
        assert_eq!(usual.of_turn(5.0), 0.008);
        let between = usual.of_turn(25.0);
        assert!((0.0154..0.035).contains(&between), "{between}");
        assert!((usual.of_turn(4000.0) - 0.24).abs() < 1e-9);
    }

    #[test]
    fn measured_noise_replaces_the_usual_one() {
        let turn = |turn_ms, error| TurnError { turn_ms, error };
        let noise = |turns| Noise { turns, ..Noise::default() };
        let measured = Precision::new(Some(&noise(vec![turn(0.0, 0.1), turn(10.0, 0.05)])), NEEDS);
        assert_eq!(measured.of_turn(10.0), 0.05);
        let nothing = Precision::new(Some(&noise(vec![turn(10.0, 0.0)])), NEEDS);
        assert_eq!(nothing.of_turn(5.0), 0.008);
    }
}
