//! The rules for verdicts, and the reasons why a cell stays undecided.

use assay_model::{Preset, Study, Verdict};

use crate::Doubt;
use crate::effect::{Effect, is_of_use};
use crate::sequential::{ALPHA, benjamini_hochberg, levels, look_level, shares};

/// Blocks that a verdict needs, unless the study is planned with fewer. With fewer blocks, the largest claims would be
/// those with the least replication.
pub const BLOCKS_MIN: u32 = 4;

/// Preset smoke calls no smaller change, whatever the threshold is.
pub const SMOKE_GROSS: f64 = 0.10;

/// The smallest relative change that a study may call.
#[must_use]
pub fn threshold(study: &Study) -> f64 {
    match study.preset {
        Preset::Smoke => study.threshold.max(SMOKE_GROSS),
        _ => study.threshold,
    }
}

/// The power of [`crate::CellJudgement::detectable`]: the probability that a change of that size is called.
const POWER: f64 = 0.8;

/// Looks beyond this one keep its level.
const LOOKS_MAX: u32 = 32;

/// An estimate lies at the threshold if its distance from it is less than this part of the threshold.
pub(crate) const NEAR: f64 = 0.2;

/// The decision on one effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    /// Smallest relative change that would be called; `None` if nothing would be.
    pub(crate) detectable: Option<f64>,
    /// The reason why it is undecided, if it is.
    pub(crate) doubt: Option<Doubt>,
}

impl Decision {
    const NONE: Self = Self { verdict: Verdict::Undecided, detectable: None, doubt: None };
}

/// How verdicts are reached in a study.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Looks that are planned: one for each block.
    planned: u32,
    /// Nominal level by number of blocks.
    levels: Vec<f64>,
    /// Blocks that a verdict needs.
    blocks_min: u32,
    threshold: f64,
    smoke: bool,
}

impl Rules {
    pub(crate) fn new(study: &Study) -> Self {
        let planned = study.blocks.max(1);
        Self {
            planned,
            levels: levels(planned),
            blocks_min: BLOCKS_MIN.min(planned),
            threshold: threshold(study),
            smoke: study.preset == Preset::Smoke,
        }
    }

    /// Takes note of a block, which may be beyond the plan.
    pub(crate) fn see(&mut self, block: u32) {
        let looks = block.saturating_add(1).min(LOOKS_MAX);
        for look in self.levels.len() as u32 + 1..=looks {
            self.levels.push(look_level(look, self.planned));
        }
    }

    /// Rules of a study that is planned with so many blocks.
    #[cfg(test)]
    pub(crate) fn of_blocks(planned: u32) -> Self {
        let levels = levels(planned);
        Self { planned, levels, blocks_min: BLOCKS_MIN.min(planned), threshold: 0.02, smoke: false }
    }

    fn level(&self, effect: &Effect) -> f64 {
        let look = effect.blocks.max(1) as usize - 1;
        self.levels.get(look).or(self.levels.last()).copied().unwrap_or(ALPHA)
    }

    /// The look at an effect: its two-sided nominal level, and the part that this level is of those of all looks.
    pub(crate) fn look(&self, effect: &Effect) -> (f64, f64) {
        let level = self.level(effect);
        (level, level / self.levels.iter().sum::<f64>())
    }

    /// Blocks that a verdict needs.
    pub(crate) fn blocks_min(&self) -> u32 {
        self.blocks_min
    }

    /// The p-value as a share of what this look may spend; 1 if that is too little to compute with.
    fn spent_p_value(&self, effect: &Effect) -> f64 {
        let level = self.level(effect);
        if is_of_use(level) { (effect.p_value() * ALPHA / level).min(1.0) } else { 1.0 }
    }

    /// Verdicts on ratios for which more is better, for all cells in order, and in each cell for all systems. The false
    /// discovery rate is controlled within each system's cells.
    pub(crate) fn decisions(&self, systems: usize, effects: &[Option<Effect>]) -> Vec<Decision> {
        let mut decisions = vec![Decision::NONE; effects.len()];
        for system in 0..systems {
            let of_system = effects.iter().enumerate().skip(system).step_by(systems);
            let judged: Vec<(usize, Effect)> =
                of_system.filter_map(|(index, effect)| effect.map(|it| (index, it))).collect();
            // A p-value is compared with the error that this look may spend.
            let p_values: Vec<f64> =
                judged.iter().map(|(_, effect)| self.spent_p_value(effect)).collect();
            let changed = benjamini_hochberg(&p_values, ALPHA);
            let shares = shares(&p_values, ALPHA);
            for (((index, effect), changed), share) in judged.into_iter().zip(changed).zip(shares) {
                let strict = self.level(&effect) * share;
                decisions[index] = Decision {
                    verdict: self.decide(&effect, changed),
                    detectable: (effect.blocks >= self.blocks_min)
                        .then(|| effect.detectable(strict, POWER, self.threshold))
                        .filter(|change| change.is_finite()),
                    doubt: Some(self.doubt(&effect, strict)),
                };
            }
        }
        decisions
    }

    fn decide(&self, effect: &Effect, changed: bool) -> Verdict {
        let wide = effect.interval(self.level(effect));
        let (least, most) = (1.0 - self.threshold, 1.0 + self.threshold);
        if effect.blocks < self.blocks_min {
            Verdict::Undecided
        } else if changed && wide.value > most {
            Verdict::Faster
        } else if changed && wide.value < least {
            Verdict::Slower
        } else if !self.smoke && wide.low >= least && wide.high <= most {
            Verdict::Same
        } else {
            Verdict::Undecided
        }
    }

    /// Why an effect is undecided, given the level at which a change of it would be called.
    fn doubt(&self, effect: &Effect, strict: f64) -> Doubt {
        if self.smoke {
            return Doubt::Smoke;
        }
        if effect.blocks < self.blocks_min {
            return Doubt::FewBlocks { blocks: effect.blocks, needed: self.blocks_min };
        }
        let (low, high) = ((-self.threshold).ln_1p(), self.threshold.ln_1p());
        // The half-width must stay within this room for the effect to be called, or to be called the same.
        let (half, room) = if effect.log < low || effect.log > high {
            (effect.half_width(strict), effect.log.abs())
        } else {
            let room = (effect.log - low).min(high - effect.log);
            (effect.half_width(self.level(effect)), room)
        };
        // An estimate says where the change lies only once the half-width of its interval is no larger than the
        // threshold.
        if room < NEAR * high && half <= high {
            return Doubt::AtThreshold;
        }
        let times = (half / room.max(NEAR * high)).powi(2);
        Doubt::Wide { times: times.max(1.0), is_between_blocks: effect.is_between_blocks() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::tests::effect;

    #[test]
    fn nothing_is_called_where_a_look_spends_next_to_nothing() {
        let rules = |level| Rules {
            planned: 1,
            levels: vec![level],
            blocks_min: 4,
            threshold: 0.02,
            smoke: false,
        };
        let decided = |level, log| {
            // An effect without any spread, as if all slices were equal.
            let effects = [Some(effect(log, 0.0, 3.0))];
            rules(level).decisions(1, &effects)[0]
        };
        for (log, verdict) in
            [(0.5, Verdict::Faster), (-0.5, Verdict::Slower), (0.0, Verdict::Same)]
        {
            assert_eq!(decided(0.01, log).verdict, verdict);
            for level in [1e-40, 1e-320, 0.0] {
                let decision = decided(level, log);
                assert_eq!((decision.verdict, decision.detectable), (Verdict::Undecided, None));
            }
        }
    }

    #[test]
    fn the_threshold_is_where_verdicts_have_it_on_both_sides() {
        let rules =
            Rules { planned: 1, levels: vec![ALPHA], blocks_min: 1, threshold: 0.2, smoke: false };
        let doubt = |ratio: f64| rules.doubt(&effect(ratio.ln(), 0.01, 100.0), ALPHA);
        for ratio in [0.81, 1.19] {
            assert_eq!(doubt(ratio), Doubt::AtThreshold, "{ratio}");
        }
        // 1.02 [0.88, 1.17] may be any change at all.
        let wide = rules.doubt(&effect(1.19_f64.ln(), 0.2, 100.0), ALPHA);
        assert!(
            matches!(wide, Doubt::Wide { times, .. } if times > 10.0 && times.is_finite()),
            "{wide:?}"
        );
        for ratio in [0.79, 0.9, 1.1, 1.21] {
            assert!(matches!(doubt(ratio), Doubt::Wide { .. }), "{ratio}");
        }
    }
}
