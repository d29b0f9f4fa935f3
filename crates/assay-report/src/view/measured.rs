//! The table of tests: one row per test and setup, grouped as published, with plans and rounds.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AuditClass, AuditFinding, CellId, Slice, SliceOutcome, Verdict, counted};
use assay_verdict::{CellJudgement, threshold};

use super::account::{self, AccountRow};
use super::drawing::{self, Chart, Values};
use super::figure::{self, TestFigure};
use super::profile::{self, Calls, ProfileRows};
use super::study::{JudgedStudy, TestGroup};
use super::{trouble, undecided};
use crate::number::{Rate, confidence, figure, share, within};
use crate::ratio::{Quotient, Ratio};
use crate::words::Symbol;

/// Every test in sections, with the columns of its table.
pub(crate) struct MeasuredTests<'a> {
    pub(crate) systems: Vec<ComparedSystem<'a>>,
    pub(crate) sections: Vec<TestSection<'a>>,
    pub(crate) figures: Vec<TestFigure>,
    pub(crate) details: Vec<TestFigure>,
    /// Figures in which no test differs by more than the threshold.
    pub(crate) alike: Vec<TestFigure>,
    /// Smallest change that counts: `2%`.
    pub(crate) threshold: String,
    /// How certain the changes exceed the threshold; `None` without changes.
    pub(crate) certainty: Option<String>,
    /// Whether some undecided test has an interval that excludes 1, which readers would take for a verdict.
    pub(crate) has_undecided_beyond_one: bool,
}

pub(crate) struct ComparedSystem<'a> {
    pub(crate) label: &'a str,
    pub(crate) is_twin: bool,
}

pub(crate) type TestSection<'a> = TestGroup<TestRow<'a>>;

pub(crate) struct TestRow<'a> {
    pub(crate) cell: usize,
    pub(crate) test: &'a str,
    pub(crate) base: Measured<'a>,
    pub(crate) others: Vec<Measured<'a>>,
    /// Only statements with plans that differ between systems.
    pub(crate) plans: Vec<PlanDifference<'a>>,
    /// QPS round by round; `None` without rounds, and in large studies.
    pub(crate) rounds: Option<Chart>,
}

pub(crate) struct Measured<'a> {
    cell: &'a CellJudgement,
    pub(crate) system: &'a str,
    pub(crate) is_twin: bool,
    pub(crate) verdict: Verdict,
    /// Whether the verdict is meaningful; for a published single run it is not.
    has_verdict: bool,
    pub(crate) qps: Rate,
    pub(crate) rqps: Ratio,
    pub(crate) cpu_ratio: Quotient,
    /// Confidence that the change exceeds the threshold; `None` if unknown.
    pub(crate) beyond_threshold: Option<String>,
    /// Largest change that agrees with the verdict same: `±1.2%`. `None` for other verdicts.
    pub(crate) bound: Option<String>,
    pub(crate) calls: Option<Calls>,
    pub(crate) profile_limits: Vec<String>,
    /// Whether it takes less or more CPU time per operation; `None` if neither was called.
    pub(crate) cpu_change: Option<Verdict>,
    /// Why it failed, changed or is undecided, and its machine trouble.
    pub(crate) notes: Vec<String>,
}

impl Measured<'_> {
    /// Empty if the verdict is meaningless.
    pub(crate) fn symbol(&self) -> &'static str {
        if self.has_verdict { self.verdict.symbol() } else { "" }
    }

    /// Empty if the verdict is meaningless.
    pub(crate) fn word(&self) -> &'static str {
        if self.has_verdict { self.verdict.word() } else { "" }
    }

    fn has_changed(&self) -> bool {
        match self.verdict {
            Verdict::Slower | Verdict::Faster | Verdict::Uneven => true,
            Verdict::Same | Verdict::Undecided => self.cpu_change.is_some(),
            Verdict::Failed => false,
        }
    }

    /// Terms of the change against the base. Empty if nothing changed.
    pub(crate) fn account(&self) -> Vec<AccountRow> {
        if self.has_changed() { account::rows(self.cell) } else { Vec::new() }
    }

    /// Changed counters of the server's status. Empty if the test did not change.
    pub(crate) fn counters(&self) -> Vec<(String, [String; 3])> {
        if self.has_changed() { account::counters(self.cell) } else { Vec::new() }
    }

    /// `None` without profiles.
    pub(crate) fn profile(&self) -> Option<ProfileRows> {
        profile::rows(self.cell)
    }

    pub(crate) fn figure(&self, figure: &TestFigure) -> String {
        figure.text(self.cell)
    }

    pub(crate) fn rqps_unless_failed(&self) -> Ratio {
        if self.verdict == Verdict::Failed { Ratio(None) } else { self.rqps }
    }
}

impl TestRow<'_> {
    pub(crate) fn measured(&self) -> impl Iterator<Item = &Measured<'_>> {
        std::iter::once(&self.base).chain(&self.others)
    }

    pub(crate) fn has_profile(&self) -> bool {
        let of = |it: &Measured| {
            it.calls.is_some() || !it.profile_limits.is_empty() || it.profile().is_some()
        };
        self.measured().any(of)
    }

    /// The base and the only other system: `12.3 → 13.5`. Empty if either was not measured.
    pub(crate) fn change(&self, figure: &TestFigure) -> String {
        let [before, after] = self.pair().map(|it| it.map(|it| it.figure(figure)));
        let pair = before.zip(after).filter(|_| self.quotient(figure).is_some());
        pair.map_or_else(String::new, |(before, after)| format!("{before} → {after}"))
    }

    /// The only other system divided by the base, for sorting. Empty if either was not measured.
    pub(crate) fn change_key(&self, figure: &TestFigure) -> String {
        self.quotient(figure).map_or_else(String::new, |it| format!("{it:.4}"))
    }

    fn quotient(&self, figure: &TestFigure) -> Option<f64> {
        let [before, after] = self.pair().map(|it| figure.quantity(it?.cell));
        before.zip(after).map(|(before, after)| after / before).filter(|it| it.is_finite())
    }

    fn pair(&self) -> [Option<&Measured<'_>>; 2] {
        [Some(&self.base), self.others.iter().find(|other| !other.is_twin)]
    }
}

/// Figures that fit a narrow table, the most important first.
const FIGURES: [TestFigure; 5] = [
    TestFigure::Qps,
    TestFigure::CpuRatio,
    TestFigure::SERVER_CPU,
    TestFigure::CLIENT_CPU,
    TestFigure::CONTEXT_SWITCHES,
];

impl<'a> MeasuredTests<'a> {
    pub(crate) fn new(study: &'a JudgedStudy<'a>) -> Self {
        let cells = &study.judgement.cells;
        let systems = study.compared.iter().map(|&system| ComparedSystem {
            label: study.label(system),
            is_twin: study.is_twin(system),
        });
        let is_measured = |figure: &TestFigure| cells.iter().any(|cell| has(*figure, cell));
        let (figures, alike) =
            FIGURES.into_iter().filter(is_measured).partition(|figure| differs(*figure, study));
        let mut rounds = if study.is_large() { BTreeMap::new() } else { round_charts(study) };
        Self {
            systems: systems.collect(),
            sections: study.grouped(|cell| Some(row(study, cell, rounds.remove(&cell.cell)))),
            figures,
            details: TestFigure::of(study),
            alike,
            threshold: share(threshold(&study.record.study)),
            certainty: figure::of_changes(study),
            has_undecided_beyond_one: cells.iter().any(is_undecided_beyond_one),
        }
    }
}

fn row<'a>(
    study: &'a JudgedStudy<'a>,
    base: &'a CellJudgement,
    rounds: Option<Chart>,
) -> TestRow<'a> {
    let others = study.compared.iter();
    let others = others.filter_map(|&system| study.cell(base.cell, system));
    TestRow {
        cell: study.number_of(base.cell),
        test: base.cell.test.name(),
        base: measured(study, base),
        others: others.map(|cell| measured(study, cell)).collect(),
        plans: plan_differences(study, base.cell),
        rounds,
    }
}

fn measured<'a>(study: &'a JudgedStudy<'a>, cell: &'a CellJudgement) -> Measured<'a> {
    let why = undecided::why(study.record, cell).map(std::borrow::Cow::into_owned);
    Measured {
        cell,
        system: study.label(cell.system),
        is_twin: cell.system != study.base && study.is_twin(cell.system),
        verdict: cell.verdict,
        has_verdict: study.says(cell.verdict),
        qps: Rate(cell.qps),
        rqps: Ratio(cell.rqps),
        cpu_ratio: Quotient(cell.cpu_ratio),
        beyond_threshold: figure::beyond_threshold(cell).map(confidence),
        bound: figure::same_within(cell).map(within),
        calls: profile::calls(study, cell).filter(|_| !study.is_large()),
        profile_limits: profile::limits(study, cell),
        cpu_change: cell
            .cpu_verdict
            .filter(|verdict| matches!(verdict, Verdict::Slower | Verdict::Faster)),
        notes: why.into_iter().chain(trouble::of_cell(cell)).collect(),
    }
}

fn has(figure: TestFigure, cell: &CellJudgement) -> bool {
    match figure {
        TestFigure::CpuRatio => cell.cpu_ratio.is_some(),
        _ => figure.quantity(cell).is_some(),
    }
}

/// Whether some test differs in the figure by more than the threshold. Otherwise its column would be pointless.
fn differs(figure: TestFigure, study: &JudgedStudy) -> bool {
    if matches!(figure, TestFigure::Qps | TestFigure::CpuRatio) {
        return true;
    }
    let least = threshold(&study.record.study).ln_1p();
    let cells = study.judgement.cells.iter();
    cells.filter(|cell| study.compared.contains(&cell.system)).any(|other| {
        let base = study.cell(other.cell, study.base);
        let base = base.and_then(|base| figure.quantity(base));
        base.zip(figure.quantity(other)).is_none_or(|(base, other)| {
            base.min(other) <= 0.0 && base != other || (other / base).ln().abs() > least
        })
    })
}

fn is_undecided_beyond_one(cell: &CellJudgement) -> bool {
    let excludes_one = cell.rqps.is_some_and(|rqps| rqps.low > 1.0 || rqps.high < 1.0);
    cell.verdict == Verdict::Undecided && excludes_one
}

pub(crate) struct PlanDifference<'a> {
    pub(crate) class: AuditClass,
    pub(crate) why: &'a str,
    /// Systems with the same plan, and that plan.
    pub(crate) plans: Vec<(String, &'a str)>,
}

fn plan_differences<'a>(study: &'a JudgedStudy<'a>, cell: CellId) -> Vec<PlanDifference<'a>> {
    let difference = |finding: &'a AuditFinding| {
        let mut plans: Vec<(String, &str)> = Vec::new();
        for (system, plan) in finding.values.iter().enumerate() {
            let Some(plan) = plan.as_deref().filter(|_| !study.is_twin(system)) else { continue };
            let label = study.label(system);
            match plans.iter_mut().find(|(_, other)| *other == plan) {
                Some((systems, _)) => *systems += &format!(", {label}"),
                None => plans.push((label.to_owned(), plan)),
            }
        }
        PlanDifference { class: finding.class, why: &finding.why, plans }
    };
    let differences = study.plans.of(cell).map(difference);
    // The difference may concern only the twin.
    differences.filter(|it| it.plans.len() > 1).collect()
}

/// Values of a line. With more rounds, a value is the mean of several.
const VALUES: usize = 40;

const ROUNDS_MIN: usize = 3;

type Rounds<'a> = BTreeMap<(u32, u32), BTreeMap<usize, &'a Slice>>;

/// QPS of the base and of the systems compared with it, in this order, in each cell with enough rounds. Includes
/// troubled rounds.
fn round_charts(study: &JudgedStudy) -> BTreeMap<CellId, Chart> {
    let mut cells: BTreeMap<CellId, Rounds> = BTreeMap::new();
    for slice in study.record.slices_that_count() {
        let has_ended = !matches!(slice.outcome, SliceOutcome::Failed(_));
        // A step of the Insert Benchmark has charts of its seconds.
        if has_ended && slice.step.is_none() {
            let rounds = cells.entry(slice.cell).or_default();
            rounds.entry((slice.block, slice.round)).or_default().insert(slice.system, slice);
        }
    }
    let chart = |(cell, rounds): (CellId, Rounds)| Some((cell, round_chart(study, &rounds)?));
    cells.into_iter().filter_map(chart).collect()
}

fn round_chart(study: &JudgedStudy, rounds: &Rounds) -> Option<Chart> {
    if rounds.len() < ROUNDS_MIN {
        return None;
    }
    let together = rounds.len().div_ceil(VALUES);
    let rounds_in_order: Vec<&BTreeMap<usize, &Slice>> = rounds.values().collect();
    let line = |(number, system): (usize, usize)| -> Values {
        let mean = |rounds: &[&BTreeMap<usize, &Slice>]| {
            let rate = |round: &&BTreeMap<usize, &Slice>| round.get(&system)?.ops_per_second();
            let known: Vec<f64> = rounds.iter().filter_map(rate).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        (number, rounds_in_order.chunks(together).map(mean).collect())
    };
    let shown = std::iter::once(study.base).chain(study.compared.iter().copied());
    let lines: Vec<Values> = shown.enumerate().map(line).collect();
    let blocks: BTreeSet<u32> = rounds.keys().map(|(block, _)| *block).collect();
    let mean = match together {
        1 => String::new(),
        _ => format!(", each value the mean of {together}"),
    };
    let of = counted(rounds.len() as u64, "round");
    let blocks = counted(blocks.len() as u64, "block");
    drawing::chart("QPS round by round", &lines, |top| {
        format!("0 to {}, {of} in {blocks}{mean}", figure(Some(top)))
    })
}
