//! The conditions as lines, for formats without a better form.

use assay_model::{AuditClass, Setup, StatementMode, counted};

use crate::view::conditions::{Audit, Conditions, DEFAULTS_MAX, StudyFacts, SystemFacts};
use crate::view::findings::{Topic, TopicFindings};

pub(crate) struct Line {
    /// 1 for a line, 2 for a detail of the line above it.
    pub(crate) depth: usize,
    pub(crate) text: String,
}

pub(crate) fn conditions(conditions: &Conditions) -> Vec<Line> {
    let line = |text| Line { depth: 1, text };
    let machine = &conditions.machine;
    let mut host = vec![&*machine.processor, &machine.memory, &machine.platform];
    // Several facts may be unknown alike.
    host.dedup();
    let mut lines = vec![line(format!("host: {}", host.join(", ")))];
    lines.extend(machine.state.iter().cloned().map(detail));
    if conditions.is_reported {
        lines.extend(conditions.systems.iter().map(|it| line(published(it))));
        lines.push(line(reported(&conditions.study)));
        return lines;
    }
    lines.extend(conditions.systems.iter().filter(|it| !it.is_twin).flat_map(system));
    lines.push(line(study(&conditions.study)));
    lines.extend(conditions.nodes.iter().cloned().map(line));
    lines.extend(runs(conditions).map(line));
    lines.extend(conditions.data.iter().map(|data| line(format!("data {data}"))));
    lines.extend(conditions.slices.as_ref().map(|slices| {
        let servers = counted(conditions.servers_started as u64, "server");
        let errors = counted(conditions.retried_errors, "retried error");
        line(format!("slices: {slices}; {servers} started; {errors}"))
    }));
    lines.extend(defaults(conditions));
    lines.extend(audit(&conditions.audit));
    lines.extend(conditions.events.iter().map(|event| match event.system {
        Some(system) => line(format!("event: {system}: {}", event.what)),
        None => line(format!("event: {}", event.what)),
    }));
    lines
}

/// As many of the differing defaults as fit.
fn defaults(conditions: &Conditions) -> Vec<Line> {
    let all = &conditions.defaults;
    if all.is_empty() {
        return Vec::new();
    }
    let count = counted(all.len() as u64, "default");
    let mut lines = vec![Line { depth: 1, text: format!("{count} of the versions differ:") }];
    let shown = all.iter().take(DEFAULTS_MAX);
    lines.extend(shown.map(|it| detail(format!("{}: {}", it.name(), it.values()))));
    let rest = all.len().saturating_sub(DEFAULTS_MAX);
    lines.extend((rest > 0).then(|| detail(format!("{rest} more, which `--format json` has"))));
    lines
}

fn detail(text: String) -> Line {
    Line { depth: 2, text }
}

fn system(system: &SystemFacts) -> Vec<Line> {
    let SystemFacts { label, version, engine, package, origin, binaries, .. } = system;
    let role = if system.is_base { " (base)" } else { "" };
    let name = system.whole_name.as_ref().map_or_else(String::new, |name| format!("{name}, "));
    let text = format!(
        "{label}{role}: {name}{version}, {engine}, package {package} from {origin}, binaries {binaries}"
    );
    let mut lines = vec![Line { depth: 1, text }];
    if !system.is_released {
        lines.push(detail(format!("warning: {origin} is not a release channel")));
    }
    lines.extend(system.notes.iter().map(|note| detail(format!("note: {note}"))));
    lines
}

/// The published name of a system and its source. Its binaries are unknown.
fn published(system: &SystemFacts) -> String {
    let role = if system.is_base { " (base)" } else { "" };
    let origin = system.origin.trim_start_matches("reported ");
    format!("{}{role}: {}, in {origin}", system.label, system.notes.join("; "))
}

fn reported(study: &StudyFacts) -> String {
    let setups: Vec<String> = study.setups.iter().map(ToString::to_string).collect();
    format!(
        "study {}: published results, {} (clients × tables × rows; 1 where it is not known), imported by \
         assay {} at {}",
        study.id,
        setups.join(", "),
        study.assay_version,
        study.started.as_deref().unwrap_or("an unknown time")
    )
}

fn study(study: &StudyFacts) -> String {
    let setups: Vec<String> = study.setups.iter().map(ToString::to_string).collect();
    let mut parts = vec![
        format!("study {}: preset {}", study.id, study.preset.word()),
        match study.has_known_tables {
            true => format!("{} (clients × tables × rows)", setups.join(", ")),
            false => {
                let clients = |setup: &Setup| counted(u64::from(setup.clients), "client");
                study.setups.iter().map(clients).collect::<Vec<_>>().join(", ")
            }
        },
    ];
    if let Some(workload) = &study.workload {
        parts.insert(1, format!("workload {workload} ({})", study.own_rows));
    }
    parts.extend(study.table_form.as_ref().map(|form| format!("tables with {form}")));
    parts.push(match study.statements {
        None => "statements as the script sends them".to_owned(),
        Some(StatementMode::Prepared) => "prepared statements".to_owned(),
        Some(StatementMode::Text) => "statements as text".to_owned(),
        Some(StatementMode::Extended) => "statements parsed and planned each time".to_owned(),
    });
    parts.extend(study.terms.map(|terms| format!("terms {terms}")));
    parts.extend([
        format!("placement {}", study.placements),
        format!("priority {}", study.priorities),
        format!("seed {}", study.seed),
        format!("threshold {}", study.threshold),
        format!("workload version {}", study.workload_version),
        format!("assay {}", study.assay_version),
        format!("started {}", study.started.as_deref().unwrap_or("at an unknown time")),
        format!("took {}{}", study.took, study.of_budget.as_deref().unwrap_or_default()),
    ]);
    parts.join(", ")
}

/// Pauses of a study that was interrupted or got more time.
fn runs(conditions: &Conditions) -> Option<String> {
    let moment = |moment: &Option<String>| moment.clone().unwrap_or("an unknown time".to_owned());
    let pauses = conditions.pauses.iter();
    let pauses: Vec<String> =
        pauses.map(|[from, to]| format!("{} and {}", moment(from), moment(to))).collect();
    let (runs, pauses) = (conditions.runs, pauses.join(", between "));
    let with = if runs == 2 { "a pause" } else { "pauses" };
    if runs > 1 && conditions.pauses.is_empty() {
        return Some(format!("measured in {runs} runs"));
    }
    (runs > 1).then(|| format!("measured in {runs} runs, with {with} (UTC) between {pauses}"))
}

fn audit(audit: &Audit) -> Vec<Line> {
    let mut lines = vec![Line { depth: 1, text: format!("audit: {}", audit.counts) }];
    let of_class = |class| audit.topics.iter().filter(move |group| group.class == class);
    let of = |group: &TopicFindings| if group.topic == Topic::Plans { "plan of " } else { "" };
    for group in of_class(AuditClass::Expected) {
        for finding in &group.findings {
            let what = format!("{}{} = {}", of(group), finding.name(), finding.values());
            lines.push(detail(match finding.is_asked() {
                true => format!("requested: {what}"),
                false => format!("expected: {what}: {}", finding.why()),
            }));
        }
    }
    for group in of_class(AuditClass::Suspicious) {
        for finding in &group.findings {
            let (name, values, why) = (finding.name(), finding.values(), finding.why());
            lines.push(detail(format!("suspicious: {}{name} = {values}: {why}", of(group))));
        }
        let remedy = group
            .remedy()
            .map(|remedy| detail(format!("remedy for {}: {remedy}", group.topic.title())));
        lines.extend(remedy);
    }
    lines
}
