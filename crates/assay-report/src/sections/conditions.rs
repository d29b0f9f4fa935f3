//! The conditions of the measurement: machine, systems, study, data, events and audit. Pages have tables of them, other
//! formats lines.

use std::collections::BTreeSet;

use assay_model::{
    Artifact, AuditClass, DataContent, Experiment, Host, InstanceRecord, Origin, Priority,
    RealtimeAccess, Run, SHORTENED, Setup, StartFrom, StatementMode, Study, StudyEvent,
    StudyRecord, System, counted, cpus_text, may_equal,
};
use assay_verdict::{NodeSummary, threshold};

use super::findings::{self, MergedFinding, Topic, TopicFindings};
use super::study::JudgedStudy;
use super::{counts, trouble};
use crate::document::{
    Block, Caption, Column, Fold, Look, Row, RowGroup, Section, Table, TableCell, Wish,
};
use crate::machine_facts::state;
use crate::number::{NONE, duration, share, thousands};
use crate::text::{Text, badge, bold, code, folded, line_end, small, time, words};
use crate::time_use::TimeUse;
use crate::words::{Separated as _, binaries, minute, origin, rfc3339};

const DEFAULTS_MAX: usize = 40;

const NOISY: &str = "slices of half the length (the machine was too noisy to decide by time)";

const SHIPPED: &str = "shipped";

const UNKNOWN: &str = "unknown";

/// Said of a measured study from elsewhere. The conditions of published results name where they were published.
const FOREIGN: &str = "not started here by you, so assay runs nothing of it";

pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !wish.is_page() {
        let list = Block::list(lines(study));
        return Block::folded(wish.heading("conditions"), Fold::Closed, list);
    }
    let facts = facts(study).into_iter().map(|(name, value)| (name.to_owned(), value));
    let mut blocks = vec![Block::facts(facts)];
    blocks.extend(Block::section("Systems", vec![Block::Table(systems(study))]));
    blocks.extend(Block::section("Defaults that differ", defaults_tables(study)));
    let events = study.record.events.iter().map(|it| event(study, it));
    blocks.extend(Block::section("Events", Block::ordered_list("events", events)));
    let mut blocks = Block::place("conditions", "Conditions", "Conditions", blocks);
    blocks.extend(Block::place("audit", "Audit", "Audit", audit(study)));
    blocks
}

/// Date, study, preset, duration and machine, below the title.
pub(super) fn about(record: &StudyRecord) -> Vec<String> {
    let study = &record.study;
    let date = rfc3339(study.started_ms).map(|moment| moment.chars().take(10).collect::<String>());
    let name = format!("study {}", study.id);
    if record.is_reported() {
        let date = date.map(|date| format!("published results, imported {date}"));
        return date.into_iter().chain([name]).collect();
    }
    let preset = format!("preset {}", study.preset.word());
    let took = duration(record.elapsed_s());
    date.into_iter()
        .chain([name, preset, took, MachineConditions::new(record.host()).cpus])
        .collect()
}

/// Defaults that differ, if the terms leave each version its defaults.
pub(super) fn defaults(record: &StudyRecord) -> Vec<MergedFinding<'_>> {
    match record.study.terms.as_deref() {
        Some(SHIPPED) => findings::unasked(&record.audit),
        _ => Vec::new(),
    }
}

struct MachineConditions {
    cpus: String,
    processor: String,
    memory: String,
    /// Operating system, kernel and file system.
    platform: String,
    /// Noise and advisable changes, if examined.
    state: Vec<String>,
}

impl MachineConditions {
    /// All of it is unknown for published results.
    fn new(host: &Host) -> Self {
        if !host.is_known() {
            let [cpus, processor, memory, platform] = [UNKNOWN; 4].map(str::to_owned);
            return Self { cpus, processor, memory, platform, state: Vec::new() };
        }
        let hypervisor = host.hypervisor.as_ref();
        let hypervisor =
            hypervisor.map_or_else(String::new, |h| format!(", virtual machine ({h})"));
        let cpus = format!("{} × {}", host.cpus, host.cpu);
        Self {
            processor: format!("{cpus}{hypervisor}"),
            cpus,
            memory: format!("{:.0} GiB", host.memory_kb as f64 / f64::from(1 << 20)),
            platform: format!("{}, kernel {}, {}", host.os, host.kernel, host.filesystem),
            state: host.doctor.as_ref().map(|it| state(host, it)).unwrap_or_default(),
        }
    }
}

/// Machine, study and slices; partly unknown for published results.
fn facts(judged: &JudgedStudy) -> Vec<(&'static str, String)> {
    let (record, study) = (judged.record, &judged.record.study);
    let machine = MachineConditions::new(record.host());
    let is_reported = record.is_reported();
    let measured = |text: String| (!is_reported).then_some(text);
    let timed = |text: String| measured(text).filter(|_| !judged.counts_only());
    let setups: Vec<String> = study.setups.iter().map(|it| it.separated()).collect();
    let clients = study.setups.iter().map(|it| it.clients.to_string()).collect::<Vec<_>>();
    let unknown = if is_reported { "; 1 where it is not known" } else { "" };
    let setups = if study.has_known_tables() {
        ("Clients × tables × rows", Some(format!("{}{unknown}", setups.join("; "))))
    } else {
        ("Clients", Some(clients.join("; ")))
    };
    let runs = match record.runs.len() {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let took = format!("{}{}, in {runs}", duration(record.elapsed_s()), of_budget(record));
    let began = if is_reported { "Imported" } else { "Started" };
    let started = rfc3339(study.started_ms).unwrap_or_else(|| NONE.to_owned());
    let workload =
        study.schema().facts().title().map(|name| format!("{name}; {}", own_rows(record)));
    let sending = statements(study).map_or("as the script sends them", StatementMode::word);
    let slices = (!judged.counts_only()).then(|| trouble::slices(record, judged.judgement));
    let first = [
        ("Processor", Some(machine.processor)),
        ("Memory", measured(machine.memory)),
        ("System", Some(machine.platform)),
    ];
    let state = machine.state.into_iter().map(|line| ("Machine", Some(line)));
    let nodes = nodes(judged).map(|line| ("Node", Some(line)));
    let rest = [
        ("Study", Some(format!("{}, preset {}", study.id, study.preset.word()))),
        ("Foreign", measured(FOREIGN.to_owned()).filter(|_| record.foreign)),
        setups,
        ("Workload", workload),
        ("Experiment", measured(study.experiment.word().to_owned())),
        ("Statements", measured(sending.to_owned())),
        ("Tables", study.table_form.in_words()),
        ("Data", measured(data(judged).join("; "))),
        ("Terms", study.terms.clone()),
        ("Placement", measured(placements(study))),
        ("CPUs", cpus(record)),
        ("Priority", measured(priorities(record))),
        ("Length of slices", study.is_noisy.then(|| NOISY.to_owned())),
        ("Seed", measured(study.seed.to_string())),
        ("Threshold", Some(share(threshold(study)))),
        (began, Some(started)),
        ("Took", measured(took)),
        ("Time", TimeUse::new(record).map(|time| time.in_words())),
        ("Slices", slices.and_then(measured)),
        ("Servers started", timed(servers_started(record).to_string())),
        ("Retried errors", timed(thousands(retried_errors(judged) as f64))),
        ("Workload version", measured(study.workload_version.to_string())),
        ("assay", Some(study.assay_version.clone())),
    ];
    let counted = counts::conditions(judged).into_iter();
    let counted = counted.map(|line| ("Instructions", Some(line)));
    let all = first.into_iter().chain(state).chain(nodes).chain(rest).chain(counted);
    all.filter_map(|(name, value)| Some((name, value?))).collect()
}

fn systems(study: &JudgedStudy) -> Table {
    let columns = [
        Column::words("System").class("name"),
        Column::words("Version"),
        Column::words("Engine"),
        Column::words("Package"),
        Column::words("Source"),
        Column::words("Binaries (SHA-256)"),
        Column::words("Options"),
    ];
    let look = Look { label: "Systems", ..Look::default() };
    let rows = study.record.systems.iter().enumerate();
    let rows = rows.map(|(index, system)| system_row(study.label(index), system));
    Table::new(columns.to_vec(), rows).look(look)
}

fn system_row(label: &str, system: &System) -> Row {
    let role = match (system.is_base, system.is_twin) {
        (true, _) => Some("base"),
        (_, true) => Some("A/A twin"),
        _ => None,
    };
    let artifact = &system.artifact;
    let below = |text: &str| [line_end(), small(text)];
    let name = Text::from(label)
        .and(role.into_iter().flat_map(|role| [words(" "), small(role)]))
        .and(whole_name(label, system).as_deref().into_iter().flat_map(below));
    let unreleased = (!artifact.is_released()).then_some("not a release channel");
    let notes = unreleased.into_iter().chain(artifact.notes().iter().map(String::as_str));
    let options = match system.options.as_slice() {
        [] => Text::from(NONE),
        options => {
            let lines = options.iter().map(|option| format!("{option}\n")).collect::<String>();
            folded(counted(options.len() as u64, "option"), lines).into()
        }
    };
    Row::new([
        name,
        version(system).into(),
        engine(system).into(),
        artifact.package_version().into(),
        Text::from(origin(system)).and(notes.flat_map(below)),
        code(binaries(artifact)).into(),
        options,
    ])
}

fn version(system: &System) -> String {
    let version = system.artifact.version();
    match system.artifact.product() {
        Some(product) => format!("{product} {version}"),
        None => version.to_owned(),
    }
}

fn engine(system: &System) -> &'static str {
    system.artifact.product().map_or(NONE, |_| system.spec.engine.word())
}

/// With everything requested of the system, if that is more than its label.
fn whole_name(label: &str, system: &System) -> Option<String> {
    let is_shortened = system.name.contains(SHORTENED)
        || !system.name.starts_with(&format!("{}@", system.spec.product));
    let name = match (&system.artifact, &system.spec.origin) {
        (Artifact::Reported(_), _) | (_, Origin::Url(_)) => system.name.clone(),
        _ if is_shortened && !system.name.contains("://") => system.spec.to_string(),
        _ => system.name.clone(),
    };
    Some(name).filter(|name| *name != label)
}

fn event(study: &JudgedStudy, event: &StudyEvent) -> Text {
    let system = event.system.map(|system| study.label(system));
    let when = rfc3339(event.when_ms);
    Text::from(time(when.as_deref().unwrap_or(NONE)))
        .and([words(" ")])
        .and(system.into_iter().flat_map(|system| [bold(system), words(" ")]))
        .and([words(event.what.to_string())])
}

fn defaults_tables(study: &JudgedStudy) -> Vec<Block<'static>> {
    let all = defaults(study.record);
    let (shown, rest) = all.split_at(all.len().min(DEFAULTS_MAX));
    let table = |findings: &[MergedFinding], label| {
        let rows = findings.iter().map(|it| difference(study, it));
        let look = Look { class: "audit stack".to_owned(), label, ..Look::default() };
        Block::Table(Table::new(difference_columns(study), rows).look(look))
    };
    if shown.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![table(shown, "Defaults that differ")];
    if !rest.is_empty() {
        let label = "More defaults that differ";
        blocks.extend(Block::folded(label, Fold::Closed, vec![table(rest, label)]));
    }
    blocks
}

/// The suspicious differences, then the expected ones.
fn topics<'a>(study: &JudgedStudy<'a>) -> Vec<TopicFindings<'a>> {
    let classes = [AuditClass::Suspicious, AuditClass::Expected];
    let audit = &study.record.audit;
    classes.into_iter().flat_map(|class| findings::by_topic(audit, class)).collect()
}

fn audit(study: &JudgedStudy) -> Vec<Block<'static>> {
    let topics = topics(study);
    let harmless = findings::by_topic(&study.record.audit, AuditClass::Harmless);
    let mut blocks = match (topics.is_empty(), harmless.is_empty()) {
        (true, true) => Block::prose("", ["The systems do not differ."]),
        (true, false) => Block::prose("", ["No relevant difference between the systems."]),
        _ => vec![Block::Table(differences(study, &topics, "Audit"))],
    };
    if !harmless.is_empty() {
        let label = "Harmless differences";
        blocks.push(Block::Section(Section {
            class: "harmless",
            blocks: vec![Block::Table(differences(study, &harmless, label))],
            ..Section::new(label, Fold::Closed)
        }));
    }
    blocks
}

/// All systems but the twin.
fn audited(study: &JudgedStudy) -> impl Iterator<Item = usize> {
    (0..study.record.systems.len()).filter(|&system| !study.is_twin(system))
}

fn difference_columns(study: &JudgedStudy) -> Vec<Column> {
    let systems = audited(study).map(|system| Column::words(study.label(system)).class("name"));
    let columns = std::iter::once(Column::words("Setting")).chain(systems);
    columns.chain([Column::words("Why")]).collect()
}

fn difference(study: &JudgedStudy, finding: &MergedFinding) -> Row {
    let value = |system: usize| TableCell::from(code(finding.value(system).unwrap_or(NONE)));
    let name = TableCell::from(code(finding.name()));
    let values = audited(study).map(value);
    Row::new(std::iter::once(name).chain(values).chain([finding.why().into()]))
}

fn differences(study: &JudgedStudy, topics: &[TopicFindings], label: &'static str) -> Table {
    let group = |topic: &TopicFindings| {
        let remedy = topic.remedy().map(|remedy| format!("Remedy: {remedy}."));
        let remedy = remedy.into_iter().flat_map(|it| [words(" "), small(it)]);
        let title = words(format!(" {}", topic.topic.title()));
        RowGroup {
            class: topic.class_word(),
            heading: Text::from_iter([badge(topic.class_word()), title]).and(remedy),
            rows: topic.findings.iter().map(|it| difference(study, it)).collect(),
            ..RowGroup::default()
        }
    };
    let note = "Differences between the systems: settings, builds and plans.".to_owned();
    Table {
        caption: Some(Caption { note, ..Caption::default() }),
        columns: difference_columns(study),
        groups: topics.iter().map(group).collect(),
        look: Look { class: "audit stack".to_owned(), label, ..Look::default() },
        ..Table::default()
    }
}

/// For formats without tables of conditions; details are indented below their lines.
fn lines(study: &JudgedStudy) -> Vec<String> {
    let record = study.record;
    let machine = MachineConditions::new(record.host());
    let mut host = vec![&*machine.processor, &machine.memory, &machine.platform];
    // Several facts may be unknown alike.
    host.dedup();
    let mut lines = vec![format!("host: {}", host.join(", "))];
    lines.extend(machine.state.into_iter().map(detail));
    let systems = record.systems.iter().enumerate();
    if record.is_reported() {
        lines.extend(systems.map(|(index, system)| published(study.label(index), system)));
        lines.push(reported_line(&record.study));
        return lines;
    }
    let systems = systems.filter(|(_, system)| !system.is_twin);
    lines.extend(systems.flat_map(|(index, system)| system_lines(study.label(index), system)));
    lines.push(study_line(record));
    lines.extend(TimeUse::new(record).map(|time| format!("time: {}", time.in_words())));
    lines.extend(record.foreign.then(|| format!("foreign: {FOREIGN}")));
    lines.extend(nodes(study));
    lines.extend(runs(record));
    lines.extend(data(study).into_iter().map(|data| format!("data {data}")));
    if !study.counts_only() {
        lines.push(format!(
            "slices: {}; {} started; {}",
            trouble::slices(record, study.judgement),
            counted(servers_started(record) as u64, "server"),
            counted(retried_errors(study), "retried error")
        ));
    }
    lines.extend(counts::conditions(study).iter().map(|line| format!("instructions: {line}")));
    lines.extend(defaults_lines(record));
    lines.extend(audit_lines(study));
    lines.extend(record.events.iter().map(|event| match event.system {
        Some(system) => format!("event: {}: {}", study.label(system), event.what),
        None => format!("event: {}", event.what),
    }));
    lines
}

fn detail(text: String) -> String {
    format!("  {text}")
}

fn role(system: &System) -> &'static str {
    if system.is_base { " (base)" } else { "" }
}

fn system_lines(label: &str, system: &System) -> Vec<String> {
    let (artifact, origin) = (&system.artifact, origin(system));
    let name = whole_name(label, system).map_or_else(String::new, |name| format!("{name}, "));
    let mut lines = vec![format!(
        "{label}{}: {name}{}, {}, package {} from {origin}, binaries {}",
        role(system),
        version(system),
        engine(system),
        artifact.package_version(),
        binaries(artifact)
    )];
    if !artifact.is_released() {
        lines.push(detail(format!("warning: {origin} is not a release channel")));
    }
    lines.extend(artifact.notes().iter().map(|note| detail(format!("note: {note}"))));
    lines
}

/// The published name of a system and its source. Its binaries are unknown.
fn published(label: &str, system: &System) -> String {
    let origin = origin(system);
    let origin = origin.trim_start_matches("reported ");
    format!("{label}{}: {}, in {origin}", role(system), system.artifact.notes().join("; "))
}

fn reported_line(study: &Study) -> String {
    let setups: Vec<String> = study.setups.iter().map(ToString::to_string).collect();
    format!(
        "study {}: published results, {} (clients × tables × rows; 1 where it is not known), imported by \
         assay {} at {}",
        study.id,
        setups.join(", "),
        study.assay_version,
        rfc3339(study.started_ms).as_deref().unwrap_or("an unknown time")
    )
}

fn study_line(record: &StudyRecord) -> String {
    let study = &record.study;
    let mut parts = vec![format!("study {}: preset {}", study.id, study.preset.word())];
    parts.extend(
        study
            .schema()
            .facts()
            .title()
            .map(|name| format!("workload {name} ({})", own_rows(record))),
    );
    parts.push(if study.has_known_tables() {
        let setups: Vec<String> = study.setups.iter().map(ToString::to_string).collect();
        format!("{} (clients × tables × rows)", setups.join(", "))
    } else {
        let clients = |setup: &Setup| counted(setup.clients, "client");
        study.setups.iter().map(clients).collect::<Vec<_>>().join(", ")
    });
    parts.extend(study.table_form.in_words().map(|form| format!("tables with {form}")));
    parts.push(
        match statements(study) {
            None => "statements as the script sends them",
            Some(StatementMode::Prepared) => "prepared statements",
            Some(StatementMode::Text) => "statements as text",
            Some(StatementMode::Extended) => "statements parsed and planned each time",
        }
        .to_owned(),
    );
    parts.extend(study.is_noisy.then(|| NOISY.to_owned()));
    parts.extend(study.terms.as_ref().map(|terms| format!("terms {terms}")));
    let started = rfc3339(study.started_ms);
    parts.push(format!("placement {}", placements(study)));
    parts.extend(cpus(record));
    parts.extend([
        format!("priority {}", priorities(record)),
        format!("seed {}", study.seed),
        format!("threshold {}", share(threshold(study))),
        format!("workload version {}", study.workload_version),
        format!("assay {}", study.assay_version),
        format!("started {}", started.as_deref().unwrap_or("at an unknown time")),
        format!("took {}{}", duration(record.elapsed_s()), of_budget(record)),
    ]);
    parts.join(", ")
}

/// As many of the differing defaults as fit.
fn defaults_lines(record: &StudyRecord) -> Vec<String> {
    let all = defaults(record);
    if all.is_empty() {
        return Vec::new();
    }
    let count = counted(all.len() as u64, "default");
    let mut lines = vec![format!("{count} of the versions differ:")];
    let shown = all.iter().take(DEFAULTS_MAX);
    lines.extend(shown.map(|it| detail(format!("{}: {}", it.name(), it.values()))));
    let rest = all.len().saturating_sub(DEFAULTS_MAX);
    lines.extend((rest > 0).then(|| detail(format!("{rest} more, which `--format json` has"))));
    lines
}

fn audit_lines(study: &JudgedStudy) -> Vec<String> {
    let mut lines = vec![format!("audit: {}", findings::counts(&study.record.audit))];
    let plan = |group: &TopicFindings| if group.topic == Topic::Plans { "plan of " } else { "" };
    for group in findings::by_topic(&study.record.audit, AuditClass::Expected) {
        for finding in &group.findings {
            let what = format!("{}{} = {}", plan(&group), finding.name(), finding.values());
            lines.push(detail(if finding.is_asked() {
                format!("requested: {what}")
            } else {
                format!("expected: {what}: {}", finding.why())
            }));
        }
    }
    for group in findings::by_topic(&study.record.audit, AuditClass::Suspicious) {
        for finding in &group.findings {
            let (name, values, why) = (finding.name(), finding.values(), finding.why());
            lines.push(detail(format!("suspicious: {}{name} = {values}: {why}", plan(&group))));
        }
        let remedy = group.remedy();
        let remedy = remedy.map(|remedy| format!("remedy for {}: {remedy}", group.topic.title()));
        lines.extend(remedy.map(detail));
    }
    lines
}

/// Pauses of a study that was interrupted or got more time.
fn runs(record: &StudyRecord) -> Option<String> {
    let runs = record.runs.len();
    if runs < 2 {
        return None;
    }
    // Shards are measured at the same time.
    if record.runs.iter().any(|run| run.shard.is_some()) {
        return Some(format!("measured in {runs} runs"));
    }
    let moment = |ms: i64| minute(ms).unwrap_or("an unknown time".to_owned());
    let pause =
        |pair: &[Run]| format!("{} and {}", moment(pair[0].updated_ms), moment(pair[1].started_ms));
    let pauses: Vec<String> = record.runs.windows(2).map(pause).collect();
    let with = if runs == 2 { "a pause" } else { "pauses" };
    let pauses = pauses.join(", between ");
    Some(format!("measured in {runs} runs, with {with} (UTC) between {pauses}"))
}

/// Instances that assay started, without those that were already running.
fn servers_started(record: &StudyRecord) -> usize {
    let is_ours = |instance: &&InstanceRecord| {
        let system = record.systems.get(instance.system);
        system.is_some_and(|it| !matches!(it.spec.origin, Origin::Url(_)))
    };
    record.instances.iter().filter(is_ours).count()
}

fn retried_errors(study: &JudgedStudy) -> u64 {
    study.judgement.cells.iter().map(|cell| cell.errors).sum()
}

fn nodes(study: &JudgedStudy) -> impl Iterator<Item = String> {
    study.judgement.nodes.iter().flat_map(|nodes| &nodes.each).map(node)
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

fn placements(study: &Study) -> String {
    let words: BTreeSet<&str> = study.cells.iter().map(|cell| cell.placement.word()).collect();
    words.into_iter().collect::<Vec<_>>().join(" and ")
}

/// The CPUs that the user names, and the NUMA nodes of the servers' memory.
fn cpus(record: &StudyRecord) -> Option<String> {
    let words = record.study.cpus.in_words()?;
    let nodes = match record.host().server_nodes.as_slice() {
        [] => return Some(words),
        [node] => format!("node {node}"),
        nodes => format!("nodes {}", cpus_text(nodes)),
    };
    let but = match record.systems.iter().any(is_interleaved) {
        true => ", but `innodb_numa_interleave` spreads buffer pools over all nodes",
        false => "",
    };
    Some(format!("{words}, the servers' memory bound to NUMA {nodes}{but}"))
}

/// Whether the server spreads its buffer pool over all NUMA nodes, whatever its memory is bound to.
fn is_interleaved(system: &System) -> bool {
    let mut options = system.options.iter().map(|it| it.replace('-', "_").to_ascii_lowercase());
    let last = options.rfind(|option| option.contains("innodb_numa_interleave"));
    last.is_some_and(|option| !["=off", "=0", "=false"].iter().any(|end| option.ends_with(end)))
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

/// Rows of a workload's tables: counted after the load, or those of the setup.
fn own_rows(record: &StudyRecord) -> String {
    if record.study.has_known_tables() {
        return "rows of all its tables together".to_owned();
    }
    let counts = record.data.iter().filter(|it| it.start_from == StartFrom::Fresh);
    let counts: BTreeSet<u64> = counts.map(|it| it.rows).collect();
    match counts.into_iter().collect::<Vec<_>>().as_slice() {
        [] => "its rows are not known".to_owned(),
        [0] => "no tables of its own".to_owned(),
        [rows] => format!("{} in all its tables together", counted(*rows, "row")),
        _ => "the systems have different rows".to_owned(),
    }
}

/// `None` if a script decides for each statement, which it does unless all are sent as text.
fn statements(study: &Study) -> Option<StatementMode> {
    let decides = study.schema().facts().chooses_mode();
    Some(study.statements).filter(|mode| !decides || *mode != StatementMode::Prepared)
}

/// Time as a share of the budget; empty if that is only an estimate.
fn of_budget(record: &StudyRecord) -> String {
    let experiment = record.study.experiment;
    if experiment.has_steps() || experiment == Experiment::Counted {
        return String::new();
    }
    let budget = duration(record.budget_s());
    if record.elapsed_s() <= record.budget_s() {
        format!(" of {budget}")
    } else {
        format!("; the budget of {budget} counts neither fetching nor loading")
    }
}

/// The data, and whether it was the same on all systems.
fn data(study: &JudgedStudy) -> Vec<String> {
    // The steps of the Insert Benchmark fill their tables themselves.
    if study.record.study.experiment.has_steps() {
        return Vec::new();
    }
    let content = &study.record.data;
    let key = |content: &DataContent| (content.data, content.start_from);
    let is_first = |(index, one): &(usize, &DataContent)| {
        content[..*index].iter().all(|other| key(other) != key(one))
    };
    let sets = content.iter().enumerate().filter(is_first);
    sets.map(|(_, first)| {
        let contents = content.iter().filter(|it| key(it) == key(first));
        data_line(study, first, &contents.collect::<Vec<_>>())
    })
    .collect()
}

fn data_line(study: &JudgedStudy, first: &DataContent, contents: &[&DataContent]) -> String {
    let is_alike = |one: &DataContent, other: &DataContent| {
        one.rows == other.rows && may_equal(&one.checksum, &other.checksum)
    };
    let equal = contents.iter().all(|one| contents.iter().all(|other| is_alike(one, other)));
    let state = match first.start_from {
        StartFrom::Fresh => "as loaded",
        StartFrom::Aged => "after the aging writes",
    };
    let several = study.record.study.setups.iter().any(|setup| setup.data() != first.data);
    let of_data = if several { format!(" of {}", first.data) } else { String::new() };
    if equal {
        let rows = counted(first.rows, "row");
        let on = if contents.len() > 1 { "the same on all systems" } else { "on one system" };
        // Several if computed in different ways.
        let checksums: BTreeSet<&str> = contents.iter().map(|it| it.checksum.as_str()).collect();
        let checksums = checksums.into_iter().collect::<Vec<_>>().join(" and ");
        return format!("{state}{of_data}: {rows}, checksum {checksums}, {on}");
    }
    let each = contents.iter().map(|it| {
        let (name, rows) = (study.label(it.system), counted(it.rows, "row"));
        format!("{name} has {rows}, checksum {}", it.checksum)
    });
    format!("{state}{of_data}, differing: {}", each.collect::<Vec<_>>().join("; "))
}
