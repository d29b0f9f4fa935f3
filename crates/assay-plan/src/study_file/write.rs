//! From a request to the text of its study file.

use std::collections::BTreeSet;

use assay_model::{IdKey, StatementMode};
use toml::Value;

use super::command::command;
use crate::quantity::{duration_text, percent_text};
use crate::{Request, SetupRequest, SystemRequest};

/// The study file that asks for the same: [`crate::read_study`] gives the request again.
///
/// Where one command says the same, it stands in the first line, after `# `.
/// What the preset decides is left out. Systems with a name or options of their own get a table; two of one name are
/// taken to be the same.
#[must_use]
pub fn write_study(request: &Request) -> String {
    let mut lines: Vec<String> =
        command(request).map(|command| format!("# {command}\n")).into_iter().collect();
    lines.extend([
        line("preset", quoted(request.preset.word())),
        line("set", request.set.len().to_string()),
    ]);
    if !request.tests.is_empty() {
        lines.push(line("tests", list(request.tests.iter().map(|glob| quoted(glob)))));
    }
    let text = |seconds| quoted(&duration_text(seconds));
    let optional = [
        ("budget", request.budget_s.map(text)),
        ("threshold", request.threshold.map(|fraction| quoted(&percent_text(fraction)))),
        ("twin", request.twin.map(|twin| twin.to_string())),
        ("seed", Some(request.seed.to_string())),
        ("placement", request.placement.map(|placement| quoted(placement.word()))),
        (
            "statements",
            (request.statements != StatementMode::default())
                .then(|| quoted(request.statements.word())),
        ),
        ("id-key", (request.id_key != IdKey::default()).then(|| quoted(request.id_key.word()))),
        ("slice", request.slice_s.map(text)),
        ("write-slice", request.write_slice_s.map(text)),
        ("blocks", request.blocks.map(|blocks| blocks.to_string())),
        ("rounds", request.rounds.map(|rounds| rounds.to_string())),
        ("source", request.source.as_deref().map(quoted)),
        ("compare", Some(list(request.systems.iter().map(|system| quoted(&entry(system)))))),
    ];
    lines.extend(optional.into_iter().filter_map(|(key, value)| Some(line(key, value?))));

    let mut written = BTreeSet::new();
    for system in &request.systems {
        if let Some(name) = &system.name
            && written.insert(name)
        {
            lines.extend(system_table(name, system));
        }
    }
    // A single setup that the preset decides goes without saying.
    if request.setups != [SetupRequest::default()] {
        lines.extend(request.setups.iter().flat_map(setup_table));
    }
    lines.concat()
}

fn line(key: &str, value: impl AsRef<str>) -> String {
    format!("{key} = {}\n", value.as_ref())
}

fn list(entries: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", entries.into_iter().collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn key(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.chars().all(is_bare) { text.to_owned() } else { quoted(text) }
}

/// A system in `compare`: without a name it has no table, and its options go into the words.
fn entry(system: &SystemRequest) -> String {
    system.name.clone().unwrap_or_else(|| {
        let options = system.options.iter().map(|(option, value)| format!("+{option}={value}"));
        options.fold(system.words.clone(), |words, option| words + &option)
    })
}

fn system_table(name: &str, system: &SystemRequest) -> Vec<String> {
    let mut lines = vec![format!("\n[system.{}]\n", key(name)), line("is", quoted(&system.words))];
    lines.extend(system.config.as_ref().map(|config| line("config", quoted(config))));
    if !system.options.is_empty() {
        let option =
            |(option, value): &(String, String)| format!("{} = {}", key(option), quoted(value));
        let options: Vec<_> = system.options.iter().map(option).collect();
        lines.push(line("options", format!("{{ {} }}", options.join(", "))));
    }
    lines
}

fn setup_table(setup: &SetupRequest) -> Vec<String> {
    let clients = setup.clients.as_deref().map(|clients| match clients {
        [count] => count.to_string(),
        counts => list(counts.iter().map(u32::to_string)),
    });
    let values = [
        ("clients", clients),
        ("tables", setup.tables.map(|tables| tables.to_string())),
        ("rows", setup.rows.map(grouped)),
    ];
    let lines = values.into_iter().filter_map(|(key, value)| Some(line(key, value?)));
    std::iter::once("\n[[setup]]\n".to_owned()).chain(lines).collect()
}

/// With `_` before each three digits, as TOML allows.
fn grouped(mut number: u32) -> String {
    let mut text = String::new();
    while number >= 1000 {
        text = format!("_{:03}{text}", number % 1000);
        number /= 1000;
    }
    format!("{number}{text}")
}
