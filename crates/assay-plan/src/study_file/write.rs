//! Writes a request as a study file.

use std::collections::BTreeSet;

use assay_model::{Counting, LIMITED_STUDY};

use super::command::{changed_lines, command, quoted, request_lines};
use super::options::limit_key;
use crate::request::{LimitsRequest, Request, SetupRequest, SystemRequest};
use assay_options::percent_text;

/// The equivalent study file: [`crate::read_study`] returns the request. If an equivalent one-line command exists, it
/// is the first line, after `# `. Values decided by the preset are left out. Systems with a name or separate options
/// get a table; two with one name are taken to be the same.
pub fn write_study(request: &Request) -> String {
    // A line break would end the comment and activate the text after it.
    let command = command(request).filter(|command| !command.contains(char::is_control));
    let mut text: Vec<String> = command.iter().map(|command| format!("# {command}\n")).collect();
    text.push(request_lines(request));
    text.push(line("compare", list(request.systems.iter().map(|system| quoted(&entry(system))))));

    let mut written = BTreeSet::new();
    for system in &request.systems {
        if let Some(name) = &system.name
            && written.insert(name)
        {
            text.extend(system_table(name, system));
        }
    }
    // A single setup decided by the preset is omitted.
    if request.setups != [SetupRequest::default()] {
        text.extend(request.setups.iter().map(setup_table));
    }
    text.extend(request.limits.as_ref().map(|limits| limits_table(limits, request.count)));
    let bench = request.insert_bench.as_ref();
    text.extend(bench.map(|bench| format!("\n[insert-bench]\n{}", changed_lines(bench))));
    for (name, changed) in
        [("oltp", changed_lines(&request.oltp)), ("tpcc", changed_lines(&request.tpcc))]
    {
        text.extend((!changed.is_empty()).then(|| format!("\n[{name}]\n{changed}")));
    }
    text.concat()
}

fn limits_table(limits: &LimitsRequest, count: Counting) -> String {
    let percent = |fraction| quoted(&percent_text(fraction));
    let mut table =
        format!("\n[{LIMITED_STUDY}]\n{}", line(limit_key(count), percent(limits.most)));
    if !limits.limits.is_empty() {
        let limits = limits.limits.iter();
        let limits = limits.map(|(of, most)| format!("{} = {}", key(of), percent(*most)));
        table += &line("limits", format!("{{ {} }}", limits.collect::<Vec<_>>().join(", ")));
    }
    if limits.allow_undecided {
        table += &line("allow-undecided", "true");
    }
    table
}

fn line(key: &str, value: impl AsRef<str>) -> String {
    format!("{key} = {}\n", value.as_ref())
}

fn list(entries: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", entries.into_iter().collect::<Vec<_>>().join(", "))
}

fn key(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.chars().all(is_bare) { text.to_owned() } else { quoted(text) }
}

/// A system in `compare`: without a name it has no table, and its options go into the specification.
fn entry(system: &SystemRequest) -> String {
    system.name.clone().unwrap_or_else(|| {
        let options = system.options.iter().map(|(option, value)| format!("+{option}={value}"));
        options.fold(system.words.clone(), |words, option| words + &option)
    })
}

fn system_table(name: &str, system: &SystemRequest) -> Vec<String> {
    let mut lines = vec![format!("\n[system.{}]\n", key(name)), line("is", quoted(&system.words))];
    lines.extend(system.config.as_ref().map(|config| line("config", quoted(config))));
    if !system.without.is_empty() {
        let names: Vec<String> = system.without.iter().map(|name| quoted(name)).collect();
        lines.push(line("without", format!("[{}]", names.join(", "))));
    }
    if !system.options.is_empty() {
        let option =
            |(option, value): &(String, String)| format!("{} = {}", key(option), quoted(value));
        let options: Vec<_> = system.options.iter().map(option).collect();
        lines.push(line("options", format!("{{ {} }}", options.join(", "))));
    }
    lines
}

fn setup_table(setup: &SetupRequest) -> String {
    let grouped = |text: String| match text.split_once("rows = ") {
        Some((before, rows)) => format!("{before}rows = {}\n", grouped(rows.trim_end())),
        None => text,
    };
    format!("\n[[setup]]\n{}", grouped(changed_lines(setup)))
}

/// Digits grouped by `_`, as TOML allows.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}
