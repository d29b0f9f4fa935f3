//! Comparison of two studies of the same servers.

use assay_model::{
    CellId, Estimate, Group, PublishedGroup, Setup, StudyRecord, System, TestSet, Verdict,
};

use crate::robust::median;
use crate::special::{Z, log_error};
use crate::{CellJudgement, GroupSummary, Judgement};

/// Fewest tests for a correlation: Fisher's interval needs four.
const TESTS_MIN: usize = 4;

#[derive(Debug, Clone, Copy)]
pub struct BesideStudy<'a> {
    pub record: &'a StudyRecord,
    pub judgement: &'a Judgement,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PairBeside {
    pub ours: [usize; 2],
    pub theirs: [usize; 2],
    pub tests: Vec<TestBeside>,
    /// Groups of these tests, by the setups of the first study, without those with a bound in either study.
    pub groups: Vec<GroupBeside>,
    /// Pearson's correlation of log relative QPS over these tests, with Fisher's 95% interval. `None` for fewer than
    /// four tests, and if one study has the same value in all.
    pub correlation: Option<Estimate>,
    /// Root mean square of the logs of `quotient`.
    pub rms: Option<f64>,
    pub medians: Option<[f64; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestBeside {
    pub cell: CellId,
    pub their_setup: Setup,
    pub group: &'static Group,
    pub ours: Estimate,
    pub theirs: Estimate,
    /// `ours` divided by `theirs`, with the known uncertainty of both; NaN if bounds leave it unknown.
    pub quotient: Estimate,
    pub agreement: StudyAgreement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyAgreement {
    /// The interval of the quotient contains 1, or its value lies within the threshold around 1, and the interval is
    /// narrow enough to reveal a disagreement ([`could_disagree`]).
    Agrees,
    /// The interval of the quotient excludes 1, and its value differs from 1 by more than the threshold.
    Differs,
    /// The interval of the quotient contains 1, but would do so even if the studies disagreed.
    TooWide,
    /// Both uncertainties are unknown, or a bound leaves it open.
    Unknown,
}

/// A group over the tests common to both studies. For a published table of groups, the other side is as printed, and
/// this side has this study's tests in the groups of the set of 42.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupBeside {
    pub setup: Setup,
    pub group: &'static Group,
    pub tests: u32,
    pub ours: f64,
    pub our_range: [f64; 2],
    pub theirs: f64,
    pub their_range: [f64; 2],
}

/// Compares studies; `groups` are published for the other one. One entry per system of the first study, other than base
/// and twin, if it and the base have counterparts: systems of the same product, engine and series, preferably of the
/// same version.
pub fn beside(
    ours: BesideStudy,
    theirs: BesideStudy,
    groups: &[PublishedGroup],
) -> Vec<PairBeside> {
    let Some(base) = ours.record.systems.iter().position(|it| it.is_base) else {
        return Vec::new();
    };
    let others = ours.record.systems.iter().enumerate();
    let others = others.filter(|(index, system)| *index != base && !system.is_twin);
    let pair = |(index, system): (usize, &System)| {
        let their_base = counterpart(ours.record.systems.get(base)?, theirs.record)?;
        let their_other = counterpart(system, theirs.record)?;
        let is_pair = their_base != their_other;
        is_pair.then(|| pair(ours, theirs, [base, index], [their_base, their_other], groups))
    };
    others.filter_map(pair).collect()
}

/// Series of a version, within which releases only fix errors: all but its last number, such as 10.11 for MariaDB
/// 10.11.16, 17 for Postgres 17.2.
fn series(system: &System) -> Vec<String> {
    let version = system.artifact.version();
    let numbers = version.split(['.', '-', '+', '~']);
    let mut numbers: Vec<String> = numbers
        .take_while(|it| it.starts_with(|first: char| first.is_ascii_digit()))
        .map(str::to_owned)
        .collect();
    if numbers.len() > 1 {
        numbers.pop();
    }
    numbers
}

fn counterpart(system: &System, record: &StudyRecord) -> Option<usize> {
    // A published system of unknown product has no counterpart.
    system.artifact.product()?;
    let kind = |it: &System| (it.artifact.product(), it.spec.engine, series(it));
    let alike = record.systems.iter().enumerate().filter(|(_, it)| kind(it) == kind(system));
    let rank = |it: &System| {
        let is_same = it.artifact.version() == system.artifact.version();
        // Among several configurations of a version, the first one.
        (!is_same, it.is_twin)
    };
    alike.min_by_key(|(index, it)| (rank(it), *index)).map(|(index, _)| index)
}

fn pair(
    ours: BesideStudy,
    theirs: BesideStudy,
    our: [usize; 2],
    their: [usize; 2],
    published: &[PublishedGroup],
) -> PairBeside {
    let threshold = crate::threshold(&ours.record.study);
    let cells = ours.judgement.cells.iter().filter(|cell| cell.system == our[1]);
    let mut tests: Vec<TestBeside> = cells
        .filter_map(|cell| {
            let found = cell.relative_rate(ours.record)?;
            let their_cell = same_test(cell.cell, ours.record, theirs.record)?;
            let published = relative(theirs, their_cell, their)?;
            let quotient = quotient(found, published);
            Some(TestBeside {
                cell: cell.cell,
                their_setup: their_cell.setup,
                group: cell.group,
                ours: found,
                theirs: published,
                quotient,
                agreement: agreement(quotient, [found, published], threshold),
            })
        })
        .collect();
    // A stable sort keeps the tests of a group in execution order.
    tests.sort_by_key(|test| (test.cell.setup, test.group));
    let valued: Vec<TestBeside> = tests.iter().copied().filter(|it| !it.has_bound()).collect();
    let logs: Vec<(f64, f64)> =
        valued.iter().map(|test| (test.ours.value.ln(), test.theirs.value.ln())).collect();
    let squares: f64 = logs.iter().map(|(ours, theirs)| (ours - theirs).powi(2)).sum();
    let rms = (!logs.is_empty()).then(|| (squares / logs.len() as f64).sqrt());
    let side =
        |value: fn(&TestBeside) -> f64| median(&valued.iter().map(value).collect::<Vec<_>>());
    let medians = side(|it| it.ours.value).zip(side(|it| it.theirs.value)).map(Into::into);
    let mut groups = groups(&ours.judgement.groups, our[1], &valued);
    let of_pair = published.iter().filter(|it| [it.base, it.system] == their);
    groups.extend(of_pair.flat_map(|it| published_group(ours, our[1], it)));
    PairBeside {
        ours: our,
        theirs: their,
        correlation: correlation(&logs),
        rms,
        medians,
        tests,
        groups,
    }
}

/// Cell of the same test and client count, with the most similar number of rows; or the only cell of this test, if
/// there is only one in both studies.
fn same_test(cell: CellId, ours: &StudyRecord, theirs: &StudyRecord) -> Option<CellId> {
    let of_test = |record: &StudyRecord| -> Vec<CellId> {
        let cells = record.study.cells.iter().map(|planned| planned.id);
        cells.filter(|it| it.test.name() == cell.test.name()).collect()
    };
    let found = of_test(theirs);
    let rows =
        |it: CellId| (f64::from(it.setup.rows.max(1)) * f64::from(it.setup.tables.max(1))).ln();
    let distance = |it: &&CellId| (it.setup != cell.setup, (rows(**it) - rows(cell)).abs());
    let alike = found.iter().filter(|it| it.setup.clients == cell.setup.clients);
    let nearest = alike.min_by(|one, other| {
        let (one, other) = (distance(one), distance(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    match (nearest, found.as_slice()) {
        (Some(nearest), _) => Some(*nearest),
        (None, [only]) if of_test(ours).len() == 1 => Some(*only),
        _ => None,
    }
}

fn relative(theirs: BesideStudy, cell: CellId, [base, other]: [usize; 2]) -> Option<Estimate> {
    let judged = |system| {
        let judged = theirs.judgement.cell(cell, system)?;
        (judged.verdict != Verdict::Failed).then_some(judged)
    };
    let (of_base, of_other) = (judged(base)?, judged(other)?);
    if theirs.record.systems.get(base)?.is_base {
        return of_other.rqps;
    }
    let ratio = of_other.qps?.value / of_base.qps?.value;
    (ratio.is_finite() && ratio > 0.0).then(|| Estimate::without_interval(ratio))
}

impl TestBeside {
    pub fn has_bound(&self) -> bool {
        self.ours.is_bound() || self.theirs.is_bound()
    }
}

fn quotient(ours: Estimate, theirs: Estimate) -> Estimate {
    let value = ours.value / theirs.value;
    if ours.is_bound() || theirs.is_bound() {
        let ends = |it: Estimate| it.ends().unwrap_or((it.value, it.value));
        let ((low, high), (their_low, their_high)) = (ends(ours), ends(theirs));
        return Estimate::between(value, (low / their_high, high / their_low));
    }
    let error = match (log_error(ours), log_error(theirs)) {
        (None, None) => return Estimate::without_interval(value),
        (one, other) => one.unwrap_or(0.0).hypot(other.unwrap_or(0.0)),
    };
    let reach = (Z * error).exp();
    Estimate { value, low: value / reach, high: value * reach }
}

/// A disagreement of this size is relevant: a study that cannot reveal it confirms nothing.
const DISAGREEMENT: f64 = 0.05;

/// Whether the quotient would exclude 1 if the studies disagreed: by [`DISAGREEMENT`], or about the larger of the two
/// changes, found by one study and missed by the other.
fn could_disagree(quotient: Estimate, [ours, theirs]: [Estimate; 2], threshold: f64) -> bool {
    let half_width = 0.5 * (quotient.high / quotient.low).ln();
    let change = ours.value.ln().abs().max(theirs.value.ln().abs());
    half_width <= change.max(DISAGREEMENT.max(threshold).ln_1p())
}

fn agreement(quotient: Estimate, found: [Estimate; 2], threshold: f64) -> StudyAgreement {
    if quotient.is_bound() {
        let is_far = quotient.high < 1.0 - threshold || quotient.low > 1.0 + threshold;
        return if is_far { StudyAgreement::Differs } else { StudyAgreement::Unknown };
    }
    if !quotient.has_interval() {
        return StudyAgreement::Unknown;
    }
    let is_near = quotient.value.ln().abs() <= threshold.ln_1p();
    match is_near || (quotient.low..=quotient.high).contains(&1.0) {
        true if could_disagree(quotient, found, threshold) => StudyAgreement::Agrees,
        true => StudyAgreement::TooWide,
        false => StudyAgreement::Differs,
    }
}

/// Pearson's correlation with Fisher's 95% interval. `None` for fewer than four pairs, and if one side has the same
/// value in all.
pub fn correlation(pairs: &[(f64, f64)]) -> Option<Estimate> {
    if pairs.len() < TESTS_MIN {
        return None;
    }
    let n = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0 / n, y + pair.1 / n));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for pair in pairs {
        let (dx, dy) = (pair.0 - x, pair.1 - y);
        (xx, yy, xy) = (xx + dx * dx, yy + dy * dy, xy + dx * dy);
    }
    // Sums of equal values differ from zero only by rounding.
    if xx.min(yy) < f64::EPSILON * n {
        return None;
    }
    let r = (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0);
    // A correlation of exactly 1 has an infinite transform.
    let z = r.clamp(-0.999_999, 0.999_999).atanh();
    let reach = Z / (n - 3.0).sqrt();
    Some(Estimate { value: r, low: (z - reach).tanh().min(r), high: (z + reach).tanh().max(r) })
}

fn groups(summaries: &[GroupSummary], system: usize, tests: &[TestBeside]) -> Vec<GroupBeside> {
    let of_system = summaries.iter().filter(|summary| summary.system == system);
    let group = |summary: &GroupSummary| {
        let mine = tests.iter().filter(|test| {
            test.group.word == summary.group.word && test.cell.setup == summary.setup
        });
        let (ours, theirs): (Vec<f64>, Vec<f64>) =
            mine.map(|test| (test.ours.value, test.theirs.value)).unzip();
        Some(GroupBeside {
            setup: summary.setup,
            group: summary.group,
            tests: ours.len() as u32,
            ours: crate::robust::median(&ours)?,
            our_range: range(&ours),
            theirs: crate::robust::median(&theirs)?,
            their_range: range(&theirs),
        })
    };
    of_system.filter_map(group).collect()
}

fn range(values: &[f64]) -> [f64; 2] {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    [least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
}

/// Tests of a published group, one entry per setup of the first study that has any.
fn published_group(
    ours: BesideStudy,
    system: usize,
    published: &PublishedGroup,
) -> Vec<GroupBeside> {
    let group = |&setup: &Setup| {
        let cells =
            ours.judgement.cells.iter().filter(|it| (it.system, it.cell.setup) == (system, setup));
        let of_group =
            |cell: &&CellJudgement| cell.cell.test.group(TestSet::Set42).word == published.word;
        let cells: Vec<&CellJudgement> = cells.filter(of_group).collect();
        let valued = cells.iter().filter(|cell| !cell.has_bound());
        let values: Vec<f64> = valued.filter_map(|cell| Some(cell.rqps?.value)).collect();
        Some(GroupBeside {
            setup,
            group: cells.first()?.cell.test.group(TestSet::Set42),
            tests: values.len() as u32,
            ours: crate::robust::median(&values)?,
            our_range: range(&values),
            theirs: published.median,
            their_range: [published.min, published.max],
        })
    };
    ours.record.study.setups.iter().filter_map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    #[test]
    fn uncertainties_of_both_studies_add_up() {
        let ours = known(1.0, 1.0 / 1.02, 1.02);
        let theirs = known(1.1, 1.1 / 1.02, 1.1 * 1.02);
        let found = quotient(ours, theirs);
        // The square root of two times the half-width of one.
        let reach = (found.high / found.value).ln();
        assert!((reach - 2_f64.sqrt() * 1.02_f64.ln()).abs() < 1e-9, "{reach}");
        assert_eq!(agreement(found, [ours, theirs], 0.02), StudyAgreement::Differs);
        assert_eq!(agreement(found, [ours, theirs], 0.11), StudyAgreement::Agrees);
        let published = Estimate::without_interval(1.019);
        let single = quotient(ours, published);
        assert_eq!(agreement(single, [ours, published], 0.001), StudyAgreement::Agrees);
        let none = Estimate::without_interval(1.0);
        assert_eq!(agreement(quotient(none, none), [none, none], 0.02), StudyAgreement::Unknown);
    }

    #[test]
    fn agreement_counts_only_where_studies_could_have_disagreed() {
        let found = |ours, theirs| agreement(quotient(ours, theirs), [ours, theirs], 0.02);
        let wide = known(1.0, 0.55, 1.82);
        // Neither study would have seen a difference of 5%.
        assert_eq!(found(wide, known(1.04, 0.98, 1.1)), StudyAgreement::TooWide);
        // Values that happen to be close prove no more.
        assert_eq!(found(wide, wide), StudyAgreement::TooWide);
        // A change found by both exceeds the uncertainty of both.
        let slow = known(0.3, 0.25, 0.36);
        assert_eq!(found(slow, known(0.32, 0.28, 0.37)), StudyAgreement::Agrees);
        assert_eq!(found(slow, known(1.0, 0.9, 1.1)), StudyAgreement::Differs);
        // One study found a change that the other would have missed.
        assert_eq!(found(known(0.8, 0.75, 0.85), wide), StudyAgreement::TooWide);
        assert_eq!(found(known(1.0, 0.98, 1.02), known(1.01, 0.99, 1.03)), StudyAgreement::Agrees);
    }

    #[test]
    fn a_bound_differs_from_what_it_excludes() {
        let slow = Estimate::at_most(0.002);
        let usual = known(0.98, 0.93, 1.03);
        let agrees = |ours, theirs| agreement(quotient(ours, theirs), [ours, theirs], 0.02);
        let found = quotient(slow, usual);
        assert!(found.is_bound() && (found.high - 0.002 / 0.93).abs() < 1e-9, "{found:?}");
        assert_eq!(agrees(slow, usual), StudyAgreement::Differs);
        assert_eq!(
            (quotient(usual, slow).low, agrees(usual, slow)),
            (465.0, StudyAgreement::Differs)
        );
        assert_eq!(agrees(slow, known(0.001, 0.0009, 0.0011)), StudyAgreement::Unknown);
        let other = Estimate::at_most(0.003);
        assert!(quotient(slow, other).value.is_nan());
        assert_eq!(agrees(slow, other), StudyAgreement::Unknown);
    }

    /// r = 0.5 over 28 pairs has the interval tanh(0.5493 ± 0.3920).
    #[test]
    fn correlations_have_fishers_interval() {
        let line: Vec<(f64, f64)> = (0..10).map(|x| (f64::from(x), 2.0 * f64::from(x))).collect();
        let r = correlation(&line).unwrap();
        assert!(r.value > 0.999_999 && r.low > 0.999 && r.high >= r.value, "{r:?}");
        assert_eq!(correlation(&line[..3]), None);
        assert_eq!(correlation(&[(1.0, 1.0); 10]), None);
        // Every second pair lies on a line, the others are independent of it.
        let mixed: Vec<(f64, f64)> = (0..28)
            .map(|n| {
                let x = if n % 4 < 2 { 1.0 } else { -1.0 };
                let noise = if n % 2 == 0 { 1.0 } else { -1.0 };
                (x, 0.5 * x + 0.75_f64.sqrt() * noise)
            })
            .collect();
        let r = correlation(&mixed).unwrap();
        assert!((r.value - 0.5).abs() < 1e-9, "{r:?}");
        assert!((r.low - 0.156).abs() < 1e-3 && (r.high - 0.736).abs() < 1e-3, "{r:?}");
    }
}
