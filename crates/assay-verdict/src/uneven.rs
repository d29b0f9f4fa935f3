//! Stalls, which trimmed means hide.

use crate::robust::Centres;
use crate::student::two_sided;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTotals {
    pub(crate) block: u32,
    /// Operations of the system and of the other one.
    pub(crate) ops: [f64; 2],
    pub(crate) seconds: [f64; 2],
}

/// Log of the ratio of totals divided by the usual ratio. Negative if the system stalls at times and the other one less
/// or not at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surplus {
    pub(crate) log: f64,
    pub(crate) se: f64,
    pub(crate) df: f64,
}

impl Surplus {
    pub(crate) fn p_value(&self) -> f64 {
        two_sided(self.log, self.se, self.df)
    }
}

/// Surplus of a cell, whose totals are in the order of the rounds behind the centres; `None` without two rounds in any
/// block.
///
/// Its variance is that of a difference of ratio estimates (linearised, round by round), because a round often
/// contributes to both.
pub(crate) fn surplus(centres: &Centres, totals: &[RoundTotals]) -> Option<Surplus> {
    let rounds = totals.len();
    let free = rounds.checked_sub(centres.blocks.len()).filter(|free| *free > 0)? as f64;
    let (mut log, mut squares) = (0.0, 0.0);
    let mut influences = centres.influences.as_slice();
    for (block, centre) in totals.chunk_by(|one, next| one.block == next.block).zip(&centres.blocks)
    {
        let weight = block.len() as f64 / rounds as f64;
        let (of_block, rest) = influences.split_at_checked(block.len())?;
        influences = rest;
        let sum = |part: fn(&RoundTotals) -> f64| block.iter().map(part).sum::<f64>();
        let (ops, other_ops) = (sum(|it| it.ops[0]), sum(|it| it.ops[1]));
        let (seconds, other_seconds) = (sum(|it| it.seconds[0]), sum(|it| it.seconds[1]));
        log += weight * ((ops / seconds / (other_ops / other_seconds)).ln() - centre.value);
        for (round, influence) in block.iter().zip(of_block) {
            let of_totals = round.ops[0] / ops
                - round.seconds[0] / seconds
                - (round.ops[1] / other_ops - round.seconds[1] / other_seconds);
            squares += (weight * (of_totals - influence)).powi(2);
        }
    }
    let se = (centres.inflation * squares * rounds as f64 / free).sqrt();
    (log.is_finite() && se.is_finite()).then_some(Surplus { log, se, df: free })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robust::{RoundValue, centres};

    fn of_rates(rate: impl Fn(u32) -> f64) -> Surplus {
        let numbered = || (0..80_u32).map(|index| (index / 20, index % 20, rate(index)));
        let values: Vec<RoundValue> = numbered()
            .map(|(block, round, it)| RoundValue { block, round, value: it.ln() })
            .collect();
        let totals: Vec<RoundTotals> = numbered()
            .map(|(block, _, it)| RoundTotals { block, ops: [it, 1.0], seconds: [1.0, 1.0] })
            .collect();
        surplus(&centres(&values).unwrap(), &totals).unwrap()
    }

    fn even(index: u32) -> f64 {
        1.0 + 0.01 * (f64::from(index * 5 % 7) - 3.0)
    }

    #[test]
    fn stalls_in_every_twentieth_round_are_found() {
        let stalled = of_rates(|index| if index % 20 == 7 { 0.2 } else { even(index) });
        assert!((stalled.log - 0.96_f64.ln()).abs() < 0.003, "{stalled:?}");
        assert!(stalled.p_value() < 0.06, "{stalled:?}");
        let often = of_rates(|index| if index % 10 == 7 { 0.5 } else { even(index) });
        assert!((often.log - 0.95_f64.ln()).abs() < 0.006, "{often:?}");
        assert!(often.p_value() < 0.01, "{often:?}");
    }

    #[test]
    fn even_noise_has_no_surplus() {
        let surplus = of_rates(even);
        assert!(surplus.log.abs() < 0.001, "{surplus:?}");
    }

    /// One stall in 80 rounds may be chance.
    #[test]
    fn a_single_stall_is_not_certain() {
        let surplus = of_rates(|index| if index == 33 { 0.01 } else { even(index) });
        assert!(surplus.log < -0.01, "{surplus:?}");
        assert!(surplus.p_value() > 0.1, "{surplus:?}");
    }
}
