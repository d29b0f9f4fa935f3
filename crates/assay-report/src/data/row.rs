//! The row of a cell and system, which JSON and CSV share.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_model::{
    CellId, CountVerdict, Estimate, Experiment, Setup, Statements, StudyRecord, Verdict,
};
use assay_verdict::{
    CellFigure, CellJudgement, ChangeCause, Changed, CountJudgement, CounterChange, FunctionChange,
    LATENCIES, Latency, PER_OP, PerOp, ProfileChange, StepSummary, Term, TimeChange, TroubledBy,
    Wait,
};
use serde::Serialize;

use super::findings::StatementRow;
use super::number::{Interval, Named, Number};
use crate::section::SectionValues;
use crate::view::counts::{FunctionLine, lines};
use crate::view::figure::{beyond_threshold, same_within};
use crate::view::undecided::why;

#[derive(Serialize)]
pub(crate) struct CellRow<'a> {
    test: &'a str,
    group: &'static str,
    #[serde(flatten)]
    setup: SetupRow,
    /// Null for published results.
    priority: Option<&'static str>,
    system: &'a str,
    qps: Option<Interval>,
    tps: Number,
    rqps: Option<Interval>,
    /// Null if nothing was timed, unless it failed.
    verdict: Option<&'static str>,
    slices: u32,
    /// Null for published results, like the other counts.
    troubled: Option<u32>,
    /// A slice may be of several kinds.
    troubled_by: Option<Named<u32>>,
    disturbed: Option<bool>,
    blocks: Option<u32>,
    ops: Number,
    errors: Option<u64>,
    latency_us: Option<Named<Number>>,
    per_op: Option<Named<Number>>,
    /// Change of the time per operation against the base, and its terms, which add up to it; microseconds. The CPU time
    /// of other threads is not part of it. Terms that the counters do not provide are null.
    change_us: Option<Named<Option<Interval>>>,
    /// Counters of the server's status that changed against the base, per operation; `Innodb_history_list_length` is a
    /// level, so it is a mean.
    counters: Option<BTreeMap<&'a str, ChangedRow>>,
    /// Only with profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileRow<'a>>,
    /// Null if nothing was counted.
    count: Option<CountRow>,
    /// Of the work after the study.
    #[serde(flatten)]
    sections: SectionValues,
    cpu_ratio: Option<Interval>,
    cpu_verdict: Option<&'static str>,
    detectable: Option<Number>,
    /// Confidence that the change of `rqps` exceeds the threshold.
    beyond_threshold: Number,
    /// Largest relative change that agrees with the verdict same.
    same_within: Number,
    /// Null without a change.
    cause: Option<&'static str>,
    why: Option<Cow<'a, str>>,
    /// By their published names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    published: BTreeMap<&'a str, Number>,
    /// Only for the Insert Benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<StepOfBench>,
    /// Only for a user's workload.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    statement: Option<StatementRow>,
}

/// Work of the clients in a step of the Insert Benchmark.
#[derive(Serialize)]
struct StepOfBench {
    seconds: Number,
    /// Rows inserted and deleted, and queries, per second.
    ips: Number,
    dps: Number,
    qps: Number,
    /// Background rate; null without one.
    target_ips: Number,
    /// Whether the background rate was kept; null without one.
    sla_met: Option<bool>,
    failed: bool,
    indexes_s: Number,
    /// Half-width of the 95% interval of the rate within the step, as a fraction; null for several repeats.
    within: Number,
    /// Null if only rates were published.
    insert: Option<StatementsRow>,
    delete: Option<StatementsRow>,
    query: Option<StatementsRow>,
    lowest_queries: Option<LowestRow>,
}

/// Statements of a kind. The buckets are those of the published response-time table.
#[derive(Serialize)]
struct StatementsRow {
    statements: u64,
    rows: u64,
    retries: u64,
    buckets: Vec<u64>,
    longest_s: Number,
}

#[derive(Serialize)]
struct LowestRow {
    count: u64,
    mean_s: Number,
    longest_s: Number,
}

fn step_of_bench(judged: &CellJudgement) -> Option<StepOfBench> {
    judged.cell.test.ibench()?;
    let seconds = |ns: u64| Number::from(ns as f64 / 1e9);
    let statements = |it: &Statements| StatementsRow {
        statements: it.statements,
        rows: it.rows,
        retries: it.retries,
        buckets: it.buckets.to_vec(),
        longest_s: seconds(it.longest_ns),
    };
    // The verdict is also `failed` if the base failed.
    let failed = judged.failure.is_some();
    let none = Statements::default();
    let step = judged.step.as_ref();
    let number = |of: fn(&StepSummary) -> f64| Number(step.map(of));
    let lowest = step.map(|step| step.lowest).unwrap_or_default();
    let counted = judged.published.is_empty();
    let of_kind =
        |of: fn(&StepSummary) -> &Statements| counted.then(|| statements(step.map_or(&none, of)));
    let if_counted = |number: Number| if counted { number } else { Number(None) };
    Some(StepOfBench {
        seconds: if_counted(number(|step| step.seconds)),
        ips: number(|step| step.ips),
        dps: if_counted(number(|step| step.dps)),
        qps: number(|step| step.qps),
        target_ips: Number(step.and_then(|step| step.target_ips)),
        sla_met: step.and_then(|step| step.sla_met),
        failed,
        indexes_s: Number(step.and_then(|step| step.indexes_s)),
        within: Number(step.and_then(|step| step.within)),
        insert: of_kind(|step| &step.insert),
        delete: of_kind(|step| &step.delete),
        query: of_kind(|step| &step.query),
        lowest_queries: counted.then(|| LowestRow {
            count: lowest.count,
            mean_s: Number(
                (lowest.count > 0).then(|| lowest.ns as f64 / 1e9 / lowest.count as f64),
            ),
            longest_s: seconds(lowest.longest_ns),
        }),
    })
}

fn troubled(by: TroubledBy) -> Named<u32> {
    Named(vec![
        ("steal", by.steal),
        ("other_process", by.other_process),
        ("clock_jump", by.clock_jump),
        ("throttled", by.throttled),
    ])
}

pub(crate) fn latencies(latency: &Latency) -> Named<Number> {
    let row = |figure: &CellFigure| (latency_name(figure), Number(figure.of_latency(latency)));
    Named(LATENCIES.iter().filter(|figure| figure.is_in_files()).map(row).collect())
}

fn per_op(per_op: &PerOp) -> Named<Number> {
    let row = |figure: &CellFigure| (figure.key, Number(per_op.get(figure.key)));
    Named(PER_OP.iter().filter(|figure| figure.is_in_files()).map(row).collect())
}

/// `p50` for `latency_p50_us`.
pub(crate) fn latency_name(figure: &CellFigure) -> &'static str {
    figure.key.trim_start_matches("latency_").trim_end_matches("_us")
}

/// Per operation.
#[derive(Serialize)]
struct CountRow {
    /// Of the thread that serves the client.
    instructions: CountedRow,
    /// Including background threads; null if those were not counted.
    instructions_total: Option<CountedRow>,
    /// Of `instructions`.
    ratio: Option<Interval>,
    verdict: Option<&'static str>,
    by: &'static str,
    background: Option<Number>,
    kernel: Option<Number>,
    /// Pairs of batches that `ratio` leaves out.
    left_out: u32,
    /// Those that changed most; null for the base.
    functions: Option<Vec<CountedFunction>>,
    /// All other functions together.
    functions_rest: Option<CountedFunction>,
}

/// An interval of instructions per operation, compared with the base.
#[derive(Serialize)]
struct CountedRow {
    #[serde(flatten)]
    per_op: Interval,
    /// Null for the base, like the verdict.
    ratio: Option<Interval>,
    verdict: Option<&'static str>,
}

impl CountedRow {
    fn new(per_op: Estimate, ratio: Option<Estimate>, verdict: Option<CountVerdict>) -> Self {
        let (ratio, verdict) = (ratio.map(Interval::from), verdict.map(CountVerdict::word));
        Self { per_op: per_op.into(), ratio, verdict }
    }
}

/// Per operation of a function, or of several shown together.
#[derive(Serialize)]
struct CountedFunction {
    name: String,
    object: String,
    base: Number,
    other: Number,
    change: Number,
}

impl CountedFunction {
    fn new(line: FunctionLine) -> Self {
        let FunctionLine { name, object, base, other, change } = line;
        let [base, other] = [base, other].map(Number);
        Self { name, object, base, other, change: change.into() }
    }
}

impl CountRow {
    fn new(count: &CountJudgement) -> Self {
        let all = count.functions.as_ref().map(|all| lines(all, FUNCTIONS));
        let (functions, rest) = all.unzip();
        let of = |lines: Vec<FunctionLine>| lines.into_iter().map(CountedFunction::new).collect();
        Self {
            instructions: CountedRow::new(count.instructions, count.ratio, count.verdict),
            instructions_total: count
                .total
                .map(|total| CountedRow::new(total.instructions, total.ratio, total.verdict)),
            ratio: count.ratio.map(Interval::from),
            verdict: count.verdict.map(CountVerdict::word),
            by: count.by.word(),
            background: count.background.map(Number::from),
            kernel: count.kernel.map(Number::from),
            left_out: count.left_out,
            functions: functions.map(of),
            functions_rest: rest.flatten().map(CountedFunction::new),
        }
    }
}

/// Maximum number of functions in a profile; those that changed most are kept.
const FUNCTIONS: usize = 200;

/// Times are in microseconds per operation.
#[derive(Serialize)]
struct ProfileRow<'a> {
    /// Those that changed most.
    serving: Vec<FunctionRow<'a>>,
    /// All other functions together.
    serving_rest: TimesRow,
    background: Vec<FunctionRow<'a>>,
    background_rest: TimesRow,
    /// Null if the kernel did not provide them.
    waits: Option<BTreeMap<&'static str, TimesRow>>,
    /// Null if the processor did not count.
    processor: Option<ProcessorRow>,
}

#[derive(Serialize)]
struct FunctionRow<'a> {
    /// Null for all unnamed functions of the module.
    function: Option<&'a str>,
    module: &'a str,
    before: Number,
    after: Number,
    change: Interval,
    certain: bool,
}

#[derive(Serialize)]
struct ProcessorRow {
    instructions: ChangedRow,
    cycles_per_instruction: ChangedRow,
}

#[derive(Serialize)]
struct TimesRow {
    before: Number,
    after: Number,
}

fn profile(profile: &ProfileChange) -> ProfileRow<'_> {
    fn row(it: &FunctionChange) -> FunctionRow<'_> {
        FunctionRow {
            function: it.function.as_deref(),
            module: &it.module,
            before: it.changed.before.into(),
            after: it.changed.after.into(),
            change: it.changed.by.into(),
            certain: it.is_certain,
        }
    }
    fn rest(all: &[FunctionChange]) -> TimesRow {
        let left = all.iter().skip(FUNCTIONS).map(|it| it.changed);
        let (before, after) =
            left.fold((0.0, 0.0), |(before, after), it| (before + it.before, after + it.after));
        TimesRow { before: before.into(), after: after.into() }
    }
    let wait = |(wait, changed): &(Wait, Changed)| {
        (wait.key(), TimesRow { before: changed.before.into(), after: changed.after.into() })
    };
    ProfileRow {
        serving: profile.serving.iter().take(FUNCTIONS).map(row).collect(),
        serving_rest: rest(&profile.serving),
        background_rest: rest(&profile.background),
        background: profile.background.iter().take(FUNCTIONS).map(row).collect(),
        waits: profile.waits.as_ref().map(|waits| waits.iter().map(wait).collect()),
        processor: profile.processor.as_ref().map(|it| ProcessorRow {
            instructions: changed(&it.instructions),
            cycles_per_instruction: changed(&it.cycles),
        }),
    }
}

#[derive(Serialize)]
struct ChangedRow {
    before: Number,
    after: Number,
    change: Interval,
}

fn changed(changed: &Changed) -> ChangedRow {
    ChangedRow {
        before: changed.before.into(),
        after: changed.after.into(),
        change: changed.by.into(),
    }
}

/// In order.
pub(crate) fn change_names() -> impl Iterator<Item = &'static str> {
    let terms = Term::ALL.into_iter().map(Term::key);
    std::iter::once("time").chain(terms).chain(["background_cpu"])
}

fn change(change: &TimeChange) -> Named<Option<Interval>> {
    let of_name = |name| match name {
        "time" => Some(change.time),
        "background_cpu" => change.background_cpu,
        _ => change.terms.iter().find(|(term, _)| term.key() == name).map(|(_, it)| *it),
    };
    Named(change_names().map(|name| (name, of_name(name).map(|it| it.by.into()))).collect())
}

/// Clients, tables and the rows of each; the last two are null for a user's workload.
#[derive(Serialize)]
pub(crate) struct SetupRow {
    clients: u32,
    pub(super) tables: Option<u32>,
    pub(super) rows: Option<u32>,
}

impl SetupRow {
    pub(crate) fn new(record: &StudyRecord, setup: Setup) -> Self {
        let Setup { clients, tables, rows } = setup;
        let is_known = record.study.has_known_tables();
        Self { clients, tables: is_known.then_some(tables), rows: is_known.then_some(rows) }
    }
}

fn priority(record: &StudyRecord, cell: CellId) -> Option<&'static str> {
    let planned = record.study.cells.iter().find(|planned| planned.id == cell);
    planned.filter(|_| !record.is_reported()).map(|planned| planned.priority.word())
}

impl<'a> CellRow<'a> {
    pub(crate) fn new(record: &'a StudyRecord, judged: &'a CellJudgement) -> Self {
        let is_reported = record.is_reported();
        let is_counted = judged.is_counted(record);
        Self {
            test: &judged.cell.test.name,
            group: judged.group.word.as_str(),
            setup: SetupRow::new(record, judged.cell.setup),
            priority: priority(record, judged.cell),
            system: system_name(record, judged.system),
            qps: judged.qps.map(Into::into),
            tps: Number(judged.tps),
            rqps: judged.rqps.map(Into::into),
            verdict: verdict(record, judged),
            slices: judged.slices,
            troubled: (!is_reported).then_some(judged.troubled),
            troubled_by: (!is_reported).then(|| troubled(judged.troubled_by)),
            disturbed: (!is_reported).then_some(judged.is_disturbed),
            blocks: (!is_reported || judged.blocks > 1).then_some(judged.blocks),
            ops: Number(is_counted.then_some(judged.ops)),
            errors: is_counted.then_some(judged.errors),
            latency_us: judged.latency.as_ref().map(latencies),
            per_op: judged.per_op.as_ref().filter(|_| !is_reported).map(per_op),
            change_us: judged.change.as_ref().filter(|_| !is_reported).map(change),
            counters: judged.counters.as_deref().map(|all| {
                let row = |it: &'a CounterChange| (it.name.as_str(), changed(&it.changed));
                all.iter().map(row).collect()
            }),
            profile: judged.profile.as_ref().map(profile),
            count: judged.count.as_ref().map(CountRow::new),
            sections: SectionValues::new(record, judged),
            cpu_ratio: judged.cpu_ratio.map(Into::into),
            cpu_verdict: judged.cpu_verdict.map(Verdict::word),
            detectable: judged.detectable.map(Into::into),
            beyond_threshold: Number(beyond_threshold(judged)),
            same_within: Number(same_within(judged)),
            cause: judged.cause.map(ChangeCause::key),
            why: why(record, judged),
            published: (judged.published.iter())
                .map(|(name, value)| (name.as_str(), Number::from(*value)))
                .collect(),
            step: step_of_bench(judged),
            statement: StatementRow::new(record, judged),
        }
    }
}

/// `None` if nothing was timed and nothing failed.
pub(crate) fn verdict(record: &StudyRecord, judged: &CellJudgement) -> Option<&'static str> {
    let is_timed = record.study.experiment != Experiment::Counted;
    (is_timed || judged.verdict == Verdict::Failed).then(|| judged.verdict.word())
}

pub(crate) fn system_name(record: &StudyRecord, index: usize) -> &str {
    record.systems.get(index).map_or("?", |system| &system.name)
}
