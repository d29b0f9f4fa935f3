//! Estimates, each with its standard error, from series.

use std::collections::BTreeMap;

use assay_model::Estimate;
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

use crate::moderate::{Prior, fit_prior};
use crate::robust::{Centre, mean, variance};
use crate::sequential::ALPHA;

/// Standard deviation between fresh instances that is assumed when no cell has a second block: about 1 % in
/// published archives.
pub const BLOCK_SD: f64 = 0.01;

/// The smallest tail probability for which a quantile is computed. No distribution of measurements is known so far out,
/// so nothing is called at a lower level.
const TAIL_MIN: f64 = 1e-30;

/// Whether anything can be called at a two-sided level.
pub(crate) fn is_of_use(alpha: f64) -> bool {
    alpha / 2.0 >= TAIL_MIN
}

/// A series, reduced to the values that the estimation needs.
#[derive(Debug, Clone)]
pub(crate) struct Reduced {
    /// Robust centre of every block.
    pub(crate) blocks: Vec<(u32, f64)>,
    /// The part of the variance of the mean over blocks that the spread within blocks explains. It is a lower bound.
    within: Option<f64>,
    /// Rounds in all blocks.
    rounds: usize,
}

/// A logarithm with its standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effect {
    pub(crate) log: f64,
    se: f64,
    df: f64,
    pub(crate) blocks: u32,
    /// The part of the squared standard error that the spread within blocks explains.
    within: f64,
}

impl Reduced {
    /// From blocks in order: number and centre. `None` without blocks.
    pub(crate) fn new(blocks: impl Iterator<Item = (u32, Centre)>) -> Option<Self> {
        let (mut centres, mut rounds) = (Vec::new(), 0);
        let (mut variance, mut variances) = (0.0, 0_u32);
        for (block, centre) in blocks {
            centres.push((block, centre.value));
            variance += centre.variance.unwrap_or(0.0);
            variances += u32::from(centre.variance.is_some());
            rounds += centre.rounds;
        }
        let within =
            (variances > 0).then(|| variance / f64::from(variances) / centres.len() as f64);
        (!centres.is_empty()).then_some(Self { blocks: centres, within, rounds })
    }

    fn centres(&self) -> Vec<f64> {
        self.blocks.iter().map(|(_, centre)| *centre).collect()
    }

    pub(crate) fn log(&self) -> f64 {
        mean(&self.centres())
    }

    fn degrees(&self) -> f64 {
        (self.blocks.len() - 1) as f64
    }
}

/// The estimates that the cells of a system share.
struct Shared {
    prior: Option<Prior>,
    /// Variance between blocks that is common to the cells: an instance shifts nearly all tests together.
    variance: f64,
    /// Its degrees of freedom.
    df: f64,
}

/// Estimates the cells of one system together, because they share the information on the spread between blocks.
pub(crate) fn estimate(reduced: &[&Option<Reduced>]) -> Vec<Option<Effect>> {
    let cells: Vec<&Reduced> = reduced.iter().filter_map(|one| one.as_ref()).collect();
    let spreads: Vec<(f64, f64)> = cells
        .iter()
        .filter_map(|one| variance(&one.centres()).map(|variance| (variance, one.degrees())))
        .collect();
    let (common, df) = common_variance(&cells);
    let shared = Shared { prior: fit_prior(&spreads), variance: common, df };
    reduced.iter().map(|one| one.as_ref().and_then(|one| effect(one, &shared))).collect()
}

/// Variance of the mean over cells of their blocks' deviations, and its degrees of freedom.
fn common_variance(cells: &[&Reduced]) -> (f64, f64) {
    let mut deviations: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.blocks.len() > 1) {
        let log = cell.log();
        for (block, centre) in &cell.blocks {
            let (sum, count) = deviations.entry(*block).or_default();
            *sum += centre - log;
            *count += 1;
        }
    }
    let means: Vec<f64> = deviations.values().map(|(sum, count)| sum / f64::from(*count)).collect();
    (variance(&means).unwrap_or(0.0), means.len().saturating_sub(1) as f64)
}

fn effect(reduced: &Reduced, shared: &Shared) -> Option<Effect> {
    let centres = reduced.centres();
    let count = centres.len() as f64;
    let (squared, df) = match (variance(&centres), shared.prior) {
        (own, Some(prior)) => {
            let (variance, df) = prior.moderate(own.unwrap_or(0.0), reduced.degrees());
            (variance / count, shared.limit(variance, df))
        }
        (Some(own), None) => (own / count, reduced.degrees()),
        (None, None) => {
            (reduced.within? + BLOCK_SD * BLOCK_SD, (reduced.rounds.saturating_sub(1)) as f64)
        }
    };
    let within = reduced.within.unwrap_or(0.0);
    let se = squared.max(within).sqrt();
    (df > 0.0 && se.is_finite()).then_some(Effect {
        log: mean(&centres),
        se,
        df,
        blocks: centres.len() as u32,
        within,
    })
}

impl Shared {
    /// Degrees of freedom of a moderated variance (Satterthwaite). Its common part is observed once per block, however
    /// many cells there are.
    fn limit(&self, variance: f64, df: f64) -> f64 {
        let common = self.variance.min(variance);
        if common <= 0.0 || self.df <= 0.0 {
            return df;
        }
        let rest = variance - common;
        variance * variance / (common * common / self.df + rest * rest / df)
    }
}

impl Effect {
    /// The estimate on the natural scale with its interval of level 1 − `alpha`.
    pub(crate) fn interval(&self, alpha: f64) -> Estimate {
        let half = self.half_width(alpha);
        Estimate {
            value: self.log.exp(),
            low: (self.log - half).exp(),
            high: (self.log + half).exp(),
        }
    }

    /// The 95 % interval that reports show.
    pub(crate) fn shown(&self) -> Estimate {
        self.interval(ALPHA)
    }

    /// Half the width of the interval of level 1 − `alpha`, of the logarithm; infinite where that is not
    /// [of use](is_of_use).
    pub(crate) fn half_width(&self, alpha: f64) -> f64 {
        // Without spread, too.
        if is_of_use(alpha) { self.critical(alpha / 2.0) * self.se } else { f64::INFINITY }
    }

    /// Whether differences between fresh instances, rather than the noise of slices, dominate its uncertainty.
    pub(crate) fn is_between_blocks(&self) -> bool {
        self.within < 0.5 * self.se * self.se
    }

    /// Two-sided p-value of "no change".
    pub(crate) fn p_value(&self) -> f64 {
        if self.se <= 0.0 {
            return if self.log == 0.0 { 1.0 } else { 0.0 };
        }
        2.0 * self.tail((self.log / self.se).abs())
    }

    /// One-sided p-value of "the logarithm is at least `log`".
    pub(crate) fn p_below(&self, log: f64) -> f64 {
        if self.se <= 0.0 {
            return if self.log < log { 0.0 } else { 1.0 };
        }
        self.tail((log - self.log) / self.se)
    }

    /// The smallest relative change that a test of level `alpha` calls with probability `power`, if its estimate must
    /// also exceed `threshold`. The change is an increase; a decrease needs no more.
    pub(crate) fn detectable(&self, alpha: f64, power: f64, threshold: f64) -> f64 {
        let least = self.half_width(alpha).max(threshold.ln_1p());
        (least + self.critical(1.0 - power) * self.se).exp_m1()
    }

    /// Upper-tail probability.
    fn tail(&self, t: f64) -> f64 {
        match StudentsT::new(0.0, 1.0, self.df) {
            Ok(student) if self.df.is_finite() => student.sf(t),
            _ => Normal::standard().sf(t),
        }
    }

    /// Upper-tail quantile; infinite below [`TAIL_MIN`].
    fn critical(&self, tail: f64) -> f64 {
        if tail < TAIL_MIN {
            return f64::INFINITY;
        }
        match StudentsT::new(0.0, 1.0, self.df) {
            Ok(student) if self.df.is_finite() && tail <= 0.5 => upper_quantile(&student, tail),
            Ok(student) if self.df.is_finite() => -upper_quantile(&student, 1.0 - tail),
            _ => -Normal::standard().inverse_cdf(tail),
        }
    }
}

/// Maximum number of steps to a quantile. Ten are usual.
const STEPS_MAX: u32 = 200;

/// The quantile above which the part `tail` lies, at most one half. It uses Newton's method on logarithms within
/// bounds: the library's own inverse fails or does not end if the tail is small.
fn upper_quantile(student: &StudentsT, tail: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    let mut at = -Normal::standard().inverse_cdf(tail);
    for _ in 0..STEPS_MAX {
        let found = student.sf(at);
        if found > tail {
            low = at
        } else {
            high = at
        }
        let newton = at * ((found / tail).ln() * found / (at * student.pdf(at))).exp();
        let next = if newton > low && newton < high {
            newton
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            2.0 * at.max(1.0)
        };
        if (next - at).abs() <= 4.0 * f64::EPSILON * at {
            return next;
        }
        at = next;
    }
    at
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn effect(log: f64, se: f64, df: f64) -> Effect {
        Effect { log, se, df, blocks: 4, within: 0.0 }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (df, tail, quantile) in [
            (1.0, 0.025, 12.706_204_7),
            (3.0, 0.025, 3.182_446_3),
            (10.0, 0.05, 1.812_461_1),
            (1000.0, 0.025, 1.962_339_1),
            (5.0, 0.5, 0.0),
            (5.0, 0.8, -0.919_543_8),
        ] {
            let found = effect(0.0, 1.0, df).critical(tail);
            assert!((found - quantile).abs() < 1e-6, "{df} {tail}: {found}");
        }
    }

    /// A study of many blocks spends next to nothing on its first looks.
    #[test]
    fn quantiles_of_all_tails_are_found_and_grow() {
        let fractions = [0.5, 1.01, 2.3, 1e4, 1e6];
        for df in (1..=1000).map(f64::from).chain(fractions) {
            let effect = effect(0.0, 0.01, df);
            let mut before = 0.0;
            for exponent in 0..=324 {
                let alpha = 0.5 * 10.0_f64.powi(-exponent);
                let half = effect.half_width(alpha);
                assert!(half >= before, "{df} {alpha}: {half} {before}");
                assert_eq!(half.is_finite(), is_of_use(alpha), "{df} {alpha}");
                if half.is_finite() {
                    let tail = effect.tail(half / effect.se);
                    assert!((2.0 * tail / alpha - 1.0).abs() < 1e-6, "{df} {alpha}: {tail}");
                }
                before = half;
            }
        }
        let nothing = effect(0.1, 0.0, 3.0).interval(1e-320);
        assert_eq!((nothing.low, nothing.high), (0.0, f64::INFINITY));
    }

    /// A decrease of the same size is called as surely, because its logarithm is larger by more than its threshold.
    #[test]
    fn a_detectable_change_is_one_both_ways() {
        for se in [0.001, 0.01, 0.1, 0.3] {
            for threshold in [0.02_f64, 0.2, 0.5] {
                let effect = effect(0.0, se, 12.0);
                let change = effect.detectable(ALPHA, 0.8, threshold);
                let least = effect.half_width(ALPHA).max(-(-threshold).ln_1p());
                let downwards = -(-(least + effect.critical(0.2) * se)).exp_m1();
                assert!(downwards <= change, "{se} {threshold}: {downwards} {change}");
            }
        }
    }
}
