//! The conditions of the measurement: machine, systems, study, events and audit.

use super::lines::{self, Line};
use crate::document::{Block, Caption, Cell, Column, Fold, Group, Look, Row, Section, Table, Wish};
use crate::number::{NONE, thousands};
use crate::text::{Text, badge, bold, code, folded, line_end, small, time, words};
use crate::view::Report;
use crate::view::conditions::{Audit, Conditions, DEFAULTS_MAX, Event, SystemFacts};
use crate::view::findings::{MergedFinding, TopicFindings};
use crate::words::Separated as _;
use assay_model::{StatementMode, counted};

pub(super) fn blocks(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let conditions = &report.conditions;
    if !wish.is_page() {
        let lines = lines::conditions(conditions).into_iter();
        let indented = |Line { depth, text }| format!("{}{text}", "  ".repeat(depth - 1));
        let list = Block::list(lines.map(indented));
        return Block::folded(wish.heading("conditions"), Fold::Closed, list);
    }
    let facts = facts(conditions).into_iter();
    let facts = facts.map(|(name, value)| (name.to_owned(), value.into())).collect();
    let mut blocks = vec![Block::Facts(facts)];
    blocks.extend(Block::section("Systems", vec![Block::Table(systems(&conditions.systems))]));
    blocks.extend(Block::section("Defaults that differ", defaults(conditions)));
    let events = Block::ordered_list("events", conditions.events.iter().map(event));
    blocks.extend(Block::section("Events", events));
    let mut blocks = Block::place("conditions", "Conditions", "Conditions", blocks);
    blocks.extend(Block::place("audit", "Audit", "Audit", audit(&conditions.audit)));
    blocks
}

/// Date, study, preset, duration and machine, below the title.
pub(super) fn about(conditions: &Conditions) -> Vec<String> {
    let study = &conditions.study;
    let date = study.started.as_ref().map(|moment| moment.chars().take(10).collect::<String>());
    let name = format!("study {}", study.id);
    if conditions.is_reported {
        let date = date.map(|date| format!("published results, imported {date}"));
        return date.into_iter().chain([name]).collect();
    }
    let rest = [
        name,
        format!("preset {}", study.preset.word()),
        study.took.clone(),
        conditions.machine.cpus.clone(),
    ];
    date.into_iter().chain(rest).collect()
}

/// Machine, study and slices; partly unknown for published results.
fn facts(conditions: &Conditions) -> Vec<(&'static str, String)> {
    let (machine, study) = (&conditions.machine, &conditions.study);
    let measured = |text: String| (!conditions.is_reported).then_some(text);
    let of_slices = |text: String| conditions.slices.as_ref().and_then(|_| measured(text));
    let setups: Vec<String> = study.setups.iter().map(|it| it.separated()).collect();
    let clients = study.setups.iter().map(|it| it.clients.to_string()).collect::<Vec<_>>();
    let unknown = if conditions.is_reported { "; 1 where it is not known" } else { "" };
    let runs = match conditions.runs {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let of_budget = study.of_budget.as_deref().unwrap_or_default();
    let took = format!("{}{of_budget}, in {runs}", study.took);
    let began = if conditions.is_reported { "Imported" } else { "Started" };
    let started = study.started.clone().unwrap_or_else(|| NONE.to_owned());
    let workload = study.workload.as_ref().map(|name| format!("{name}; {}", study.own_rows));
    let sending = study.statements.map_or("as the script sends them", StatementMode::word);
    let setups = match study.has_known_tables {
        true => ("Clients × tables × rows", Some(format!("{}{unknown}", setups.join("; ")))),
        false => ("Clients", Some(clients.join("; "))),
    };
    let first = [
        ("Processor", Some(machine.processor.clone())),
        ("Memory", measured(machine.memory.clone())),
        ("System", Some(machine.platform.clone())),
    ];
    let state = machine.state.iter().map(|line| ("Machine", Some(line.clone())));
    let nodes = conditions.nodes.iter().map(|line| ("Node", Some(line.clone())));
    let state = state.chain(nodes);
    let rest = [
        ("Study", Some(format!("{}, preset {}", study.id, study.preset.word()))),
        setups,
        ("Workload", workload),
        ("Experiment", measured(study.experiment.word().to_owned())),
        ("Statements", measured(sending.to_owned())),
        ("Tables", study.table_form.clone()),
        ("Data", measured(conditions.data.join("; "))),
        ("Terms", study.terms.map(str::to_owned)),
        ("Placement", measured(study.placements.clone())),
        ("Priority", measured(study.priorities.clone())),
        ("Seed", measured(study.seed.to_string())),
        ("Threshold", Some(study.threshold.clone())),
        (began, Some(started)),
        ("Took", measured(took)),
        ("Slices", conditions.slices.clone().and_then(measured)),
        ("Servers started", of_slices(conditions.servers_started.to_string())),
        ("Retried errors", of_slices(thousands(conditions.retried_errors as f64))),
        ("Workload version", measured(study.workload_version.to_string())),
        ("assay", Some(study.assay_version.to_owned())),
    ];
    let all = first.into_iter().chain(state).chain(rest);
    all.filter_map(|(name, value)| Some((name, value?))).collect()
}

fn systems(systems: &[SystemFacts]) -> Table {
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
    Table::new(columns.to_vec(), systems.iter().map(system)).look(look)
}

fn system(system: &SystemFacts) -> Row {
    let role = match (system.is_base, system.is_twin) {
        (true, _) => Some("base"),
        (_, true) => Some("A/A twin"),
        _ => None,
    };
    let below = |text: &str| [line_end(), small(text)];
    let name = Text::from(system.label)
        .and(role.into_iter().flat_map(|role| [words(" "), small(role)]))
        .and(system.whole_name.as_deref().into_iter().flat_map(below));
    let unreleased = (!system.is_released).then_some("not a release channel");
    let notes = unreleased.into_iter().chain(system.notes.iter().map(String::as_str));
    let options = match system.options {
        [] => Text::from(NONE),
        options => {
            let lines = options.iter().map(|option| format!("{option}\n")).collect::<String>();
            folded(counted(options.len() as u64, "option"), lines).into()
        }
    };
    Row::new([
        name,
        system.version.as_str().into(),
        system.engine.into(),
        system.package.into(),
        Text::from(system.origin.as_str()).and(notes.flat_map(below)),
        code(system.binaries).into(),
        options,
    ])
}

fn event(event: &Event) -> Text {
    let system = event.system.iter().flat_map(|system| [bold(*system), words(" ")]);
    Text::from(time(event.when.as_deref().unwrap_or(NONE)))
        .and([words(" ")])
        .and(system)
        .and([words(&event.what)])
}

fn defaults(conditions: &Conditions) -> Vec<Block<'static>> {
    let all = &conditions.defaults;
    let (shown, rest) = all.split_at(all.len().min(DEFAULTS_MAX));
    let table = |findings: &[MergedFinding], label| {
        let rows = findings.iter().map(|it| difference(&conditions.audit, it));
        let look = Look { class: "audit stack".to_owned(), label, ..Look::default() };
        Block::Table(Table::new(difference_columns(&conditions.audit), rows).look(look))
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

fn audit(audit: &Audit) -> Vec<Block<'static>> {
    let mut blocks = match (audit.topics.is_empty(), audit.harmless.is_empty()) {
        (true, true) => Block::prose("", ["The systems do not differ."]),
        (true, false) => Block::prose("", ["No relevant difference between the systems."]),
        _ => vec![Block::Table(differences(audit, &audit.topics, "Audit"))],
    };
    if !audit.harmless.is_empty() {
        let label = "Harmless differences";
        blocks.push(Block::Section(Section {
            class: "harmless",
            blocks: vec![Block::Table(differences(audit, &audit.harmless, label))],
            ..Section::new(label, Fold::Closed)
        }));
    }
    blocks
}

fn difference_columns(audit: &Audit) -> Vec<Column> {
    let systems = audit.systems.iter().map(|(_, name)| Column::words(*name).class("name"));
    let columns = std::iter::once(Column::words("Setting")).chain(systems);
    columns.chain([Column::words("Why")]).collect()
}

fn difference(audit: &Audit, finding: &MergedFinding) -> Row {
    let value =
        |(system, _): &(usize, &str)| Cell::from(code(finding.value(system).unwrap_or(NONE)));
    let name = Cell::from(code(finding.name()));
    let values = audit.systems.iter().map(value);
    Row::new(std::iter::once(name).chain(values).chain([finding.why().into()]))
}

fn differences(audit: &Audit, topics: &[TopicFindings], label: &'static str) -> Table {
    let columns = difference_columns(audit);
    let group = |topic: &TopicFindings| {
        let remedy = topic.remedy().map(|remedy| format!("Remedy: {remedy}."));
        let remedy = remedy.into_iter().flat_map(|it| [words(" "), small(it)]);
        let title = words(format!(" {}", topic.topic.title()));
        Group {
            class: topic.class_word(),
            heading: Text::from_iter([badge(topic.class_word()), title]).and(remedy),
            rows: topic.findings.iter().map(|it| difference(audit, it)).collect(),
            ..Group::default()
        }
    };
    let note = "Differences between the systems: settings, builds and plans.".to_owned();
    Table {
        caption: Some(Caption { note, ..Caption::default() }),
        columns,
        groups: topics.iter().map(group).collect(),
        look: Look { class: "audit stack".to_owned(), label, ..Look::default() },
        ..Table::default()
    }
}
