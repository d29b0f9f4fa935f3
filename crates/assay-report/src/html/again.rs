//! How to do it again.

use assay_model::{Setup, StudyRecord};

use crate::words::shell_quoted;

/// The command that asks for the same study; none where its setups are not every combination of their clients, tables
/// and rows: that takes a study file.
pub(crate) fn command(record: &StudyRecord) -> Option<String> {
    let study = &record.study;
    let clients = each(&study.setups, |setup| setup.clients);
    let tables = each(&study.setups, |setup| setup.tables);
    let rows = each(&study.setups, |setup| setup.rows);
    if study.setups.len() != clients.len() * tables.len() * rows.len() {
        return None;
    }
    let systems: Vec<String> = record
        .systems
        .iter()
        .filter(|system| !system.is_twin)
        .map(|system| shell_quoted(&system.spec.to_string()))
        .collect();
    let mut words = vec![
        format!("assay compare {}", systems.join(" ")),
        format!("--preset {}", study.preset.word()),
        format!("--set {}", study.set.len()),
    ];
    words.extend(tests(record));
    words.extend([
        format!("--clients {}", clients.join(",")),
        format!("--tables {}", tables.join(",")),
        format!("--rows {}", rows.join(",")),
        format!("--budget {}s", study.budget_s),
        format!("--threshold {}%", (study.threshold * 1e4).round() / 100.0),
        format!("--seed {}", study.seed),
        format!("--blocks {}", study.blocks),
        format!("--rounds {}", study.rounds),
    ]);
    // Where tests differ in these, the preset chose them.
    words
        .extend(common(study.cells.iter().map(|c| c.slice_ms)).map(|ms| format!("--slice {ms}ms")));
    let placement = common(study.cells.iter().map(|cell| cell.placement));
    words.extend(placement.map(|placement| format!("--placement {}", placement.word())));
    if record.systems.iter().any(|system| system.is_twin) {
        words.push("--twin".into());
    }
    Some(words.join(" "))
}

fn tests(record: &StudyRecord) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for name in record.study.cells.iter().map(|cell| cell.id.test.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let all = record.study.set.tests().iter().all(|test| names.contains(&test.name()));
    (!all).then(|| format!("--tests {}", names.join(",")))
}

/// The values that setups have, each once, in their order.
fn each(setups: &[Setup], of: fn(&Setup) -> u32) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for value in setups.iter().map(|setup| of(setup).to_string()) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// What all items have in common.
fn common<T: PartialEq>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.all(|item| item == first).then_some(first)
}
