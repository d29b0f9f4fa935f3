//! JSON, schema 1. A figure that was never measured is null.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    Artifact, AuditClass, AuditFinding, Examination, Host, Priority, Product, RealtimeAccess,
    ShardRun, StudyRecord, System, TableForm, printable_json,
};
use assay_verdict::{
    GroupSummary, InstructionSets, Judgement, NodeSummary, SystemSummary, instruction_sets,
    weighted_totals,
};
use serde::Serialize;

use super::findings::{self, AnswerRow, ComparedRow, ConfigRow, MissingRow, RestoredRow};
use super::number::Number;
use super::row::{CellRow, SetupRow, system_name};
use super::sections::{
    self, CourseRow, CrossoverRow, GateRow, LineRow, RankingRow, SameRow, TotalRow, VersionStepRow,
};
use crate::view::caveats::detectable;
use crate::view::findings::{Topic, same_systems};
use crate::view::reasons;
use crate::words::{rfc3339, source};

/// Raised when the shape of any document changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Versioned<T> {
    schema: u32,
    #[serde(flatten)]
    document: T,
}

#[derive(Serialize)]
struct StudyJson<'a> {
    study: StudyRow<'a>,
    host: HostRow<'a>,
    /// Null for published results.
    workload_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<&'a str>,
    /// Systems that are the same despite different options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    same_systems: Vec<SameRow<'a>>,
    systems: Vec<SystemRow<'a>>,
    audit: Vec<AuditRow<'a>>,
    cells: Vec<CellRow<'a>>,
    groups: Vec<GroupSummaryRow<'a>>,
    /// Only for three or more systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<RankingRow<'a>>,
    steps: Vec<VersionStepRow<'a>>,
    lines: Vec<LineRow<'a>>,
    crossovers: Vec<CrossoverRow<'a>>,
    /// Costs of the events of mixes, from the tests that measure each kind alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    totals: Vec<TotalRow<'a>>,
    /// Only for studies with several client counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seconds: Vec<CourseRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<GateRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    twin: Option<TwinRow<'a>>,
    /// The machines, if several measured shards of the study.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeRow<'a>>,
    /// Requested systems that take no part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<MissingRow<'a>>,
    /// Options of config files that systems do not accept, or not permanently.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    config: Vec<ConfigRow<'a>>,
    /// Number of statements that each system answers as the base does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers_compared: Vec<ComparedRow<'a>>,
    /// Answers to a user's statements that differ from those of the base.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<AnswerRow<'a>>,
    /// Messages of systems while a dump was restored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restored: Vec<RestoredRow<'a>>,
    /// The CPU that valgrind emulated, if it counted instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    valgrind_cpu: Option<ValgrindCpuRow<'a>>,
    events: Vec<EventRow<'a>>,
}

#[derive(Serialize)]
struct StudyRow<'a> {
    id: &'a str,
    /// Null for published results, like seed and times, because they are not known.
    started: Option<String>,
    preset: &'static str,
    seed: Option<u64>,
    threshold: Number,
    budget_s: Number,
    elapsed_s: Number,
    finished: bool,
    /// Whether it was imported. assay reads such a study, and runs nothing of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
    /// Null for published results.
    terms: Option<&'a str>,
    /// `realtime`, `normal`, or `mixed` if the cells differ; null for published results.
    priority: Option<&'static str>,
    /// Form of sysbench's tables, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    table_form: Option<&'a TableForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<ShardRow<'a>>,
}

/// A shard and its last node.
#[derive(Serialize)]
struct ShardRow<'a> {
    study: &'a str,
    number: u32,
    of: u32,
    attempt: &'a str,
    node: &'a str,
}

impl<'a> ShardRow<'a> {
    fn new(shard: &'a ShardRun) -> Self {
        let ShardRun { study, number, of, attempt, node, .. } = shard;
        Self { study, number: *number, of: *of, attempt, node }
    }
}

#[derive(Serialize)]
pub(crate) struct NodeRow<'a> {
    node: &'a str,
    host: HostRow<'a>,
    blocks: u32,
    slices: u32,
    /// Rate of the base divided by the mean of all nodes.
    speed: Number,
}

impl<'a> NodeRow<'a> {
    pub(crate) fn new(node: &'a NodeSummary) -> Self {
        let NodeSummary { name, host, blocks, slices, speed } = node;
        let (blocks, slices) = (*blocks, *slices);
        Self { node: name, host: HostRow::new(host), blocks, slices, speed: Number(*speed) }
    }
}

/// The machine; all null if it is unknown.
#[derive(Serialize)]
pub(crate) struct HostRow<'a> {
    cpu: Option<&'a str>,
    cpus: Option<u32>,
    memory_kb: Option<u64>,
    kernel: Option<&'a str>,
    os: Option<&'a str>,
    hypervisor: Option<&'a str>,
    filesystem: Option<&'a str>,
    counts_disk_wait: Option<bool>,
    counts_device: Option<bool>,
    realtime: Option<&'static str>,
    cpu_weight: Option<u32>,
    doctor: Option<&'a Examination>,
}

impl<'a> HostRow<'a> {
    pub(crate) fn new(host: &'a Host) -> Self {
        let is_known = host.is_known();
        let text = |text: &'a str| is_known.then_some(text);
        Self {
            cpu: text(&host.cpu),
            cpus: is_known.then_some(host.cpus),
            memory_kb: is_known.then_some(host.memory_kb),
            kernel: text(&host.kernel),
            os: text(&host.os),
            hypervisor: host.hypervisor.as_deref(),
            filesystem: text(&host.filesystem),
            counts_disk_wait: is_known.then_some(host.counts_disk_wait),
            counts_device: is_known.then_some(host.counts_device),
            realtime: host.realtime.map(RealtimeAccess::word),
            cpu_weight: host.cpu_weight,
            doctor: host.doctor.as_ref(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct SystemRow<'a> {
    name: &'a str,
    /// Null for published results without it, like the engine.
    product: Option<&'static str>,
    version: &'a str,
    /// Everything requested of the system. Null for published results.
    spec: Option<String>,
    engine: Option<&'static str>,
    build: &'a str,
    source: String,
    /// Null for a server that was already running, because its files are unknown.
    sha256: Option<&'a str>,
    is_base: bool,
    is_twin: bool,
}

#[derive(Serialize)]
pub(crate) struct AuditRow<'a> {
    setting: &'a str,
    values: BTreeMap<&'a str, Option<&'a str>>,
    class: AuditClass,
    kind: Topic,
    why: &'a str,
}

#[derive(Serialize)]
struct GroupSummaryRow<'a> {
    group: &'static str,
    #[serde(flatten)]
    setup: SetupRow,
    system: &'a str,
    n: u32,
    bounded: u32,
    min: Number,
    max: Number,
    avg: Number,
    median: Number,
    stddev: Number,
    median_low: Number,
    median_high: Number,
    /// Explanation of the changes of its tests.
    why: Option<String>,
}

/// The result of the base against itself. Present only with a twin.
#[derive(Serialize)]
struct TwinRow<'a> {
    system: &'a str,
    false_calls: u32,
    cells: u32,
    /// Smallest relative change that would be called in half of the tests, and in all.
    detectable_median: Number,
    detectable_max: Number,
}

/// CPU features hidden by valgrind, and those used by the code of each system, as far as names of functions show.
#[derive(Serialize)]
struct ValgrindCpuRow<'a> {
    hidden: BTreeSet<&'a str>,
    used: BTreeMap<&'a str, BTreeSet<&'static str>>,
}

impl<'a> ValgrindCpuRow<'a> {
    fn new(record: &'a StudyRecord) -> Option<Self> {
        let InstructionSets { hidden, used } = instruction_sets(&record.counts)?;
        let used = used.into_iter().map(|(system, sets)| (system_name(record, system), sets));
        Some(Self { hidden, used: used.collect() })
    }
}

#[derive(Serialize)]
struct EventRow<'a> {
    when: Option<String>,
    system: Option<&'a str>,
    what: String,
}

fn priority(record: &StudyRecord) -> Option<&'static str> {
    let mut cells = record.study.cells.iter().map(|cell| cell.priority);
    let first: Priority = cells.next().filter(|_| !record.is_reported())?;
    Some(if cells.all(|priority| priority == first) { first.word() } else { "mixed" })
}

/// Schema 1, indented, with a final line feed.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> String {
    let (study, is_measured) = (&record.study, !record.is_reported());
    let document = StudyJson {
        study: StudyRow {
            id: &study.id,
            started: record.began_ms().and_then(rfc3339),
            preset: study.preset.word(),
            seed: is_measured.then_some(study.seed),
            threshold: assay_verdict::threshold(study).into(),
            budget_s: Number(is_measured.then(|| record.budget_s())),
            elapsed_s: Number(record.spent_s()),
            finished: record.finished,
            foreign: record.foreign,
            terms: study.terms.as_deref(),
            priority: priority(record),
            table_form: Some(&study.table_form).filter(|it| **it != TableForm::default()),
            shard: record.shard().map(ShardRow::new),
        },
        host: HostRow::new(record.host()),
        workload_version: is_measured.then_some(study.workload_version),
        workload: study.workload(),
        same_systems: sections::same(&record.systems, same_systems(record)),
        systems: systems(&record.systems),
        audit: audit(&record.systems, &record.audit),
        cells: judgement.cells.iter().map(|judged| CellRow::new(record, judged)).collect(),
        groups: judgement.groups.iter().map(|summary| group(record, judgement, summary)).collect(),
        ranking: judgement.rankings.as_ref().map(|all| sections::ranking(record, all)),
        steps: judgement.steps.iter().map(|step| sections::step(record, step)).collect(),
        lines: judgement.lines.iter().map(|line| sections::line(record, line)).collect(),
        crossovers: (judgement.crossovers.iter().map(|it| sections::crossover(record, it)))
            .collect(),
        totals: (weighted_totals(record, &judgement.cells).iter())
            .map(|total| sections::total(record, total))
            .collect(),
        seconds: sections::courses(record, judgement),
        gate: sections::gate(record, judgement),
        twin: judgement.systems.iter().find_map(|summary| twin(record, judgement, summary)),
        nodes: judgement.nodes.iter().flat_map(|nodes| &nodes.each).map(NodeRow::new).collect(),
        missing: findings::missing(record),
        config: findings::config(record),
        answers_compared: findings::compared(record),
        answers: findings::answers(record),
        restored: findings::restored(record),
        valgrind_cpu: ValgrindCpuRow::new(record),
        events: events(record),
    };
    versioned(&document)
}

/// A document after the version of its shape.
pub(crate) fn versioned(document: impl Serialize) -> String {
    text(Versioned { schema: SCHEMA, document })
}

/// Indented, with a final line feed. No character in it controls a terminal.
pub(crate) fn text(document: impl Serialize) -> String {
    let text = serde_json::to_string_pretty(&document).expect("maps have names as keys");
    printable_json(&text).into_owned() + "\n"
}

pub(crate) fn systems(systems: &[System]) -> Vec<SystemRow<'_>> {
    systems
        .iter()
        .map(|system| SystemRow {
            name: &system.name,
            product: system.artifact.product().map(Product::word),
            version: system.artifact.version(),
            spec: (!matches!(system.artifact, Artifact::Reported(_)))
                .then(|| system.spec.to_string()),
            engine: system.artifact.product().map(|_| system.spec.engine.word()),
            build: system.artifact.package_version(),
            source: source(system),
            sha256: system.artifact.sha256(),
            is_base: system.is_base,
            is_twin: system.is_twin,
        })
        .collect()
}

pub(crate) fn audit<'a>(systems: &'a [System], findings: &'a [AuditFinding]) -> Vec<AuditRow<'a>> {
    findings
        .iter()
        .map(|finding| AuditRow {
            setting: &finding.setting,
            values: systems
                .iter()
                .zip(&finding.values)
                .map(|(system, value)| (system.name.as_str(), value.as_deref()))
                .collect(),
            class: finding.class,
            kind: Topic::of(finding),
            why: &finding.why,
        })
        .collect()
}

fn group<'a>(
    record: &'a StudyRecord,
    judgement: &Judgement,
    summary: &GroupSummary,
) -> GroupSummaryRow<'a> {
    GroupSummaryRow {
        group: summary.group.word.as_str(),
        setup: SetupRow::new(record, summary.setup),
        system: system_name(record, summary.system),
        n: summary.n,
        bounded: summary.bounded,
        min: summary.min.into(),
        max: summary.max.into(),
        avg: summary.avg.into(),
        median: summary.median.into(),
        stddev: Number(summary.stddev),
        median_low: Number(summary.median_interval.map(|interval| interval.low)),
        median_high: Number(summary.median_interval.map(|interval| interval.high)),
        why: reasons::of_group(&judgement.cells, summary),
    }
}

fn twin<'a>(
    record: &'a StudyRecord,
    judgement: &Judgement,
    summary: &SystemSummary,
) -> Option<TwinRow<'a>> {
    let detectable = detectable(judgement, &[summary.system]);
    let is_twin = record.systems.get(summary.system).is_some_and(|system| system.is_twin);
    is_twin.then(|| TwinRow {
        system: system_name(record, summary.system),
        false_calls: summary.slower + summary.faster,
        cells: summary.cells(),
        detectable_median: Number(detectable.map(|(half, _)| half)),
        detectable_max: Number(detectable.map(|(_, all)| all)),
    })
}

fn events(record: &StudyRecord) -> Vec<EventRow<'_>> {
    record
        .events
        .iter()
        .map(|event| EventRow {
            when: rfc3339(event.when_ms),
            system: event.system.map(|system| system_name(record, system)),
            what: event.what.to_string(),
        })
        .collect()
}
