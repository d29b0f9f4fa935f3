//! JSON, schema 1. A figure that was never measured is null.

use std::collections::BTreeMap;

use assay_model::{
    Artifact, AuditFinding, Examination, Host, LIMITED_STUDY, Priority, Product, RealtimeAccess,
    ShardRun, StudyEvent, StudyRecord, System, TableForm, printable_json,
};
use assay_verdict::{InstructionSets, Judgement, NodeSummary, instruction_sets, weighted_totals};
use serde::Serialize;

use super::cell::{CELL_COLUMNS, system_name};
use super::field::{FileField, file_fields, json, json_rows};
use super::number::Number;
use super::value::JsonValue;
use super::{findings, sections};
use crate::sections::findings::{Topic, same_systems};
use crate::sections::study::JudgedStudy;
use crate::time_use::TimeUse;
use crate::words::{rfc3339, source};

/// Raised when the shape of any document changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct VersionedDocument<T> {
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    same_systems: Vec<JsonValue>,
    systems: JsonValue,
    audit: JsonValue,
    cells: JsonValue,
    groups: JsonValue,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    group_pairs: Vec<JsonValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<JsonValue>,
    steps: JsonValue,
    lines: JsonValue,
    crossovers: JsonValue,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    totals: Vec<JsonValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seconds: Vec<JsonValue>,
    /// By its name for users, if there are any.
    #[serde(flatten)]
    limits: BTreeMap<&'static str, JsonValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    twin: Option<JsonValue>,
    /// The machines, if several measured shards of the study.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<JsonValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    config: Vec<JsonValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers_compared: Vec<JsonValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<JsonValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restored: Vec<JsonValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valgrind_cpu: Option<JsonValue>,
    events: JsonValue,
}

#[derive(Serialize)]
struct StudyRow<'a> {
    id: &'a str,
    /// Null for published results, like seed and times, because they are not known.
    started: Option<String>,
    preset: &'static str,
    seed: Option<u64>,
    threshold: Number,
    /// Null for published results, and if nothing was timed.
    judge: Option<&'static str>,
    budget_s: Number,
    elapsed_s: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    spent: Option<JsonValue>,
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
    shard: Option<JsonValue>,
}

fn spent(time: &TimeUse) -> JsonValue {
    JsonValue::object([
        ("measured_s", time.measured_s.into()),
        ("warming_s", time.warming_s.into()),
        ("starting_s", time.starting_s.into()),
        ("preparing_s", time.preparing_s.into()),
        ("other_s", time.other_s.into()),
    ])
}

/// A shard and its last node.
fn shard(shard: &ShardRun) -> JsonValue {
    let ShardRun { study, number, of, attempt, node, .. } = shard;
    JsonValue::object([
        ("study", study.as_str().into()),
        ("number", (*number).into()),
        ("of", (*of).into()),
        ("attempt", attempt.as_str().into()),
        ("node", node.as_str().into()),
    ])
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

/// CPU features hidden by valgrind, and those used by the code of each system, as far as names of functions show.
fn valgrind_cpu(record: &StudyRecord) -> Option<JsonValue> {
    let InstructionSets { hidden, used } = instruction_sets(&record.counts)?;
    let used = used
        .into_iter()
        .map(|(system, sets)| (system_name(record, system).to_owned(), sets.into_iter().collect()));
    Some(JsonValue::object([
        ("hidden", hidden.into_iter().collect()),
        ("used", JsonValue::Named(used.collect())),
    ]))
}

pub(super) const EVENTS: &[FileField<StudyEvent>] = file_fields! { |study, it: StudyEvent|
    "when", "moment of something worth reporting that is no measurement, UTC", rfc3339(it.when_ms);
    "system", "the system that it concerns", it.system.map(|it| system_name(study.record, it));
    "what", "what happened", it.what.to_string();
};

fn priority(record: &StudyRecord) -> Option<&'static str> {
    let mut cells = record.study.cells.iter().map(|cell| cell.priority);
    let first: Priority = cells.next().filter(|_| !record.is_reported())?;
    Some(if cells.all(|priority| priority == first) { first.word() } else { "mixed" })
}

/// Schema 1, indented, with a final line feed.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> String {
    let (study, is_measured) = (&record.study, !record.is_reported());
    let judged = &JudgedStudy::new(record, judgement);
    let totals = weighted_totals(record, &judgement.cells);
    let document = StudyJson {
        study: StudyRow {
            id: &study.id,
            started: record.began_ms().and_then(rfc3339),
            preset: study.preset.word(),
            seed: is_measured.then_some(study.seed),
            threshold: assay_verdict::threshold(study).into(),
            judge: (is_measured && !record.counts_only()).then(|| study.judge.word()),
            budget_s: Number(is_measured.then(|| record.budget_s())),
            elapsed_s: Number(record.spent_s()),
            spent: TimeUse::new(record).as_ref().map(spent),
            finished: record.finished,
            foreign: record.foreign,
            terms: study.terms.as_deref(),
            priority: priority(record),
            table_form: Some(&study.table_form).filter(|it| **it != TableForm::default()),
            shard: record.shard().map(shard),
        },
        host: HostRow::new(record.host()),
        workload_version: is_measured.then_some(study.workload_version),
        workload: study.workload(),
        same_systems: sections::same_rows(&record.systems, same_systems(record)),
        systems: system_rows(&record.systems),
        audit: audit_rows(&record.systems, &record.audit),
        cells: json_rows(CELL_COLUMNS, judged, &judgement.cells),
        groups: json_rows(sections::GROUPS, judged, &judgement.groups),
        group_pairs: (judgement.group_pairs.iter())
            .map(|pair| json(sections::GROUP_PAIRS, judged, pair))
            .collect(),
        ranking: sections::ranking(judged),
        steps: json_rows(sections::STEPS, judged, &judgement.steps),
        lines: json_rows(sections::LINES, judged, &judgement.lines),
        crossovers: json_rows(sections::CROSSOVERS, judged, &judgement.crossovers),
        totals: totals.iter().map(|total| json(sections::TOTALS, judged, total)).collect(),
        seconds: sections::courses(judged),
        limits: sections::limits(judged).map(|it| (LIMITED_STUDY, it)).into_iter().collect(),
        twin: sections::twin(judged),
        nodes: judgement.nodes.iter().flat_map(|nodes| &nodes.each).map(NodeRow::new).collect(),
        missing: findings::missing(record),
        config: findings::config(record),
        answers_compared: findings::compared(record),
        answers: findings::answers(record),
        restored: findings::restored(record),
        valgrind_cpu: valgrind_cpu(record),
        events: json_rows(EVENTS, judged, &record.events),
    };
    versioned(&document)
}

/// A document after the version of its shape.
pub fn versioned(document: impl Serialize) -> String {
    text(VersionedDocument { schema: SCHEMA, document })
}

/// Indented, with a final line feed. No character in it controls a terminal.
pub(crate) fn text(document: impl Serialize) -> String {
    let text = serde_json::to_string_pretty(&document).expect("maps have names as keys");
    printable_json(&text).into_owned() + "\n"
}

pub fn system_rows(systems: &[System]) -> JsonValue {
    let row = |system: &System| {
        let artifact = &system.artifact;
        let is_reported = matches!(artifact, Artifact::Reported(_));
        JsonValue::object([
            ("name", system.name.as_str().into()),
            // Null for published results without it, like the engine.
            ("product", artifact.product().map(Product::word).into()),
            ("version", artifact.version().into()),
            ("spec", (!is_reported).then(|| system.spec.to_string()).into()),
            ("engine", artifact.product().map(|_| system.spec.engine.word()).into()),
            ("build", artifact.package_version().into()),
            ("source", source(system).into()),
            // Null for a server that was already running, because its files are unknown.
            ("sha256", artifact.sha256().into()),
            ("is_base", system.is_base.into()),
            ("is_twin", system.is_twin.into()),
        ])
    };
    systems.iter().map(row).collect()
}

pub fn audit_rows(systems: &[System], findings: &[AuditFinding]) -> JsonValue {
    let row = |finding: &AuditFinding| {
        let values = systems.iter().zip(&finding.values);
        let values = values.map(|(it, value)| (it.name.clone(), value.as_deref().into()));
        JsonValue::object([
            ("setting", finding.setting.as_str().into()),
            ("values", JsonValue::Named(values.collect())),
            ("class", findings::word(finding.class)),
            ("kind", findings::word(Topic::from_finding(finding))),
            ("why", finding.why.as_str().into()),
        ])
    };
    findings.iter().map(row).collect()
}
