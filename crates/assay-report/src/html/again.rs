//! How to do it again.

use assay_model::{Setup, StudyRecord};

use crate::words::shell_quoted;

/// The command that asks for the same study.
pub(crate) fn command(record: &StudyRecord) -> String {
    let study = &record.study;
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
        format!("--clients {}", each(&study.setups, |setup| setup.clients)),
        format!("--tables {}", each(&study.setups, |setup| setup.tables)),
        format!("--rows {}", each(&study.setups, |setup| setup.rows)),
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
    words.join(" ")
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

/// The values that setups have, each once.
fn each(setups: &[Setup], of: fn(&Setup) -> u32) -> String {
    let mut values: Vec<u32> = setups.iter().map(of).collect();
    values.sort_unstable();
    values.dedup();
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// What all items have in common.
fn common<T: PartialEq>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.all(|item| item == first).then_some(first)
}
