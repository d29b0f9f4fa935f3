//! The parts of the JSON besides its cells: courses by second, the gate, the ranking, equal systems, steps, lines of
//! versions, crossovers and totals.

use assay_model::{CellId, SameBecause, SameOption, SameSystems, StudyRecord, System};
use assay_verdict::{
    ActiveSecond, CellJudgement, Crossover, GateCell, GateVerdict, Judgement, LineStep,
    LineSummary, MainStep, RankedPair, Ranking, Rankings, VerdictDoubt, WeightedTotal,
    active_seconds,
};
use serde::Serialize;

use super::number::{Interval, Named, Number};
use super::row::{SetupRow, latencies, system_name};
use crate::view::gate::why;
use crate::view::study::JudgedStudy;

#[derive(Serialize)]
struct CellKey<'a> {
    test: &'a str,
    #[serde(flatten)]
    setup: SetupRow,
}

impl CellKey<'_> {
    fn new(record: &StudyRecord, cell: CellId) -> Self {
        Self { test: cell.test.name(), setup: SetupRow::new(record, cell.setup) }
    }
}

/// The rates of a system in a cell, second by second.
#[derive(Serialize)]
pub(super) struct CourseRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    system: &'a str,
    seconds: Vec<SecondRow>,
}

#[derive(Serialize)]
struct SecondRow {
    /// Duration, seconds.
    s: Number,
    tps: Number,
    qps: Number,
    latency_us: Option<Named<Number>>,
}

/// Only for studies with several client counts.
pub(super) fn courses<'a>(record: &'a StudyRecord, judgement: &Judgement) -> Vec<CourseRow<'a>> {
    let setups = &record.study.setups;
    let several = setups.iter().any(|setup| setup.clients != setups[0].clients);
    let cells = judgement.cells.iter().filter(|_| several);
    cells.map(|judged| course(record, judged)).collect()
}

fn course<'a>(record: &'a StudyRecord, judged: &CellJudgement) -> CourseRow<'a> {
    let seconds = active_seconds(record, judged.cell, judged.system, judged.is_disturbed);
    CourseRow {
        cell: CellKey::new(record, judged.cell),
        system: system_name(record, judged.system),
        seconds: seconds.iter().map(second).collect(),
    }
}

fn second(second: &ActiveSecond) -> SecondRow {
    SecondRow {
        s: second.seconds.into(),
        tps: (second.events as f64 / second.seconds).into(),
        qps: (second.queries as f64 / second.seconds).into(),
        latency_us: second.latency.as_ref().map(latencies),
    }
}

#[derive(Serialize)]
pub(super) struct GateRow<'a> {
    verdict: &'static str,
    allow_undecided: bool,
    passed: usize,
    exceeded: usize,
    undecided: usize,
    failed: usize,
    cells: Vec<GateCellRow<'a>>,
}

/// One system in one cell. Its bounds are those of the sequential look, not the 95% interval of the cell.
#[derive(Serialize)]
struct GateCellRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    system: &'a str,
    /// Largest slowdown that passes; absent if instructions are limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_slowdown: Option<Number>,
    rqps: Option<Interval>,
    /// Most additional instructions that pass, and instructions relative to the base; absent if QPS is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_more: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Interval>,
    verdict: &'static str,
    /// Multiple of the measuring time that would decide it if the estimate is right.
    needs_times: Number,
    why: Option<String>,
}

/// `None` if the study is not a gate.
pub(super) fn gate<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Option<GateRow<'a>> {
    let (gate, limits) = (judgement.gate.as_ref()?, record.study.gate.as_ref()?);
    let study = JudgedStudy::new(record, judgement);
    Some(GateRow {
        verdict: gate.verdict().word(),
        allow_undecided: limits.allow_undecided,
        passed: gate.count(GateVerdict::Passed),
        exceeded: gate.count(GateVerdict::Exceeded),
        undecided: gate.count(GateVerdict::Undecided),
        failed: gate.count(GateVerdict::Failed),
        cells: gate.cells.iter().map(|cell| gate_cell(record, &study, cell)).collect(),
    })
}

fn gate_cell<'a>(
    record: &'a StudyRecord,
    study: &JudgedStudy,
    cell: &'a GateCell,
) -> GateCellRow<'a> {
    let is_counted = study.counts_only();
    GateCellRow {
        cell: CellKey::new(record, cell.cell),
        system: system_name(record, cell.system),
        max_slowdown: (!is_counted).then(|| cell.margin.into()),
        rqps: cell.ratio.filter(|_| !is_counted).map(Into::into),
        max_more: is_counted.then(|| cell.margin.into()),
        instructions: cell.ratio.filter(|_| is_counted).map(Into::into),
        verdict: cell.verdict.word(),
        needs_times: Number(match cell.doubt {
            Some(VerdictDoubt::Wide { times, .. }) => Some(times),
            _ => None,
        }),
        why: why(study, cell),
    }
}

/// Only for three or more systems.
#[derive(Serialize)]
pub(super) struct RankingRow<'a> {
    /// Over all tests; null if no test has all of the ranked systems.
    overall: Option<OverallRow<'a>>,
    tests: Vec<RankedTestRow<'a>>,
}

#[derive(Serialize)]
struct OverallRow<'a> {
    tests: u32,
    left_out: u32,
    #[serde(flatten)]
    order: OrderRow<'a>,
}

#[derive(Serialize)]
struct RankedTestRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    #[serde(flatten)]
    order: OrderRow<'a>,
}

#[derive(Serialize)]
struct OrderRow<'a> {
    /// Fastest group first. The systems of a group are indistinguishable.
    groups: Vec<Vec<&'a str>>,
    systems: Vec<RankedSystemRow<'a>>,
    pairs: Vec<RankedPairRow<'a>>,
    unranked: Vec<&'a str>,
}

#[derive(Serialize)]
struct RankedSystemRow<'a> {
    system: &'a str,
    rank: u32,
}

/// Two systems, the lower one relative to the higher one.
#[derive(Serialize)]
struct RankedPairRow<'a> {
    system: &'a str,
    than: &'a str,
    /// QPS of `system` divided by that of `than`, with its simultaneous interval.
    ratio: Interval,
    verdict: &'static str,
}

pub(super) fn ranking<'a>(record: &'a StudyRecord, rankings: &Rankings) -> RankingRow<'a> {
    let test = |ranking: &Ranking| {
        let cell = CellKey::new(record, ranking.cell?);
        Some(RankedTestRow { cell, order: order(record, ranking) })
    };
    let overall = |ranking: &Ranking| OverallRow {
        tests: ranking.tests,
        left_out: ranking.left_out,
        order: order(record, ranking),
    };
    RankingRow {
        overall: rankings.overall.as_ref().map(overall),
        tests: rankings.tests.iter().filter_map(test).collect(),
    }
}

fn order<'a>(record: &'a StudyRecord, ranking: &Ranking) -> OrderRow<'a> {
    let name = |system: usize| system_name(record, system);
    let names = |systems: &[usize]| systems.iter().map(|&system| name(system)).collect();
    let pair = |pair: &RankedPair| RankedPairRow {
        system: name(pair.below),
        than: name(pair.above),
        ratio: pair.ratio.into(),
        verdict: pair.verdict.word(),
    };
    let system =
        |system: usize| RankedSystemRow { system: name(system), rank: ranking.rank(system) };
    OrderRow {
        groups: ranking.groups.iter().map(|group| names(group)).collect(),
        systems: ranking.systems().map(system).collect(),
        pairs: ranking.pairs.iter().map(pair).collect(),
        unranked: names(&ranking.unranked),
    }
}

/// Systems that are the same despite different options.
#[derive(Serialize)]
pub(crate) struct SameRow<'a> {
    systems: [&'a str; 2],
    options: Vec<SameOptionRow<'a>>,
}

#[derive(Serialize)]
struct SameOptionRow<'a> {
    setting: &'a str,
    value: &'a str,
    /// `terms`, `default`, `spelling` or `no-effect`.
    because: &'static str,
    why: Option<&'a str>,
}

pub(crate) fn same<'a>(
    systems: &'a [System],
    same: impl Iterator<Item = (usize, &'a SameSystems)>,
) -> Vec<SameRow<'a>> {
    // A ledger may come from anyone.
    let name = |index: usize| systems.get(index).map_or("?", |system| system.name.as_str());
    same.map(|(system, same)| SameRow {
        systems: [same.other, system].map(name),
        options: same.options.iter().map(same_option).collect(),
    })
    .collect()
}

fn same_option(option: &SameOption) -> SameOptionRow<'_> {
    let (because, why) = match &option.because {
        SameBecause::Terms => ("terms", None),
        SameBecause::Default => ("default", None),
        SameBecause::Spelling => ("spelling", None),
        SameBecause::NoEffect(why) => ("no-effect", Some(why.as_str())),
    };
    SameOptionRow { setting: &option.setting, value: &option.value, because, why }
}

/// A version against the one before it, in one cell.
#[derive(Serialize)]
pub(super) struct VersionStepRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    from: &'a str,
    to: &'a str,
    /// QPS of `to` divided by that of `from`.
    ratio: Option<Interval>,
    verdict: &'static str,
    beyond_threshold: Number,
    is_change: bool,
}

pub(super) fn step<'a>(record: &'a StudyRecord, step: &LineStep) -> VersionStepRow<'a> {
    VersionStepRow {
        cell: CellKey::new(record, step.cell),
        from: system_name(record, step.from),
        to: system_name(record, step.to),
        ratio: step.ratio.map(Into::into),
        verdict: step.verdict.word(),
        beyond_threshold: Number(step.beyond_threshold),
        is_change: step.is_change,
    }
}

/// Three or more versions in one cell, the last against the first.
#[derive(Serialize)]
pub(super) struct LineRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    systems: Vec<&'a str>,
    ratio: Option<Interval>,
    verdict: &'static str,
    main_step: Option<MainStepRow<'a>>,
}

/// The step that changed most in the direction of the whole change.
#[derive(Serialize)]
struct MainStepRow<'a> {
    from: &'a str,
    to: &'a str,
    share: Number,
    confidence: Number,
}

pub(super) fn line<'a>(record: &'a StudyRecord, line: &LineSummary) -> LineRow<'a> {
    let main_step = |main: MainStep| MainStepRow {
        from: system_name(record, main.from),
        to: system_name(record, main.to),
        share: main.share.into(),
        confidence: main.confidence.into(),
    };
    LineRow {
        cell: CellKey::new(record, line.cell),
        systems: line.systems.iter().map(|&system| system_name(record, system)).collect(),
        ratio: line.ratio.map(Into::into),
        verdict: line.verdict.word(),
        main_step: line.main.map(main_step),
    }
}

/// The client counts between which a system changes from faster to slower, or back.
#[derive(Serialize)]
pub(super) struct CrossoverRow<'a> {
    test: &'a str,
    tables: Option<u32>,
    rows: Option<u32>,
    system: &'a str,
    /// The measured count below the crossover, and the verdict there. Above, the verdict is the opposite.
    clients_below: u32,
    verdict_below: &'static str,
    clients_above: u32,
    /// The count at which the system is as fast as the base.
    clients: Interval,
}

pub(super) fn crossover<'a>(record: &'a StudyRecord, crossover: &Crossover) -> CrossoverRow<'a> {
    let Crossover { few, many, .. } = crossover;
    let SetupRow { tables, rows, .. } = SetupRow::new(record, few.setup);
    CrossoverRow {
        test: few.test.name(),
        tables,
        rows,
        system: system_name(record, crossover.system),
        clients_below: few.setup.clients,
        verdict_below: crossover.verdict.word(),
        clients_above: many.setup.clients,
        clients: crossover.clients.into(),
    }
}

/// Costs of the events of a mix in a system, from the tests that measure each kind alone.
#[derive(Serialize)]
pub(super) struct TotalRow<'a> {
    #[serde(flatten)]
    mix: CellKey<'a>,
    system: &'a str,
    /// Time in the system, divided by the time in the base.
    time: Interval,
    measured: usize,
    kinds: usize,
}

pub(super) fn total<'a>(record: &'a StudyRecord, total: &WeightedTotal) -> TotalRow<'a> {
    let WeightedTotal { mix, system, time, measured, kinds } = *total;
    let system = system_name(record, system);
    TotalRow { mix: CellKey::new(record, mix), system, time: time.into(), measured, kinds }
}
