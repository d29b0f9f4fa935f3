//! From a request to the command that asks for the same.

use assay_model::OltpOptions;
use serde::Serialize;
use toml::de::{DeTable, DeValue};

use crate::request::{GateRequest, Request, SystemRequest, THRESHOLD, usual};
use crate::units::percent_text;

/// Options that come first in a command, in their order; the rest follow in the order of the study file.
const FIRST: &str = "source terms preset workload suite set tests clients tables rows budget threshold placement seed";

/// Options that come last, in their order.
const LAST: &str = "statements id-key twin";

/// The command that asks for the same; none for named systems and several data sets.
pub(super) fn command(request: &Request) -> Option<String> {
    let [setup] = request.setups.as_slice() else { return None };
    let is_plain = |system: &SystemRequest| {
        system.name.is_none() && system.options.is_empty() && system.config.is_none()
    };
    // On the command line a comma separates patterns.
    let has_comma = request.tests.iter().any(|glob| glob.contains(','));
    if has_comma || !request.systems.iter().all(is_plain) {
        return None;
    }
    let unsaid = options(&lines(&Request { threshold: Some(THRESHOLD), ..usual() }));
    let bench = request.insert_bench.as_ref().map_or(String::new(), lines);
    let mut said = options(&(lines(request) + &lines(setup) + &bench));
    said.retain(|option| !unsaid.contains(option));
    said.extend(options(&oltp_lines(&request.oltp)));
    if request.insert_bench.is_some() && said.iter().any(|(key, _)| key == "threshold") {
        // The command for the Insert Benchmark has none.
        return None;
    }
    // The sort is stable.
    said.sort_by_key(|(key, _)| {
        let among = |keys: &str| keys.split(' ').position(|other| other == key);
        (among(FIRST).unwrap_or(usize::MAX), among(LAST))
    });
    let systems = request.systems.iter().map(|system| shell_quoted(&system.words));
    let options = said.iter().map(|(key, value)| as_typed(key, value));
    let words: Vec<String> = match &request.gate {
        None => {
            let bench = request.insert_bench.as_ref();
            let command = bench.map_or("assay compare", |_| "assay insert-bench");
            std::iter::once(command.to_owned()).chain(systems).chain(options).collect()
        }
        // The command for a gate has neither.
        Some(_) if said.iter().any(|(key, _)| key == "threshold" || key == "twin") => return None,
        Some(gate) => {
            let roles = std::iter::once("--base").chain(std::iter::repeat("--other"));
            let systems = roles.zip(systems).map(|(role, system)| format!("{role} {system}"));
            let command = std::iter::once("assay gate".to_owned()).chain(systems);
            command.chain(gate_options(gate)).chain(options).collect()
        }
    };
    Some(words.join(" "))
}

/// The options of `gate` that `compare` does not have.
fn gate_options(gate: &GateRequest) -> Vec<String> {
    let mut options = vec![format!("--max-slowdown {}", percent_text(gate.max_slowdown))];
    options.extend(gate.limits.iter().map(|(of, most)| {
        format!("--limit {}", shell_quoted(&format!("{of}={}", percent_text(*most))))
    }));
    options.extend(gate.allow_undecided.then(|| "--allow-undecided".to_owned()));
    options
}

/// A line of a study file for each value.
pub(super) fn lines(values: &impl Serialize) -> String {
    toml::to_string(values).expect("numbers, texts and lists of them are TOML")
}

/// A line for each option that differs from its default.
pub(super) fn oltp_lines(options: &OltpOptions) -> String {
    let usual = lines(&OltpOptions::default());
    let written = lines(options);
    let changed = written.lines().filter(|line| !usual.lines().any(|other| other == *line));
    changed.map(|line| format!("{line}\n")).collect()
}

/// Keys and values in their order; lists as a command has them.
fn options(lines: &str) -> Vec<(String, String)> {
    let Ok(document) = DeTable::parse(lines) else { return Vec::new() };
    let mut entries: Vec<_> = document.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let texts =
        entries.iter().map(|(key, value)| (key.get_ref().to_string(), text(value.get_ref())));
    texts.collect()
}

fn text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Array(values) => {
            values.iter().map(|value| text(value.get_ref())).collect::<Vec<_>>().join(",")
        }
        other => other.type_str().to_owned(),
    }
}

/// An option of `compare` or `insert-bench`. Most have the name of the key.
fn as_typed(key: &str, value: &str) -> String {
    match (key, value) {
        ("statements", "text") => "--db-ps-mode disable".to_owned(),
        ("id-key", "secondary") => "--secondary".to_owned(),
        ("twin", "true") => "--twin".to_owned(),
        ("twin", "false") => "--no-twin".to_owned(),
        ("profile", "changed") => "--profile".to_owned(),
        // A word that follows would be taken for a system.
        ("profile", tests) => format!("--profile={tests}"),
        ("range-selects" | "auto-inc" | "create-secondary", "false") => format!("--{key}=off"),
        (key, "true") => format!("--{key}"),
        // It would be taken for an option.
        (key, value) if value.starts_with('-') => format!("--{key}={}", shell_quoted(value)),
        _ => format!("--{key} {}", shell_quoted(value)),
    }
}

/// A word as a POSIX shell takes it: as it is where nothing in it has a meaning, else in single quotes.
///
/// The crate `shlex` would quote `=`, `,` and `%` too, which most commands have.
#[must_use]
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
