//! Group tables as published, with an interval for the median.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{CellId, Estimate, Group, Setup, StudyRecord, Verdict};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::effect::BlockCentres;
use crate::looks::ALPHA;
use crate::robust::{mean, median, median_of_any_order, variance};
use crate::samples::Samples;
use crate::steps::published_pairs;
use crate::{CellJudgement, GroupSummary};

const RESAMPLES: usize = 2000;

/// Distances between logarithms up to this are rounding errors.
const NO_DISTANCE: f64 = 1e-9;

struct GroupMember<'a> {
    rqps: Estimate,
    reduced: &'a BlockCentres,
}

/// Setup, group, system, and the system that it is divided by.
type GroupKey = (Setup, &'static Group, usize, usize);

/// Relative to the base.
pub(crate) fn summaries(
    record: &StudyRecord,
    cells: &[CellJudgement],
    reduced: &[Option<BlockCentres>],
    base: usize,
) -> Vec<GroupSummary> {
    let is_meant =
        |judged: &CellJudgement| judged.system != base && judged.verdict != Verdict::Failed;
    let meant = cells.iter().zip(reduced).filter(|(judged, _)| is_meant(judged));
    let members = meant.map(|(judged, reduced)| {
        let member = judged.rqps.zip(reduced.as_ref());
        let member = member.map(|(rqps, reduced)| GroupMember { rqps, reduced });
        let key = (judged.cell.setup, judged.group, judged.system, base);
        (key, judged.has_bound(), member)
    });
    gathered(members, record.study.seed)
}

/// Of the pairs without the base for which posts print them. `paced`: cells with rate limits, which do not show a
/// system's capacity.
pub(crate) fn pair_summaries(
    record: &StudyRecord,
    samples: &Samples,
    cells: &[CellJudgement],
    paced: &BTreeSet<CellId>,
) -> Vec<GroupSummary> {
    let pairs = published_pairs(record, samples.base());
    if pairs.is_empty() {
        return Vec::new();
    }
    let (rates, _) = samples.compare(&pairs);
    let of_cells = cells.chunks(record.systems.len());
    let keys = of_cells.flat_map(|of_cell| pairs.iter().map(move |pair| (of_cell, *pair)));
    let members = keys.enumerate().filter_map(|(index, (of_cell, (than, system)))| {
        let [judged, other] = [&of_cell[system], &of_cell[than]];
        let has_failed = [judged, other].iter().any(|it| it.verdict == Verdict::Failed);
        if has_failed || paced.contains(&judged.cell) {
            return None;
        }
        let member = rates.shown(index).zip(rates.reduced[index].as_ref());
        let member = member.map(|(rqps, reduced)| GroupMember { rqps, reduced });
        let is_bound = member.is_none() && (judged.has_bound() || other.has_bound());
        Some(((judged.cell.setup, judged.group, system, than), is_bound, member))
    });
    gathered(members, record.study.seed)
}

/// Members have whether only a bound of them is known.
fn gathered<'a>(
    members: impl Iterator<Item = (GroupKey, bool, Option<GroupMember<'a>>)>,
    seed: u64,
) -> Vec<GroupSummary> {
    let mut groups: BTreeMap<GroupKey, (Vec<GroupMember<'a>>, u32)> = BTreeMap::new();
    for (key, is_bound, member) in members {
        let (members, bounded) = groups.entry(key).or_default();
        *bounded += u32::from(is_bound);
        members.extend(member);
    }
    groups.iter().filter_map(|(key, group)| summary(*key, group, seed)).collect()
}

fn summary(
    (setup, group, system, than): GroupKey,
    (members, bounded): &(Vec<GroupMember>, u32),
    seed: u64,
) -> Option<GroupSummary> {
    let ratios: Vec<f64> = members.iter().map(|member| member.rqps.value).collect();
    let median = median(&ratios)?;
    Some(GroupSummary {
        group,
        setup,
        system,
        than,
        n: ratios.len() as u32,
        bounded: *bounded,
        min: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        max: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        avg: mean(&ratios),
        median,
        stddev: variance(&ratios).map(f64::sqrt),
        median_interval: median_interval(members, median, seed),
    })
}

/// Median over the cells that are meant and did not fail; without interval for too few blocks.
pub(crate) fn median_of(
    record: &StudyRecord,
    cells: &[CellJudgement],
    reduced: &[Option<BlockCentres>],
    is_meant: impl Fn(&CellJudgement) -> bool,
) -> Option<Estimate> {
    let members: Vec<GroupMember> = (cells.iter().zip(reduced))
        .filter(|(judged, _)| is_meant(judged) && judged.verdict != Verdict::Failed)
        .filter_map(|(judged, reduced)| {
            Some(GroupMember { rqps: judged.rqps?, reduced: reduced.as_ref()? })
        })
        .collect();
    let median = median(&members.iter().map(|it| it.rqps.value).collect::<Vec<_>>())?;
    let interval = median_interval(&members, median, record.study.seed);
    Some(interval.unwrap_or(Estimate::without_interval(median)))
}

fn median_interval(members: &[GroupMember], median: f64, seed: u64) -> Option<Estimate> {
    match members {
        // The group is the test, so both must have the same interval.
        [only] => Some(only.rqps).filter(|rqps| rqps.has_interval()),
        _ => bootstrap(members, median, seed),
    }
}

const RESAMPLED_MIN: usize = 4;

/// Resamples blocks, the same for all tests of the group, because instances shift nearly all tests together. `None`
/// with few blocks: two blocks have three resamples, whose spread is meaningless.
fn bootstrap(members: &[GroupMember], value: f64, seed: u64) -> Option<Estimate> {
    let mut blocks: Vec<u32> =
        members.iter().flat_map(|it| it.reduced.blocks.iter().map(|(block, _)| *block)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let fewest = members.iter().map(|member| member.reduced.blocks.len()).min()?;
    if fewest < RESAMPLED_MIN {
        return None;
    }
    let tests: Vec<ResampledTest> =
        members.iter().map(|member| ResampledTest::new(member.reduced, &blocks)).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut ratios = Vec::with_capacity(tests.len());
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let drawn: Vec<usize> =
                blocks.iter().map(|_| random.random_range(0..blocks.len())).collect();
            ratios.clear();
            ratios.extend(tests.iter().map(|test| test.ratio(&drawn)));
            median_of_any_order(&mut ratios)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let quantile = |share: f64| medians[(share * (medians.len() - 1) as f64).round() as usize].ln();
    let centre = value.ln();
    let widen = widening(fewest)?;
    let [below, above] = both_sides(
        widen * (centre - quantile(ALPHA / 2.0)),
        widen * (quantile(1.0 - ALPHA / 2.0) - centre),
    );
    Some(Estimate { value, low: (centre - below).exp(), high: (centre + above).exp() })
}

/// Distances to both ends of an interval. If all resamples lie on one side, the other side is as uncertain.
fn both_sides(below: f64, above: f64) -> [f64; 2] {
    let is_none = |distance: f64| distance < NO_DISTANCE;
    match (is_none(below), is_none(above)) {
        (true, false) => [above, above],
        (false, true) => [below, below],
        _ => [below.max(0.0), above.max(0.0)],
    }
}

/// Correction for the spread of resampled means with few blocks: the sample variance is too small by (B − 1) / B, and
/// the quantiles are those of a normal instead of a t distribution.
fn widening(blocks: usize) -> Option<f64> {
    let count = blocks as f64;
    let upper = 1.0 - ALPHA / 2.0;
    let t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(upper);
    Some((count / (count - 1.0)).sqrt() * t / Normal::standard().inverse_cdf(upper))
}

struct ResampledTest {
    /// Centres of all blocks of its group; `None` where missing.
    centres: Vec<Option<f64>>,
    /// Its estimate, kept if none of its blocks is drawn.
    log: f64,
}

impl ResampledTest {
    fn new(test: &BlockCentres, blocks: &[u32]) -> Self {
        let known: BTreeMap<u32, f64> = test.blocks.iter().copied().collect();
        let centres = blocks.iter().map(|block| known.get(block).copied()).collect();
        Self { centres, log: test.log() }
    }

    fn ratio(&self, drawn: &[usize]) -> f64 {
        let (mut sum, mut count) = (0.0, 0_u32);
        for centre in drawn.iter().filter_map(|&block| self.centres[block]) {
            sum += centre;
            count += 1;
        }
        if count == 0 { self.log.exp() } else { (sum / f64::from(count)).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robust::{RoundValue, centres};

    fn reduced(logs: &[f64]) -> BlockCentres {
        let value = |(block, &value): (u32, &f64)| {
            [0, 1, 2, 3].map(|round| RoundValue { block, round, value })
        };
        let values = (0..).zip(logs).flat_map(value).collect::<Vec<_>>();
        BlockCentres::new(&centres(&values).unwrap(), &BTreeMap::new())
    }

    fn interval(tests: &[&[f64]]) -> Option<Estimate> {
        let reduced: Vec<BlockCentres> = tests.iter().map(|blocks| reduced(blocks)).collect();
        let members: Vec<GroupMember> = reduced
            .iter()
            .map(|reduced| GroupMember {
                rqps: Estimate::without_interval(reduced.log().exp()),
                reduced,
            })
            .collect();
        let values: Vec<f64> = members.iter().map(|member| member.rqps.value).collect();
        median_interval(&members, median(&values).unwrap(), 7)
    }

    #[test]
    fn few_blocks_give_no_interval() {
        for blocks in 1..RESAMPLED_MIN {
            let logs = &[-0.1, 0.02, 0.0][..blocks];
            assert_eq!(interval(&[logs, logs, logs]), None, "{blocks}");
        }
        assert!(interval(&[&[-0.1, 0.02, 0.0, 0.01][..]; 3]).is_some());
    }

    #[test]
    fn an_interval_has_two_sides_though_all_resamples_lie_on_one() {
        let [below, above] = [both_sides(0.0, 0.1), both_sides(0.1, -0.02)];
        assert_eq!([below, above], [[0.1, 0.1], [0.1, 0.1]]);
        assert_eq!(both_sides(0.03, 0.1), [0.03, 0.1]);
        // The middle test does not change; one of the others crosses it, and only upwards.
        let still = [0.0; 4];
        let crossing = [-0.3, -0.3, -0.3, 0.7];
        let message = interval(&[&still[..], &crossing, &[0.9; 4]]).unwrap();
        assert!(message.low < 0.99 && message.high > 1.01, "{message:?}");
        assert!((message.low * message.high - 1.0).abs() < 1e-9, "{message:?}");
    }
}
