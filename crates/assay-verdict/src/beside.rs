//! Two studies of the same servers, beside each other: whether they find the same.

use assay_model::{CellId, Estimate, Group, Product, Setup, StudyRecord, System};

use crate::{GroupSummary, Judgement};

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// The fewest tests that have a correlation: Fisher's interval needs four.
const TESTS_MIN: usize = 4;

/// A study with its judgement.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The study.
    pub record: &'a StudyRecord,
    /// Its judgement.
    pub judgement: &'a Judgement,
}

/// A system of one study against its base, and the same pair of another study.
#[derive(Debug, Clone, PartialEq)]
pub struct PairBeside {
    /// Indices of the base and the system in the first study.
    pub ours: [usize; 2],
    /// Indices of their counterparts in the other one.
    pub theirs: [usize; 2],
    /// The tests that both have.
    pub tests: Vec<TestBeside>,
    /// The groups of these tests, by the setups of the first study.
    pub groups: Vec<GroupBeside>,
    /// Pearson's correlation of the logarithms of relative QPS over these tests, with Fisher's 95 % interval. `None`
    /// for fewer than four tests, and where one study has the same value in all.
    pub correlation: Option<Estimate>,
    /// Root mean square of the logarithms of `quotient`.
    pub rms: Option<f64>,
}

/// A test that both studies have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestBeside {
    /// The cell of the first study.
    pub cell: CellId,
    /// The setup in the other one.
    pub their_setup: Setup,
    /// The group of the first study.
    pub group: &'static Group,
    /// Relative QPS in the first study.
    pub ours: Estimate,
    /// Relative QPS in the other one.
    pub theirs: Estimate,
    /// `ours` divided by `theirs`, with the uncertainty of both as far as it is known.
    pub quotient: Estimate,
    /// Whether they agree.
    pub agreement: Agreement,
}

/// Whether two studies agree in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// The interval of the quotient contains 1, or its value lies within the threshold around 1.
    Agrees,
    /// Neither.
    Differs,
    /// Neither study knows its uncertainty.
    Unknown,
}

/// The median of a group in both studies, over the tests that both have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupBeside {
    /// The setup of the first study.
    pub setup: Setup,
    /// The group.
    pub group: &'static Group,
    /// Tests that both have.
    pub tests: u32,
    /// Median of relative QPS in the first study.
    pub ours: f64,
    /// The same in the other one.
    pub theirs: f64,
}

/// Sets studies beside each other: one entry for each system of the first study, other than base and twin, of which the
/// other study has a counterpart, as well as one of the base. Counterparts are systems of the same product, engine and
/// series, the very version if it is there.
#[must_use]
pub fn beside(ours: Judged, theirs: Judged) -> Vec<PairBeside> {
    let Some(base) = ours.record.systems.iter().position(|it| it.is_base) else {
        return Vec::new();
    };
    let others = ours.record.systems.iter().enumerate();
    let others = others.filter(|(index, system)| *index != base && !system.is_twin);
    let pair = |(index, system): (usize, &System)| {
        let their_base = counterpart(ours.record.systems.get(base)?, theirs.record)?;
        let their_other = counterpart(system, theirs.record)?;
        let is_pair = their_base != their_other;
        is_pair.then(|| pair(ours, theirs, [base, index], [their_base, their_other]))
    };
    others.filter_map(pair).collect()
}

/// The part of a version within which releases only fix errors: 10.11 of MariaDB 10.11.16, 17 of Postgres 17.2.
fn series(system: &System) -> String {
    let version = system.artifact.version();
    let parts = match system.artifact.product() {
        // Before version 10, a series of Postgres has two numbers.
        Product::Postgres if !version.starts_with("9.") => 1,
        _ => 2,
    };
    let numbers = version.split(|it: char| !it.is_ascii_digit());
    numbers.take(parts).collect::<Vec<_>>().join(".")
}

/// The system of another study that is most like this one.
fn counterpart(system: &System, record: &StudyRecord) -> Option<usize> {
    let kind = |it: &System| (it.artifact.product(), it.spec.engine, series(it));
    let alike = record.systems.iter().enumerate().filter(|(_, it)| kind(it) == kind(system));
    let rank = |it: &System| {
        let is_same = it.artifact.version() == system.artifact.version();
        // Of several configurations of a version, the first one.
        (!is_same, it.is_twin)
    };
    alike.min_by_key(|(index, it)| (rank(it), *index)).map(|(index, _)| index)
}

fn pair(ours: Judged, theirs: Judged, our: [usize; 2], their: [usize; 2]) -> PairBeside {
    let threshold = crate::threshold(&ours.record.study);
    let cells = ours.judgement.cells.iter().filter(|cell| cell.system == our[1]);
    let mut tests: Vec<TestBeside> = cells
        .filter_map(|cell| {
            let found = cell.rqps?;
            let their_cell = same_test(cell.cell, theirs.record)?;
            let published = relative(theirs.judgement, their_cell, their)?;
            let quotient = quotient(found, published);
            Some(TestBeside {
                cell: cell.cell,
                their_setup: their_cell.setup,
                group: cell.group,
                ours: found,
                theirs: published,
                quotient,
                agreement: agreement(quotient, threshold),
            })
        })
        .collect();
    // A stable sort keeps the tests of a group in the order in which they run.
    tests.sort_by_key(|test| (test.cell.setup, test.group));
    let logs: Vec<(f64, f64)> =
        tests.iter().map(|test| (test.ours.value.ln(), test.theirs.value.ln())).collect();
    let squares: f64 = logs.iter().map(|(ours, theirs)| (ours - theirs).powi(2)).sum();
    let rms = (!logs.is_empty()).then(|| (squares / logs.len() as f64).sqrt());
    let groups = groups(&ours.judgement.groups, our[1], &tests);
    PairBeside { ours: our, theirs: their, correlation: correlation(&logs), rms, tests, groups }
}

/// The cell of the same test with as many clients, or else the only one of this test.
fn same_test(cell: CellId, record: &StudyRecord) -> Option<CellId> {
    let of_test = record.study.cells.iter().map(|planned| planned.id);
    let of_test: Vec<CellId> = of_test.filter(|it| it.test.name() == cell.test.name()).collect();
    let same = of_test.iter().find(|it| it.setup == cell.setup);
    let same = same.or_else(|| of_test.iter().find(|it| it.setup.clients == cell.setup.clients));
    match (same, of_test.as_slice()) {
        (Some(same), _) => Some(*same),
        (None, [only]) => Some(*only),
        _ => None,
    }
}

/// The rate of a system relative to another one; without interval if that is not the base of its study.
fn relative(judgement: &Judgement, cell: CellId, [base, other]: [usize; 2]) -> Option<Estimate> {
    let (base, other) = (judgement.cell(cell, base)?, judgement.cell(cell, other)?);
    let plain = || {
        let ratio = other.qps?.value / base.qps?.value;
        (ratio.is_finite() && ratio > 0.0).then(|| Estimate::without_interval(ratio))
    };
    // Only the base has no relative rate of its own.
    if base.rqps.is_none() { other.rqps.or_else(plain) } else { plain() }
}

/// The standard error of a logarithm; `None` if it is not known.
fn log_error(estimate: Estimate) -> Option<f64> {
    let is_known = estimate.has_interval() && estimate.low > 0.0;
    is_known.then(|| (estimate.high / estimate.low).ln() / (2.0 * Z))
}

fn quotient(ours: Estimate, theirs: Estimate) -> Estimate {
    let value = ours.value / theirs.value;
    let error = match (log_error(ours), log_error(theirs)) {
        (None, None) => return Estimate::without_interval(value),
        (one, other) => one.unwrap_or(0.0).hypot(other.unwrap_or(0.0)),
    };
    let reach = (Z * error).exp();
    Estimate { value, low: value / reach, high: value * reach }
}

fn agreement(quotient: Estimate, threshold: f64) -> Agreement {
    if !quotient.has_interval() {
        return Agreement::Unknown;
    }
    let is_near = quotient.value.ln().abs() <= threshold.ln_1p();
    match is_near || (quotient.low..=quotient.high).contains(&1.0) {
        true => Agreement::Agrees,
        false => Agreement::Differs,
    }
}

/// Pearson's correlation with the interval that follows from Fisher's transformation.
fn correlation(pairs: &[(f64, f64)]) -> Option<Estimate> {
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
    // Sums of equal values differ from zero by rounding alone.
    if xx.min(yy) < f64::EPSILON * n {
        return None;
    }
    let r = (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0);
    // A correlation of exactly 1 has an infinite transform.
    let z = r.clamp(-0.999_999, 0.999_999).atanh();
    let reach = Z / (n - 3.0).sqrt();
    Some(Estimate { value: r, low: (z - reach).tanh().min(r), high: (z + reach).tanh().max(r) })
}

/// The groups of a system, over the tests that both studies have.
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
            theirs: crate::robust::median(&theirs)?,
        })
    };
    of_system.filter_map(group).collect()
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
        assert_eq!(agreement(found, 0.02), Agreement::Differs);
        assert_eq!(agreement(found, 0.11), Agreement::Agrees);
        let single = quotient(ours, Estimate::without_interval(1.019));
        assert_eq!(agreement(single, 0.001), Agreement::Agrees);
        let none = Estimate::without_interval(1.0);
        assert_eq!(agreement(quotient(none, none), 0.02), Agreement::Unknown);
    }

    /// r = 0.5 over 28 pairs has the interval tanh(0.5493 ± 0.3920).
    #[test]
    fn correlations_have_fishers_interval() {
        let line: Vec<(f64, f64)> = (0..10).map(|x| (f64::from(x), 2.0 * f64::from(x))).collect();
        let r = correlation(&line).unwrap();
        assert!(r.value > 0.999_999 && r.low > 0.999 && r.high >= r.value, "{r:?}");
        assert_eq!(correlation(&line[..3]), None);
        assert_eq!(correlation(&[(1.0, 1.0); 10]), None);
        // Every second pair lies on a line, the others do not depend on it.
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
