//! The study file that asks for what a request asks for.

use assay_model::{IdKey, Preset, StatementMode, TestSet};
use toml::Value;

use super::{ID_KEYS, PLACEMENTS, STATEMENTS};
use crate::request::{SEED, THRESHOLD};
use crate::{Request, SetupRequest, SystemRequest};

/// Writes the study file of a request; what the preset decides is left out.
///
/// Where one command says the same, it stands in the first line, after `# `.
#[must_use]
pub fn write_study(request: &Request) -> String {
    let mut lines: Vec<String> = command(request).map(|it| format!("# {it}")).into_iter().collect();
    let mut line = |key: &str, value: String| lines.push(format!("{key} = {value}"));
    let names: Vec<String> = request.systems.iter().map(called).collect();
    line("compare", list(names.iter().map(|name| string(name))));
    line("preset", string(request.preset.word()));
    line("set", request.set.len().to_string());
    if !request.tests.is_empty() {
        line("tests", list(request.tests.iter().map(|glob| string(glob))));
    }
    if let Some(seconds) = request.budget_s {
        line("budget", duration(seconds));
    }
    if let Some(share) = request.threshold {
        line("threshold", string(&percent(share)));
    }
    if let Some(twin) = request.twin {
        line("twin", twin.to_string());
    }
    if let Some(placement) = request.placement {
        line("placement", word(&PLACEMENTS, placement));
    }
    if request.statements != StatementMode::default() {
        line("statements", word(&STATEMENTS, request.statements));
    }
    if request.id_key != IdKey::default() {
        line("id-key", word(&ID_KEYS, request.id_key));
    }
    line("seed", request.seed.to_string());
    for (key, seconds) in [("slice", request.slice_s), ("write-slice", request.write_slice_s)] {
        if let Some(seconds) = seconds {
            line(key, duration(seconds));
        }
    }
    for (key, number) in [("blocks", request.blocks), ("rounds", request.rounds)] {
        if let Some(number) = number {
            line(key, number.to_string());
        }
    }
    let mut written: Vec<&SystemRequest> = Vec::new();
    for system in request.systems.iter().filter(|system| system.name.is_some()) {
        if !written.contains(&system) {
            written.push(system);
            lines.extend(system_table(system));
        }
    }
    let is_default = request.setups == [SetupRequest::default()];
    lines.extend(request.setups.iter().filter(|_| !is_default).flat_map(setup_table));
    lines.join("\n") + "\n"
}

/// The command that asks for the same; none for named systems and several data sets.
fn command(request: &Request) -> Option<String> {
    let [setup] = request.setups.as_slice() else { return None };
    let is_plain = |system: &SystemRequest| system.name.is_none() && system.options.is_empty();
    if !request.systems.iter().all(is_plain) {
        return None;
    }
    let mut words = vec!["assay compare".to_owned()];
    words.extend(request.systems.iter().map(|system| shell_quoted(&system.words)));
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name} {value}")));
    };
    let seconds = |seconds: Option<f64>| seconds.map(|it| format!("{it}s"));
    let joined = |items: &[String]| items.join(",");
    let is_quick = request.preset == Preset::Quick;
    option("preset", (!is_quick).then(|| request.preset.word().to_owned()));
    let is_32 = request.set == TestSet::Set32;
    option("set", (!is_32).then(|| request.set.len().to_string()));
    let tests = shell_quoted(&joined(&request.tests));
    option("tests", (!request.tests.is_empty()).then_some(tests));
    let clients = setup.clients.as_ref();
    option("clients", clients.map(|it| joined(&it.iter().map(u32::to_string).collect::<Vec<_>>())));
    option("tables", setup.tables.map(|it| it.to_string()));
    option("rows", setup.rows.map(|it| it.to_string()));
    option("budget", seconds(request.budget_s));
    let threshold = request.threshold.filter(|it| *it != THRESHOLD);
    option("threshold", threshold.map(percent));
    option("placement", request.placement.map(|it| it.word().to_owned()));
    option("seed", (request.seed != SEED).then(|| request.seed.to_string()));
    option("slice", seconds(request.slice_s));
    option("write-slice", seconds(request.write_slice_s));
    option("blocks", request.blocks.map(|it| it.to_string()));
    option("rounds", request.rounds.map(|it| it.to_string()));
    let is_text = request.statements == StatementMode::Text;
    option("db-ps-mode", is_text.then(|| "disable".to_owned()));
    let switches = [
        ("--secondary", request.id_key == IdKey::Secondary),
        ("--twin", request.twin == Some(true)),
        ("--no-twin", request.twin == Some(false)),
    ];
    words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(word, _)| word.to_owned()));
    Some(words.join(" "))
}

/// A word as a POSIX shell takes it: as it is where nothing in it has a meaning, else in single quotes.
fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// What `compare` says for a system.
fn called(system: &SystemRequest) -> String {
    system.name.clone().unwrap_or_else(|| system.words.clone())
}

fn system_table(system: &SystemRequest) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        format!("[system.{}]", string(&called(system))),
        format!("is = {}", string(&system.words)),
    ];
    if !system.options.is_empty() {
        let options = system.options.iter();
        let pairs: Vec<String> =
            options.map(|(name, value)| format!("{} = {}", string(name), string(value))).collect();
        lines.push(format!("options = {{ {} }}", pairs.join(", ")));
    }
    lines
}

fn setup_table(setup: &SetupRequest) -> Vec<String> {
    let mut lines = vec![String::new(), "[[setup]]".to_owned()];
    if let Some(clients) = &setup.clients {
        lines.push(format!("clients = {}", list(clients.iter().map(ToString::to_string))));
    }
    let numbers = [("tables", setup.tables), ("rows", setup.rows)];
    let told = numbers.into_iter().filter_map(|(key, number)| Some((key, number?)));
    lines.extend(told.map(|(key, number)| format!("{key} = {number}")));
    lines
}

fn string(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn duration(seconds: f64) -> String {
    string(&format!("{seconds}s"))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn word<T: PartialEq>(words: &[(&str, T)], meant: T) -> String {
    let found = words.iter().find(|(_, it)| *it == meant);
    string(found.map_or("", |(word, _)| word))
}
