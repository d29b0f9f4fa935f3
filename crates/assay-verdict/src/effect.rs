//! Estimates with standard errors from series.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::Estimate;

use crate::looks::ALPHA;
use crate::moderate::{CELLS_MIN, Prior, fit_prior};
use crate::node_test::{NodeTest, between_nodes};
use crate::prior_variance::{
    COMMON, DEPENDENCE, DEPENDENCE_DF, DESIGN_DF, KNOWN_DF, PriorVariance, ROUND_SD,
};
use crate::robust::{Centres, mean, variance};
use crate::student::{is_of_use, two_sided, upper_quantile, upper_tail};
use crate::uneven::Surplus;

#[derive(Debug, Clone)]
pub(crate) struct BlockCentres {
    pub(crate) blocks: Vec<(u32, f64)>,
    counts: Vec<f64>,
    /// Variance of a centre within its block times its number of values, from sums of rounds.
    spread: Option<f64>,
    plain: Option<f64>,
    rounds: usize,
    pub(crate) nodes: Vec<u32>,
    /// Whether systems differ between nodes more than between blocks, if testable.
    pub(crate) node_test: Option<NodeTest>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Effect {
    pub(crate) log: f64,
    pub(crate) se: f64,
    pub(crate) df: f64,
    pub(crate) blocks: u32,
    pub(crate) last: u32,
    /// Part of the squared standard error explained by the spread within blocks.
    within: f64,
    rounds: usize,
}

impl BlockCentres {
    /// `nodes` has the node of each block, if several measured them.
    pub(crate) fn new(centres: &Centres, nodes: &BTreeMap<u32, u32>) -> Self {
        let blocks: Vec<(u32, f64)> =
            centres.blocks.iter().map(|it| (it.block, it.value)).collect();
        let of_block = |(block, _): &(u32, f64)| nodes.get(block).copied().unwrap_or(0);
        let nodes: Vec<u32> = blocks.iter().map(of_block).collect();
        Self {
            node_test: NodeTest::from_blocks(
                nodes.iter().zip(&blocks).map(|(node, it)| (*node, it.1)),
            ),
            nodes,
            blocks,
            counts: centres.blocks.iter().map(|it| it.count).collect(),
            spread: centres.spread,
            plain: centres.plain,
            rounds: centres.rounds,
        }
    }

    pub(crate) fn log(&self) -> f64 {
        mean(&self.blocks.iter().map(|(_, centre)| *centre).collect::<Vec<_>>())
    }

    fn degrees(&self) -> f64 {
        (self.blocks.len() - 1) as f64
    }

    fn values(&self) -> f64 {
        self.counts.iter().sum()
    }

    fn free_rounds(&self) -> f64 {
        self.rounds.saturating_sub(self.blocks.len()) as f64
    }

    fn free_values(&self) -> f64 {
        self.values() - self.blocks.len() as f64
    }

    fn last(&self) -> u32 {
        self.blocks.last().map_or(0, |(block, _)| *block)
    }
}

#[derive(Debug, Clone)]
struct EffectCell<'a> {
    reduced: &'a BlockCentres,
    class: EffectClass,
    within: Vec<f64>,
    /// Degrees of freedom of `within`; 0 if unknown.
    within_df: f64,
}

impl<'a> EffectCell<'a> {
    /// `usual`: plain spread expected from other cells.
    fn new(
        reduced: &'a BlockCentres,
        class: EffectClass,
        usual: f64,
        assumed: PriorVariance,
    ) -> Self {
        let (spread, within_df) = match (reduced.spread, reduced.plain) {
            (Some(spread), Some(plain)) => {
                let (plain, df) = assumed.fill(usual, (plain, reduced.free_values()), DESIGN_DF);
                // Rounds of one value each have no other information.
                if reduced.values() > reduced.rounds as f64 {
                    let measured = (spread, reduced.free_rounds());
                    let (spread, of_rounds) =
                        assumed.fill(DEPENDENCE * plain, measured, DEPENDENCE_DF);
                    (
                        spread,
                        if assumed == PriorVariance::Nothing {
                            of_rounds
                        } else {
                            product(df, of_rounds)
                        },
                    )
                } else {
                    (plain, df)
                }
            }
            (spread, _) => (spread.unwrap_or(0.0), reduced.free_rounds()),
        };
        let within = reduced.counts.iter().map(|count| spread / count).collect();
        Self { reduced, class, within, within_df }
    }

    /// Inverse-variance weighted mean of the blocks, for variance `between` of instances.
    fn weighted(&self, between: f64) -> WeightedMean {
        let variances = || self.within.iter().map(|within| between + within);
        let is_equal = variances().any(|variance| variance <= 0.0);
        let weight = |variance: f64| if is_equal { 1.0 } else { 1.0 / variance };
        let sum: f64 = variances().map(weight).sum();
        let each = || variances().map(weight).zip(&self.reduced.blocks);
        let log = each().map(|(weight, (_, centre))| weight * centre).sum::<f64>() / sum;
        let squares = each().map(|(weight, (_, centre))| weight * (centre - log).powi(2)).sum();
        let within = variances().map(weight).zip(&self.within);
        let within = within.map(|(weight, within)| weight * weight * within).sum::<f64>();
        let mut of_nodes: BTreeMap<u32, f64> = BTreeMap::new();
        for (weight, node) in variances().map(weight).zip(&self.reduced.nodes) {
            *of_nodes.entry(*node).or_default() += weight / sum;
        }
        let node_share = of_nodes.values().map(|part| part * part).sum();
        WeightedMean { log, sum, squares, within: within / (sum * sum), node_share }
    }
}

fn product(one: f64, other: f64) -> f64 {
    1.0 / (1.0 / one + 1.0 / other)
}

fn usual_spread(cells: &[&BlockCentres]) -> f64 {
    let known = cells.iter().filter(|cell| cell.free_values() > 0.0);
    let known: Vec<f64> = known.filter_map(|cell| cell.plain).collect();
    if known.len() < CELLS_MIN { ROUND_SD * ROUND_SD } else { mean(&known) }
}

struct WeightedMean {
    log: f64,
    /// Sum of the weights: the inverse variance of the mean, if the weights are right.
    sum: f64,
    /// Weighted squares of deviations from the mean (Cochran's Q), which add up to the degrees of freedom if the
    /// weights are right.
    squares: f64,
    within: f64,
    /// Sum of squared weights of the nodes in the mean: 1 divided by their number, if equal.
    node_share: f64,
}

struct SharedVariance {
    assumed: PriorVariance,
    between: BTreeMap<EffectClass, f64>,
    between_all: f64,
    /// Distribution of single cells' variances relative to `between`.
    prior: Option<Prior>,
    /// Variance between blocks common to the cells: an instance shifts nearly all tests together.
    variance: f64,
    df: f64,
    /// Variance between nodes, in addition to that between their blocks.
    between_nodes: f64,
    nodes: usize,
}

/// Cells with the same variance between instances, by assumption.
pub(crate) type EffectClass = (assay_model::Class, assay_model::Setup);

/// Estimates the cells of a system together, as they share information on the spread between blocks.
///
/// Cochran's Q over its degrees of freedom is the variance of a cell's blocks relative to that claimed by their
/// weights. It is moderated across cells and scales the variance of the mean (Hartung and Knapp 2001, with the
/// moderation of Smyth 2004 instead of the cell's own Q alone).
pub(crate) fn estimate(
    reduced: &[&Option<BlockCentres>],
    classes: &[EffectClass],
    assumed: PriorVariance,
) -> Vec<Option<Effect>> {
    let mut of_class: BTreeMap<EffectClass, Vec<&BlockCentres>> = BTreeMap::new();
    for (one, class) in reduced.iter().zip(classes) {
        of_class.entry(*class).or_default().extend(one.as_ref());
    }
    let usual: BTreeMap<EffectClass, f64> =
        of_class.iter().map(|(class, cells)| (*class, usual_spread(cells))).collect();
    let mut cells: Vec<Option<EffectCell>> = Vec::with_capacity(reduced.len());
    for (one, class) in reduced.iter().zip(classes) {
        cells.push(one.as_ref().map(|one| EffectCell::new(one, *class, usual[class], assumed)));
    }
    let shared = SharedVariance::from_cells(&cells.iter().flatten().collect::<Vec<_>>(), assumed);
    cells.iter().map(|cell| effect(cell.as_ref()?, &shared)).collect()
}

const BETWEEN_MAX: f64 = 100.0;

const HALVINGS: u32 = 120;

/// Variance between instances for which the weighted squares of all cells, and assumed ones, add up to their degrees of
/// freedom (Paule and Mandel 1982, over several cells).
fn variance_between(cells: &[&EffectCell], assumed: PriorVariance) -> f64 {
    let own: f64 = cells.iter().map(|cell| cell.reduced.degrees()).sum();
    // Cells share their instances.
    let of_blocks = cells.iter().map(|cell| cell.reduced.degrees()).fold(0.0, f64::max);
    let added = assumed.adds(of_blocks, DESIGN_DF);
    let df = own + added;
    let squares = |between: f64| {
        let measured = cells.iter().map(|cell| cell.weighted(between).squares).sum::<f64>();
        if added > 0.0 { measured + added * assumed.between() / between } else { measured }
    };
    // A smaller variance would mean equal weights.
    let (mut low, mut high) = (f64::MIN_POSITIVE, BETWEEN_MAX);
    if df <= 0.0 || squares(low) <= df {
        return 0.0;
    }
    for _ in 0..HALVINGS {
        // The range spans many orders of magnitude.
        let middle = (low * high).sqrt();
        if squares(middle) > df { low = middle } else { high = middle }
    }
    high
}

/// Variance of the mean over cells of their blocks' deviations, and its degrees of freedom.
pub(crate) fn common_variance(cells: &[&BlockCentres]) -> (f64, f64) {
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

fn effect(cell: &EffectCell, shared: &SharedVariance) -> Option<Effect> {
    let reduced = cell.reduced;
    let count = reduced.blocks.len() as f64;
    let between = shared.between(cell);
    let weighted = cell.weighted(between);
    let ratio = weighted.squares / reduced.degrees();
    let known_df = shared.known_df(between, cell);
    let (scale, df) = match (shared.prior, reduced.blocks.len()) {
        (Some(prior), 1) => prior.moderate((0.0, 0.0), known_df),
        (Some(prior), _) => prior.moderate((ratio, reduced.degrees()), known_df),
        (None, 1) if reduced.spread.is_none() => return None,
        (None, 1) => (1.0, known_df),
        (None, _) => (ratio, reduced.degrees()),
    };
    // A second block never reduces information: the variance known without deviations of blocks stays.
    let (scale, df) = shared.assumed.fill(1.0, (scale, df), known_df.min(KNOWN_DF));
    let variance = scale / weighted.sum;
    let df = if shared.prior.is_some() { shared.limit(count * variance, df) } else { df };
    let (variance, df) = shared.on_other_nodes(reduced, &weighted, (variance, df));
    let se = variance.max(weighted.within).sqrt();
    (df > 0.0 && se.is_finite()).then_some(Effect {
        log: weighted.log,
        se,
        df,
        blocks: count as u32,
        last: reduced.last(),
        within: weighted.within,
        rounds: reduced.rounds,
    })
}

impl SharedVariance {
    fn from_cells(cells: &[&EffectCell], assumed: PriorVariance) -> Self {
        let mut by_class: BTreeMap<EffectClass, Vec<&EffectCell>> = BTreeMap::new();
        for cell in cells.iter().filter(|cell| cell.reduced.blocks.len() > 1) {
            by_class.entry(cell.class).or_default().push(cell);
        }
        by_class.retain(|_, cells| cells.len() >= CELLS_MIN);
        let (common, df) = common_variance(&cells.iter().map(|it| it.reduced).collect::<Vec<_>>());
        let (variance, df) = match df > 0.0 {
            true => assumed.fill(COMMON * assumed.between(), (common, df), DESIGN_DF),
            false => (common, df),
        };
        let between = |cells: &[&EffectCell]| variance_between(cells, assumed);
        let mut shared = Self {
            assumed,
            between: by_class.iter().map(|(class, cells)| (*class, between(cells))).collect(),
            between_all: between(cells),
            prior: None,
            variance,
            df,
            between_nodes: between_nodes(cells.iter().filter_map(|it| it.reduced.node_test)),
            nodes: cells.iter().flat_map(|it| &it.reduced.nodes).collect::<BTreeSet<_>>().len(),
        };
        let several = cells.iter().filter(|cell| cell.reduced.blocks.len() > 1);
        let ratios: Vec<(f64, f64)> = several
            .map(|cell| {
                let df = cell.reduced.degrees();
                (cell.weighted(shared.between(cell)).squares / df, df)
            })
            .collect();
        shared.prior = fit_prior(&ratios);
        shared
    }

    fn between(&self, cell: &EffectCell) -> f64 {
        match self.between.get(&cell.class) {
            Some(between) => *between,
            // Without a second block anywhere, only the design is known.
            None if self.df <= 0.0 => self.assumed.between(),
            None => self.between_all,
        }
    }

    /// Degrees of freedom of a block's variance known without its deviations (Satterthwaite): the part within blocks is
    /// measured, and cells differ in the part between them.
    fn known_df(&self, between: f64, cell: &EffectCell) -> f64 {
        let within = mean(&cell.within);
        if self.assumed == PriorVariance::Nothing || cell.within_df <= 0.0 {
            return if self.prior.is_some() { 0.0 } else { cell.within_df };
        }
        let sum = within + between;
        let between_df = self.assumed.adds(0.0, DESIGN_DF);
        sum * sum / (within * within / cell.within_df + between * between / between_df)
    }

    /// Variance of a mean as an estimate for other nodes, and its degrees of freedom. The common part of nodes'
    /// differences is known from all cells; a cell with larger differences counts with its own.
    fn on_other_nodes(
        &self,
        reduced: &BlockCentres,
        weighted: &WeightedMean,
        (variance, df): (f64, f64),
    ) -> (f64, f64) {
        let own = reduced.node_test.filter(|test| test.p_value < ALPHA);
        let between = own.map_or(0.0, |test| test.variance).max(self.between_nodes);
        let added = between * weighted.node_share;
        if self.nodes < 2 || added <= 0.0 {
            return (variance, df);
        }
        let sum = variance + added;
        let of_nodes = (self.nodes - 1) as f64;
        // Satterthwaite.
        (sum, sum * sum / (variance * variance / df + added * added / of_nodes))
    }

    /// Degrees of freedom of a moderated variance (Satterthwaite). Its common part is observed once per block, whatever
    /// the number of cells.
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
    pub(crate) fn interval(&self, alpha: f64) -> Estimate {
        let half = self.half_width(alpha);
        Estimate {
            value: self.log.exp(),
            low: (self.log - half).exp(),
            high: (self.log + half).exp(),
        }
    }

    /// With the 95% interval of reports.
    pub(crate) fn shown(&self) -> Estimate {
        self.interval(ALPHA)
    }

    /// Half-width of the log's interval of level 1 − `alpha`; infinite where that is not [of use](is_of_use).
    pub(crate) fn half_width(&self, alpha: f64) -> f64 {
        // Without spread, too.
        if is_of_use(alpha) {
            upper_quantile(alpha / 2.0, self.df) * self.se
        } else {
            f64::INFINITY
        }
    }

    /// Whether the variation within blocks was measured.
    pub(crate) fn has_several_rounds(&self) -> bool {
        self.rounds > self.blocks as usize
    }

    pub(crate) fn is_between_blocks(&self) -> bool {
        self.within < 0.5 * self.se * self.se
    }

    /// Further rounds until the half-width of the interval of level 1 − `alpha` is `room`, in a study of `blocks`
    /// blocks; infinite if no number of rounds suffices.
    pub(crate) fn rounds_to(&self, room: f64, alpha: f64, blocks: u32) -> f64 {
        let critical = upper_quantile(alpha / 2.0, self.df);
        let blocks = f64::from(blocks.max(self.blocks));
        let between = (self.se * self.se - self.within).max(0.0) * f64::from(self.blocks) / blocks;
        let allowed = (room / critical).powi(2) - between;
        let rounds = self.rounds as f64;
        if allowed > 0.0 {
            (rounds * self.within / allowed - rounds).max(0.0)
        } else {
            f64::INFINITY
        }
    }

    pub(crate) fn with(&self, surplus: &Surplus) -> Self {
        let (own, other) = (self.se * self.se, surplus.se * surplus.se);
        let squared = own + other;
        // Satterthwaite.
        let df = squared * squared / (own * own / self.df + other * other / surplus.df);
        let df = if df.is_nan() { self.df } else { df };
        Self { log: self.log + surplus.log, se: squared.sqrt(), df, ..*self }
    }

    /// Confidence that the change exceeds `threshold` in the direction of the estimate: one minus the one-sided p-value
    /// of a change of exactly that size.
    pub(crate) fn beyond(&self, threshold: f64) -> f64 {
        let least = if self.log < 0.0 { -(-threshold).ln_1p() } else { threshold.ln_1p() };
        let distance = self.log.abs() - least;
        match self.se {
            se if se > 0.0 => 1.0 - upper_tail(distance / se, self.df),
            _ => f64::from(u8::from(distance > 0.0)),
        }
    }

    pub(crate) fn p_value(&self) -> f64 {
        two_sided(self.log, self.se, self.df)
    }

    /// One-sided p-value of "the logarithm is at least `log`".
    pub(crate) fn p_below(&self, log: f64) -> f64 {
        if self.se <= 0.0 {
            return if self.log < log { 0.0 } else { 1.0 };
        }
        upper_tail((log - self.log) / self.se, self.df)
    }

    /// Smallest relative change called with probability `power` by a test of level `alpha`, if its estimate must also
    /// exceed `threshold`. The change is an increase; a decrease needs no more.
    pub(crate) fn detectable(&self, alpha: f64, power: f64, threshold: f64) -> f64 {
        let least = self.half_width(alpha).max(threshold.ln_1p());
        (least + upper_quantile(1.0 - power, self.df) * self.se).exp_m1()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use assay_model::Setup;

    use super::*;
    use crate::robust::{RoundValue, centres};

    pub(crate) fn effect(log: f64, se: f64, df: f64) -> Effect {
        Effect { log, se, df, blocks: 4, last: 3, within: 0.0, rounds: 40 }
    }

    /// A cell with four rounds of twelve values per block, whose second block differs from the first.
    fn reduced(blocks: u32, apart: f64) -> Option<BlockCentres> {
        let value = |index: u32| {
            let (block, round) = (index / 48, index / 12 % 4);
            let noise = 0.03 * (f64::from(index * 7 % 11) - 5.0) / 5.0;
            RoundValue { block, round, value: noise + f64::from(block) * apart }
        };
        let values: Vec<RoundValue> = (0..48 * blocks).map(value).collect();
        centres(&values).map(|it| BlockCentres::new(&it, &BTreeMap::new()))
    }

    /// Two blocks have one degree of freedom in each of eight cells: by chance, the variances of cells seem very
    /// different.
    #[test]
    fn a_second_block_tells_no_less_than_the_first_alone() {
        let class = (assay_model::Class::Read, Setup { clients: 1, tables: 1, rows: 1 });
        let apart = [1e-5, 0.02, 1e-4, 0.012, 1e-5, 0.015, 2e-3, 1e-4];
        let effects = |blocks: u32| -> Vec<Effect> {
            let cells: Vec<Option<BlockCentres>> =
                apart.iter().map(|it| reduced(blocks, *it)).collect();
            let found =
                estimate(&cells.iter().collect::<Vec<_>>(), &[class; 8], PriorVariance::Design);
            found.into_iter().flatten().collect()
        };
        let (first, second) = (effects(1), effects(2));
        assert_eq!((first.len(), second.len()), (8, 8));
        for (first, second) in first.iter().zip(&second) {
            let (before, after) = (first.half_width(1e-3), second.half_width(1e-3));
            assert!(second.df > 6.0 && after < 1.1 * before, "{first:?} {second:?}");
        }
    }

    /// Two blocks give one degree of freedom, which alone makes an interval of twelve standard errors.
    #[test]
    fn the_rates_of_two_blocks_have_an_interval_of_use() {
        let class = (assay_model::Class::Read, Setup { clients: 1, tables: 1, rows: 1 });
        let cells = [reduced(2, 0.04)];
        let half_width = |assumed| {
            let found = estimate(&cells.iter().collect::<Vec<_>>(), &[class], assumed);
            found[0].unwrap().half_width(ALPHA)
        };
        let (level, alone) = (half_width(PriorVariance::Level), half_width(PriorVariance::Nothing));
        assert!(level > 0.02 && level < 0.12 && alone > 2.0 * level, "{level} {alone}");
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
            let found = upper_quantile(tail, df);
            assert!((found - quantile).abs() < 1e-6, "{df} {tail}: {found}");
        }
    }

    #[test]
    fn confidence_is_that_of_students_t() {
        for (log, df, confidence) in [(0.02, 7.0, 0.957_190_34), (0.015, 3.0, 0.884_708_07)] {
            let (above, below) = (1.02_f64.ln() + log, 0.98_f64.ln() - log);
            for beyond in [above, below].map(|log| effect(log, 0.01, df).beyond(0.02)) {
                assert!((beyond - confidence).abs() < 1e-7, "{beyond}");
            }
        }
        assert_eq!([0.01, 0.03].map(|log| effect(log, 0.0, 3.0).beyond(0.02)), [0.0, 1.0]);
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
                    let tail = upper_tail(half / effect.se, df);
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
                let downwards = -(-(least + upper_quantile(0.2, 12.0) * se)).exp_m1();
                assert!(downwards <= change, "{se} {threshold}: {downwards} {change}");
            }
        }
    }
}
