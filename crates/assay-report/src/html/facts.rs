//! The conditions as names and values.

use crate::number::{NONE, thousands};
use crate::view::conditions::Conditions;
use crate::words::Separated;

/// Date, study, preset, duration and machine, below the title.
pub(crate) fn about(conditions: &Conditions) -> Vec<String> {
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

/// Facts that published results do not tell.
const NOT_REPORTED: [&str; 12] = [
    "Experiment",
    "Statements",
    "Key of id",
    "Data",
    "Placement",
    "Seed",
    "Took",
    "Slices",
    "Servers started",
    "Retried errors",
    "Workload version",
    "Memory",
];

/// Machine, study and slices.
pub(crate) fn facts(conditions: &Conditions) -> Vec<(&'static str, String)> {
    let (machine, study) = (&conditions.machine, &conditions.study);
    let setups: Vec<String> = study.setups.iter().map(Separated::separated).collect();
    let unknown = if conditions.is_reported { "; 1 where it is not known" } else { "" };
    let setups = format!("{}{unknown}", setups.join("; "));
    let runs = match conditions.runs {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let workload =
        study.workload.map(|name| ("Workload", format!("{name}; rows of all tables together")));
    let of = study.budget.as_ref().map(|budget| format!(" of a budget of {budget}"));
    let took = format!("{}{}, in {runs}", study.took, of.unwrap_or_default());
    let began = if conditions.is_reported { "Imported" } else { "Started" };
    let mut facts = vec![
        ("Processor", machine.processor.clone()),
        ("Memory", machine.memory.clone()),
        ("System", machine.platform.clone()),
        ("Study", format!("{}, preset {}", study.id, study.preset.word())),
        ("Clients × tables × rows", setups),
        ("Experiment", study.experiment.word().to_owned()),
        ("Statements", study.statements.word().to_owned()),
        ("Key of id", study.id_key.word().to_owned()),
        ("Data", conditions.data.join("; ")),
        ("Placement", study.placements.clone()),
        ("Seed", study.seed.to_string()),
        ("Threshold", study.threshold.clone()),
        (began, study.started.clone().unwrap_or_else(|| NONE.to_owned())),
        ("Took", took),
        ("Slices", conditions.slices.clone()),
        ("Servers started", conditions.servers_started.to_string()),
        ("Retried errors", thousands(conditions.retried_errors as f64)),
        ("Workload version", study.workload_version.to_string()),
        ("assay", study.assay_version.to_owned()),
    ];
    // After the data.
    let terms = study.terms.map(|terms| ("Terms", terms.to_owned()));
    facts.splice(9..9, terms);
    // After the key.
    let form = study.table_form.iter().map(|form| ("Tables", form.clone()));
    facts.splice(8..8, form);
    // After the setups.
    facts.splice(5..5, workload);
    // After the system.
    let state = machine.state.iter().map(|line| ("Machine", line.clone()));
    facts.splice(3..3, state);
    if conditions.is_reported {
        facts.retain(|(name, _)| !NOT_REPORTED.contains(name));
    }
    facts
}
