//! Generates the command equivalent to a request.

use std::ffi::{OsStr, OsString};

use assay_model::{Counting, LIMITED_STUDY};
use assay_options::{duration_text, percent_text};
use assay_workloads::{OltpOptions, TpccOptions};
use clap::{Arg, ArgAction, Args, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::options::{keys_of, option_of};
use crate::request::{
    InsertBenchRequest, LimitsRequest, Request, SetupRequest, SystemRequest, usual_of,
    usual_threshold,
};

/// The equivalent command; `None` for systems with separate options and for several data sets.
pub(super) fn command(request: &Request) -> Option<String> {
    let [setup] = request.setups.as_slice() else { return None };
    let is_typed = |system: &SystemRequest| SystemRequest::parse(&typed_system(system)) == *system;
    // On the command line a comma separates patterns, and keys.
    let mut listed = request.tests.iter().chain(&request.workload).chain(&request.define);
    let has_comma = listed.any(|it| it.contains(','));
    // Recipes contain the content of the files.
    let has_files = !request.config.is_empty() || !request.config_options.is_empty();
    if has_comma || has_files || !request.systems.iter().all(is_typed) {
        return None;
    }
    let threshold = Some(usual_threshold(request.count));
    let unsaid = Request { threshold, ..usual_of(request.preset) };
    let bench = request.insert_bench.as_ref();
    let mut said = changed(request, &unsaid);
    said.extend(changed(setup, &SetupRequest::default()));
    said.extend(bench.iter().flat_map(|bench| changed(*bench, &InsertBenchRequest::default())));
    let has = |keys: &[&str]| said.iter().any(|(key, _)| keys.contains(key));
    // The commands for the Insert Benchmark and with limits have neither.
    if has(&["threshold", "twin"]) && (bench.is_some() || request.limits.is_some()) {
        return None;
    }
    let counts_only = request.count == Counting::Only;
    // The command implies them, or its last words state them.
    let is_implied = |key| counts_only && ["count", "clients"].contains(&key);
    said.retain(|(key, _)| !is_implied(*key) && *key != "script-options");
    let systems = request.systems.iter().map(|system| shell_quoted(&typed_system(system)));
    let options = said.into_iter().map(|(_, typed)| typed);
    let words: Vec<String> = match &request.limits {
        None => {
            let usual = if counts_only { "assay count" } else { "assay compare" };
            let command = bench.map_or(usual, |_| "assay insert-bench");
            std::iter::once(command.to_owned()).chain(systems).chain(options).collect()
        }
        Some(limits) => {
            let roles = std::iter::once("--base").chain(std::iter::repeat("--other"));
            let systems = roles.zip(systems).map(|(role, system)| format!("{role} {system}"));
            let command = std::iter::once(format!("assay {LIMITED_STUDY}")).chain(systems);
            command.chain(limit_options(limits, counts_only)).chain(options).collect()
        }
    };
    let of_script = request.script_options.iter().map(|word| shell_quoted(word));
    let of_suite = changed(&request.oltp, &OltpOptions::default());
    let of_suite = of_suite.into_iter().chain(changed(&request.tpcc, &TpccOptions::default()));
    let of_tests: Vec<String> = of_script.chain(of_suite.map(|(_, typed)| typed)).collect();
    let last = (!of_tests.is_empty()).then(|| "--".to_owned());
    Some(words.into_iter().chain(last).chain(of_tests).collect::<Vec<_>>().join(" "))
}

fn typed_system(system: &SystemRequest) -> String {
    let name = system.name.as_ref().map_or_else(String::new, |name| format!("{name}="));
    name + &system.words
}

/// Options that `compare` does not have.
fn limit_options(limits: &LimitsRequest, counts_only: bool) -> Vec<String> {
    let limit = if counts_only { "--count --max-more" } else { "--max-slowdown" };
    let mut options = vec![format!("{limit} {}", percent_text(limits.most))];
    options.extend(limits.limits.iter().map(|(of, most)| {
        format!("--limit {}", shell_quoted(&format!("{of}={}", percent_text(*most))))
    }));
    options.extend(limits.allow_undecided.then(|| "--allow-undecided".to_owned()));
    options
}

/// The keys and values of options, in their order, without those that the preset decides.
fn values_of<T: DeserializeOwned + Serialize>(options: &T) -> Vec<(&'static str, Value)> {
    let document =
        serde_json::to_value(options).expect("numbers, texts and lists of them are JSON");
    let keys = keys_of::<T>().iter().filter_map(|key| Some((*key, document.get(key)?.clone())));
    keys.filter(|(_, value)| !value.is_null()).collect()
}

/// The first option with another value than in `usual`.
pub(crate) fn first_change(request: &Request, usual: &Request) -> Option<&'static str> {
    let usual = values_of(usual);
    values_of(request).into_iter().find(|value| !usual.contains(value)).map(|(key, _)| key)
}

/// Keys with one value or a list.
const ONE_OR_MORE: [&str; 3] = ["workload", "config", "clients"];

/// A value as a user writes it: times and percentages with their units.
fn typed_value(option: Option<&Arg>, key: &str, value: Value) -> Value {
    let names = option.and_then(Arg::get_value_names).unwrap_or_default();
    match (names.first().map(|name| name.as_str()), &value) {
        (Some("TIME"), Value::Number(seconds)) => seconds.as_f64().map(duration_text).into(),
        (Some("PERCENT"), Value::Number(share)) => share.as_f64().map(percent_text).into(),
        (_, Value::Array(values)) if ONE_OR_MORE.contains(&key) && values.len() == 1 => {
            values[0].clone()
        }
        _ => value,
    }
}

/// Keys that a study file has whatever their values are.
const ALWAYS: [&str; 3] = ["preset", "set", "seed"];

pub(super) fn request_lines(request: &Request) -> String {
    let usual = values_of(&usual_of(request.preset));
    let mut values = values_of(request);
    values.retain(|value| ALWAYS.contains(&value.0) || !usual.contains(value));
    lines_of::<Request>(values)
}

/// The lines of options that differ from their defaults.
pub(super) fn changed_lines<T: Args + Default + DeserializeOwned + Serialize>(
    options: &T,
) -> String {
    let usual = values_of(&T::default());
    let mut changed = values_of(options);
    changed.retain(|value| !usual.contains(value));
    lines_of::<T>(changed)
}

fn lines_of<T: Args>(values: Vec<(&'static str, Value)>) -> String {
    let options = T::augment_args(Command::new("options"));
    let line = |(key, value)| {
        let value = typed_value(option_of(&options, key), key, value);
        format!("{key} = {}\n", toml_text(key, &value))
    };
    values.into_iter().map(line).collect()
}

/// A text in quotes, on one line: a key cannot have several.
pub(super) fn quoted(text: &str) -> String {
    if !text.contains(char::is_control) {
        return toml::Value::from(text).to_string();
    }
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn toml_text(key: &str, value: &Value) -> String {
    match value {
        // The number of a set of tests.
        Value::String(text) if key == "set" && text.parse::<u32>().is_ok() => text.clone(),
        Value::String(text) => quoted(text),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| toml_text(key, value)).collect();
            format!("[{}]", values.join(", "))
        }
        other => other.to_string(),
    }
}

fn changed<T: Args + DeserializeOwned + Serialize>(
    values: &T,
    usual: &T,
) -> Vec<(&'static str, String)> {
    let usual = values_of(usual);
    let options = T::augment_args(Command::new("options"));
    let mut changed = values_of(values);
    changed.retain(|value| !usual.contains(value));
    changed
        .into_iter()
        .map(|(key, value)| {
            let option = option_of(&options, key);
            (key, typed(option, key, &typed_value(option, key, value)))
        })
        .collect()
}

/// An option with its value. Options defined elsewhere are named like the key.
fn typed(option: Option<&Arg>, key: &str, value: &Value) -> String {
    let name = option.and_then(Arg::get_long).unwrap_or(key);
    let is_key = option.is_some_and(Arg::is_hide_set);
    let takes_value = option.map_or(!value.is_boolean(), |it| it.get_action().takes_values());
    if !takes_value && !is_key {
        return format!("--{}{name}", if *value == false { "no-" } else { "" });
    }
    // Repeatable options.
    if let Value::Array(values) = value
        && option.is_some_and(|it| {
            matches!(it.get_action(), ArgAction::Append) && it.get_value_delimiter().is_none()
        })
    {
        let all = values.iter().map(|value| typed(option, key, value));
        return all.collect::<Vec<_>>().join(" ");
    }
    if is_key {
        let value = if value.is_boolean() { value.to_string() } else { text(value) };
        return format!("--key {}", shell_quoted(&format!("{key}={value}")));
    }
    let value = text(value);
    let words = option.map(Arg::get_possible_values).unwrap_or_default();
    let word = words.iter().find(|word| word.matches(&value, false));
    let value = word.map_or(value.as_str(), |word| word.get_name());
    let quoted = shell_quoted(value);
    match option.filter(|option| option.is_require_equals_set()) {
        Some(option) if value_without_any(option).is_some_and(|usual| *usual == *value) => {
            format!("--{name}")
        }
        // A following word would be taken for a system.
        Some(_) => format!("--{name}={quoted}"),
        // It would be taken for an option.
        None if value.starts_with('-') => format!("--{name}={quoted}"),
        None => format!("--{name} {quoted}"),
    }
}

fn value_without_any(option: &Arg) -> Option<OsString> {
    let command = Command::new("option").no_binary_name(true).arg(option.clone());
    let found = command.try_get_matches_from([format!("--{}", option.get_long()?)]).ok()?;
    found.get_raw(option.get_id().as_str())?.next().map(OsStr::to_owned)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(is_on) => (if *is_on { "on" } else { "off" }).to_owned(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Quotes a word for a POSIX shell if necessary. The crate `shlex` would also quote `=`, `,` and `%`, which most
/// commands have.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
