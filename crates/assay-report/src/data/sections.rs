//! The parts of the JSON besides its cells: groups, the ranking, steps, lines of versions, crossovers, totals, courses
//! by second, the limits and the twin.

use assay_model::{CellId, SameOption, SameReason, SameSystems, System};
use assay_verdict::{
    ActiveSecond, CellJudgement, Crossover, GroupSummary, LimitVerdict, LimitedCell, LineStep,
    LineSummary, MainStep, Ranking, SystemSummary, VerdictDoubt, WeightedTotal, active_seconds,
};

use super::cell::{CLIENTS, ROWS, TABLES, if_known, latencies, system_name};
use super::field::{FileField, all_described, file_fields, json};
use super::value::JsonValue;
use crate::sections::caveats::detectable;
use crate::sections::limits::{LimitedFigure, limited_figure, why};
use crate::sections::reasons;
use crate::sections::study::JudgedStudy;

const SYSTEM: &str = "name of the system";

pub(super) const GROUPS: &[FileField<GroupSummary>] = file_fields! { |study, it: GroupSummary|
    "group", "name of the group", it.group.word.as_str();
    "clients", CLIENTS, it.setup.clients;
    "tables", TABLES, if_known(study, it.setup.tables);
    "rows", ROWS, if_known(study, it.setup.rows);
    "system", SYSTEM, system_name(study.record, it.system);
    "n", "tests that have a relative QPS", it.n;
    "bounded", "tests of which only a bound is known, which the other figures leave out", it.bounded;
    "min", "smallest relative QPS", it.min;
    "max", "largest relative QPS", it.max;
    "avg", "mean relative QPS", it.avg;
    "median", "median relative QPS", it.median;
    "stddev", "sample standard deviation; null for a single test", it.stddev;
    "median_low", "lower end of the 95% interval of the median; null with few blocks",
        it.median_interval.map(|interval| interval.low);
    "median_high", "upper end", it.median_interval.map(|interval| interval.high);
    "why", "what the changes of its tests come from",
        reasons::of_group(&study.judgement.cells, it).filter(|_| it.than == study.base);
};

/// Pairs without the base.
pub(super) const GROUP_PAIRS: &[FileField<GroupSummary>] = file_fields! { |study, it: GroupSummary|
    "than",
        "the system that the figures of this entry are relative to, in place of the base: the oldest version of \
         another line, or its newest one for the newest of the base's line; `group_pairs` is present only with such \
         pairs",
        system_name(study.record, it.than);
    "group", "", json(GROUPS, study, it), spread(|| all_described(&[("*", "as in `groups[]`")]));
};

/// Only for three or more systems. The overall ranking is null if no test has all of the ranked systems.
pub(super) fn ranking(study: &JudgedStudy<'_>) -> Option<JsonValue> {
    let rankings = study.judgement.rankings.as_ref()?;
    let overall = rankings.overall.as_ref().map(|ranking| {
        let mut fields: JsonFields =
            vec![("tests", ranking.tests.into()), ("left_out", ranking.left_out.into())];
        fields.extend(order(study, ranking));
        JsonValue::Fields(fields)
    });
    let test = |ranking: &Ranking| {
        let mut fields = cell_key(study, ranking.cell?);
        fields.extend(order(study, ranking));
        Some(JsonValue::Fields(fields))
    };
    let tests: JsonValue = rankings.tests.iter().filter_map(test).collect();
    Some(JsonValue::object([("overall", overall.into()), ("tests", tests)]))
}

fn names(study: &JudgedStudy<'_>, systems: &[usize]) -> JsonValue {
    systems.iter().map(|system| system_name(study.record, *system)).collect()
}

type JsonFields = Vec<(&'static str, JsonValue)>;

fn cell_key(study: &JudgedStudy<'_>, cell: CellId) -> JsonFields {
    vec![
        ("test", cell.test.name().into()),
        ("clients", cell.setup.clients.into()),
        ("tables", if_known(study, cell.setup.tables)),
        ("rows", if_known(study, cell.setup.rows)),
    ]
}

/// The systems of a group, the fastest of which comes first, are indistinguishable. A pair has the lower system
/// relative to the higher one, with its simultaneous interval.
fn order(study: &JudgedStudy<'_>, ranking: &Ranking) -> [(&'static str, JsonValue); 4] {
    let name = |system: usize| system_name(study.record, system);
    let systems = ranking.systems().map(|system| {
        JsonValue::object([("system", name(system).into()), ("rank", ranking.rank(system).into())])
    });
    let pairs = ranking.pairs.iter().map(|pair| {
        JsonValue::object([
            ("system", name(pair.below).into()),
            ("than", name(pair.above).into()),
            ("ratio", pair.ratio.into()),
            ("verdict", pair.verdict.word().into()),
        ])
    });
    [
        ("groups", ranking.groups.iter().map(|group| names(study, group)).collect()),
        ("systems", systems.collect()),
        ("pairs", pairs.collect()),
        ("unranked", names(study, &ranking.unranked)),
    ]
}

/// A version against the one before it, in one cell.
pub(super) const STEPS: &[FileField<LineStep>] = file_fields! { |study, it: LineStep|
    "test", "test of a step from one version to the next", it.cell.test.name();
    "clients", CLIENTS, it.cell.setup.clients;
    "tables", TABLES, if_known(study, it.cell.setup.tables);
    "rows", ROWS, if_known(study, it.cell.setup.rows);
    "from", "the earlier version", system_name(study.record, it.from);
    "to", "the later version", system_name(study.record, it.to);
    "ratio", "QPS of the later version divided by that of the earlier one, an interval", it.ratio;
    "verdict", "verdict on it", it.verdict.word();
    "beyond_threshold", "confidence that the change exceeds the threshold, 0 to 1", it.beyond_threshold;
    "is_change", "whether reports name it as a place of change", it.is_change;
};

/// Three or more versions in one cell, the last against the first.
pub(super) const LINES: &[FileField<LineSummary>] = file_fields! { |study, it: LineSummary|
    "test", "test of a line of versions", it.cell.test.name();
    "clients", CLIENTS, it.cell.setup.clients;
    "tables", TABLES, if_known(study, it.cell.setup.tables);
    "rows", ROWS, if_known(study, it.cell.setup.rows);
    "systems", "", names(study, &it.systems),
        below(|| all_described(&[("[]", "the versions, in their order")]));
    "ratio", "the last version divided by the first, an interval", it.ratio;
    "verdict", "verdict on it", it.verdict.word();
    "main_step", "", it.main.map(|main| main_step(study, main)), below(|| all_described(MAIN_STEP));
};

const MAIN_STEP: &[(&str, &str)] = &[
    ("from", "the step with the largest part in the change: from this version"),
    ("to", "to this version"),
    ("share", "its share of the whole change"),
    ("confidence", "confidence that it is the largest step"),
];

fn main_step(study: &JudgedStudy<'_>, main: MainStep) -> JsonValue {
    JsonValue::object([
        ("from", system_name(study.record, main.from).into()),
        ("to", system_name(study.record, main.to).into()),
        ("share", main.share.into()),
        ("confidence", main.confidence.into()),
    ])
}

/// The client counts between which a system changes from faster to slower, or back. The verdict above is the opposite
/// of the one below.
pub(super) const CROSSOVERS: &[FileField<Crossover>] = file_fields! { |study, it: Crossover|
    "test", "test in which one system overtakes another as clients are added", it.few.test.name();
    "tables", TABLES, if_known(study, it.few.setup.tables);
    "rows", ROWS, if_known(study, it.few.setup.rows);
    "system", SYSTEM, system_name(study.record, it.system);
    "clients_below", "the client count below the crossover", it.few.setup.clients;
    "verdict_below", "the verdict there", it.verdict.word();
    "clients_above", "the client count above it", it.many.setup.clients;
    "clients", "where both are equally fast, an interval", it.clients;
};

/// Costs of the events of a mix in a system, from the tests that measure each kind alone.
pub(super) const TOTALS: &[FileField<WeightedTotal>] = file_fields! { |study, it: WeightedTotal|
    "test", "mix of a workload file whose parts were measured alone too; `totals` is present only then",
        it.mix.test.name();
    "clients", CLIENTS, it.mix.setup.clients;
    "tables", TABLES, if_known(study, it.mix.setup.tables);
    "rows", ROWS, if_known(study, it.mix.setup.rows);
    "system", SYSTEM, system_name(study.record, it.system);
    "time",
        "time of its events, from the tests that measure each kind of them alone, divided by the time in the base: an \
         interval",
        it.time;
    "measured", "kinds of events that were measured alone in both", it.measured;
    "kinds", "all kinds of events", it.kinds;
};

/// The result of the base against itself.
pub(super) const TWIN: &[FileField<SystemSummary>] = file_fields! { |study, it: SystemSummary|
    "system", "name of the twin", system_name(study.record, it.system);
    "false_calls", "changes called between the base and its twin", it.slower + it.faster;
    "cells", "tests of the twin", it.cells();
    "detectable_median", "change that would be called in half of the tests",
        detectable(study.judgement, &[it.system]).map(|(half, _)| half);
    "detectable_max", "change that would be called in all of them",
        detectable(study.judgement, &[it.system]).map(|(_, all)| all);
};

pub(super) fn twin(study: &JudgedStudy<'_>) -> Option<JsonValue> {
    let twin = study.judgement.systems.iter().find(|it| study.is_twin(it.system))?;
    Some(json(TWIN, study, twin))
}

/// The rates of each system in each cell, second by second. Only for studies with several client counts.
pub(super) fn courses(study: &JudgedStudy<'_>) -> Vec<JsonValue> {
    let (record, setups) = (study.record, &study.record.study.setups);
    if setups.iter().all(|setup| setup.clients == setups[0].clients) {
        return Vec::new();
    }
    let course = |judged: &CellJudgement| {
        let seconds = active_seconds(record, judged.cell, judged.system, judged.is_disturbed);
        let mut fields = cell_key(study, judged.cell);
        fields.push(("system", system_name(record, judged.system).into()));
        fields.push(("seconds", seconds.iter().map(second).collect()));
        JsonValue::Fields(fields)
    };
    study.judgement.cells.iter().map(course).collect()
}

fn second(second: &ActiveSecond) -> JsonValue {
    JsonValue::object([
        // Duration, seconds.
        ("s", second.seconds.into()),
        ("tps", (second.events as f64 / second.seconds).into()),
        ("qps", (second.queries as f64 / second.seconds).into()),
        ("latency_us", second.latency.as_ref().map(latencies).into()),
    ])
}

/// `None` if the study has no limits.
pub(super) fn limits(study: &JudgedStudy<'_>) -> Option<JsonValue> {
    let (judged, limits) = (study.judgement.limits.as_ref()?, study.record.study.limits.as_ref()?);
    Some(JsonValue::object([
        ("verdict", judged.verdict().word().into()),
        ("judge", limited_figure(study).word().into()),
        ("allow_undecided", limits.allow_undecided.into()),
        ("passed", judged.count(LimitVerdict::Passed).into()),
        ("exceeded", judged.count(LimitVerdict::Exceeded).into()),
        ("undecided", judged.count(LimitVerdict::Undecided).into()),
        ("failed", judged.count(LimitVerdict::Failed).into()),
        ("cells", judged.cells.iter().map(|cell| limited_cell(study, cell)).collect()),
    ]))
}

/// One system in one cell, with its limit: a slowdown, or additional CPU or instructions. Its bounds are those of the
/// sequential look, not the 95% interval of the cell. `needs_times` is the multiple of the measuring time that would
/// decide it if the estimate is right.
fn limited_cell(study: &JudgedStudy<'_>, cell: &LimitedCell) -> JsonValue {
    let limit = |is_it: bool, value: JsonValue| if is_it { value } else { JsonValue::Absent };
    let figure = limited_figure(study);
    let [is_timed, is_of_cpu, is_counted] =
        [LimitedFigure::Time, LimitedFigure::Cpu, LimitedFigure::Instructions]
            .map(|limited| limited == figure);
    let needs_times = match cell.doubt {
        Some(VerdictDoubt::Wide { times, .. }) => Some(times),
        _ => None,
    };
    let mut fields = cell_key(study, cell.cell);
    fields.extend([
        ("system", system_name(study.record, cell.system).into()),
        ("max_slowdown", limit(is_timed, cell.margin.into())),
        ("rqps", cell.ratio.filter(|_| is_timed).into()),
        ("max_more", limit(!is_timed, cell.margin.into())),
        ("cpu_ratio", limit(is_of_cpu, cell.ratio.into())),
        ("instructions", limit(is_counted && cell.ratio.is_some(), cell.ratio.into())),
        ("verdict", cell.verdict.word().into()),
        ("needs_times", needs_times.into()),
        ("why", why(study, cell).into()),
    ]);
    JsonValue::Fields(fields)
}

/// Systems that are the same despite different options.
pub fn same_rows<'a>(
    systems: &[System],
    same: impl Iterator<Item = (usize, &'a SameSystems)>,
) -> Vec<JsonValue> {
    // A ledger may come from anyone.
    let name = |index: usize| systems.get(index).map_or("?", |system| system.name.as_str());
    same.map(|(system, same)| {
        JsonValue::object([
            ("systems", [same.other, system].map(name).into_iter().collect()),
            ("options", same.options.iter().map(same_option).collect()),
        ])
    })
    .collect()
}

fn same_option(option: &SameOption) -> JsonValue {
    let (because, why) = match &option.because {
        SameReason::Terms => ("terms", None),
        SameReason::Default => ("default", None),
        SameReason::Spelling => ("spelling", None),
        SameReason::NoEffect(why) => ("no-effect", Some(why.as_str())),
    };
    JsonValue::object([
        ("setting", option.setting.as_str().into()),
        ("value", option.value.as_str().into()),
        ("because", because.into()),
        ("why", why.into()),
    ])
}
