//! Rules for verdicts, and reasons for undecided cells.

use assay_model::{Experiment, Preset, Study, Verdict};

use crate::VerdictDoubt;
use crate::bound::RatioBound;
use crate::discoveries::{benjamini_hochberg, shares};
use crate::effect::Effect;
use crate::looks::{ALPHA, Looks};
use crate::student::is_of_use;
use crate::uneven::Surplus;

/// Repeats required for a verdict on a whole step of the Insert Benchmark, unless fewer are planned: only repeats show
/// their own variation. Steps in segments and other studies need no such number, because the design has a prior for
/// blocks.
pub const REPEATS_MIN: u32 = 4;

/// Preset smoke calls no smaller change, whatever the threshold.
pub const SMOKE_GROSS: f64 = 0.10;

pub fn threshold(study: &Study) -> f64 {
    match study.preset {
        Preset::Smoke => study.threshold.max(SMOKE_GROSS),
        _ => study.threshold,
    }
}

/// Power of [`crate::CellJudgement::detectable`]: the probability that a change of that size is called.
const POWER: f64 = 0.8;

/// An estimate lies at the threshold if its distance from it is less than this share of the threshold.
pub(crate) const NEAR: f64 = 0.2;

/// Half-width of an interval, at the level of the look, at which a decided cell is measured no further, as a share of
/// the threshold: a verdict shows whether there is a change, the interval its size.
const PRECISION: f64 = 0.35;

/// Factor below which a difference of two instances may be due to a busy machine. Other processes kept the CPU from one
/// of two equal servers for a whole block so often that it was up to five times as slow.
const MACHINES_MOST: f64 = 10.0;

/// Share of a log change that server CPU per operation must show to confirm it.
const CONFIRMED: f64 = 0.5;

/// Share of a time difference that waits for a CPU must reach to explain it.
const WAITED: f64 = 0.5;

/// Whether a single block on a busy machine shows a change that consists of waits for a CPU, unconfirmed by server CPU
/// per operation. It may be due to the machine's treatment of one instance, which no number of its rounds reveals.
/// `waits_share`: see [`crate::cell::CellSamples::waits_share`].
pub(crate) fn is_of_one_busy_block(
    is_disturbed: bool,
    (rate, cpu): (Option<&Effect>, Option<&Effect>),
    waits_share: impl Fn() -> Option<f64>,
) -> bool {
    rate.is_some_and(|rate| {
        let shown = cpu.map_or(0.0, |cpu| -cpu.log * rate.log.signum());
        is_disturbed
            && rate.blocks == 1
            && rate.log.abs() < MACHINES_MOST.ln()
            && shown < CONFIRMED * rate.log.abs()
            && waits_share().is_some_and(|share| share >= WAITED)
    })
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision {
    pub(crate) verdict: Verdict,
    pub(crate) detectable: Option<f64>,
    pub(crate) beyond: Option<f64>,
    pub(crate) bound: Option<f64>,
    pub(crate) doubt: Option<VerdictDoubt>,
    pub(crate) is_precise: bool,
    /// Further rounds until it would be decided and precise, if the estimate is right; infinite if rounds do not help.
    pub(crate) rounds_to_go: Option<f64>,
    /// Whether a side did not answer and nothing more can be learnt, so that further blocks would not help.
    pub(crate) is_bounded: bool,
}

impl Decision {
    const NONE: Self = Self {
        verdict: Verdict::Undecided,
        detectable: None,
        beyond: None,
        bound: None,
        doubt: None,
        is_precise: false,
        rounds_to_go: None,
        is_bounded: false,
    };

    pub(crate) fn bound_by(&mut self, bound: Option<RatioBound>, threshold: f64) {
        let Some(bound) = bound else { return };
        let verdict = bound.verdict(threshold);
        *self = Self {
            verdict: verdict.unwrap_or(Verdict::Undecided),
            is_bounded: verdict.is_some(),
            doubt: (verdict == Some(Verdict::Undecided)).then_some(VerdictDoubt::AlsoSlow),
            ..Self::NONE
        };
    }

    pub(crate) fn wait_for_a_block(&mut self) {
        self.leave_open_for(VerdictDoubt::OneBusyBlock);
    }

    pub(crate) fn leave_open_for(&mut self, doubt: VerdictDoubt) {
        if matches!(self.verdict, Verdict::Faster | Verdict::Slower) {
            self.verdict = Verdict::Undecided;
            self.doubt = Some(doubt);
            self.beyond = None;
        }
    }

    pub(crate) fn leave_open(&mut self) {
        let verdict = Some(self.verdict).filter(|it| *it == Verdict::Failed);
        *self = Self { verdict: verdict.unwrap_or(Verdict::Undecided), ..Self::NONE };
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Rules {
    looks: Looks,
    blocks_min: u32,
    /// Whether a step that was measured in segments needs one block only.
    has_segments: bool,
    threshold: f64,
    smoke: bool,
}

impl Rules {
    pub(crate) fn new(study: &Study) -> Self {
        let planned = study.blocks.max(1);
        let takes_turns = study.experiment == Experiment::Interleaved;
        Self {
            looks: Looks::new(planned),
            blocks_min: if takes_turns { 1 } else { REPEATS_MIN.min(planned) },
            has_segments: study.segments > 0,
            threshold: threshold(study),
            smoke: study.preset == Preset::Smoke,
        }
    }

    pub(crate) fn looks(&mut self) -> &mut Looks {
        &mut self.looks
    }

    #[cfg(test)]
    pub(crate) fn of_blocks(planned: u32) -> Self {
        let mut looks = Looks::new(planned);
        looks.see(planned.saturating_sub(1));
        Self { looks, blocks_min: 1, has_segments: false, threshold: 0.02, smoke: false }
    }

    /// The same rules with a threshold of at least this.
    pub(crate) fn with_threshold(&self, least: f64) -> Self {
        Self { threshold: self.threshold.max(least), ..self.clone() }
    }

    pub(crate) fn level(&self, effect: &Effect) -> f64 {
        self.looks.level(effect.last)
    }

    /// Look at an effect: its two-sided nominal level, and its share of the error of all looks.
    pub(crate) fn look(&self, effect: &Effect) -> (f64, f64) {
        (self.level(effect), self.looks.part(effect.last))
    }

    pub(crate) fn threshold(&self) -> f64 {
        self.threshold
    }

    pub(crate) fn blocks_min(&self) -> u32 {
        self.blocks_min
    }

    /// Whether it has enough blocks for a verdict.
    fn is_ready(&self, effect: &Effect) -> bool {
        effect.blocks >= self.blocks_min || self.has_segments && effect.has_several_rounds()
    }

    /// p-value as a share of this look's error; 1 if that is too small to compute with, and 1 for effects that are
    /// never called, within the threshold or of too few blocks: the false discovery rate is that of calls.
    fn spent_p_value(&self, effect: &Effect) -> f64 {
        let level = self.level(effect);
        let is_callable = self.is_ready(effect) && is_of_use(level) && self.is_beyond(effect.log);
        if is_callable { (effect.p_value() * ALPHA / level).min(1.0) } else { 1.0 }
    }

    fn is_beyond(&self, log: f64) -> bool {
        (log.exp() - 1.0).abs() > self.threshold
    }

    /// Verdicts on ratios for which more is better. The rate of false discoveries over all ratios of all lists together
    /// is at most `rate`, a part of [`ALPHA`].
    pub(crate) fn decisions<const N: usize>(
        &self,
        family: [&[Option<Effect>]; N],
        rate: f64,
    ) -> [Vec<Decision>; N] {
        // A p-value is compared with the error of this look.
        let p_values: Vec<f64> = family
            .iter()
            .flat_map(|list| list.iter().flatten())
            .map(|effect| self.spent_p_value(effect))
            .collect();
        let changed = benjamini_hochberg(&p_values, rate);
        let part = rate / ALPHA;
        let shares = shares(&p_values, rate).into_iter().map(|share| share * part);
        let mut tested = changed.into_iter().zip(shares);
        family.map(|list| {
            let decision = |effect: &Option<Effect>| match effect {
                Some(effect) => tested.next().map_or(Decision::NONE, |(changed, share)| {
                    self.decision(effect, changed, share)
                }),
                None => Decision::NONE,
            };
            list.iter().map(decision).collect()
        })
    }

    fn decision(&self, effect: &Effect, changed: bool, share: f64) -> Decision {
        let strict = self.level(effect) * share;
        let is_ready = self.is_ready(effect);
        let detectable = effect.detectable(strict, POWER, self.threshold);
        let wide = effect.interval(self.level(effect));
        Decision {
            verdict: self.decide(effect, changed),
            detectable: Some(detectable).filter(|change| is_ready && change.is_finite()),
            beyond: is_ready.then(|| effect.beyond(self.threshold)),
            bound: Some((1.0 - wide.low).max(wide.high - 1.0))
                .filter(|it| is_ready && it.is_finite()),
            doubt: Some(self.doubt(effect, strict)),
            // At the level of the look: after few blocks, an interval is often narrow by chance.
            is_precise: is_ready && effect.half_width(self.level(effect)) <= self.precision(),
            rounds_to_go: Some(self.rounds_to_go(effect, share)),
            is_bounded: false,
        }
    }

    /// Withdraws verdicts contradicted by totals: a system that stalls at times is neither the same nor faster.
    pub(crate) fn see_uneven(
        &self,
        decisions: &mut [Decision],
        effects: &[Option<Effect>],
        surplus: &[Option<Surplus>],
    ) {
        let judged = effects.iter().flatten().count().max(1) as f64;
        for ((decision, effect), surplus) in decisions.iter_mut().zip(effects).zip(surplus) {
            let Some((effect, surplus)) = effect.as_ref().zip(surplus.as_ref()) else { continue };
            let total = effect.log + surplus.log;
            let agrees = match decision.verdict {
                Verdict::Faster => total > 0.0 && self.is_beyond(total),
                Verdict::Slower => total < 0.0 && self.is_beyond(total),
                _ => false,
            };
            let is_ready = self.is_ready(effect) && !self.smoke;
            if agrees || !is_ready || !self.is_beyond(surplus.log) {
                continue;
            }
            // Bonferroni: one of all cells may look uneven by chance.
            if surplus.p_value() < self.level(effect) / judged {
                decision.verdict = Verdict::Uneven;
            } else if decision.verdict == Verdict::Same {
                decision.verdict = Verdict::Undecided;
                decision.doubt = Some(VerdictDoubt::PerhapsUneven { total: total.exp() });
            }
        }
    }

    fn decide(&self, effect: &Effect, changed: bool) -> Verdict {
        let wide = effect.interval(self.level(effect));
        let (least, most) = (1.0 - self.threshold, 1.0 + self.threshold);
        if !self.is_ready(effect) {
            Verdict::Undecided
        } else if changed && effect.log > 0.0 {
            Verdict::Faster
        } else if changed {
            Verdict::Slower
        } else if !self.smoke && wide.low >= least && wide.high <= most {
            Verdict::Same
        } else {
            Verdict::Undecided
        }
    }

    /// Verdict on an effect from one of several simultaneous intervals, of level 1 − `level`.
    pub(crate) fn simultaneous(&self, effect: &Effect, level: f64) -> Verdict {
        let interval = effect.interval(level);
        let is_ready = self.is_ready(effect);
        let excludes_one = interval.low > 1.0 || interval.high < 1.0;
        if is_ready && excludes_one && self.is_beyond(effect.log) {
            if effect.log > 0.0 { Verdict::Faster } else { Verdict::Slower }
        } else if is_ready
            && !self.smoke
            && interval.low >= 1.0 - self.threshold
            && interval.high <= 1.0 + self.threshold
        {
            Verdict::Same
        } else {
            Verdict::Undecided
        }
    }

    /// Largest half-width for a call, or for calling it the same; and whether it is a change that would be called.
    fn room(&self, effect: &Effect) -> (f64, bool) {
        let (low, high) = ((-self.threshold).ln_1p(), self.threshold.ln_1p());
        if effect.log < low || effect.log > high {
            (effect.log.abs(), true)
        } else {
            ((effect.log - low).min(high - effect.log), false)
        }
    }

    fn precision(&self) -> f64 {
        PRECISION * self.threshold.ln_1p()
    }

    fn rounds_to_go(&self, effect: &Effect, share: f64) -> f64 {
        let (level, planned) = (self.looks.last_level(), self.looks.expected());
        let (room, is_change) = self.room(effect);
        let to_precision = effect.rounds_to(self.precision(), level, planned);
        let level = if is_change { level * share } else { level };
        // At the threshold, no number of rounds decides.
        if room < NEAR * self.threshold.ln_1p() {
            to_precision
        } else {
            effect.rounds_to(room, level, planned).max(to_precision)
        }
    }

    fn doubt(&self, effect: &Effect, strict: f64) -> VerdictDoubt {
        if self.smoke {
            return VerdictDoubt::Smoke;
        }
        if !self.is_ready(effect) {
            return VerdictDoubt::FewBlocks { blocks: effect.blocks, needed: self.blocks_min };
        }
        let high = self.threshold.ln_1p();
        let (room, is_change) = self.room(effect);
        let half = effect.half_width(if is_change { strict } else { self.level(effect) });
        // An estimate locates the change only once the half-width of its interval is no larger than the threshold.
        if room < NEAR * high && half <= high {
            return VerdictDoubt::AtThreshold;
        }
        let times = (half / room.max(NEAR * high)).powi(2);
        VerdictDoubt::Wide { times: times.max(1.0), is_between_blocks: effect.is_between_blocks() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::tests::effect;

    /// The block before the first one of this shard is no look at it.
    #[test]
    fn nothing_is_called_where_a_look_spends_nothing() {
        let mut rules = Rules { looks: Looks::new(2), ..Rules::of_blocks(2) };
        rules.looks().begin(1, 1);
        for (log, verdict) in
            [(0.5, Verdict::Faster), (-0.5, Verdict::Slower), (0.0, Verdict::Same)]
        {
            // An effect without any spread, as if all slices were equal.
            let decided = |last| {
                let mut effect = effect(log, 0.0, 3.0);
                effect.last = last;
                rules.decisions([&[Some(effect)]], ALPHA)[0][0]
            };
            assert_eq!(decided(1).verdict, verdict);
            let none = decided(0);
            assert_eq!((none.verdict, none.detectable), (Verdict::Undecided, None));
        }
    }

    /// Where time and CPU are judged, each has a part of the rate.
    #[test]
    fn a_list_keeps_within_its_share_of_false_discoveries() {
        let rules = Rules::of_blocks(1);
        // A p-value of 0.036.
        let effect = effect(0.105, 0.05, f64::INFINITY);
        let verdict = |rate| rules.decisions([&[Some(effect)]], rate)[0][0].verdict;
        assert_eq!([ALPHA, ALPHA / 2.0].map(verdict), [Verdict::Faster, Verdict::Undecided]);
    }

    /// Equal servers differed by a factor of 4.1 in one block on a busy machine, while CPU time per operation differed
    /// by a tenth.
    #[test]
    fn one_busy_block_needs_the_cpu_to_confirm_a_change() {
        let effect_of_blocks = |blocks, log| {
            let mut found = effect(log, 0.1, 6.0);
            found.blocks = blocks;
            found
        };
        let is_of_one = |is_disturbed, rate: &Effect, cpu: Option<f64>, waits_share| {
            let cpu = cpu.map(|cpu| effect_of_blocks(1, cpu));
            is_of_one_busy_block(is_disturbed, (Some(rate), cpu.as_ref()), || waits_share)
        };
        let (faster, slower) =
            (effect_of_blocks(1, 4.1_f64.ln()), effect_of_blocks(1, -(4.1_f64.ln())));
        let most = Some(0.9);
        for (rate, cpu) in [(&faster, Some(-0.1)), (&slower, Some(0.1)), (&slower, None)] {
            assert!(is_of_one(true, rate, cpu, most));
            // The machine was quiet, or something else took the time.
            assert!(!is_of_one(false, rate, cpu, most));
            assert!(!is_of_one(true, rate, cpu, Some(0.2)) && !is_of_one(true, rate, cpu, None));
        }
        // CPU time contradicts it, or confirms it.
        assert!(is_of_one(true, &slower, Some(-1.0), most));
        assert!(!is_of_one(true, &slower, Some(1.2), most));
        assert!(!is_of_one(true, &faster, Some(-1.2), most));
        // It is too large, or there are two blocks.
        assert!(!is_of_one(true, &effect_of_blocks(1, -(20.0_f64.ln())), None, most));
        assert!(!is_of_one(true, &effect_of_blocks(2, -1.0), Some(0.1), most));
        assert!(!is_of_one_busy_block(true, (None, None), || most));
        let rules = Rules::of_blocks(1);
        let mut decision = rules.decisions([&[Some(slower)]], ALPHA)[0][0];
        assert_eq!(decision.verdict, Verdict::Slower);
        decision.wait_for_a_block();
        let decided = (decision.verdict, decision.doubt);
        assert_eq!(decided, (Verdict::Undecided, Some(VerdictDoubt::OneBusyBlock)));
    }

    #[test]
    fn the_threshold_is_where_verdicts_have_it_on_both_sides() {
        let rules = Rules { threshold: 0.2, ..Rules::of_blocks(1) };
        let doubt = |ratio: f64| rules.doubt(&effect(ratio.ln(), 0.01, 100.0), ALPHA);
        for ratio in [0.81, 1.19] {
            assert_eq!(doubt(ratio), VerdictDoubt::AtThreshold, "{ratio}");
        }
        // 1.02 [0.88, 1.17] may be any change at all.
        let wide = rules.doubt(&effect(1.19_f64.ln(), 0.2, 100.0), ALPHA);
        assert!(
            matches!(wide, VerdictDoubt::Wide { times, .. } if times > 10.0 && times.is_finite()),
            "{wide:?}"
        );
        for ratio in [0.79, 0.9, 1.1, 1.21] {
            assert!(matches!(doubt(ratio), VerdictDoubt::Wide { .. }), "{ratio}");
        }
    }
}
