//! Limits: is every system fast enough in every cell?
//!
//! A cell passes a margin m if the lower bound of its relative rate exceeds 1 − m. It exceeds its limit if the rate is
//! below 1 − m by Holm's procedure over all cells and systems. Otherwise it is undecided. A limit of CPU per operation
//! asks the same of its inverse, with 1 / (1 + m).

use assay_model::{CellId, Estimate};

use crate::VerdictDoubt;
use crate::bound::RatioBound;
use crate::effect::Effect;
use crate::looks::ALPHA;
use crate::rules::{NEAR, Rules};
use crate::student::is_of_use;

/// One-sided error of either verdict: half the two-sided error of an interval, so that the 95% interval of a single
/// look agrees with the verdict.
const ONE_SIDED: f64 = ALPHA / 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitVerdict {
    Passed,
    Exceeded,
    Undecided,
    Failed,
}

impl LimitVerdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Exceeded => "exceeded",
            Self::Undecided => "undecided",
            Self::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitedCell {
    pub cell: CellId,
    pub system: usize,
    /// Largest regression that passes, a share of the base's rate, CPU per operation or instructions.
    pub margin: f64,
    /// Relative rate, or the ratio of CPU per operation, with bounds at the level of the look; in a study that only
    /// counts, ratio of instructions per operation with its 95% interval. `None` if its uncertainty is unknown.
    pub ratio: Option<Estimate>,
    pub verdict: LimitVerdict,
    pub doubt: Option<VerdictDoubt>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LimitsJudgement {
    /// One per cell and compared system: by cell in the study's order, then by system. Excludes the twin, unless it is
    /// the only compared system.
    pub cells: Vec<LimitedCell>,
}

impl LimitsJudgement {
    /// Exceeded if any cell is, else failed, else undecided, else passed.
    pub fn verdict(&self) -> LimitVerdict {
        let order = [LimitVerdict::Exceeded, LimitVerdict::Failed, LimitVerdict::Undecided];
        order.into_iter().find(|it| self.count(*it) > 0).unwrap_or(LimitVerdict::Passed)
    }

    pub fn count(&self, verdict: LimitVerdict) -> usize {
        self.cells_with(verdict).count()
    }

    pub fn cells_with(&self, verdict: LimitVerdict) -> impl Iterator<Item = &LimitedCell> {
        self.cells.iter().filter(move |cell| cell.verdict == verdict)
    }

    /// Undecided cells for further blocks, in the study's order; empty once a limit is exceeded, since nothing can make
    /// the study pass then.
    pub fn open_cells(&self) -> Vec<CellId> {
        if self.verdict() == LimitVerdict::Exceeded {
            return Vec::new();
        }
        let mut open: Vec<CellId> =
            self.cells_with(LimitVerdict::Undecided).map(|it| it.cell).collect();
        open.dedup();
        open
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitedCase {
    pub(crate) cell: CellId,
    pub(crate) system: usize,
    pub(crate) margin: f64,
    /// Whether the effect is one on CPU per operation, of which more is worse.
    pub(crate) is_cost: bool,
    pub(crate) effect: Option<Effect>,
    /// Whether rates of both systems were measured.
    pub(crate) is_measured: bool,
    pub(crate) has_failed: bool,
    pub(crate) bound: Option<RatioBound>,
    /// Whether the change is known [of one busy block](crate::rules::is_of_one_busy_block) only.
    pub(crate) is_of_one: bool,
    pub(crate) stalled: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct LimitLook {
    effect: Effect,
    /// Log of the smallest relative rate that is not too slow.
    limit: f64,
    level: f64,
    /// The level as a share of all looks' levels.
    share: f64,
}

impl LimitLook {
    fn passes(&self) -> bool {
        self.effect.log - self.effect.half_width(self.level) > self.limit
    }

    /// p-value of "not too slow", over all looks: the looks' shares sum to 1, so by Bonferroni's inequality any of them
    /// is below p with probability at most p.
    fn p_too_slow(&self) -> f64 {
        if !is_of_use(self.level) {
            return 1.0;
        }
        (self.effect.p_below(self.limit) / self.share).min(1.0)
    }

    /// Why it is undecided. `rivals`: number of cases among which a slowdown must stand out.
    fn doubt(&self, rivals: usize) -> VerdictDoubt {
        let room = (self.effect.log - self.limit).abs();
        let near = NEAR * self.limit.abs();
        let known = self.effect.half_width(self.level);
        if room < near && known <= self.limit.abs() {
            return VerdictDoubt::AtThreshold;
        }
        let half = if self.effect.log > self.limit {
            known
        } else {
            self.effect.half_width(2.0 * ONE_SIDED * self.share / rivals.max(1) as f64)
        };
        let times = (half / room.max(near)).powi(2);
        let is_between_blocks = self.effect.is_between_blocks();
        VerdictDoubt::Wide { times: times.max(1.0), is_between_blocks }
    }
}

pub(crate) fn judge(cases: &[LimitedCase], rules: &Rules) -> LimitsJudgement {
    let look = |case: &LimitedCase| {
        let effect = case.effect.filter(|it| !case.has_failed && it.blocks >= rules.blocks_min());
        let (effect, limit) = case.against_limit(effect?);
        let (level, share) = rules.look(&effect);
        Some(LimitLook { effect, limit, level, share })
    };
    let looks: Vec<Option<LimitLook>> = cases.iter().map(look).collect();
    let p_value = |(case, look): (&LimitedCase, &Option<LimitLook>)| match look {
        Some(look) if !case.is_of_one => look.p_too_slow(),
        _ => 1.0,
    };
    let p_values: Vec<f64> = cases.iter().zip(&looks).map(p_value).collect();
    let too_slow = holm(&p_values, ONE_SIDED);
    let rivals = too_slow.iter().filter(|it| !**it).count();
    let cells = cases.iter().zip(looks).zip(too_slow).map(|((case, look), too_slow)| {
        let least = 1.0 - case.margin;
        let verdict = match (look, case.bound) {
            _ if case.has_failed => LimitVerdict::Failed,
            (_, Some(RatioBound::AtMost(most))) if most < least => LimitVerdict::Exceeded,
            (_, Some(RatioBound::AtLeast(ratio))) if ratio > least => LimitVerdict::Passed,
            _ if too_slow => LimitVerdict::Exceeded,
            _ if case.is_of_one => LimitVerdict::Undecided,
            (Some(look), _) if look.passes() && case.stalled.is_none() => LimitVerdict::Passed,
            _ => LimitVerdict::Undecided,
        };
        let doubt = (verdict == LimitVerdict::Undecided).then(|| match (case.stalled, look) {
            (Some(total), _) => VerdictDoubt::PerhapsUneven { total },
            (None, Some(_)) if case.is_of_one => VerdictDoubt::OneBusyBlock,
            (None, Some(look)) => look.doubt(rivals),
            (None, None) => case.doubt(rules),
        });
        let ratio = case.effect.map(|effect| effect.interval(rules.look(&effect).0));
        // The bound of a side that did not answer is one of rates.
        let ratio = ratio.or_else(|| case.bound.filter(|_| !case.is_cost)?.estimate());
        let LimitedCase { cell, system, margin, .. } = *case;
        LimitedCell { cell, system, margin, ratio, verdict, doubt }
    });
    LimitsJudgement { cells: cells.collect() }
}

impl LimitedCase {
    /// The effect as one of which more is better, and the log of the smallest one that passes.
    fn against_limit(&self, mut effect: Effect) -> (Effect, f64) {
        if self.is_cost {
            effect.log = -effect.log;
            (effect, -self.margin.ln_1p())
        } else {
            (effect, (-self.margin).ln_1p())
        }
    }

    fn doubt(&self, rules: &Rules) -> VerdictDoubt {
        match self.effect {
            Some(effect) => {
                VerdictDoubt::FewBlocks { blocks: effect.blocks, needed: rules.blocks_min() }
            }
            None if matches!(self.bound, Some(RatioBound::AtMost(_) | RatioBound::AtLeast(_))) => {
                VerdictDoubt::AlsoSlow
            }
            None if self.is_measured && self.is_cost => VerdictDoubt::NoCpu,
            None if self.is_measured => VerdictDoubt::SinglePair,
            None => VerdictDoubt::Unmeasured,
        }
    }
}

/// Hypotheses rejected with a probability of at most `error` that any of them is true (Holm 1979).
fn holm(p_values: &[f64], error: f64) -> Vec<bool> {
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut rejected = vec![false; p_values.len()];
    for (left, (index, p)) in (1..=order.len()).rev().zip(order) {
        if p > error / left as f64 {
            break;
        }
        rejected[index] = true;
    }
    rejected
}

#[cfg(test)]
#[path = "regression_limits_tests.rs"]
mod tests;
