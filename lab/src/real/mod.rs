//! Studies of real servers, each of which is one line of results.

mod designs;
mod group;
mod half_cpu;
mod manual;
mod planted_causes;
mod rounds;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::lines::{Lines, text};
use super::{expect_only, machine, option};
use designs::{Design, MeasureMethod};
pub(super) use designs::{SHORT_TURNS, TURNS};

/// From the root of the repository.
pub(super) const RESULTS: &str = "docs/lab/data/real.jsonl";

/// Where the slices of the studies are.
const LEDGER: &str = "target/calibration/ledger.db";

/// Where those of `--short` are.
const SHORT_RESULTS: &str = "target/calibration/real.jsonl";

/// Carries out the missing studies of a kind: `KIND [--program PATH] [--short]`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn run(root: &Path, words: &[String]) -> Result<()> {
    let is_short = words.iter().any(|word| word == "--short");
    let kind = words.first().map_or("", String::as_str);
    expect_only(words.get(1..).unwrap_or_default(), &["--program"], &["--short"])?;
    let Some(designs) = designs::for_kind(kind, is_short) else {
        bail!("`{kind}` is none of aa, known, manual, turns, equal, long, hour, causes and steps");
    };
    let program = option(words, "--program")?.map(PathBuf::from);
    let program = program.map_or_else(|| machine::build("assay"), Ok)?;
    let program = std::path::absolute(program)?;
    let assay = Assay { program, root: root.to_owned(), commit: machine::commit(root)? };
    let mut lines = Lines::open(&root.join(if is_short { SHORT_RESULTS } else { RESULTS }))?;
    let of_kind = lines.values().iter().filter(|line| text(line, "kind") == kind);
    let done: BTreeSet<String> = of_kind.map(|line| text(line, "key").to_owned()).collect();
    let missing: Vec<&Design> = designs.iter().filter(|it| !done.contains(&it.key)).collect();
    println!("{} of {} studies are missing", missing.len(), designs.len());
    for design in missing {
        println!("{kind}: {}", design.key);
        let began = Instant::now();
        let mut line = match &design.measured {
            MeasureMethod::Compared(words) => assay.compare(words)?,
            MeasureMethod::Steps(words) => {
                let (line, _) = assay.measured("insert-bench", words)?;
                println!("{}", verdicts(&line));
                line
            }
            MeasureMethod::Rounds(words) => {
                let (mut line, study) = assay.measured("compare", words)?;
                rounds::add_errors(&root.join(LEDGER), &study, &mut line)?;
                line
            }
            MeasureMethod::Halved(words) => half_cpu::compare(&assay, words)?,
            MeasureMethod::Planted(planted) => planted_causes::measure(&assay, planted)?,
            MeasureMethod::ByHand(by_hand) => manual::measure(&assay, by_hand)?,
            MeasureMethod::AtEqualTime { words, as_long_as } => {
                let of_hand = lines
                    .values()
                    .iter()
                    .find(|line| text(line, "kind") == kind && text(line, "key") == as_long_as);
                let seconds = of_hand.and_then(|line| line["wall_s"].as_f64());
                let seconds = seconds.with_context(|| format!("`{as_long_as}` is missing"))?;
                let budget = format!("{seconds:.0}s");
                assay.compare(&[words.as_slice(), &["--budget".to_owned(), budget]].concat())?
            }
        };
        line["kind"] = kind.into();
        line["key"] = design.key.as_str().into();
        line["expected"] = design.expected.into();
        line["date"] = machine::today()?.into();
        line["assay"] = assay.commit.as_str().into();
        line["wall_s"] = rounded(began.elapsed().as_secs_f64());
        lines.push(line)?;
    }
    Ok(())
}

struct Assay {
    program: PathBuf,
    /// The root of the repository, in which it runs.
    root: PathBuf,
    commit: String,
}

impl Assay {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.root);
        command.env("ASSAY_LEDGER", self.root.join(LEDGER));
        command
    }

    /// A study, reduced to the data for tables. A cell that could not be measured is part of the result.
    fn compare(&self, words: &[String]) -> Result<Value> {
        self.measured("compare", words).map(|(line, _)| line)
    }

    /// The study of a command that measures, with its id.
    fn measured(&self, command: &str, words: &[String]) -> Result<(Value, String)> {
        let mut command = self.command(&[command, "--format", "json", "--quiet"]);
        command.args(words).stdin(std::process::Stdio::null());
        let output = command.stderr(std::process::Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start {command:?}"))?;
        // 0: done; 3: done, but a cell failed.
        let is_done = matches!(output.status.code(), Some(0 | 3));
        ensure!(is_done, "{}: {command:?}", output.status);
        let document: Value = serde_json::from_slice(&output.stdout)?;
        let mut line = reduced(&document);
        line["words"] = words.join(" ").into();
        Ok((line, text(&document["study"], "id").to_owned()))
    }
}

/// The verdicts of a study, with the ratios: `l.i0 same [1.001, 0.99, 1.01]`, one on a line.
fn verdicts(line: &Value) -> String {
    let cells = line["cells"].as_array().into_iter().flatten();
    let words = cells.map(|cell| {
        let [test, verdict] = [text(cell, "test"), text(cell, "verdict")];
        format!("  {test} {verdict} {}", cell["rqps"])
    });
    words.collect::<Vec<_>>().join("\n")
}

/// A document of `--format json` on two systems, reduced to the machine, the time and the cells of the second one.
fn reduced(document: &Value) -> Value {
    let systems: Vec<&Value> = document["systems"].as_array().into_iter().flatten().collect();
    let base = systems.iter().find(|system| system["is_base"] == true).map(|it| &it["name"]);
    let cells = document["cells"].as_array().into_iter().flatten();
    let others = cells.filter(|cell| Some(&cell["system"]) != base);
    let study = &document["study"];
    json!({
        "machine": machine_in_words(&document["host"]),
        "noise": noise(&document["host"]["doctor"]),
        "elapsed_s": study["elapsed_s"].as_f64().map(rounded),
        "versions": systems.iter().map(|system| &system["version"]).collect::<Vec<_>>(),
        "cells": others.map(reduced_cell).collect::<Vec<_>>(),
    })
}

/// The noise measured by `doctor` before the study: the error of fixed work in turns of 10 ms.
fn noise(doctor: &Value) -> Value {
    let mut turns = doctor["noise"]["turns"].as_array().into_iter().flatten();
    let of_ten = turns.find(|turn| turn["turn_ms"] == 10.0);
    of_ten.and_then(|turn| turn["error"].as_f64()).map_or(Value::Null, rounded)
}

/// A cell without unmeasured values.
fn reduced_cell(cell: &Value) -> Value {
    let mut reduced = json!({
        "test": cell["test"],
        "rqps": interval(&cell["rqps"]),
        "verdict": cell["verdict"],
        "cpu": interval(&cell["cpu_ratio"]),
        "cpu_verdict": cell["cpu_verdict"],
        "detectable": cell["detectable"].as_f64().map(rounded),
        "slices": cell["slices"],
        "troubled": cell["troubled"],
        "change_us": change_us(&cell["change_us"]),
        "cause": cell["cause"],
    });
    if let Some(parts) = reduced.as_object_mut() {
        parts.retain(|_, part| !part.is_null());
    }
    reduced
}

/// The terms of a change, each as an interval; null without them.
fn change_us(change: &Value) -> Value {
    let Some(terms) = change.as_object() else { return Value::Null };
    let message = terms.iter().map(|(name, term)| (name.clone(), interval(term)));
    message.filter(|(_, term)| !term.is_null()).collect::<serde_json::Map<_, _>>().into()
}

/// `[value, low, high]`, or null.
fn interval(estimate: &Value) -> Value {
    let part = |name: &str| Some(rounded(estimate[name].as_f64()?));
    match (part("value"), part("low"), part("high")) {
        (Some(value), Some(low), Some(high)) => json!([value, low, high]),
        _ => Value::Null,
    }
}

/// Five significant digits: results stay small.
fn rounded(value: f64) -> Value {
    format!("{value:.4e}").parse::<f64>().unwrap_or(value).into()
}

fn machine_in_words(host: &Value) -> String {
    let kind = match host["hypervisor"].as_str() {
        Some(hypervisor) => format!("virtual ({hypervisor})"),
        None => "not virtual".to_owned(),
    };
    let memory_gb = host["memory_kb"].as_f64().unwrap_or(0.0) / f64::from(1 << 20);
    format!("{}, {kind}, {} CPUs, {memory_gb:.0} GiB", text(host, "cpu"), host["cpus"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_reduced_to_the_cells_of_the_other_systems() {
        let estimate = json!({"value": 0.987_654_321, "low": 0.98, "high": 0.99});
        let document = json!({
            "host": {
                "cpu": "CPU", "cpus": 2, "memory_kb": 8 << 20, "hypervisor": "kvm",
                "doctor": {"noise": {"turns": [
                    {"turn_ms": 5.0, "error": 0.003}, {"turn_ms": 10.0, "error": 0.0123},
                ]}},
            },
            "study": {"elapsed_s": 599.123_456},
            "systems": [{"name": "a", "is_base": true}, {"name": "b", "is_base": false}],
            "cells": [
                {"test": "t", "system": "a", "verdict": "same"},
                {"test": "t", "system": "b", "verdict": "slower", "rqps": estimate,
                 "cpu_ratio": null, "cpu_verdict": null},
            ],
        });
        let line = reduced(&document);
        assert_eq!(line["machine"], "CPU, virtual (kvm), 2 CPUs, 8 GiB");
        assert_eq!(line["elapsed_s"], 599.12);
        assert_eq!(line["noise"], 0.0123);
        let cells = line["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0]["rqps"], json!([0.98765, 0.98, 0.99]));
        assert_eq!(cells[0].get("cpu"), None);
    }
}
