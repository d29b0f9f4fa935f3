//! Instructions per operation, and their change against the base.

use assay_model::{
    COUNT_THRESHOLD, CellId, Count, CountBatch, CountSource, CountVerdict, Estimate, EventKind,
    Experiment, Study, StudyDocument as _, StudyRecord, Verdict,
};

use crate::CellJudgement;
use crate::count_change::{Instructions, compare_counts};
use crate::module_counts::{SystemCounts, counted_modules};
use crate::profile::Modules;
use crate::regression_limits::{LimitVerdict, LimitedCell, LimitsJudgement};
use crate::robust::median;
use crate::student::upper_quantile;

pub fn count_threshold(study: &Study) -> f64 {
    if study.experiment == Experiment::Counted { study.threshold } else { COUNT_THRESHOLD }
}

/// Maximum looks at the counts of a cell: it counts on further instances while they are undecided.
pub const COUNT_LOOKS: usize = 3;

/// Level at which a change is called, both sides and all looks together. Intervals have 95%.
const CALLED: f64 = 0.01;

/// Minimum standard error between counts of the same code: 0.01%.
const FLOOR: f64 = 1e-4;

#[derive(Debug, Clone, PartialEq)]
pub struct CountJudgement {
    pub by: CountSource,
    /// User-space instructions per operation of the serving thread.
    pub instructions: Estimate,
    /// Instructions per operation of the other threads, less those that they execute when idle.
    pub background: Option<f64>,
    pub kernel: Option<f64>,
    /// Instructions per operation relative to the base's; `None` for the base.
    pub ratio: Option<Estimate>,
    pub verdict: Option<CountVerdict>,
    /// The same with background threads, less the instructions that these execute when idle; `None` if they were not
    /// counted on both sides.
    pub total: Option<CountTotal>,
    /// Pairs of batches excluded from `ratio` because of a one-off event in one of them.
    pub left_out: u32,
    pub functions: Option<Instructions>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountTotal {
    pub instructions: Estimate,
    pub ratio: Option<Estimate>,
    /// Verdict on `ratio`; `None` for the base. Undecided more often than for the serving thread, as background work
    /// has its own schedule.
    pub verdict: Option<CountVerdict>,
    pub base_background: Option<f64>,
}

pub(crate) fn judgement(
    record: &StudyRecord,
    cell: CellId,
    (base, system): (usize, usize),
) -> Option<CountJudgement> {
    let mine = count(record, cell, system)?;
    let base_count = count(record, cell, base).filter(|_| system != base);
    let is_same_build = is_same_build(record, [base, system]);
    // The processor does not attribute instructions to functions.
    let with_functions =
        base_count.filter(|base| !(base.functions.is_empty() || mine.functions.is_empty()));
    let functions =
        with_functions.and_then(|base| compare_counts(counted(base), counted(mine), is_same_build));
    Some(CountJudgement { functions, ..judge(mine, base_count, count_threshold(&record.study))? })
}

/// Sets the verdicts of a study that only counts: no rate can be undecided, and cells that could not be counted have
/// failed.
pub(crate) fn settle(record: &StudyRecord, cells: &mut [CellJudgement]) {
    for cell in cells {
        cell.doubt = None;
        if cell.count.is_none() {
            cell.failure = record.events.iter().find_map(|event| match &event.what {
                EventKind::NotDone { afterward, test, data, why, .. }
                    if afterward == Count::NAME
                        && (test, *data) == (&cell.cell.test.name, cell.cell.setup.data()) =>
                {
                    Some(why.clone())
                }
                _ => None,
            });
        }
        if cell.failure.is_some() {
            cell.verdict = Verdict::Failed;
        }
    }
}

/// Whether the counts of a cell, of the base and another system, are undecided, so that counting on further instances
/// helps.
pub fn is_count_open(
    study: &Study,
    cell: CellId,
    systems: usize,
    [base, other]: [&Count; 2],
) -> bool {
    let Some(limits) = &study.limits else {
        let judged = judge(other, Some(base), count_threshold(study));
        return judged.is_none_or(|it| it.verdict == Some(CountVerdict::Undecided));
    };
    let planned = study.cells.iter().zip(&limits.margins).find(|(planned, _)| planned.id == cell);
    let level = limit_level(limits.margins.len(), systems);
    planned.is_some_and(|(_, margin)| limited_ratio(other, base, *margin, level).1.is_none())
}

/// Error of the verdicts that a limit is exceeded, over all tests and systems together, if no limit is.
const LIMIT_LEVEL: f64 = 0.005;

pub(crate) fn limits(record: &StudyRecord, cells: &[CellJudgement]) -> Option<LimitsJudgement> {
    let margins = &record.study.limits.as_ref()?.margins;
    let base = record.systems.iter().position(|system| system.is_base)?;
    let systems: Vec<usize> = (0..record.systems.len()).filter(|it| *it != base).collect();
    let planned = record.study.cells.iter().zip(margins);
    let pairs = planned.flat_map(|it| systems.iter().map(move |&system| (it, system)));
    let level = limit_level(margins.len(), record.systems.len());
    let judged = pairs.map(|((planned, margin), system)| {
        let cell = planned.id;
        let found = cells.iter().find(|it| (it.cell, it.system) == (cell, system));
        let counts = count(record, cell, system).zip(count(record, cell, base));
        let (ratio, verdict) =
            counts.map_or((None, None), |(one, base)| limited_ratio(one, base, *margin, level));
        let verdict = match verdict {
            Some(verdict) => verdict,
            None if found.is_some_and(|it| it.verdict == Verdict::Failed) => LimitVerdict::Failed,
            None => LimitVerdict::Undecided,
        };
        LimitedCell { cell, system, margin: *margin, ratio, verdict, doubt: None }
    });
    Some(LimitsJudgement { cells: judged.collect() })
}

fn limit_level(tests: usize, systems: usize) -> f64 {
    let verdicts = tests.max(1) * systems.saturating_sub(1).max(1) * COUNT_LOOKS;
    2.0 * LIMIT_LEVEL / verdicts as f64
}

/// Ratio of a system's instructions to the base's with its 95% interval, and the verdict on a limit; `None` if unknown.
fn limited_ratio(
    one: &Count,
    base: &Count,
    margin: f64,
    level: f64,
) -> (Option<Estimate>, Option<LimitVerdict>) {
    let ratios = kept(ratios(&each_serving(&one.instances), &each_serving(&base.instances))).0;
    let limit = 1.0 + margin;
    let (usual, certain) = (estimate(&ratios, 0.05), estimate(&ratios, level));
    let verdict = match (usual, certain) {
        (Some(usual), _) if usual.high < limit => Some(LimitVerdict::Passed),
        (_, Some(certain)) if certain.low > limit => Some(LimitVerdict::Exceeded),
        _ => None,
    };
    (usual, verdict)
}

/// Counts of two systems in a cell, with the modules that match their functions; `None` unless both were counted.
pub fn counted_pair(
    record: &StudyRecord,
    cell: CellId,
    systems: [usize; 2],
) -> Option<[(&Count, Modules<'_>); 2]> {
    let [base, other] = systems.map(|system| count(record, cell, system));
    let (base, other) = base.zip(other)?;
    let [of_base, of_other] =
        counted_modules(counted(base), counted(other), is_same_build(record, systems));
    Some([(base, of_base), (other, of_other)])
}

fn count(record: &StudyRecord, cell: CellId, system: usize) -> Option<&Count> {
    let found = record.counts.iter().find(|it| (it.cell, it.system) == (cell, system));
    found.map(|it| &it.count)
}

fn is_same_build(record: &StudyRecord, systems: [usize; 2]) -> bool {
    let [base, other] = systems.map(|system| {
        let prefix = record.systems.get(system)?.artifact.prefix()?;
        Some(prefix.sha256.as_str())
    });
    base.is_some() && base == other
}

fn counted(count: &Count) -> SystemCounts<'_> {
    let Count { ops, server, functions, calls, matched, .. } = count;
    SystemCounts { ops: *ops, server, functions, calls, matched: &matched.functions }
}

/// Judges a count against the base's, if it is another one. `None` without batches.
pub(crate) fn judge(count: &Count, base: Option<&Count>, threshold: f64) -> Option<CountJudgement> {
    let each = each_serving(&count.instances);
    let (ratio, verdict, left_out) = match base {
        Some(base) => {
            let base = each_serving(&base.instances);
            let (ratio, verdict, left_out) = compared(&each, &base, threshold)?;
            (Some(ratio), Some(verdict), left_out)
        }
        None => (None, None, 0),
    };
    Some(CountJudgement {
        by: count.by,
        instructions: own_estimate(per_op(count, serving)?, &each)?,
        background: background(count),
        kernel: per_op(count, |batch| Some(batch.kernel? as f64)),
        ratio,
        verdict,
        total: total(count, base, threshold),
        left_out,
        functions: None,
    })
}

fn total(count: &Count, base: Option<&Count>, threshold: f64) -> Option<CountTotal> {
    let each = each(&count.instances, all_threads)?;
    let compared = match base {
        Some(base) => Some(compared(&each, &self::each(&base.instances, all_threads)?, threshold)?),
        None => None,
    };
    Some(CountTotal {
        instructions: own_estimate(per_op(count, all_threads)?, &each)?,
        ratio: compared.map(|(ratio, ..)| ratio),
        verdict: compared.map(|(_, verdict, _)| verdict),
        base_background: base.and_then(background),
    })
}

fn compared(
    each: &[Vec<f64>],
    base: &[Vec<f64>],
    threshold: f64,
) -> Option<(Estimate, CountVerdict, u32)> {
    let (ratios, left_out) = kept(ratios(each, base));
    let called = estimate(&ratios, CALLED / COUNT_LOOKS as f64)?;
    let ratio = estimate(&ratios, 0.05)?;
    Some((ratio, verdict(ratio, called, threshold), left_out))
}

type Threads = fn(&CountBatch) -> Option<f64>;

fn serving(batch: &CountBatch) -> Option<f64> {
    Some(batch.serving as f64)
}

/// The idle work was counted on each instance for a few seconds only. This error is common to all batches of an
/// instance, and differs between instances, so it is part of the interval.
fn all_threads(batch: &CountBatch) -> Option<f64> {
    Some(batch.serving as f64 + batch.background_work()?)
}

fn background(count: &Count) -> Option<f64> {
    Some(per_op(count, CountBatch::background_work)?.max(0.0))
}

/// Instructions per operation over all batches; `None` unless all have the figure.
fn per_op(count: &Count, threads: Threads) -> Option<f64> {
    let batches = || count.instances.iter().flatten();
    let sum = batches().map(threads).sum::<Option<f64>>()?;
    let value = sum / batches().map(|batch| batch.ops).sum::<f64>();
    value.is_finite().then_some(value)
}

/// Instructions per operation, by instance and batch; `None` unless all batches have the figure.
fn each(instances: &[Vec<CountBatch>], threads: Threads) -> Option<Vec<Vec<f64>>> {
    let of_instance = |batches: &Vec<CountBatch>| {
        batches.iter().map(|batch| Some(threads(batch)? / batch.ops)).collect()
    };
    instances.iter().map(of_instance).collect()
}

fn each_serving(instances: &[Vec<CountBatch>]) -> Vec<Vec<f64>> {
    each(instances, serving).unwrap_or_default()
}

/// Whether the batches of two systems agree so well that further ones on the same instances would not narrow the
/// interval of their ratio. The first two batches do if their ratios differ by about 0.01% or less.
pub fn batches_agree(base: &[Vec<CountBatch>], other: &[Vec<CountBatch>]) -> bool {
    let (ratios, _) = kept(ratios(&each_serving(other), &each_serving(base)));
    interval_parts(&ratios, 0.05)
        .is_some_and(|parts| parts.within.is_some_and(|within| within <= parts.floor))
}

fn ratios(each: &[Vec<f64>], base: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let is_ratio = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
    let of_instance = |(one, base): (&Vec<f64>, &Vec<f64>)| {
        one.iter().zip(base).map(|(one, base)| one / base).filter(is_ratio).collect()
    };
    each.iter().zip(base).map(of_instance).collect()
}

/// Excludes batches with one-off events, such as a page read or a statistics job, and returns their number; frequent
/// ones stay. Each batch is compared with the others of its instance, as an instance may differ as a whole. A batch
/// that deviates in other instances too stays: it has the same events there, which cause its deviation.
fn kept(values: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, u32) {
    let centres: Vec<f64> =
        values.iter().map(|batches| median(batches).unwrap_or_default()).collect();
    let deviations = |(batches, centre): (&Vec<f64>, &f64)| -> Vec<f64> {
        batches.iter().map(|value| value / centre - 1.0).collect()
    };
    let deviations: Vec<Vec<f64>> = values.iter().zip(&centres).map(deviations).collect();
    let sizes: Vec<f64> = deviations.iter().flatten().map(|it| it.abs()).collect();
    // The median deviation of normal values is their standard deviation divided by 1.4826.
    let usual = 1.4826 * median(&sizes).unwrap_or_default();
    let far = EXCEPTION_MIN.max(FAR * usual);
    let recurs = |instance: usize, batch: usize, deviation: f64| {
        let others = deviations.iter().enumerate().filter(|(other, _)| *other != instance);
        let mut there = others.filter_map(|(_, batches)| batches.get(batch));
        there.any(|it| it.signum() == deviation.signum() && it.abs() > deviation.abs() / 2.0)
    };
    let happens_once = |instance: usize, batch: usize| {
        let deviation = deviations.get(instance).and_then(|batches| batches.get(batch));
        deviation.is_some_and(|it| it.abs() > far && !recurs(instance, batch, *it))
    };
    let of_instance = |(instance, batches): (usize, &Vec<f64>)| -> Vec<f64> {
        let batches =
            batches.iter().enumerate().filter(|(batch, _)| !happens_once(instance, *batch));
        batches.map(|(_, value)| *value).collect()
    };
    let kept: Vec<Vec<f64>> = values.iter().enumerate().map(of_instance).collect();
    let left_out = sizes.len() - kept.iter().map(Vec::len).sum::<usize>();
    if left_out as f64 > EXCEPTIONS * sizes.len() as f64 {
        return (values, 0);
    }
    (kept, left_out as u32)
}

/// A value is excluded if its distance from its instance's median exceeds this many standard deviations and this share
/// of it, up to a maximum share of such values.
const FAR: f64 = 5.0;
const EXCEPTION_MIN: f64 = 0.005;
const EXCEPTIONS: f64 = 0.25;

/// A mean and three half-widths of its interval, of which the widest counts.
struct IntervalParts {
    mean: f64,
    /// Batches of an instance differ. `None` without a second batch.
    within: Option<f64>,
    /// Means of instances differ. `None` without a second instance.
    between: Option<f64>,
    /// Equal code differs.
    floor: f64,
}

/// Mean of values and half-width of its interval of confidence 1 − `level`, from the values of each instance.
fn mean(values: &[Vec<f64>], level: f64) -> Option<(f64, f64)> {
    let IntervalParts { mean, within, between, floor } = interval_parts(values, level)?;
    Some((mean, within.unwrap_or(0.0).max(between.unwrap_or(0.0)).max(floor)))
}

/// Batches have one degree of freedom for each beyond the first of an instance, and instances one less than there are.
fn interval_parts(values: &[Vec<f64>], level: f64) -> Option<IntervalParts> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let of_instances: Vec<&Vec<f64>> = values.iter().filter(|it| !it.is_empty()).collect();
    let means: Vec<f64> = of_instances.iter().map(|it| mean(it)).collect();
    let (value, instances) = (mean(&means), means.len() as f64);
    if !value.is_finite() {
        return None;
    }
    let half = |squares: f64, freedom: f64, count: f64| {
        let error = (squares / freedom / count).sqrt();
        (freedom > 0.0).then(|| upper_quantile(level / 2.0, freedom) * error)
    };
    let within = of_instances.iter().zip(&means);
    let squares =
        within.flat_map(|(batches, mean)| batches.iter().map(move |it| (it - mean).powi(2))).sum();
    let count = of_instances.iter().map(|it| it.len()).sum::<usize>() as f64;
    let within = half(squares, count - instances, count);
    let squares = means.iter().map(|it| (it - value).powi(2)).sum();
    let between = half(squares, instances - 1.0, instances);
    // A known floor has no degrees of freedom to lose.
    let floor = upper_quantile(level / 2.0, f64::INFINITY) * FLOOR * value;
    Some(IntervalParts { mean: value, within, between, floor })
}

fn estimate(values: &[Vec<f64>], level: f64) -> Option<Estimate> {
    let (value, half) = mean(values, level)?;
    Some(Estimate { value, low: value - half, high: value + half })
}

/// Instructions of a system with their 95% interval. Batches have different events, so only differences between
/// instances on the same events are errors.
fn own_estimate(value: f64, each: &[Vec<f64>]) -> Option<Estimate> {
    let batches = each.iter().map(Vec::len).max()?;
    let of_all = (0..batches).map(|at| {
        let same: Vec<f64> = each.iter().filter_map(|batches| batches.get(at)).copied().collect();
        same.iter().sum::<f64>() / same.len() as f64
    });
    let of_all: Vec<f64> = of_all.collect();
    let (_, half) = mean(&ratios(each, &vec![of_all; each.len()]), 0.05)?;
    Some(Estimate { value, low: value * (1.0 - half), high: value * (1.0 + half) })
}

fn verdict(ratio: Estimate, called: Estimate, threshold: f64) -> CountVerdict {
    let within = 1.0 - threshold..=1.0 + threshold;
    match ratio {
        _ if within.contains(&ratio.low) && within.contains(&ratio.high) => CountVerdict::Same,
        Estimate { value, .. } if called.low > 1.0 && value > *within.end() => CountVerdict::More,
        Estimate { value, .. } if called.high < 1.0 && value < *within.start() => {
            CountVerdict::Fewer
        }
        _ => CountVerdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{CallTree, MatchedNames};
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn count(each: f64, noise: [f64; 12]) -> Count {
        let batch = |(number, noise): (usize, f64)| CountBatch {
            events: 100,
            ops: 100.0,
            serving: (100.0 * each * (1.0 + 0.1 * (number % 6) as f64) * (1.0 + noise)) as u64,
            background: Some(7000),
            idle: None,
            kernel: None,
        };
        let batches: Vec<CountBatch> = noise.into_iter().enumerate().map(batch).collect();
        Count {
            by: CountSource::Callgrind,
            version: None,
            hidden: Vec::new(),
            instances: batches.chunks(6).map(<[_]>::to_vec).collect(),
            functions: Vec::new(),
            calls: CallTree::default(),
            ops: 1200,
            server: String::new(),
            stripped: Vec::new(),
            matched: MatchedNames::default(),
        }
    }

    const EXACT: [f64; 12] = [0.0; 12];
    const ONE: [f64; 6] = [0.0002, -0.0003, 0.0001, 0.0004, -0.0002, -0.0001];

    fn judge_with_noise(each: f64, one: [f64; 6], other: [f64; 6]) -> CountJudgement {
        let mut noise = EXACT;
        noise.iter_mut().zip(one.into_iter().chain(other)).for_each(|(to, it)| *to = it);
        judge(&count(each, noise), Some(&count(40_000.0, EXACT)), COUNT_THRESHOLD).unwrap()
    }

    #[test]
    fn batches_of_different_events_are_no_error() {
        let judged = judge(&count(40_000.0, EXACT), None, COUNT_THRESHOLD).unwrap();
        let Estimate { value, low, high } = judged.instructions;
        assert!((value - 50_000.0).abs() < 1.0 && (high - low) / value < 0.001, "{judged:?}");
        assert_eq!((judged.background, judged.ratio, judged.verdict), (Some(70.0), None, None));
    }

    #[test]
    fn changes_beyond_the_threshold_are_called_and_equal_code_is_the_same() {
        assert_eq!(judge_with_noise(40_000.0, ONE, ONE).verdict, Some(CountVerdict::Same));
        assert_eq!(judge_with_noise(40_400.0, ONE, ONE).verdict, Some(CountVerdict::More));
        assert_eq!(judge_with_noise(39_600.0, ONE, ONE).verdict, Some(CountVerdict::Fewer));
        let ratio = judge_with_noise(40_400.0, ONE, ONE).ratio.unwrap();
        assert!(ratio.low > 1.009 && ratio.high < 1.011, "{ratio:?}");
    }

    #[test]
    fn what_happens_once_is_left_out_and_instances_that_differ_widen_the_interval() {
        let once = judge_with_noise(40_000.0, [0.0002, 0.9, 0.0001, 0.0004, -0.0002, -0.0001], ONE);
        assert_eq!((once.verdict, once.left_out), (Some(CountVerdict::Same), 1), "{once:?}");
        // The same events take less in both instances, so they are part of the ratio.
        let events = [0.0, 0.0, 0.0, -0.16, 0.0, 0.0];
        let recurs = judge_with_noise(40_000.0, events, events);
        assert_eq!((recurs.verdict, recurs.left_out), (Some(CountVerdict::Undecided), 0));
        let differ = judge_with_noise(40_000.0, [0.0; 6], [0.02; 6]);
        assert_eq!((differ.verdict, differ.left_out), (Some(CountVerdict::Undecided), 0));
    }

    #[test]
    fn two_batches_are_enough_if_they_agree_to_a_hundredth_of_a_percent() {
        let first = |count: Count, batches: usize| -> Vec<Vec<CountBatch>> {
            count.instances.iter().map(|all| all[..batches].to_vec()).collect()
        };
        let agree = |noise: [f64; 6], batches: usize| {
            let other = count(40_400.0, std::array::from_fn(|at| noise[at % 6]));
            batches_agree(&first(count(40_000.0, EXACT), batches), &first(other, batches))
        };
        let near = [5e-5, -5e-5, 0.0, 0.0, 0.0, 0.0];
        let far = [3e-4, -3e-4, 0.0, 0.0, 0.0, 0.0];
        assert_eq!([1, 2].map(|batches| agree(near, batches)), [false, true]);
        assert_eq!([2, 3, 6].map(|batches| agree(far, batches)), [false, false, true]);
        assert!(!batches_agree(&[], &[]));
    }

    /// Batches are added until they agree, as a count does.
    fn agreeing(random: &mut impl FnMut() -> f64, [instance, batch]: [f64; 2]) -> [Count; 2] {
        let effects = [(); 2].map(|()| instance * random());
        let mut drawn: [Vec<Vec<CountBatch>>; 2] = [vec![Vec::new(); 2], vec![Vec::new(); 2]];
        for number in 1..=6 {
            for (at, effect) in effects.iter().enumerate() {
                let one = CountBatch {
                    events: 100,
                    ops: 100.0,
                    serving: 1_000_000_000,
                    background: None,
                    idle: None,
                    kernel: None,
                };
                let serving = (1e9 * (1.0 + effect + batch * random())) as u64;
                drawn[0][at].push(one);
                drawn[1][at].push(CountBatch { serving, ..one });
            }
            if number > 1 && batches_agree(&drawn[0], &drawn[1]) {
                break;
            }
        }
        drawn.map(|instances| Count { instances, ..count(1.0, EXACT) })
    }

    #[test]
    fn intervals_cover_the_truth_although_batches_end_when_they_agree() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut random = move || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        for noise in [[1e-3, 2e-4], [0.0, 1e-4], [0.0, 2e-4], [0.0, 5e-4], [1e-4, 1e-4]] {
            let studies = 1000;
            let (mut covered, mut called) = (0, 0);
            for _ in 0..studies {
                let [base, same] = agreeing(&mut random, noise);
                let judged = judge(&same, Some(&base), 0.0).unwrap();
                let ratio = judged.ratio.unwrap();
                covered += u32::from(ratio.low <= 1.0 && ratio.high >= 1.0);
                called += u32::from(judged.verdict != Some(CountVerdict::Undecided));
            }
            let part = |count: u32| f64::from(count) / f64::from(studies);
            let (covered, called) = (part(covered), part(called));
            assert!(covered > 0.93 && called < 0.01, "{noise:?}: {covered} {called}");
        }
    }

    fn drawn(random: &mut impl FnMut() -> f64, factor: f64, instances: usize) -> [Count; 2] {
        [1.0, factor].map(|factor| {
            let batches = (0..instances).flat_map(|_| {
                let effect = 0.001 * random();
                let of_batch = [(); 6].map(|()| effect + 0.0002 * random());
                of_batch.map(|noise| CountBatch {
                    events: 100,
                    ops: 100.0,
                    serving: (1e8 * factor * (1.0 + noise)) as u64,
                    background: None,
                    idle: None,
                    kernel: None,
                })
            });
            let batches: Vec<CountBatch> = batches.collect();
            let instances = batches.chunks(6).map(<[_]>::to_vec).collect();
            Count { instances, ..count(1.0, EXACT) }
        })
    }

    #[test]
    fn claims_hold_where_instances_differ_more_than_their_batches() {
        // The sum of twelve uniform values is nearly normal.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut random = move || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let studies = 4000;
        let (mut covered, mut called, mut found) = (0, 0, 0);
        for _ in 0..studies {
            let [base, same] = drawn(&mut random, 1.0, 2);
            let judged = judge(&same, Some(&base), 0.0).unwrap();
            let ratio = judged.ratio.unwrap();
            covered += u32::from(ratio.low <= 1.0 && ratio.high >= 1.0);
            let of_two = judged.verdict;
            let [base, same] = drawn(&mut random, 1.0, 6);
            let of_six = judge(&same, Some(&base), 0.0).unwrap().verdict;
            let is_call = |it| matches!(it, Some(CountVerdict::More | CountVerdict::Fewer));
            called += u32::from(is_call(of_two) || is_call(of_six));
            let [base, more] = drawn(&mut random, 1.01, 6);
            let verdict = judge(&more, Some(&base), COUNT_THRESHOLD).unwrap().verdict;
            found += u32::from(verdict == Some(CountVerdict::More));
        }
        let part = |count: u32| f64::from(count) / f64::from(studies);
        let (covered, called, found) = (part(covered), part(called), part(found));
        assert!(covered > 0.94 && called < 0.01 && found > 0.95, "{covered} {called} {found}");
    }

    #[test]
    fn background_threads_are_judged_with_the_serving_thread() {
        let with = |each: f64, background: u64| {
            let mut counted = count(each, EXACT);
            let batches = counted.instances.iter_mut().flatten();
            batches.for_each(|batch| batch.background = Some(100 * background));
            counted
        };
        let (before, after) = (with(40_000.0, 50_847), with(57_200.0, 3_939));
        let judged = judge(&after, Some(&before), COUNT_THRESHOLD).unwrap();
        assert_eq!(judged.verdict, Some(CountVerdict::More));
        let total = judged.total.unwrap();
        let ratio = total.ratio.unwrap().value;
        assert!((0.72..0.76).contains(&ratio), "{ratio}");
        assert_eq!(total.verdict, Some(CountVerdict::Fewer));
        assert_eq!((total.base_background, judged.background), (Some(50_847.0), Some(3_939.0)));
        let base = judge(&before, None, COUNT_THRESHOLD).unwrap().total.unwrap();
        assert_eq!((base.ratio, base.verdict, base.base_background), (None, None, None));
        // Work that the threads also do when idle does not belong to the operations.
        let mut busy = after.clone();
        for batch in busy.instances.iter_mut().flatten() {
            batch.background = batch.background.map(|own| own + 1_000_000);
            batch.idle = Some(1_000_000);
        }
        assert_eq!(judge(&busy, Some(&before), COUNT_THRESHOLD).unwrap(), judged);
        // Figures missing on one side are not compared.
        let mut unknown = before;
        unknown.instances[0][0].background = None;
        assert_eq!(judge(&after, Some(&unknown), COUNT_THRESHOLD).unwrap().total, None);
    }

    #[test]
    fn nothing_counted_is_no_judgement() {
        let mut empty = count(1.0, EXACT);
        empty.instances = vec![Vec::new()];
        assert_eq!(judge(&empty, None, COUNT_THRESHOLD), None);
    }
}
