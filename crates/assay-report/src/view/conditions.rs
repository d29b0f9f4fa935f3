//! The conditions of the measurement: machine, systems, study, data, audit and events.

use std::collections::BTreeSet;

use assay_model::{
    Artifact, AuditClass, DataContent, Experiment, Host, Instance, Origin, Preset, Priority,
    RealtimeAccess, SHORTENED, Schema, Setup, StartFrom, StatementMode, Study, StudyRecord, System,
    counted, may_equal,
};

use assay_verdict::{NodeSummary, threshold};

use super::findings::{self, MergedFinding, TopicFindings};
use super::study::JudgedStudy;
use super::trouble;
use crate::doctor::facts::state;
use crate::number::{NONE, duration, share};
use crate::words::{binaries, minute, origin, rfc3339};

pub(crate) struct Conditions<'a> {
    pub(crate) machine: Machine,
    /// Including the twin.
    pub(crate) systems: Vec<SystemFacts<'a>>,
    pub(crate) study: StudyFacts<'a>,
    /// Published results, of which nothing else is known.
    pub(crate) is_reported: bool,
    pub(crate) nodes: Vec<String>,
    pub(crate) runs: usize,
    /// Beginning and end of each pause between the runs; `None` if a time is unknown.
    pub(crate) pauses: Vec<[Option<String>; 2]>,
    pub(crate) data: Vec<String>,
    pub(crate) slices: Option<String>,
    pub(crate) servers_started: usize,
    pub(crate) retried_errors: u64,
    /// Defaults that differ, if the terms leave each version its defaults.
    pub(crate) defaults: Vec<MergedFinding<'a>>,
    pub(crate) audit: Audit<'a>,
    pub(crate) events: Vec<Event<'a>>,
}

pub(crate) struct Machine {
    pub(crate) cpus: String,
    pub(crate) processor: String,
    pub(crate) memory: String,
    /// Operating system, kernel and file system.
    pub(crate) platform: String,
    /// Noise and advisable changes, if examined.
    pub(crate) state: Vec<String>,
}

pub(crate) struct SystemFacts<'a> {
    pub(crate) label: &'a str,
    /// The whole name if the label is shorter; shown nowhere else.
    pub(crate) whole_name: Option<String>,
    pub(crate) is_base: bool,
    pub(crate) is_twin: bool,
    pub(crate) version: String,
    pub(crate) engine: &'static str,
    pub(crate) package: &'a str,
    pub(crate) origin: String,
    /// Start of their checksum.
    pub(crate) binaries: &'a str,
    pub(crate) is_released: bool,
    pub(crate) notes: &'a [String],
    pub(crate) options: &'a [String],
}

pub(crate) struct StudyFacts<'a> {
    pub(crate) id: &'a str,
    pub(crate) preset: Preset,
    pub(crate) workload: Option<String>,
    pub(crate) own_rows: String,
    pub(crate) setups: &'a [Setup],
    pub(crate) has_known_tables: bool,
    pub(crate) experiment: Experiment,
    /// `None` if a script decides for each statement.
    pub(crate) statements: Option<StatementMode>,
    /// How the tables were created, if not in the usual form.
    pub(crate) table_form: Option<String>,
    pub(crate) terms: Option<&'a str>,
    pub(crate) placements: String,
    pub(crate) priorities: String,
    pub(crate) seed: u64,
    pub(crate) threshold: String,
    pub(crate) workload_version: u32,
    pub(crate) assay_version: &'a str,
    /// RFC 3339; `None` if unknown.
    pub(crate) started: Option<String>,
    pub(crate) took: String,
    /// Time as a share of the budget; `None` if that is only an estimate.
    pub(crate) of_budget: Option<String>,
}

pub(crate) struct Audit<'a> {
    pub(crate) systems: Vec<(usize, &'a str)>,
    pub(crate) counts: String,
    /// The suspicious ones, then the expected ones.
    pub(crate) topics: Vec<TopicFindings<'a>>,
    pub(crate) harmless: Vec<TopicFindings<'a>>,
}

pub(crate) struct Event<'a> {
    /// RFC 3339; `None` if unknown.
    pub(crate) when: Option<String>,
    pub(crate) system: Option<&'a str>,
    pub(crate) what: String,
}

impl<'a> Conditions<'a> {
    pub(crate) fn new(study: &'a JudgedStudy<'a>) -> Self {
        let (record, judgement) = (study.record, study.judgement);
        let events = record.events.iter().map(|event| Event {
            when: rfc3339(event.when_ms),
            system: event.system.map(|system| study.label(system)),
            what: event.what.to_string(),
        });
        Self {
            machine: machine(record.host()),
            systems: (0..record.systems.len()).map(|index| system(study, index)).collect(),
            study: study_facts(record),
            is_reported: record.is_reported(),
            nodes: judgement.nodes.iter().flat_map(|nodes| &nodes.each).map(node).collect(),
            runs: record.runs.len(),
            pauses: pauses(record),
            data: data(study),
            slices: (!study.counts_only()).then(|| trouble::slices(record, judgement)),
            servers_started: servers_started(record),
            retried_errors: judgement.cells.iter().map(|cell| cell.errors).sum(),
            defaults: defaults(record),
            audit: audit(study),
            events: events.collect(),
        }
    }
}

pub(crate) const DEFAULTS_MAX: usize = 40;

const SHIPPED: &str = "shipped";

pub(crate) fn defaults(record: &StudyRecord) -> Vec<MergedFinding<'_>> {
    match record.study.terms.as_deref() {
        Some(SHIPPED) => findings::unasked(&record.audit),
        _ => Vec::new(),
    }
}

/// Instances that assay started, without those that were already running.
fn servers_started(record: &StudyRecord) -> usize {
    let is_ours = |instance: &&Instance| {
        let system = record.systems.get(instance.system);
        system.is_some_and(|it| !matches!(it.spec.origin, Origin::Url(_)))
    };
    record.instances.iter().filter(is_ours).count()
}

fn node(node: &NodeSummary) -> String {
    let NodeSummary { name, host, blocks, slices, speed } = node;
    let machine = format!("{} × {}", host.cpus, host.cpu);
    let (blocks, slices) = (counted(*blocks, "block"), counted(*slices, "slice"));
    let speed = speed.map_or_else(String::new, |speed| {
        format!("; the base ran at {:.1}% of the mean of all nodes", speed * 100.0)
    });
    format!("node {name}: {machine}; {blocks}, {slices}{speed}")
}

fn machine(host: &Host) -> Machine {
    if !host.is_known() {
        // Published results do not have it.
        let unknown = || "unknown".to_owned();
        let (cpus, state) = (unknown(), Vec::new());
        return Machine {
            processor: unknown(),
            cpus,
            memory: unknown(),
            platform: unknown(),
            state,
        };
    }
    let hypervisor =
        host.hypervisor.as_ref().map_or_else(String::new, |h| format!(", virtual machine ({h})"));
    let cpus = format!("{} × {}", host.cpus, host.cpu);
    Machine {
        processor: format!("{cpus}{hypervisor}"),
        cpus,
        memory: format!("{:.0} GiB", host.memory_kb as f64 / f64::from(1 << 20)),
        platform: format!("{}, kernel {}, {}", host.os, host.kernel, host.filesystem),
        state: host.doctor.as_ref().map(|it| state(host, it)).unwrap_or_default(),
    }
}

fn system<'a>(study: &'a JudgedStudy<'a>, index: usize) -> SystemFacts<'a> {
    let system = &study.record.systems[index];
    let (label, artifact) = (study.label(index), &system.artifact);
    SystemFacts {
        label,
        whole_name: whole_name(system).filter(|name| *name != label),
        is_base: system.is_base,
        is_twin: system.is_twin,
        version: match artifact.product() {
            Some(product) => format!("{product} {}", artifact.version()),
            None => artifact.version().to_owned(),
        },
        engine: artifact.product().map_or(NONE, |_| system.spec.engine.word()),
        package: artifact.package_version(),
        origin: origin(system),
        binaries: binaries(artifact),
        is_released: artifact.is_released(),
        notes: artifact.notes(),
        options: &system.options,
    }
}

/// With everything requested of the system; `None` for published results.
fn whole_name(system: &System) -> Option<String> {
    let is_shortened = system.name.contains(SHORTENED)
        || !system.name.starts_with(&format!("{}@", system.spec.product));
    match (&system.artifact, &system.spec.origin) {
        (Artifact::Reported(_), _) | (_, Origin::Url(_)) => Some(system.name.clone()),
        _ if system.name.contains("://") => Some(system.name.clone()),
        _ if is_shortened => Some(system.spec.to_string()),
        _ => Some(system.name.clone()),
    }
}

/// `None` for sysbench's tables and the Insert Benchmark.
fn workload(study: &Study) -> Option<String> {
    match study.schema() {
        Schema::User(own) => Some(own.name.clone()),
        Schema::Tpcc(tpcc) => Some(tpcc.in_words()),
        Schema::Lua(script) => Some(script.name.clone()),
        Schema::Sbtest | Schema::Ibench(_) => None,
    }
}

/// Priority of clients and servers, and how to permit the higher one if this user may not use it.
fn priorities(record: &StudyRecord) -> String {
    let used: BTreeSet<Priority> = record.study.cells.iter().map(|cell| cell.priority).collect();
    let host = record.host();
    let in_words = |priority: &Priority| match (priority, host.cpu_weight) {
        (Priority::Normal, Some(weight)) => format!("normal with a CPU weight of {weight}"),
        _ => priority.word().to_owned(),
    };
    let words = used.iter().map(in_words).collect::<Vec<_>>().join(" and ");
    match host.realtime.and_then(RealtimeAccess::grant) {
        Some(grant) if !used.contains(&Priority::Realtime) => format!("{words} ({grant})"),
        _ => words,
    }
}

fn study_facts(record: &StudyRecord) -> StudyFacts<'_> {
    let study = &record.study;
    let mut placements: Vec<&str> = study.cells.iter().map(|cell| cell.placement.word()).collect();
    placements.sort_unstable();
    placements.dedup();
    StudyFacts {
        id: &study.id,
        preset: study.preset,
        workload: workload(study),
        own_rows: own_rows(record),
        setups: &study.setups,
        has_known_tables: study.has_known_tables(),
        experiment: study.experiment,
        statements: statements(study),
        table_form: study.table_form.in_words(),
        terms: study.terms.as_deref(),
        placements: placements.join(" and "),
        priorities: priorities(record),
        seed: study.seed,
        threshold: share(threshold(study)),
        workload_version: study.workload_version,
        assay_version: &study.assay_version,
        started: rfc3339(study.started_ms),
        took: duration(record.elapsed_s()),
        of_budget: of_budget(record),
    }
}

/// Rows of a workload's tables: counted after the load, or those of the setup.
fn own_rows(record: &StudyRecord) -> String {
    let counts = record.data.iter().filter(|it| it.start_from == StartFrom::Fresh);
    let mut counts: Vec<u64> = counts.map(|it| it.rows).collect();
    counts.sort_unstable();
    counts.dedup();
    match (counts.as_slice(), record.study.has_known_tables()) {
        (_, true) => "rows of all its tables together".to_owned(),
        ([], false) => "its rows are not known".to_owned(),
        ([0], false) => "no tables of its own".to_owned(),
        ([rows], false) => format!("{} in all its tables together", counted(*rows, "row")),
        ([.., _], false) => "the systems have different rows".to_owned(),
    }
}

/// A script decides for each statement, unless all are sent as text.
fn statements(study: &Study) -> Option<StatementMode> {
    let decides = matches!(study.schema(), Schema::Lua(_));
    Some(study.statements).filter(|mode| !decides || *mode != StatementMode::Prepared)
}

fn of_budget(record: &StudyRecord) -> Option<String> {
    if matches!(record.study.experiment, Experiment::Stepwise | Experiment::Counted) {
        return None;
    }
    let budget = duration(record.budget_s());
    Some(match record.elapsed_s() <= record.budget_s() {
        true => format!(" of {budget}"),
        false => format!("; the budget of {budget} counts neither fetching nor loading"),
    })
}

fn pauses(record: &StudyRecord) -> Vec<[Option<String>; 2]> {
    if record.runs.iter().any(|run| run.shard.is_some()) {
        // Shards are measured at the same time.
        return Vec::new();
    }
    let ends = record
        .runs
        .windows(2)
        .filter_map(|pair| Some([pair.first()?.updated_ms, pair.last()?.started_ms]));
    ends.map(|ends| ends.map(minute)).collect()
}

/// The data, and whether it was the same on all systems.
fn data(study: &JudgedStudy) -> Vec<String> {
    // The steps of the Insert Benchmark fill their tables themselves.
    if study.record.study.experiment == Experiment::Stepwise {
        return Vec::new();
    }
    let content = &study.record.data;
    let key = |content: &DataContent| (content.data, content.start_from);
    let is_first = |(index, one): &(usize, &DataContent)| {
        content[..*index].iter().all(|other| key(other) != key(one))
    };
    let sets = content.iter().enumerate().filter(is_first);
    sets.map(|(_, one)| {
        data_line(study, &content.iter().filter(|it| key(it) == key(one)).collect::<Vec<_>>())
    })
    .collect()
}

fn data_line(study: &JudgedStudy, contents: &[&DataContent]) -> String {
    let Some(first) = contents.first() else { return String::new() };
    let is_alike = |one: &DataContent, other: &DataContent| {
        one.rows == other.rows && may_equal(&one.checksum, &other.checksum)
    };
    let equal = contents.iter().all(|one| contents.iter().all(|other| is_alike(one, other)));
    let state = match first.start_from {
        StartFrom::Fresh => "as loaded",
        StartFrom::Aged => "after the aging writes",
    };
    let several = study.record.study.setups.iter().any(|setup| setup.data() != first.data);
    let of = if several { format!(" of {}", first.data) } else { String::new() };
    if equal {
        let rows = counted(first.rows, "row");
        let on = if contents.len() > 1 { "the same on all systems" } else { "on one system" };
        // Several if computed in different ways.
        let mut checksums: Vec<&str> = contents.iter().map(|it| it.checksum.as_str()).collect();
        checksums.sort_unstable();
        checksums.dedup();
        return format!("{state}{of}: {rows}, checksum {}, {on}", checksums.join(" and "));
    }
    let each = contents.iter().map(|it| {
        let (name, rows) = (study.label(it.system), counted(it.rows, "row"));
        format!("{name} has {rows}, checksum {}", it.checksum)
    });
    format!("{state}{of}, differing: {}", each.collect::<Vec<_>>().join("; "))
}

fn audit<'a>(study: &'a JudgedStudy<'a>) -> Audit<'a> {
    let audit = &study.record.audit;
    let systems = (0..study.record.systems.len()).filter(|&index| !study.is_twin(index));
    Audit {
        systems: systems.map(|index| (index, study.label(index))).collect(),
        counts: findings::counts(audit),
        topics: [AuditClass::Suspicious, AuditClass::Expected]
            .into_iter()
            .flat_map(|class| findings::by_topic(audit, class))
            .collect(),
        harmless: findings::by_topic(audit, AuditClass::Harmless),
    }
}
