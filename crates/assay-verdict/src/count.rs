//! Instructions per operation, and how many more or fewer they are than the base's.

use assay_model::{CellId, Count, CountBatch, CountVerdict, CountedBy, Estimate, StudyRecord};

use crate::counted::{Instructions, compare_counts};
use crate::counted_modules::{Counted, counted_modules};
use crate::profile::Modules;
use crate::robust::median;
use crate::student::upper_quantile;

/// The smallest relative change of instructions that is called: what layout and chance add to equal code is smaller.
pub const COUNT_THRESHOLD: f64 = 0.005;

/// The level at which a change is called, both sides together. Intervals have 95%.
const CALLED: f64 = 0.01;

/// What two counts of the same code differ by at least, as a standard error: a part of a thousandth.
const FLOOR: f64 = 1e-4;

/// The instructions of a system in a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CountJudgement {
    /// What counted.
    pub by: CountedBy,
    /// Instructions per operation of the serving thread, outside the kernel.
    pub instructions: Estimate,
    /// Instructions per operation of the server's other threads; `None` if they were not counted.
    pub background: Option<f64>,
    /// Instructions per operation divided by those of the base; `None` for the base.
    pub ratio: Option<Estimate>,
    /// The verdict on `ratio`; `None` for the base.
    pub verdict: Option<CountVerdict>,
    /// The functions whose instructions changed; `None` for the base.
    pub functions: Option<Instructions>,
}

/// The judgement of a system's count in a cell beside that of the base; `None` where nothing was counted.
pub(crate) fn of(
    record: &StudyRecord,
    cell: CellId,
    (base, system): (usize, usize),
) -> Option<CountJudgement> {
    let mine = count(record, cell, system)?;
    let base_count = count(record, cell, base).filter(|_| system != base);
    let is_same_build = is_same_build(record, [base, system]);
    let functions =
        base_count.and_then(|base| compare_counts(counted(base), counted(mine), is_same_build));
    Some(CountJudgement { functions, ..judge(mine, base_count)? })
}

/// The counts of two systems in a cell, with the modules that tell which of their functions are the same. `None` unless
/// both were counted.
#[must_use]
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

/// Whether both systems run the same program.
fn is_same_build(record: &StudyRecord, systems: [usize; 2]) -> bool {
    let [base, other] = systems.map(|system| {
        let prefix = record.systems.get(system)?.artifact.prefix()?;
        Some(prefix.sha256.as_str())
    });
    base.is_some() && base == other
}

fn counted(count: &Count) -> Counted<'_> {
    let Count { ops, server, functions, .. } = count;
    Counted { ops: *ops, server, functions }
}

/// Judges a count beside that of the base, if it is not the base itself. `None` if it has no pair of batches.
pub(crate) fn judge(count: &Count, base: Option<&Count>) -> Option<CountJudgement> {
    let slopes = slopes(count, |batch| Some(batch.serving));
    let background = self::slopes(count, |batch| batch.background);
    let background: Vec<f64> = background.into_iter().flatten().collect();
    let (ratio, verdict) = match base {
        Some(base) => {
            let ratios = ratios(&slopes, &self::slopes(base, |batch| Some(batch.serving)));
            let (ratio, called) = (estimate(&ratios, 0.05)?, estimate(&ratios, CALLED)?);
            (Some(ratio), Some(verdict(ratio, called)))
        }
        None => (None, None),
    };
    Some(CountJudgement {
        by: count.by,
        instructions: estimate(&slopes, 0.05)?,
        background: median(&background),
        ratio,
        verdict,
        functions: None,
    })
}

/// What an operation takes, by instance and pair of batches: the difference of two batches, so that what a batch takes
/// besides its operations does not count.
fn slopes(count: &Count, of: impl Fn(&CountBatch) -> Option<u64>) -> Vec<Vec<f64>> {
    let slope = |pair: &[CountBatch]| {
        let [one, other] = pair else { return None };
        let instructions = of(other)? as f64 - of(one)? as f64;
        let slope = instructions / (other.ops - one.ops);
        slope.is_finite().then_some(slope)
    };
    let of_instance =
        |batches: &Vec<CountBatch>| batches.chunks(2).filter_map(slope).collect::<Vec<f64>>();
    count.instances.iter().map(of_instance).collect()
}

/// The ratios of pairs that have the same events.
fn ratios(slopes: &[Vec<f64>], base: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let of_pair = |(one, base): (&f64, &f64)| Some(one / base).filter(|it| *it > 0.0);
    let of_instance = |(one, base): (&Vec<f64>, &Vec<f64>)| {
        one.iter().zip(base).filter_map(of_pair).collect::<Vec<f64>>()
    };
    slopes.iter().zip(base).map(of_instance).collect()
}

/// An estimate with its interval of confidence 1 − `level`, from the values of each instance. One batch in which
/// something happened that happens once moves no median; instances that differ widen the interval.
fn estimate(values: &[Vec<f64>], level: f64) -> Option<Estimate> {
    let medians: Vec<f64> = values.iter().filter_map(|of| median(of)).collect();
    let value = medians.iter().sum::<f64>() / medians.len() as f64;
    if medians.is_empty() || !value.is_finite() {
        return None;
    }
    let within = values.iter().zip(&medians);
    let deviations = within.flat_map(|(of, centre)| of.iter().map(move |it| (it - centre).abs()));
    let deviations: Vec<f64> = deviations.collect();
    let count = deviations.len() as f64;
    // Standard error of a median of normal values, whose standard deviation is 1.4826 times the median deviation.
    let se_within = 1.2533 * 1.4826 * median(&deviations)? / count.sqrt();
    let widest = medians.iter().map(|it| (it - value).abs()).fold(0.0, f64::max);
    let se_between = widest / (medians.len() as f64).sqrt();
    let se = se_within.max(se_between).max(FLOOR * value.abs());
    let half = upper_quantile(level / 2.0, (count - 1.0).max(1.0)) * se;
    Some(Estimate { value, low: value - half, high: value + half })
}

/// The verdict on a ratio with its 95% interval and the wider one for calls.
fn verdict(ratio: Estimate, called: Estimate) -> CountVerdict {
    let within = 1.0 - COUNT_THRESHOLD..=1.0 + COUNT_THRESHOLD;
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
    use assay_model::CallTree;

    use super::*;

    /// Two instances of three pairs of batches, with a cost of a batch and noise.
    fn count(each: f64, noise: [f64; 6]) -> Count {
        let batch = |events: u64, each: f64| CountBatch {
            events,
            ops: events as f64,
            serving: 5000 + (each * events as f64) as u64,
            background: Some(70 * events),
        };
        let pairs = noise.map(|noise| {
            let each = each * (1.0 + noise);
            [batch(100, each), batch(300, each)]
        });
        let (one, other) = pairs.split_at(3);
        Count {
            by: CountedBy::Callgrind,
            version: None,
            instances: [one, other].map(|of| of.concat()).into(),
            functions: Vec::new(),
            calls: CallTree::default(),
            ops: 2400,
            server: String::new(),
            stripped: Vec::new(),
        }
    }

    const NOISE: [f64; 6] = [0.0002, -0.0003, 0.0001, 0.0004, -0.0002, -0.0001];

    #[test]
    fn what_a_batch_takes_besides_does_not_count() {
        let judged = judge(&count(40_000.0, [0.0; 6]), None).unwrap();
        assert!((judged.instructions.value - 40_000.0).abs() < 1.0, "{judged:?}");
        assert_eq!((judged.background, judged.ratio, judged.verdict), (Some(70.0), None, None));
    }

    #[test]
    fn changes_beyond_the_threshold_are_called_and_equal_code_is_the_same() {
        let base = count(40_000.0, [0.0; 6]);
        let of = |each: f64, noise| judge(&count(each, noise), Some(&base)).unwrap();
        assert_eq!(of(40_000.0, NOISE).verdict, Some(CountVerdict::Same));
        assert_eq!(of(40_400.0, NOISE).verdict, Some(CountVerdict::More));
        assert_eq!(of(39_600.0, NOISE).verdict, Some(CountVerdict::Fewer));
        let ratio = of(40_400.0, NOISE).ratio.unwrap();
        assert!(ratio.low > 1.009 && ratio.high < 1.011, "{ratio:?}");
    }

    #[test]
    fn what_happens_once_moves_nothing_and_instances_that_differ_widen_the_interval() {
        let base = count(40_000.0, [0.0; 6]);
        let once = [0.0002, 0.9, 0.0001, 0.0004, -0.0002, -0.0001];
        let judged = judge(&count(40_000.0, once), Some(&base)).unwrap();
        assert_eq!(judged.verdict, Some(CountVerdict::Same), "{judged:?}");
        let differ = [0.0, 0.0, 0.0, 0.02, 0.02, 0.02];
        let judged = judge(&count(40_000.0, differ), Some(&base)).unwrap();
        assert_eq!(judged.verdict, Some(CountVerdict::Undecided), "{judged:?}");
    }

    #[test]
    fn nothing_counted_is_no_judgement() {
        let mut empty = count(1.0, [0.0; 6]);
        empty.instances = vec![Vec::new()];
        assert_eq!(judge(&empty, None), None);
    }
}
