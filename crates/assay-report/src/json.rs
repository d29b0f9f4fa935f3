//! JSON, schema 1. What was never measured is null.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_model::{AuditClass, AuditFinding, Estimate, Host, StudyRecord, System};
use assay_verdict::{CellJudgement, GroupSummary, Judgement, PerOp, SystemSummary};
use serde::{Serialize, Serializer};

use crate::findings::Kind;
use crate::headline::{detectable, is_twin};
use crate::number::Digits;
use crate::words::{rfc3339, source, system_name, why};

/// The shape below; raised when it breaks.
const SCHEMA: u32 = 1;

/// A finite number, or null. Counts are whole and stay exact.
#[derive(Debug, Clone, Copy, Default)]
struct Number(Option<f64>);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(Some(value))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.and_then(Digits::of) {
            // Whole numbers without a fraction, as people write them.
            Some(Digits::Whole(value)) => serializer.serialize_i64(value),
            Some(Digits::Fraction(value)) => serializer.serialize_f64(value),
            None => serializer.serialize_none(),
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    study: StudyPart<'a>,
    host: &'a Host,
    workload_version: u32,
    systems: Vec<SystemPart<'a>>,
    audit: Vec<AuditPart<'a>>,
    cells: Vec<CellPart<'a>>,
    groups: Vec<GroupPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    twin: Option<TwinPart<'a>>,
    events: Vec<EventPart<'a>>,
}

#[derive(Serialize)]
struct StudyPart<'a> {
    id: &'a str,
    started: Option<String>,
    preset: &'static str,
    seed: u64,
    threshold: Number,
    budget_s: Number,
    elapsed_s: Number,
    finished: bool,
}

#[derive(Serialize)]
pub(crate) struct SystemPart<'a> {
    name: &'a str,
    product: &'static str,
    version: &'a str,
    engine: &'static str,
    build: &'a str,
    source: String,
    /// Null for a server that ran already: nothing is known of its files.
    sha256: Option<&'a str>,
    is_base: bool,
    is_twin: bool,
}

#[derive(Serialize)]
pub(crate) struct AuditPart<'a> {
    setting: &'a str,
    values: BTreeMap<&'a str, Option<&'a str>>,
    class: AuditClass,
    kind: Kind,
    why: &'a str,
}

#[derive(Serialize)]
struct Interval {
    value: Number,
    low: Number,
    high: Number,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        Self { value: estimate.value.into(), low: estimate.low.into(), high: estimate.high.into() }
    }
}

#[derive(Serialize)]
struct CellPart<'a> {
    test: String,
    group: &'static str,
    clients: u32,
    tables: u32,
    rows: u32,
    system: &'a str,
    qps: Option<Interval>,
    rqps: Option<Interval>,
    verdict: &'static str,
    slices: u32,
    troubled: u32,
    troubled_by: TroubledPart,
    disturbed: bool,
    blocks: u32,
    ops: Number,
    errors: u64,
    latency_us: Option<LatencyPart>,
    per_op: Option<PerOpPart>,
    cpu_ratio: Option<Interval>,
    cpu_verdict: Option<&'static str>,
    detectable: Option<Number>,
    why: Option<Cow<'a, str>>,
}

/// Troubled slices by kind; one may be of several.
#[derive(Serialize)]
struct TroubledPart {
    steal: u32,
    other_process: u32,
    clock_jump: u32,
}

#[derive(Serialize)]
struct LatencyPart {
    p50: Number,
    p95: Number,
    p99: Number,
    max: Number,
}

#[derive(Serialize, Default)]
struct PerOpPart {
    time_us: Number,
    client_cpu_us: Number,
    server_cpu_us: Number,
    server_user_us: Number,
    server_sys_us: Number,
    runq_us: Number,
    disk_wait_us: Number,
    other_wait_us: Number,
    /// Counted both in `client_cpu_us` and in the server's terms.
    overlap_us: Number,
    background_cpu_us: Number,
    cs: Number,
    reads: Number,
    read_kb: Number,
    write_kb: Number,
}

#[derive(Serialize)]
struct GroupPart<'a> {
    group: &'static str,
    clients: u32,
    tables: u32,
    rows: u32,
    system: &'a str,
    n: u32,
    min: Number,
    max: Number,
    avg: Number,
    median: Number,
    stddev: Number,
    median_low: Number,
    median_high: Number,
}

/// What the base against itself says of the study; there only where a twin took part.
#[derive(Serialize)]
struct TwinPart<'a> {
    system: &'a str,
    false_calls: u32,
    cells: u32,
    /// Smallest relative change that would be called in half of the tests, and in all.
    detectable_median: Number,
    detectable_max: Number,
}

#[derive(Serialize)]
struct EventPart<'a> {
    when: Option<String>,
    system: Option<&'a str>,
    what: String,
}

/// Renders schema 1, indented, with a final line feed.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> String {
    let study = &record.study;
    let document = Document {
        schema: SCHEMA,
        study: StudyPart {
            id: &study.id,
            started: rfc3339(study.started_ms),
            preset: study.preset.word(),
            seed: study.seed,
            threshold: study.threshold.into(),
            budget_s: study.budget_s.into(),
            elapsed_s: record.elapsed_s().into(),
            finished: record.finished,
        },
        host: record.host(),
        workload_version: study.workload_version,
        systems: systems(&record.systems),
        audit: audit(&record.systems, &record.audit),
        cells: judgement.cells.iter().map(|judged| cell(record, judged)).collect(),
        groups: judgement.groups.iter().map(|summary| group(record, summary)).collect(),
        twin: judgement.systems.iter().find_map(|summary| twin(record, judgement, summary)),
        events: events(record),
    };
    // Only maps with keys that are not strings and failing writers can fail; there are neither.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

pub(crate) fn systems(systems: &[System]) -> Vec<SystemPart<'_>> {
    systems
        .iter()
        .map(|system| SystemPart {
            name: &system.name,
            product: system.artifact.product().word(),
            version: system.artifact.version(),
            engine: system.spec.engine.word(),
            build: system.artifact.package_version(),
            source: source(system),
            sha256: system.artifact.sha256(),
            is_base: system.is_base,
            is_twin: system.is_twin,
        })
        .collect()
}

pub(crate) fn audit<'a>(systems: &'a [System], findings: &'a [AuditFinding]) -> Vec<AuditPart<'a>> {
    findings
        .iter()
        .map(|finding| AuditPart {
            setting: &finding.setting,
            values: systems
                .iter()
                .zip(&finding.values)
                .map(|(system, value)| (system.name.as_str(), value.as_deref()))
                .collect(),
            class: finding.class,
            kind: Kind::of(finding),
            why: &finding.why,
        })
        .collect()
}

fn cell<'a>(record: &'a StudyRecord, judged: &'a CellJudgement) -> CellPart<'a> {
    let setup = judged.cell.setup;
    CellPart {
        test: judged.cell.test.name.clone(),
        group: judged.group.word.as_str(),
        clients: setup.clients,
        tables: setup.tables,
        rows: setup.rows,
        system: system_name(record, judged.system),
        qps: judged.qps.map(Into::into),
        rqps: judged.rqps.map(Into::into),
        verdict: judged.verdict.word(),
        slices: judged.slices,
        troubled: judged.troubled,
        troubled_by: TroubledPart {
            steal: judged.troubled_by.steal,
            other_process: judged.troubled_by.other_process,
            clock_jump: judged.troubled_by.clock_jump,
        },
        disturbed: judged.is_disturbed,
        blocks: judged.blocks,
        ops: judged.ops.into(),
        errors: judged.errors,
        latency_us: judged.latency.map(|latency| LatencyPart {
            p50: latency.p50.into(),
            p95: latency.p95.into(),
            p99: latency.p99.into(),
            max: latency.max.into(),
        }),
        per_op: judged.per_op.map(per_op),
        cpu_ratio: judged.cpu_ratio.map(Into::into),
        cpu_verdict: judged.cpu_verdict.map(assay_model::Verdict::word),
        detectable: judged.detectable.map(Into::into),
        why: why(record, judged),
    }
}

fn per_op(per_op: PerOp) -> PerOpPart {
    let common = PerOpPart {
        time_us: per_op.time_us.into(),
        client_cpu_us: Number(per_op.client_cpu_us),
        reads: Number(per_op.reads),
        read_kb: Number(per_op.read_kb),
        write_kb: Number(per_op.write_kb),
        ..PerOpPart::default()
    };
    let Some(server) = per_op.server else { return common };
    PerOpPart {
        server_cpu_us: server.cpu_us.into(),
        server_user_us: server.user_us.into(),
        server_sys_us: server.sys_us.into(),
        runq_us: server.runq_us.into(),
        disk_wait_us: Number(server.disk_wait_us),
        other_wait_us: Number(server.other_wait_us),
        overlap_us: Number(server.overlap_us),
        background_cpu_us: server.background_cpu_us.into(),
        cs: server.cs.into(),
        ..common
    }
}

fn group<'a>(record: &'a StudyRecord, summary: &GroupSummary) -> GroupPart<'a> {
    GroupPart {
        group: summary.group.word.as_str(),
        clients: summary.setup.clients,
        tables: summary.setup.tables,
        rows: summary.setup.rows,
        system: system_name(record, summary.system),
        n: summary.n,
        min: summary.min.into(),
        max: summary.max.into(),
        avg: summary.avg.into(),
        median: summary.median.into(),
        stddev: Number(summary.stddev),
        median_low: Number(summary.median_interval.map(|interval| interval.low)),
        median_high: Number(summary.median_interval.map(|interval| interval.high)),
    }
}

fn twin<'a>(
    record: &'a StudyRecord,
    judgement: &Judgement,
    summary: &SystemSummary,
) -> Option<TwinPart<'a>> {
    let detectable = detectable(judgement, &[summary.system]);
    is_twin(record, summary.system).then(|| TwinPart {
        system: system_name(record, summary.system),
        false_calls: summary.slower + summary.faster,
        cells: summary.cells(),
        detectable_median: Number(detectable.map(|(half, _)| half)),
        detectable_max: Number(detectable.map(|(_, all)| all)),
    })
}

fn events(record: &StudyRecord) -> Vec<EventPart<'_>> {
    record
        .events
        .iter()
        .map(|event| EventPart {
            when: rfc3339(event.when_ms),
            system: event.system.map(|system| system_name(record, system)),
            what: event.what.to_string(),
        })
        .collect()
}
