//! The fields of a cell and system: the row that JSON, CSV, feeds and the reference share.

use std::borrow::Cow;

use assay_model::{CellId, CountVerdict, Estimate, Experiment, Statements, StudyRecord, Verdict};
use assay_verdict::{
    CellFigure, CellJudgement, ChangeCause, CountJudgement, CounterChange, CpuJudgement,
    FigurePlace, FunctionChange, Instructions, LATENCIES, Latency, METRICS, PER_OP, PerOp,
    ProfileChange, QuantityChange, StepSummary, TimeChange, TimeTerm, TroubleCounts, Wait,
};

use super::field::{
    FieldFacts, FileField, all_described, column, described, ends, facts, file_fields, json,
};
use super::findings::{STATEMENT, statement};
use super::value::JsonValue;
use crate::section;
use crate::sections::counts::{FunctionLine, lines};
use crate::sections::doubts::why;
use crate::sections::figure::{beyond_threshold, same_within};
use crate::sections::study::JudgedStudy;
use crate::words::rfc3339;

pub(super) const CLIENTS: &str = "number of clients";
pub(super) const TABLES: &str =
    "number of tables; null for those of a workload or script of the user's own";
pub(super) const ROWS: &str = "rows of each table; null where `tables` is";

/// Position in CSV of fields that were added later: behind all others, whose positions are fixed.
const LAST: u8 = u8::MAX;

/// In the order of JSON. A new one gets the position [`LAST`] in CSV, so that older columns keep theirs.
pub(crate) const CELL_COLUMNS: &[FileField<CellJudgement>] = file_fields! { |study, it: CellJudgement|
    "study", "", study.record.study.id.as_str(), only_csv(0);
    "started", "", study.record.began_ms().and_then(rfc3339), only_csv(1);
    "is_base", "", is_base(study, it), only_csv(8);
    "is_twin", "", study.is_twin(it.system), only_csv(9);
    "verdict", "", compared_verdict(study, it), only_csv(12);
    "workload_version", "", measured(study, study.record.study.workload_version), only_csv(25);
    "terms", "", study.record.study.terms.as_deref(), only_csv(32);
    "test", "name of the test", it.cell.test.name(), csv(2, "test");
    "group", "`point`, `range-1`, `range-2`, `writes`, `extra`, or the group of the suite",
        it.group.word.as_str(), csv(3, "group");
    "clients", CLIENTS, it.cell.setup.clients, csv(4, "clients");
    "tables", TABLES, if_known(study, it.cell.setup.tables), csv(5, "tables");
    "rows", ROWS, if_known(study, it.cell.setup.rows), csv(6, "rows");
    "priority", "of clients and servers in its turns: `realtime` or `normal`",
        priority(study.record, it.cell);
    "system", "name of the system", system_name(study.record, it.system), csv(7, "system");
    "qps", "operations per second, an interval", it.qps, ends(10, "qps");
    "tps", "events per second: all events by all the time", it.tps, csv(30, "tps");
    "rqps", "QPS divided by that of the base, an interval; null for the base", it.rqps, ends(11, "rqps");
    "verdict", "`faster`, `slower`, `same`, `uneven`, `undecided` or `failed`",
        verdict(study.record, it);
    "slices", "slices that the verdict uses", it.slices, csv(13, "slices");
    "troubled", "slices in machine trouble", measured(study, it.troubled), csv(14, "troubled");
    "troubled_by", "", measured(study, json(TROUBLED_BY, study, &it.troubled_by)), below(troubled_facts);
    "disturbed", "whether the verdict also uses slices in machine trouble",
        measured(study, it.is_disturbed), csv(15, "disturbed");
    "blocks", "blocks of fresh servers",
        if it.blocks > 1 { JsonValue::from(it.blocks) } else { measured(study, it.blocks) },
        csv(16, "blocks");
    "ops", "operations in these slices",
        it.is_counted(study.record).then_some(it.ops), csv(17, "ops");
    "errors", "errors after which an event was repeated",
        it.is_counted(study.record).then_some(it.errors), csv(18, "errors");
    "latency_us", "", it.latency.as_ref().map(latencies),
        below(|| figures(19, LATENCIES, latency_name));
    "per_op", "", measured(study, it.per_op.as_ref().map(per_op)),
        below(|| figures(20, PER_OP, |figure| figure.key));
    "change_us", "", measured(study, it.change.as_ref().map(change)), below(change_facts);
    "counters", "", it.counters.as_deref().map(counters), below(|| all_described(COUNTERS));
    "profile", "", it.profile.as_ref().map_or(JsonValue::Absent, profile),
        below(|| all_described(PROFILE));
    "count", "", it.count.as_ref().map(|it| json(COUNT, study, it)), below(|| facts(COUNT));
    "", "", section::values(study.record, it), spread(section_facts);
    "cpu_ratio",
        "server CPU per operation divided by that of the base, an interval; of published results, the CPU of the \
         machine",
        it.cpu_ratio, ends(21, "cpu_ratio");
    "cpu_verdict", "verdict on `cpu_ratio`; `slower` means more CPU time",
        it.cpu_verdict.map(Verdict::word), csv(22, "cpu_verdict");
    "cpu", "", it.cpu.as_ref().map(|it| json(CPU, study, it)), below(|| facts(CPU));
    "cpu_total", "", it.cpu_total().map(|it| json(CPU, study, &it)),
        below(|| all_described(CPU_TOTAL));
    "p99", "", it.p99.as_ref().map(|it| json(P99, study, it)), below(|| facts(P99));
    "dispersion", "", it.dispersion.as_ref().map(|it| json(DISPERSION, study, it)),
        below(|| facts(DISPERSION));
    "detectable", "smallest relative change that four of five such studies would call",
        it.detectable, csv(23, "detectable");
    "beyond_threshold", "confidence that the change exceeds the threshold, 0 to 1",
        beyond_threshold(it), csv(28, "beyond_threshold");
    "same_within", "largest relative change that agrees with the verdict `same`",
        same_within(it), csv(29, "same_within");
    "cause", "main cause of a change: `server-cpu`, `other-wait`, `plan`, `several`, `work`, ...; null without one",
        it.cause.map(ChangeCause::key);
    "why", "the cause as a sentence; for `undecided`, what would decide it",
        why(study.record, it).map(Cow::into_owned), csv(24, "why");
    "published", "", published(it), below(published_facts);
    "step", "", step(it), below(|| all_described(STEP));
    "", "", statement(study, it), spread(|| facts(STATEMENT));
};

fn is_base(study: &JudgedStudy<'_>, judged: &CellJudgement) -> bool {
    study.record.systems[judged.system].is_base
}

/// `None` for the base, which is compared with nothing, unless it failed.
fn compared_verdict(study: &JudgedStudy<'_>, judged: &CellJudgement) -> Option<&'static str> {
    let is_compared = !is_base(study, judged) || judged.verdict == Verdict::Failed;
    verdict(study.record, judged).filter(|_| is_compared)
}

/// Null for published results.
fn measured(study: &JudgedStudy<'_>, value: impl Into<JsonValue>) -> JsonValue {
    if study.record.is_reported() { JsonValue::Null } else { value.into() }
}

/// A number of tables or rows: null for a user's workload.
pub(super) fn if_known(study: &JudgedStudy<'_>, number: u32) -> JsonValue {
    study.record.study.has_known_tables().then_some(number).into()
}

fn priority(record: &StudyRecord, cell: CellId) -> Option<&'static str> {
    let planned = record.study.cells.iter().find(|planned| planned.id == cell);
    planned.filter(|_| !record.is_reported()).map(|planned| planned.priority.word())
}

/// `None` if nothing was timed and nothing failed.
fn verdict(record: &StudyRecord, judged: &CellJudgement) -> Option<&'static str> {
    let is_timed = record.study.experiment != Experiment::Counted;
    (is_timed || judged.verdict == Verdict::Failed).then(|| judged.verdict.word())
}

pub(crate) fn system_name(record: &StudyRecord, index: usize) -> &str {
    record.systems.get(index).map_or("?", |system| &system.name)
}

/// A slice may be of several kinds.
const TROUBLED_BY: &[FileField<TroubleCounts>] = file_fields! { |study, by: TroubleCounts|
    "steal", "of these, with CPU time taken by the hypervisor", by.steal;
    "other_process", "of these, while other processes were busy", by.other_process;
    "clock_jump", "of these, with a jump of the clock", by.clock_jump;
    "throttled", "of these, in which real-time threads had to wait", by.throttled;
};

fn troubled_facts() -> Vec<FieldFacts> {
    let in_csv = |it: FieldFacts| {
        let name = format!("troubled_{}", it.path);
        it.in_csv(26, name)
    };
    facts(TROUBLED_BY).into_iter().map(in_csv).collect()
}

fn figures(
    position: u8,
    all: &[CellFigure],
    name: fn(&CellFigure) -> &'static str,
) -> Vec<FieldFacts> {
    let fact = |figure: &CellFigure| {
        let position = match (figure.key, figure.place) {
            ("overlap_us", _) => 27,
            ("latency_avg_us", _) => 31,
            (_, FigurePlace::FilesLast) => LAST,
            _ => position,
        };
        described(name(figure), figure.meaning()).in_csv(position, figure.key)
    };
    all.iter().filter(|figure| figure.is_in_files()).map(fact).collect()
}

pub(super) fn latencies(latency: &Latency) -> JsonValue {
    let value =
        |figure: &CellFigure| (latency_name(figure), JsonValue::from(figure.of_latency(latency)));
    let figures = LATENCIES.iter().filter(|figure| figure.is_in_files());
    JsonValue::Fields(figures.map(value).collect())
}

/// `p50` for `latency_p50_us`.
fn latency_name(figure: &CellFigure) -> &'static str {
    figure.key.trim_start_matches("latency_").trim_end_matches("_us")
}

fn per_op(per_op: &PerOp) -> JsonValue {
    let figures = PER_OP.iter().filter(|figure| figure.is_in_files());
    JsonValue::Fields(figures.map(|figure| (figure.key, per_op.get(figure.key).into())).collect())
}

const TIME: &str = "time";
const BACKGROUND: &str = "background_cpu";

/// Change of the time per operation against the base, and its terms, which add up to it. The CPU time of other threads
/// is not part of it. Terms that the counters do not provide are null.
fn change(change: &TimeChange) -> JsonValue {
    let term = |term: TimeTerm| {
        let found = change.terms.iter().find(|(it, _)| *it == term);
        (term.key(), JsonValue::from(found.map(|(_, changed)| changed.by)))
    };
    let background = change.background_cpu.map(|changed| changed.by);
    let mut all = vec![(TIME, JsonValue::from(change.time.by))];
    all.extend(TimeTerm::ALL.map(term));
    all.push((BACKGROUND, background.into()));
    JsonValue::Fields(all)
}

fn change_facts() -> Vec<FieldFacts> {
    let part = |term: TimeTerm| (term.key(), format!("the part that is {}", term.word(true)));
    let whole = "change of the time per operation against the base, µs, an interval";
    let background = "change of background CPU, which is not part of `time`";
    let mut all = vec![(TIME, whole.to_owned())];
    all.extend(TimeTerm::ALL.map(part));
    all.push((BACKGROUND, background.to_owned()));
    let facts = all.into_iter().flat_map(|(name, about)| {
        let ends = ends(name, 33, &format!("change_{name}_us"));
        std::iter::once(described(name, about)).chain(ends)
    });
    facts.collect()
}

fn changed(changed: &QuantityChange) -> JsonValue {
    let QuantityChange { before, after, by } = *changed;
    JsonValue::object([("before", before.into()), ("after", after.into()), ("change", by.into())])
}

const COUNTERS: &[(&str, &str)] = &[
    ("*.before", "a counter of the server's own status that changed: per operation of the base"),
    ("*.after", "the same of the system"),
    ("*.change", "the difference, an interval"),
];

/// `Innodb_history_list_length` is a level, so it is a mean.
fn counters(all: &[CounterChange]) -> JsonValue {
    JsonValue::Named(all.iter().map(|it| (it.name.clone(), changed(&it.changed))).collect())
}

/// Maximum number of functions in a profile; those that changed most are kept.
const FUNCTIONS: usize = 200;

const PROFILE: &[(&str, &str)] =
    &[("*", "functions and waits of a profile, µs per operation; only with `--profile`")];

/// Times are in microseconds per operation.
fn profile(profile: &ProfileChange) -> JsonValue {
    let times = |before: f64, after: f64| {
        JsonValue::object([("before", before.into()), ("after", after.into())])
    };
    // Those that changed most.
    let functions = |all: &[FunctionChange]| -> JsonValue {
        all.iter().take(FUNCTIONS).map(function).collect()
    };
    // All others together.
    let rest = |all: &[FunctionChange]| {
        let left = all.iter().skip(FUNCTIONS).map(|it| it.changed);
        let (before, after) =
            left.fold((0.0, 0.0), |(before, after), it| (before + it.before, after + it.after));
        times(before, after)
    };
    let wait = |(wait, changed): &(Wait, QuantityChange)| {
        (wait.key().to_owned(), times(changed.before, changed.after))
    };
    let waits = profile.waits.as_ref();
    let waits = waits.map(|waits| JsonValue::Named(waits.iter().map(wait).collect()));
    let processor = profile.processor.as_ref().map(|it| {
        JsonValue::object([
            ("instructions", changed(&it.instructions)),
            ("cycles_per_instruction", changed(&it.cycles)),
        ])
    });
    JsonValue::object([
        ("serving", functions(&profile.serving)),
        ("serving_rest", rest(&profile.serving)),
        ("background", functions(&profile.background)),
        ("background_rest", rest(&profile.background)),
        ("waits", waits.into()),
        ("processor", processor.into()),
    ])
}

fn function(it: &FunctionChange) -> JsonValue {
    JsonValue::object([
        // Null for all unnamed functions of the module.
        ("function", it.function.as_deref().into()),
        ("module", it.module.as_str().into()),
        ("before", it.changed.before.into()),
        ("after", it.changed.after.into()),
        ("change", it.changed.by.into()),
        ("certain", it.is_certain.into()),
    ])
}

const CPU: &[FileField<CpuJudgement>] = file_fields! { |study, it: CpuJudgement|
    "ratio",
        "CPU per operation of the threads that serve connections divided by that of the base, an interval; `cpu` is \
         null for the base, and where it was not measured or the test failed",
        it.ratio, ends(LAST, "serving_cpu_ratio");
    "verdict", "`more`, `less`, `same` or `undecided`",
        it.verdict.word(), csv(LAST, "serving_cpu_verdict");
};

const P99: &[FileField<CpuJudgement>] = file_fields! { |study, it: CpuJudgement|
    "ratio",
        "99th percentile of latencies divided by that of the base, an interval; `p99` is null for the base, for \
         microbenchmarks, for slices of fewer than 200 events, and where the test failed",
        it.ratio, ends(LAST, "p99_ratio");
    "verdict", "`more` or `less`, by more than 10%, `same` or `undecided`",
        it.verdict.word(), csv(LAST, "p99_verdict");
};

const DISPERSION: &[FileField<CpuJudgement>] = file_fields! { |study, it: CpuJudgement|
    "ratio",
        "99th percentile divided by the median, and that divided by the same of the base, an interval; null where \
         `p99` is",
        it.ratio, ends(LAST, "dispersion_ratio");
    "verdict", "the verdict on it, as in `p99`", it.verdict.word(), csv(LAST, "dispersion_verdict");
};

const CPU_TOTAL: &[(&str, &str)] = &[
    (
        "ratio",
        "the same of all threads of the server, those in the background included: `cpu_ratio`",
    ),
    ("verdict", "the verdict on it, as in `cpu`"),
];

/// Per operation.
const COUNT: &[FileField<CountJudgement>] = file_fields! { |study, it: CountJudgement|
    "instructions",
        "instructions per operation of the serving thread outside the kernel, an interval; `count` is null where \
         nothing was counted",
        counted(it.instructions, it.ratio, it.verdict), ends(37, "instructions"),
        below(|| all_described(COUNTED));
    "instructions_total", "",
        it.total.map(|total| counted(total.instructions, total.ratio, total.verdict)),
        ends(40, "instructions_total"), below(counted_total_facts);
    "ratio", "`instructions.ratio`", it.ratio, ends(38, "instructions_ratio");
    "verdict", "`instructions.verdict`",
        it.verdict.map(CountVerdict::word), csv(39, "instructions_verdict");
    "by", "what counted: `callgrind` or `hardware`", it.by.word();
    "background",
        "instructions per operation of the server's other threads, less what they execute when idle",
        it.background;
    "kernel",
        "instructions per operation that the kernel executed for the serving thread; null if they were not counted",
        it.kernel;
    "left_out", "pairs of batches left out of the ratio because of work that few batches have", it.left_out;
    "named_share",
        "share of the changes of functions, whatever their signs, in those with a name or a named caller; null without \
         changes",
        it.functions.as_ref().and_then(Instructions::named_share);
    "", "", counted_functions(it), spread(|| all_described(COUNTED_FUNCTIONS));
};

const COUNTED: &[(&str, &str)] = &[
    ("ratio", "the same divided by that of the base, an interval; null for the base"),
    (
        "verdict",
        "`more`, `fewer`, `same` or `undecided`; null for the base. Limits of instructions and searches use it",
    ),
];

fn counted_total_facts() -> Vec<FieldFacts> {
    let about = "the same of all threads of the server, those in the background included, less what these execute when \
                 idle; its interval includes the error of that; null if those were not counted";
    let mut facts = vec![described("*", about)];
    facts.extend(ends("ratio", 40, "instructions_total_ratio"));
    facts.push(column("verdict", 40, "instructions_total_verdict"));
    facts
}

const COUNTED_FUNCTIONS: &[(&str, &str)] = &[
    ("functions[].name", "a function, or several under one name"),
    ("functions[].object", "the file that holds its code"),
    (
        "functions[].by",
        "how it is known: by a `symbol`, a `match` of its code with that of another build, or its `caller`; null if it \
         is not",
    ),
    (
        "functions[].base",
        "its instructions per operation of the base; null if it has no function of this name",
    ),
    ("functions[].other", "the same of the system"),
    ("functions[].change", "the difference; with the rest, they add up to that of all"),
    ("functions_rest.*", "all other functions together"),
];

/// An interval of instructions per operation, compared with the base.
fn counted(per_op: Estimate, ratio: Option<Estimate>, verdict: Option<CountVerdict>) -> JsonValue {
    JsonValue::object([
        ("value", Some(per_op.value).filter(|_| !per_op.is_bound()).into()),
        ("low", per_op.low.into()),
        ("high", per_op.high.into()),
        ("ratio", ratio.into()),
        ("verdict", verdict.map(CountVerdict::word).into()),
    ])
}

/// Those that changed most, and all others together; null for the base.
fn counted_functions(count: &CountJudgement) -> JsonValue {
    let function = |line: FunctionLine| {
        let FunctionLine { name, object, by, base, other, change } = line;
        JsonValue::object([
            ("name", name.into()),
            ("object", object.into()),
            ("by", by.into()),
            ("base", base.into()),
            ("other", other.into()),
            ("change", change.into()),
        ])
    };
    let all = count.functions.as_ref().map(|all| lines(all, FUNCTIONS));
    let (functions, rest) = all.unzip();
    let functions = functions.map(|all| all.into_iter().map(function).collect::<JsonValue>());
    JsonValue::object([
        ("functions", functions.into()),
        ("functions_rest", rest.flatten().map(function).into()),
    ])
}

fn section_facts() -> Vec<FieldFacts> {
    let facts = section::all().flat_map(|section| {
        let fields = section.fields().iter();
        fields.map(move |(name, about)| described(&format!("{}.{name}", section.key()), *about))
    });
    facts.collect()
}

/// By their published names; left out without any.
fn published(judged: &CellJudgement) -> JsonValue {
    if judged.published.is_empty() {
        return JsonValue::Absent;
    }
    let figures = judged.published.iter();
    JsonValue::Named(figures.map(|(name, value)| (name.clone(), (*value).into())).collect())
}

fn published_facts() -> Vec<FieldFacts> {
    let mut facts = vec![
        described("*", "figures of published results, by their published names"),
        column("reconnects", 34, "reconnects"),
        column("target_tps", 35, "target_tps"),
    ];
    facts.extend(METRICS.map(|metric| column(metric.name, 36, metric.column)));
    facts
}

const STEP: &[(&str, &str)] = &[
    ("seconds", "duration of a step of the Insert Benchmark, seconds"),
    ("ips", "rows inserted per second"),
    ("dps", "rows deleted per second"),
    ("qps", "queries per second"),
    ("target_ips", "background rate; null if there is none"),
    ("sla_met", "whether the background rate was kept"),
    ("failed", "whether the step failed"),
    ("indexes_s", "time that creating the indexes took, seconds"),
    ("within", "half-width of the interval of the rate within the step, a fraction"),
    ("insert.*", "statements, rows, retries, response-time buckets and longest time of inserts"),
    ("delete.*", "the same of deletions"),
    ("query.*", "the same of queries"),
    ("lowest_queries.*", "queries for the lowest key: count, mean and longest time"),
];

/// Work of the clients in a step of the Insert Benchmark; left out for other tests. Of published rates, only the rates
/// are known.
fn step(judged: &CellJudgement) -> JsonValue {
    if judged.cell.test.ibench().is_none() {
        return JsonValue::Absent;
    }
    let step = judged.step.as_ref();
    let is_counted = judged.published.is_empty();
    let number = |value: fn(&StepSummary) -> f64| JsonValue::from(step.map(value));
    let if_counted = |value: JsonValue| if is_counted { value } else { JsonValue::Null };
    let none = Statements::default();
    let statements =
        |kind: fn(&StepSummary) -> &Statements| if_counted(statements(step.map_or(&none, kind)));
    let lowest = step.map(|step| step.lowest).unwrap_or_default();
    let mean_s = (lowest.count > 0).then(|| lowest.ns as f64 / 1e9 / lowest.count as f64);
    JsonValue::object([
        ("seconds", if_counted(number(|step| step.seconds))),
        ("ips", number(|step| step.ips)),
        ("dps", if_counted(number(|step| step.dps))),
        ("qps", number(|step| step.qps)),
        ("target_ips", step.and_then(|step| step.target_ips).into()),
        ("sla_met", step.and_then(|step| step.sla_met).into()),
        // The verdict is also `failed` if the base failed.
        ("failed", judged.failure.is_some().into()),
        ("indexes_s", step.and_then(|step| step.indexes_s).into()),
        ("within", step.and_then(|step| step.within).into()),
        ("insert", statements(|step| &step.insert)),
        ("delete", statements(|step| &step.delete)),
        ("query", statements(|step| &step.query)),
        (
            "lowest_queries",
            if_counted(JsonValue::object([
                ("count", lowest.count.into()),
                ("mean_s", mean_s.into()),
                ("longest_s", seconds(lowest.longest_ns)),
            ])),
        ),
    ])
}

/// The buckets are those of the published response-time table.
fn statements(it: &Statements) -> JsonValue {
    JsonValue::object([
        ("statements", it.statements.into()),
        ("rows", it.rows.into()),
        ("retries", it.retries.into()),
        ("buckets", it.buckets.into_iter().collect()),
        ("longest_s", seconds(it.longest_ns)),
    ])
}

fn seconds(ns: u64) -> JsonValue {
    (ns as f64 / 1e9).into()
}
