//! Under which conditions it was measured.

use assay_model::{AuditClass, StudyRecord};
use assay_verdict::Judgement;

use super::figure::setup_words;
use crate::findings::{Entry, by_kind, shown};
use crate::label::label;
use crate::number::{NONE, duration, share, thousands};
use crate::text::conditions::data;
use crate::trouble;
use crate::words::{origin, rfc3339};

/// Machine, study, systems, audit and events.
pub(crate) struct Conditions {
    /// Names and values.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) systems: Vec<SystemFacts>,
    /// Names of the systems that the audit compares.
    pub(crate) audited: Vec<String>,
    pub(crate) audit: Vec<Findings>,
    /// The findings that are of no matter, behind their number.
    pub(crate) harmless: Vec<Findings>,
    pub(crate) events: Vec<Event>,
}

/// One system.
pub(crate) struct SystemFacts {
    pub(crate) name: String,
    /// Where it is longer than `name`.
    pub(crate) whole_name: Option<String>,
    pub(crate) role: &'static str,
    pub(crate) version: String,
    pub(crate) engine: &'static str,
    pub(crate) package: String,
    pub(crate) source: String,
    pub(crate) sha256: String,
    pub(crate) notes: Vec<String>,
    pub(crate) options: Vec<String>,
}

/// What differs of one kind, to be read in one way.
pub(crate) struct Findings {
    pub(crate) class: &'static str,
    pub(crate) kind: &'static str,
    /// What to do about it; empty where nothing is to be done.
    pub(crate) remedy: &'static str,
    pub(crate) entries: Vec<Finding>,
}

/// A setting that differs.
pub(crate) struct Finding {
    pub(crate) setting: String,
    pub(crate) values: Vec<String>,
    pub(crate) why: String,
}

/// Something that happened.
pub(crate) struct Event {
    pub(crate) when: String,
    pub(crate) what: String,
    pub(crate) system: Option<String>,
}

impl Conditions {
    pub(crate) fn new(record: &StudyRecord, judgement: &Judgement) -> Self {
        let indices = || 0..record.systems.len();
        let audited = indices().filter(|&index| !record.systems[index].is_twin);
        let harmless = findings(record, AuditClass::Harmless);
        Self {
            facts: facts(record, judgement),
            systems: indices().map(|index| system(record, index)).collect(),
            audited: audited.map(|index| label(record, index)).collect(),
            // What spoils a comparison first.
            audit: [AuditClass::Suspicious, AuditClass::Expected]
                .into_iter()
                .flat_map(|class| findings(record, class))
                .collect(),
            harmless,
            events: events(record),
        }
    }
}

fn facts(record: &StudyRecord, judgement: &Judgement) -> Vec<(&'static str, String)> {
    let (study, host) = (&record.study, record.host());
    let hypervisor =
        host.hypervisor.as_ref().map_or_else(String::new, |h| format!(", virtual machine ({h})"));
    let memory = host.memory_kb as f64 / f64::from(1 << 20);
    let setups: Vec<String> = study.setups.iter().map(|setup| setup_words(*setup)).collect();
    let mut placements: Vec<&str> = study.cells.iter().map(|c| c.placement.word()).collect();
    placements.sort_unstable();
    placements.dedup();
    let sum = |of: fn(&assay_verdict::CellJudgement) -> u64| {
        thousands(judgement.cells.iter().map(of).sum::<u64>() as f64)
    };
    vec![
        ("Processor", format!("{} × {}{hypervisor}", host.cpus, host.cpu)),
        ("Memory", format!("{memory:.0} GiB")),
        ("System", format!("{}, kernel {}, {}", host.os, host.kernel, host.filesystem)),
        ("Study", format!("{}, preset {}", study.id, study.preset.word())),
        ("Clients × tables × rows", setups.join("; ")),
        ("Experiment", study.experiment.word().to_owned()),
        ("Statements", study.statements.word().to_owned()),
        ("Key of id", study.id_key.word().to_owned()),
        ("Data", data(record).join("; ")),
        ("Placement", placements.join(" and ")),
        ("Seed", study.seed.to_string()),
        ("Threshold", share(study.threshold)),
        ("Started", rfc3339(study.started_ms).unwrap_or_else(|| NONE.to_owned())),
        (
            "Took",
            format!(
                "{} of a budget of {}, in {}",
                duration(record.elapsed_s()),
                duration(study.budget_s),
                if record.runs.len() == 1 {
                    "one run".into()
                } else {
                    format!("{} runs", record.runs.len())
                },
            ),
        ),
        ("Slices", trouble::slices(record, judgement)),
        ("Servers started", record.instances.len().to_string()),
        ("Retried errors", sum(|cell| cell.errors)),
        ("Workload version", study.workload_version.to_string()),
        ("assay", study.assay_version.clone()),
    ]
}

fn system(record: &StudyRecord, index: usize) -> SystemFacts {
    let system = &record.systems[index];
    let label = label(record, index);
    let artifact = &system.artifact;
    let mut notes = artifact.notes().to_vec();
    if !artifact.is_released() {
        notes.insert(0, "no released channel".into());
    }
    SystemFacts {
        // The one place where people find the whole name.
        whole_name: Some(system.name.clone()).filter(|name| *name != label),
        name: label,
        role: match (system.is_base, system.is_twin) {
            (true, _) => "base",
            (_, true) => "A/A twin",
            _ => "",
        },
        version: format!("{} {}", artifact.product(), artifact.version()),
        engine: system.spec.engine.word(),
        package: artifact.package_version().to_owned(),
        source: origin(system),
        sha256: crate::words::binaries(artifact).trim_start_matches("binaries ").to_owned(),
        notes,
        options: system.options.clone(),
    }
}

fn findings(record: &StudyRecord, class: AuditClass) -> Vec<Findings> {
    by_kind(&record.audit, class)
        .into_iter()
        .map(|(kind, entries)| Findings {
            class: match class {
                AuditClass::Expected => "expected",
                AuditClass::Harmless => "harmless",
                AuditClass::Suspicious => "suspicious",
            },
            kind: kind.title(),
            remedy: if class == AuditClass::Suspicious { kind.remedy() } else { "" },
            entries: entries.iter().map(|entry| finding(record, entry)).collect(),
        })
        .collect()
}

fn finding(record: &StudyRecord, entry: &Entry) -> Finding {
    let audited = record.systems.iter().enumerate().filter(|(_, system)| !system.is_twin);
    let value = |index: usize| entry.finding.values.get(index).and_then(Option::as_deref);
    Finding {
        setting: entry.name(),
        values: audited
            .map(|(index, _)| value(index).map_or(NONE, |value| shown(Some(value))).to_owned())
            .collect(),
        why: entry.finding.why.clone(),
    }
}

fn events(record: &StudyRecord) -> Vec<Event> {
    record
        .events
        .iter()
        .map(|event| Event {
            when: rfc3339(event.when_ms).unwrap_or_else(|| NONE.to_owned()),
            what: event.what.to_string(),
            system: event.system.map(|index| label(record, index)),
        })
        .collect()
}
