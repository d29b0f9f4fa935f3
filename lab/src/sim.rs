//! Simulated studies: finds missing batches and simulates them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use serde_json::Value;

use super::lines::{Lines, number, text};
use super::truth::{self, Case, EarlyCase, EarlyTally, Tally};
use super::{expect_only, machine, option};

/// From the root of the repository.
pub(super) const RESULTS: &str = "docs/lab/data/sim.jsonl";

/// Studies of a batch. A batch is one line of results.
const BATCH: u64 = 50;

const STUDIES: u64 = 1000;

/// Simulates the missing batches: `[--studies N] [--case GLOB]`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn run(root: &Path, words: &[String]) -> Result<()> {
    expect_only(words, &["--studies", "--case"], &[])?;
    let studies = option(words, "--studies")?.map_or(Ok(STUDIES), |it| it.replace('_', "").parse());
    let studies: u64 = studies.context("`--studies` needs a number")?;
    let glob = option(words, "--case")?.unwrap_or("*");
    let number = truth::fingerprint().map_err(Error::msg)?;
    let fingerprint = shown(number);
    let (usual, early) = (truth::cases(), truth::early_cases());
    let all: Vec<AnyCase<'_>> =
        usual.iter().map(AnyCase::Usual).chain(early.iter().map(AnyCase::Early)).collect();
    let names: Vec<&str> =
        all.iter().map(|case| case.name()).filter(|name| matches(glob, name)).collect();
    ensure!(!names.is_empty(), "no case matches `{glob}`");
    let mut lines = Lines::open(&root.join(RESULTS))?;
    let is_stale = |line: &Value| {
        names.contains(&text(line, "case")) && text(line, "fingerprint") != fingerprint
    };
    let removed = lines.remove(is_stale)?;
    if removed > 0 {
        println!("removed {removed} lines that other statistics or another simulation gave");
    }
    let missing = missing(lines.values(), &names, studies);
    println!("{} batches of {BATCH} studies are missing", missing.len());
    let commit = machine::commit(root)?;
    let (next, (to, from)) = (AtomicUsize::new(0), mpsc::channel());
    let (next, all, missing) = (&next, &all, &missing);
    thread::scope(|scope| -> Result<()> {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let to = to.clone();
            scope.spawn(move || {
                while let Some((name, first)) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let case = all.iter().find(|case| case.name() == name);
                    let batch = case.map(|case| case.batch(*first, number));
                    if batch.is_none_or(|batch| to.send(batch).is_err()) {
                        return;
                    }
                }
            });
        }
        drop(to);
        for (number, batch) in from.iter().enumerate() {
            let mut value = batch?;
            value["assay"] = Value::from(commit.as_str());
            println!("{} of {}: {}", number + 1, missing.len(), text(&value, "case"));
            lines.push(value)?;
        }
        Ok(())
    })?;
    lines.replace(merged(lines.values()))
}

pub(super) fn fingerprint() -> Result<String> {
    truth::fingerprint().map(shown).map_err(Error::msg)
}

fn shown(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

#[derive(Clone, Copy)]
enum AnyCase<'a> {
    Usual(&'a Case),
    Early(&'a EarlyCase),
}

impl AnyCase<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Usual(case) => &case.name,
            Self::Early(case) => &case.name,
        }
    }

    /// Results of the [`BATCH`] studies from the seed `first` on.
    fn batch(&self, first: u64, fingerprint: u64) -> Result<Value> {
        let (mut usual, mut early) = (Tally::default(), EarlyTally::default());
        for seed in first..first.saturating_add(BATCH) {
            let added = match self {
                Self::Usual(case) => truth::add_study(&mut usual, case, seed),
                Self::Early(case) => truth::add_early(&mut early, case, seed),
            };
            added.map_err(|what| anyhow!("{} {seed}: {what}", self.name()))?;
        }
        Ok(match self {
            Self::Usual(case) => usual.json(&case.name, first, fingerprint),
            Self::Early(case) => early.json(&case.name, first, fingerprint),
        })
    }
}

/// Merges consecutive batches of a case into one line, so that the file stays small.
fn merged(lines: &[Value]) -> Vec<Value> {
    let mut sorted: Vec<&Value> = lines.iter().collect();
    sorted.sort_by_key(|line| (text(line, "case"), number(line, "first") as u64));
    let mut merged: Vec<Value> = Vec::new();
    for line in sorted {
        let follows = |last: &Value| {
            let same = ["case", "fingerprint", "assay"].iter().all(|it| last[it] == line[it]);
            same && number(last, "first") + number(last, "studies") == number(line, "first")
        };
        match merged.last_mut().filter(|last| follows(last)) {
            Some(last) => {
                let first = last["first"].clone();
                add(last, line);
                last["first"] = first;
            }
            None => merged.push(line.clone()),
        }
    }
    merged
}

fn add(to: &mut Value, other: &Value) {
    match (to, other) {
        (Value::Object(to), Value::Object(other)) => {
            for (name, part) in other {
                add(to.entry(name).or_insert(Value::Null), part);
            }
        }
        (to, Value::Number(other)) => {
            *to = match (to.as_u64().or(to.is_null().then_some(0)), other.as_u64()) {
                (Some(one), Some(other)) => (one + other).into(),
                _ => rounded(to.as_f64().unwrap_or(0.0) + other.as_f64().unwrap_or(0.0)),
            };
        }
        (to @ Value::Null, other) => *to = other.clone(),
        _ => {}
    }
}

/// Six significant digits, as in the batches.
fn rounded(value: f64) -> Value {
    format!("{value:.5e}").parse::<f64>().unwrap_or(value).into()
}

/// Case and first seed of each missing batch. The first batches of all cases come before the second ones, so that an
/// early look sees every case.
fn missing(lines: &[Value], cases: &[&str], studies: u64) -> Vec<(String, u64)> {
    let keys = |line: &Value| {
        let (case, first) = (text(line, "case").to_owned(), number(line, "first") as u64);
        let batches = (number(line, "studies") as u64 / BATCH).max(1);
        (0..batches).map(move |batch| (case.clone(), first + batch * BATCH))
    };
    let done: BTreeSet<(String, u64)> = lines.iter().flat_map(keys).collect();
    let batches = (0..studies.div_ceil(BATCH)).map(|batch| 1 + batch * BATCH);
    let all = batches.flat_map(|first| cases.iter().map(move |case| ((*case).to_owned(), first)));
    all.filter(|batch| !done.contains(batch)).collect()
}

/// Matches a whole text against a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| rest.get(at..).is_some_and(|rest| matches(after, rest)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_missing_batches_are_simulated() {
        let lines = [json!({"case": "a", "first": 1}), json!({"case": "b", "first": 51})];
        let batch = |case: &str, first: u64| (case.to_owned(), first);
        assert_eq!(missing(&lines, &["a", "b"], 60), [batch("b", 1), batch("a", 51)]);
        assert_eq!(missing(&lines, &["a"], 50), []);
        let merged = [json!({"case": "a", "first": 1, "studies": 100})];
        assert_eq!(missing(&merged, &["a"], 150), [batch("a", 101)]);
    }

    #[test]
    fn batches_that_follow_each_other_become_one_line() {
        let batch = |case: &str, first: u64, wrong: u64| {
            json!({"case": case, "first": first, "studies": 50, "fingerprint": "f", "assay": "c",
                "qps": {"kinds": {"null": {"wrong": wrong}}, "half": 0.25}})
        };
        let lines = [batch("b", 1, 1), batch("a", 51, 2), batch("a", 1, 3), batch("a", 151, 4)];
        let merged = super::merged(&lines);
        assert_eq!(merged.len(), 3);
        let expected = json!({"case": "a", "first": 1, "studies": 100, "fingerprint": "f",
            "assay": "c", "qps": {"kinds": {"null": {"wrong": 5}}, "half": 0.5}});
        assert_eq!(merged[0], expected);
        assert_eq!(merged[1]["first"], 151);
        let mut other = batch("a", 51, 2);
        other["fingerprint"] = "g".into();
        assert_eq!(super::merged(&[batch("a", 1, 3), other]).len(), 2);
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, is_match) in [
            ("*", "virtual/null/10m", true),
            ("virtual/*/10m", "virtual/null/10m", true),
            ("virtual/*/10m", "virtual/null/10m/t1", false),
            ("*one*", "quiet/one-3/10m", true),
            ("quiet", "quiet/one-3/10m", false),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
    }
}
